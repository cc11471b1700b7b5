"""Two languages: every sentence for people exists in Chinese and in English, and Chinese comes first.

`lang` is "zh", "en" or "both". Whoever speaks hands over both sentences, and gets back what was asked for:

    say(lang, zh, en)           in one line: labels in a plot, prompts of the stepper
    lines(lang, zh, en)         one line for each language: titles and captions (join them with a line break)
    each(lang, write)           what write("zh") and write("en") return, for sentences put together from parts
    Words(zh, en)               a pair kept for later: hints of the course, stories of the museum
"""
from typing import NamedTuple

LANGUAGES = {"zh": ("zh",), "en": ("en",), "both": ("zh", "en")}


class Words(NamedTuple):
    """One sentence in Chinese and in English.

    >>> str(Words("形状不对。", "The shape is wrong."))
    '形状不对。 The shape is wrong.'
    >>> Words("形状不对。", "The shape is wrong.").lines("en")
    ['The shape is wrong.']
    """

    zh: str
    en: str

    def __str__(self):
        return self.say("both")

    def say(self, lang):
        """The sentence, or both in one line."""
        return " ".join(self.lines(lang))

    def lines(self, lang):
        """The sentence, or both, as a list; an empty one is left out."""
        return [text for text in map(self._asdict().get, languages(lang)) if text]


def languages(lang):
    """The languages that `lang` asks for, in the order in which they are shown.

    Raises: ValueError for anything but "zh", "en" and "both".

    >>> languages("both")
    ('zh', 'en')
    """
    if not isinstance(lang, str) or lang not in LANGUAGES:
        raise ValueError(f"lang must be 'zh', 'en' or 'both', got {lang!r}")
    return LANGUAGES[lang]


def say(lang, zh, en):
    """One of the two, or both in one line.

    >>> say("en", "查询", "query"), say("both", "查询", "query")
    ('query', '查询 query')
    """
    return Words(zh, en).say(lang)


def lines(lang, zh, en):
    """One of the two, or both, as a list of lines.

    >>> lines("both", "注意力", "attention")
    ['注意力', 'attention']
    """
    return Words(zh, en).lines(lang)


def each(lang, write, between=" "):
    """What `write` returns for each language that is asked for, put together.

    >>> each("both", lambda one: say(one, f"{3} 格。", f"{3} cells."))
    '3 格。 3 cells.'
    """
    return between.join(write(one) for one in languages(lang))
