"""Which language the course speaks: Chinese, English, or both, as in the notebooks unless somebody chooses one."""
from ..words.languages import languages

_speaks = "both"


def language(lang=None):
    """Let checks and predictions speak "zh", "en" or "both"; without an argument, which it is.

    Raises: ValueError for anything else.

    >>> from numpy_attention import course
    >>> course.language()
    'both'
    """
    global _speaks
    if lang is not None:
        languages(lang)
        _speaks = lang
    return _speaks


def say(words):
    """Words in the language of the course, in one line."""
    return words.say(_speaks)


def lines(words):
    """Words in the language of the course, one line for each."""
    return words.lines(_speaks)
