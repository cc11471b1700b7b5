"""A trace: every tensor of one run, in order, forward and then backward."""
from collections.abc import Sequence

from ..words.labels import safe, visible
from .run import LayerRun


class Trace(Sequence):
    """An immutable sequence of Step, indexed by number or by name; slices are traces too.

    Attributes: query_tokens, key_tokens (tuples of str, as they are shown: " the" is "␣the"), title.

    >>> trace = na.worked_example("by-hand").trace()
    >>> [step.name for step in trace.forward]
    ['Q', 'K', 'V', 'product', 'scores', 'weights', 'heads']
    >>> trace["weights"].value.round(4)[0]
    array([0.09  , 0.2447, 0.6652])
    >>> trace[-1].name
    'dK'
    """

    def __init__(self, steps, *, query_tokens=None, key_tokens=None, title="attention", run=None):
        self._steps = tuple(steps)
        self.query_tokens = None if query_tokens is None else tuple(map(visible, query_tokens))
        self.key_tokens = None if key_tokens is None else tuple(map(visible, key_tokens))
        self.title = safe(title)
        self.run = run or LayerRun()

    def __len__(self):
        return len(self._steps)

    def __getitem__(self, which):
        if isinstance(which, str):
            return self._steps[self.index(which)]
        if isinstance(which, slice):
            return self._like(self._steps[which])
        if not -len(self) <= which < len(self):
            raise IndexError(f"there is no step {which}: there are {len(self)}, from 0 to {len(self) - 1}")
        return self._steps[which]

    def __contains__(self, name):
        return any(name in (step, step.name) for step in self._steps)

    def index(self, name, *bounds):
        """The number of the step called `name`; the last part of a dotted name will do when it is the only such."""
        if not isinstance(name, str):
            return self._steps.index(name, *bounds)
        for spelling in ("name", "short_name"):
            found = [i for i, step in enumerate(self._steps) if getattr(step, spelling) == name]
            if len(found) == 1 or (found and spelling == "name"):
                return found[0]
        names = ", ".join(step.name for step in self._steps if not found or step.short_name == name)
        raise KeyError(f"{'several steps are' if found else 'no step is'} called {name!r}; there are: {names}")

    def _like(self, steps):
        return Trace(steps, query_tokens=self.query_tokens, key_tokens=self.key_tokens, title=self.title,
                     run=self.run)

    @property
    def forward(self):
        """The forward half, as a trace."""
        return self._like(step for step in self if step.direction == "forward")

    @property
    def backward(self):
        """The backward half, as a trace."""
        return self._like(step for step in self if step.direction == "backward")

    def tokens(self, symbol):
        """The labels along an axis named `symbol`: the query tokens for L, the key tokens for S, otherwise None."""
        return {"L": self.query_tokens, "S": self.key_tokens}.get(symbol)

    def summary(self):
        """The table of all steps as text: number, name, formula, symbolic and actual shape, range of the numbers."""
        from .text import summary
        return summary(self)

    __str__ = summary

    def __repr__(self):
        return f"<Trace of {self.title}: {len(self)} steps, {', '.join(step.name for step in self)}>"

    def save_html(self, path, *, lang="both", puzzle=None):
        """Write the trace as one self-contained page to step through in a browser. Returns the path.

        Args: path: of the file. lang: the language at first, "zh", "en" or "both"; the page can switch. puzzle: 1 to
            10, which opens first; they are made of the numbers of 我 爱 AI, and other pages have none.
        """
        from .page import save
        return save(self, path, lang=lang, puzzle=puzzle)

    def to_latex(self, **options):
        """The trace as LaTeX, formula and numbers; options as in walkthrough.papers.to_typst."""
        from .papers import to_latex
        return to_latex(self, **options)

    def to_typst(self, **options):
        """The trace as Typst, formula and numbers; options as in walkthrough.papers.to_typst."""
        from .papers import to_typst
        return to_typst(self, **options)

    def _repr_html_(self):
        from .html import frame
        return frame(self)
