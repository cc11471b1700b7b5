"""Every answer of the interview is proved by the line below it, in two languages, and is complete."""
import pytest

from numpy_attention.course import interview

ASKED = interview.questions()


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.question.en)
def test_the_proof_holds_and_could_fail(asked):
    asked.prove()
    assert "assert " in asked.proof


def test_there_are_forty_questions_in_eight_groups():
    assert len(ASKED) >= 40
    assert len({asked.question for asked in ASKED}) == len(ASKED)
    assert len(interview.groups()) == 8


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.question.en)
def test_every_part_is_there_in_both_languages(asked):
    parts = (asked.question, asked.short, asked.long, asked.follow_up, asked.wrong)
    assert all(words.zh and words.en for words in parts)
    assert any("\u4e00" <= c <= "\u9fff" for c in asked.long.zh)
    for words in parts:
        assert not any("\u4e00" <= c <= "\u9fff" for c in words.en)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.question.en)
def test_two_minutes_are_more_than_thirty_seconds(asked):
    """Some 250 characters of Chinese, or 150 words of English, are said in a minute; the short answer comes first."""
    assert len(asked.long.zh) >= 220 and len(asked.long.en.split()) >= 100
    assert len(asked.short.zh) <= 140 and len(asked.short.en.split()) <= 65
