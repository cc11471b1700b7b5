"""Text: foretell the next character of something that people wrote.

Every Python brings texts along, so nothing has to be fetched: the Zen of Python, which `import this` prints, and the
handbook behind `help()`. Here nobody knows where a perfect head would look; that is the difference between a toy task
and language.
"""
import codecs
import contextlib
import io

import numpy as np

from ...engine.arguments import size
from .recipe import Batch, Task


class Text(Task):
    """Foretell each next character of a text.

    Args: text: "zen" (about 850 characters, the same in every Python), "handbook" (some 700,000, which differ a little
        from one Python to the next), or a text of your own. L: how many characters are read.

    Raises: ValueError for a text that is not longer than L.

    >>> task = na.training.task("text", L=8)
    >>> batch = task.batch(1, rng=0)
    >>> "".join(task.words(batch.inputs[0][0])), "".join(task.words(batch.targets[0]))
    ('idea.\\nIf', 'dea.\\nIf ')

    Source: the character-level models of Karpathy 2015, "The Unreasonable Effectiveness of Recurrent Neural Networks".
    """

    name, causal = "text", True
    model, steps = {"layers": 2, "heads": 4, "d_model": 32, "d_hidden": 64, "norm": True}, 200

    def __init__(self, text="zen", L=32):
        L = size("L", L)
        content = TEXTS[text]() if text in TEXTS else text
        if not isinstance(content, str) or len(content) <= L:
            raise ValueError(f"text must be one of {', '.join(TEXTS)}, or a text of more than L = {L} characters")
        self.alphabet, self.ids = np.unique(np.array(list(content)), return_inverse=True)
        super().__init__(vocab=len(self.alphabet), length=L, text=text, L=L)

    def make(self, N, rng):
        L = self.length
        start = rng.integers(len(self.ids) - L, size=(N, 1))
        stream = self.ids[start + np.arange(L + 1)]                     # (N, L + 1)
        return Batch((stream[:, :-1],), stream[:, 1:], np.ones((N, L), bool))

    def word(self, token):
        return str(self.alphabet[token])

    def encode(self, text):
        """The ids of the characters of `text`, as a list.

        Raises: ValueError for a character that the task's own text does not have.

        >>> task = na.training.task("text")
        >>> "".join(task.words(task.encode("Beautiful")))
        'Beautiful'
        """
        known = {character: i for i, character in enumerate(self.alphabet.tolist())}
        if strange := [c for c in text if c not in known]:
            raise ValueError(f"the text that was learned has no {strange[0]!r}; it has: {''.join(known)!r}")
        return [known[c] for c in text]

    def __repr__(self):
        text = self.settings["text"]
        return f"Text(text={text if len(text) <= 40 else text[:39] + '…'!r}, L={self.length})"


def zen():
    """The Zen of Python, by Tim Peters; the module keeps it in rot13 and prints it when it is imported."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    return codecs.decode(this.s, "rot13")


def handbook():
    """The pages of Python's own help(), one after the other."""
    from pydoc_data.topics import topics
    return "\n".join(topics[name] for name in sorted(topics))


TEXTS = {"zen": zen, "handbook": handbook}
