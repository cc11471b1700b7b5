"""The words on the plots, in English, Chinese or both."""


def say(lang, en, zh):
    """The words in the language asked for.

    >>> say("both", "query", "查询")
    'query / 查询'
    """
    if lang not in ("en", "zh", "both"):
        raise ValueError(f'lang must be "en", "zh" or "both", not {lang!r}')
    return {"en": en, "zh": zh, "both": f"{en} / {zh}"}[lang]


def query_axis(lang):
    """What the rows are."""
    return say(lang, "query ↓", "查询 ↓")


def key_axis(lang):
    """What the columns are."""
    return say(lang, "key →", "键 →")


def each(lang, write):
    """What ``write`` returns for "en" or "zh"; for "both", one after the other.

    >>> each("both", lambda lang: say(lang, "A cell.", "一格。"))
    'A cell. 一格。'
    """
    say(lang, "", "")
    return " ".join(map(write, ("en", "zh") if lang == "both" else (lang,)))
