"""Chinese first, then English, everywhere; and nothing but the two."""
import pytest

from numpy_attention.words.languages import Words, each, languages, lines, say

QUERY = Words("查询", "query")


@pytest.mark.parametrize(("lang", "shown"), [("zh", ["查询"]), ("en", ["query"]), ("both", ["查询", "query"])])
def test_one_order(lang, shown):
    assert QUERY.lines(lang) == lines(lang, *QUERY) == [each(one, QUERY.say) for one in languages(lang)] == shown
    assert QUERY.say(lang) == say(lang, *QUERY) == each(lang, QUERY.say) == " ".join(shown)
    assert each(lang, QUERY.say, "\n") == "\n".join(shown)


def test_what_is_empty_leaves_no_gap():
    assert str(Words("", "only")) == Words("only", "").say("both") == "only"


@pytest.mark.parametrize("lang", ["de", "", None, "EN"])
def test_another_language_is_refused(lang):
    for use in (languages, QUERY.say, QUERY.lines, lambda lang: each(lang, QUERY.say)):
        with pytest.raises(ValueError, match="lang must be 'zh', 'en' or 'both'"):
            use(lang)
