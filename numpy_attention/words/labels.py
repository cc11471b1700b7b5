"""Labels and titles that anybody may have chosen, made safe to show: in a terminal, a page, a picture.

A token may be a blank, half an emoji, or an escape code that colours a terminal. What cannot be seen is written out, as
Python writes it, so that two different tokens never look the same and none of them does anything.
"""
JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def safe(text, keep=""):
    """`text` with what cannot be printed, or would do something, written out; the characters in `keep` stay.

    >>> safe("a\\x1b[31mb"), safe("half \\ud83d"), safe("two\\nlines", keep="\\n"), safe("👩‍💻")
    ('a\\\\x1b[31mb', 'half \\\\ud83d', 'two\\nlines', '👩\u200d💻')
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or _joins(text, at) else c.encode("unicode_escape").decode("ascii")
                   for at, c in enumerate(text))


def visible(token):
    """A token as it is to be shown: safe, the blanks at its ends drawn, and a sign where there is nothing.

    >>> visible("$x_$"), visible(" the"), visible("a\\nb"), visible("")
    ('$x_$', '␣the', 'a\\\\nb', '∅')
    """
    text = str(token)
    if not text:
        return "∅"
    core = text.lstrip(" ")
    before, core = len(text) - len(core), core.rstrip(" ")
    return "␣" * before + safe(core) + "␣" * (len(text) - before - len(core))


def _joins(text, at):
    """Whether the character there only joins or shapes its neighbours, as in 👩‍💻 and क्‍ष."""
    around = text[at - 1 : at] + (text[at + 1 : at + 2] if text[at] in JOINERS[:2] else text[at - 1 : at])
    return text[at] in JOINERS and at > 0 and len(around) == 2 and not around.isascii()
