"""Why a cell has its number: the one dot product, softmax row or mixture behind it, written out term by term."""
from itertools import product

import numpy as np

from ..words.languages import Words
from ..words.numbers import numbers
from ..words.terminal import wrap
from .made import Part, inside, made, pair, reads, spread

MOST_TERMS = 8
GIVEN = Words("是给定的：前面没有别的步骤", "given: nothing comes before it")
HIDDEN = Words("被掩码挡住，所以正好是 0", "the mask hides it, so it is exactly 0")
UNSTATED = Words("这一步不逐项写出；它的代码是", "not written out for this step; its line of code is")
LESS = Words("先减去最大值，指数就不会溢出", "minus the largest, so that no exponential overflows")


def why(trace, which, index, *, precision=4, lang="both", columns=78):
    """The cell `index` of a step in terms of the cells that it was made from, as text of so many columns (None: any).

    >>> print(why(na.worked_example("by-hand").trace(), "product", (0, 2)))
    product[我, AI] = 1·2 + 0·2 + 1·2 + 0·2 = 4
    """
    with np.errstate(all="ignore"):     # NaN and inf are shown, not warned about
        lines = _lines(trace, trace[which], tuple(index), precision, lang)
    return "\n".join(lines if columns is None else [line for text in lines for line in wrap(text, columns)])


def _lines(trace, step, index, precision, lang):
    name, value = cell_name(trace, step.name, index), _one(step.value[index], precision)
    masked = hidden(trace, step)
    if step.formula in ("given", "upstream gradient"):
        return [f"{name} = {value}", f"{step.name} {GIVEN.say(lang)}"]
    if masked is not None and masked[index] and step.short_name in ("weights", "dscores", "dproduct"):
        return [f"{name} = {value}: {HIDDEN.say(lang)}"]
    part = made(trace, step.name)
    if part is None:
        return [f"{name} = {value}", f"{step.name} = {step.formula}", f"{UNSTATED.say(lang)} {step.code}"]
    seen = None if masked is None else ~masked[index[:-1]]
    if part.head == "softmax":
        return _softmax(part, index, name, value, seen, precision, lang)
    writer = Writer(trace, precision, seen)
    text = writer.whole(part, index)
    return [*writer.sums, f"{name} = {text} = {value}"]


class Writer:
    """Writes the formula of one cell with its numbers. A sum in the middle of it gets a line of its own, in `sums`."""

    def __init__(self, trace, precision, seen=None):
        self.trace, self.precision, self.seen, self.sums, self.set_apart = trace, precision, seen, [], False

    def whole(self, part, index):
        """The right side: a cell that was copied by its name, anything else by its numbers."""
        if _is_copy(part):
            cells = [(name, place) for name, places in _sources(part, index).items() for place in product(*places)]
            if len(cells) == 1:
                return cell_name(self.trace, *cells[0])
        self.set_apart = _has_names_outside_sums(part)
        return self.text(part, index)

    def text(self, part, index):
        """The numbers behind one cell of a part, joined by the signs of the formula."""
        head = part.head
        if head == "root" and part.parts[0].head == "number":
            return f"√{part.parts[0].value:g}"
        if head == "number":
            return f"{part.value:g}"
        if head in SUMS or (head == "fit" and part.parts[0].head in (*SUMS, *COPIES)):
            return self.sum(part, index)
        if head in COPIES and not _is_copy(part):
            return self.text(*_down(part, index))
        if head in COPIES or head == "softmax":
            return self.one(part, index)
        if head == "turn":
            return self.turn(part, index)
        parts = [(inner, _at(where)) for inner, where in inside(part, [[place] for place in index])]
        if head == "plus":
            return self.plus(part, index)
        if head == "minus":
            return f"{self.text(*parts[0])} − {self.bound(*parts[1], 1)}"
        if head == "times":
            return f"{self.bound(*parts[0], 1, leading=True)} · {self.bound(*parts[1], 2)}"
        if head == "over":
            return f"{self.bound(*parts[0], 1, leading=True)} / {self.bound(*parts[1], 2)}"
        if head == "negative":
            return f"−{self.bound(*parts[0], 1)}"
        if head == "squared":
            return f"{self.bound(*parts[0], 3)}²"
        if head == "root":
            return f"√({self.text(*parts[0])})"
        if head == "pass_where":
            (dout, at), (x, there) = parts
            return f"({self.text(dout, at)}, {self.one(x, there)} > 0)"
        if head == "fit":
            return self.text(*_down(part, index))
        return f"{head}({', '.join(self.text(*both) for both in parts)})"

    def bound(self, part, index, level, *, leading=False):
        """The text of a part beside a sign: in brackets if it is a sum, or a negative number not at the beginning."""
        text = self.text(part, index)
        loose = LEVELS.get(part.head, 9) <= level and part.head != "number"
        if part.head in SUMS or part.head == "fit":
            loose = not self._is_apart(part) and " + " in text
        if loose or (text.startswith("-") and not leading):
            return f"({text})"
        return text

    def plus(self, part, index):
        """a + b + c: of plain numbers all in one format."""
        leaves = _summands(part)
        if all(_is_copy(leaf) for leaf in leaves):
            numbers_ = np.array([_value(leaf, index, part) for leaf in leaves])
            return _sum([_brackets(text) for text in _texts(numbers_, self.precision)], numbers_, self.precision)
        texts = [self.text(leaf, _in_leaf(leaf, index, part)) for leaf in leaves]
        return " + ".join([texts[0], *map(_brackets, texts[1:])])

    def sum(self, part, index):
        """A sum written out; a Σ inside a longer formula is written out on a line of its own and its value returned."""
        places = [[place] for place in index]
        divided = f" / {part.parts[0].value.shape[-1]}" if part.head == "mean" else ""
        factors = [np.ravel(factor) for factor in _factors(part, places)]
        if self.seen is not None and all(len(factor) == len(self.seen) for factor in factors):
            factors = [factor[self.seen] for factor in factors]
        values = np.multiply.reduce(factors) if factors else np.zeros(0)
        shown = [_texts(factor, self.precision) for factor in factors]
        tokens = self.tokens(part, places) or [""] * len(values)
        terms = ["·".join(map(_brackets, term)) for term in zip(*shown, strict=True)]
        if len(tokens) == len(terms):
            terms = [f"{token} {term}".lstrip() for token, term in zip(tokens, terms, strict=True)]
        text = _sum(terms, values, self.precision) or "0"
        if divided:
            text = f"({text}){divided}"
        if not self._is_apart(part):
            return text
        value = self.one(part, index)
        label = self.label(part, places)
        line = f"{label} = {text} = {value}"
        if line not in self.sums:
            self.sums.append(line)
        return value

    def _is_apart(self, part):
        return self.set_apart and part.head in ("sum", "total", "mean", "all")

    def label(self, part, places):
        """A part by the names of its cells: "Σ weights[我, :] ∘ dweights[我, :]"."""
        head = part.head
        if head == "name":
            shape = part.value.shape
            where = [":" if len(place) == size > 1 else place[0] for place, size in zip(places, shape, strict=True)]
            return cell_name(self.trace, part.parts[0], where)
        if head == "number":
            return part.parts[1] if len(part.parts) > 1 else f"{part.value:g}"
        texts = [self.label(inner, where) for inner, where in inside(part, places)]
        if head in ("sum", "total", "all"):
            return f"Σ {texts[0]}"
        if head in SIGNS and len(texts) == 2:
            return f"{texts[0]} {SIGNS[head]} {texts[1]}"
        if head == "rows":
            return f"{self.label(part.parts[0], places)}[{texts[-1]}]"
        return f"{head}({', '.join(texts)})" if head != "mean" else f"mean {texts[0]}"

    def turn(self, part, index):
        """One column of a pair that was turned: a·cos − b·sin, or a·sin + b·cos."""
        x, cos, sin, _ = part.parts
        number, first, second = (*pair(part.parts, index[-1]), index[-1])[:3]
        if number is None:
            return self.one(x, index)
        a, b = (x.value[(*index[:-1], j)] for j in (first, second))
        c, s = (np.broadcast_to(angle.value, (*x.value.shape[:-1], angle.value.shape[-1]))[(*index[:-1], number)]
                for angle in (cos, sin))
        a, b, c, s = (_brackets(_one(v, self.precision)) for v in (a, b, c, s))
        return f"{a}·{c} − {b}·{s}" if index[-1] == first else f"{a}·{s} + {b}·{c}"

    def one(self, part, index):
        """The number in one cell."""
        return _one(part.value[tuple(index)], self.precision)

    def tokens(self, part, places):
        """The labels of the axis that a matrix product runs over: the tokens, if it runs over queries or keys."""
        while part.head == "fit":
            places = spread(places, part.value.shape, part.parts[0].value.shape)
            part = part.parts[0]
        if part.head != "matmul" or any(len(place) > 1 for place in places):
            return None
        (left, where), *_ = inside(part, places)
        found = reads(left, where)
        if len(found) != 1:
            return None
        (name, axes), = found.items()
        whole = [axis for axis, place in enumerate(axes) if len(place) > 1 or len(place) == left.value.shape[-1]]
        if name not in self.trace or len(whole) != 1:
            return None
        symbols = self.trace[name].symbols.split()[-len(axes):]
        return self.trace.tokens(symbols[whole[0]]) if len(symbols) == len(axes) else None


SUMS = ("matmul", "sum", "total", "mean", "all", "gather", "scatter")
COPIES = ("name", "split", "merge", "first", "behind", "join", "repeat", "rows", "heads_axis")
LEVELS = {"plus": 1, "minus": 1, "negative": 1, "times": 2, "over": 2}
SIGNS = {"times": "∘", "plus": "+", "minus": "−", "over": "/", "matmul": "·"}


def hidden(trace, step):
    """True where a mask hides the cell of an L × S step; None without a mask, or for another step."""
    if step.symbols.split()[-2:] not in (["L", "S"], ["L", "S_more"]) or step.short_name in ("mask", "bias", "dbias"):
        return None
    weights = step.name.removesuffix(step.short_name) + "weights"
    tree = trace[weights].tree if weights in trace else None
    if tree is None or tree[0] != "softmax" or len(tree) < 3:
        return None
    mask = trace.run.constants[tree[2][1]] if tree[2][1] in trace.run.constants else trace[tree[2][1]].value
    if np.broadcast_shapes(mask.shape, step.shape) != step.shape:       # one bias for all sequences has no mask of one
        return None
    return np.broadcast_to(~mask.astype(bool), step.shape)


def _down(part, index):
    """The only inner part of a part that moves cells, and the cell of it that one cell comes from."""
    inner, where = inside(part, [[place] for place in index])[0]
    return inner, _at(where)


def _at(places):
    """One cell of places that hold one place each."""
    return tuple(place[0] for place in places)


def _is_copy(part):
    """Is a part made of cells that were only moved?"""
    if part.head == "fit":
        return _is_copy(part.parts[0])
    moved = part.parts[:1] if part.head in ("rows", "first", "behind", "repeat", "split") else part.parts
    return part.head == "name" or (part.head in (*COPIES, "gather") and all(
        _is_copy(inner) for inner in moved if isinstance(inner, Part)))


def _sources(part, index):
    found = reads(part, [[place] for place in index])
    return {name: places for name, places in found.items() if all(places)} if part.head != "rows" else (
        reads(part.parts[0], inside(part, [[place] for place in index])[0][1]))


def _has_names_outside_sums(part):
    if part.head == "name":
        return True
    if part.head in ("sum", "total", "mean", "all", "number"):
        return False
    return any(_has_names_outside_sums(inner) for inner in part.parts if isinstance(inner, Part))


def _summands(part):
    return [leaf for inner in part.parts for leaf in _summands(inner)] if part.head == "plus" else [part]


def _in_leaf(leaf, index, whole):
    shape = leaf.value.shape
    return tuple(0 if size == 1 else place for size, place in zip(shape, index[len(index) - len(shape):], strict=True))


def _value(leaf, index, whole):
    return leaf.value[_in_leaf(leaf, index, whole)]


def _factors(part, places):
    """The terms of a sum as factors: arrays that are as long as there are terms."""
    if part.head == "fit":
        return _factors(part.parts[0], spread(places, part.value.shape, part.parts[0].value.shape))
    if part.head == "matmul" and all(inner.value.ndim for inner in part.parts):
        rows = [[np.ravel(inner.value[np.ix_(*where)]) for inner, where in inside(part, [[place] for place in cell])]
                for cell in product(*places)]
        return [np.concatenate(column) for column in zip(*rows, strict=True)]
    if part.head in ("sum", "total", "mean", "gather", "all"):
        inner, = part.parts
        where = [list(range(size)) for size in inner.value.shape] if part.head == "all" else inside(part, places)[0][1]
        return _factors_of_term(inner, where)
    if part.head == "scatter":
        rows, ids, _ = part.parts
        return [rows.value[ids.value == places[0][0]][:, places[-1][0]]]
    return [part.value[np.ix_(*places)]]


def _factors_of_term(part, places):
    if part.head == "times" and all(inner.head in COPIES for inner in part.parts):
        return [np.broadcast_to(inner.value, part.value.shape)[np.ix_(*places)] for inner in part.parts]
    return _factors(part, places)


def _softmax(part, index, name, value, seen, precision, lang):
    given = np.broadcast_to(part.parts[0].value, part.value.shape)
    one, row = given[index], given[index[:-1]]
    row = row if seen is None else row[seen]
    top, remark = 0, []
    if np.abs(row).max() > 20:
        top = row.max()
        remark = [f"(− {_brackets(_one(top, precision))}: {LESS.say(lang)})"]
    powers = np.exp(row - top)
    exponents = _texts(np.append(row, one) - top, precision)
    total = _sum([f"e^{_brackets(x)}" for x in exponents[:-1]], powers, precision)
    return [f"{name} = e^{_brackets(exponents[-1])} / ({total})", *remark,
            f"= {_one(np.exp(one - top), precision)} / {_one(powers.sum(), precision)} = {value}"]


def cell_name(trace, name, index):
    """"weights[我, AI]": a cell's name with tokens where its axes have them; axes of size 1 in front are left out.

    >>> cell_name(na.worked_example("by-hand").trace(), "heads", (0, 3))
    'heads[我, 3]'
    """
    step = trace[name] if name in trace else None       # noqa: SIM401 (a trace has no get)
    symbols = step.symbols.split()[-len(index):] if step is not None else []
    symbols = [""] * (len(index) - len(symbols)) + symbols
    shown = []
    for axis, (symbol, place) in enumerate(zip(symbols, index, strict=True)):
        if step is not None and step.shape[axis] == 1 and axis < len(index) - 2:
            continue
        tokens = trace.tokens(symbol)
        if symbol in ("H", "N") and place is not None and place != ":":
            shown.append(f"{ {'H': 'head', 'N': 'sequence'}[symbol]} {place}")
        else:
            shown.append(":" if place is None or place == ":" else tokens[place] if tokens else str(place))
    return f"{name}[{', '.join(shown)}]" if shown else name


def _sum(texts, values, precision):
    """The terms joined by +; of many the first and last ones, and what the others come to."""
    if len(texts) > MOST_TERMS:
        between = _one(values[3:-2].sum(), precision)
        texts = [*texts[:3], f"… ({len(texts) - 5}: {between}) …", *texts[-2:]]
    return " + ".join(texts)


def _texts(values, precision):
    return numbers(np.atleast_2d(values), precision)[0]


def _one(value, precision):
    return _texts(np.asarray(value).reshape(1), precision)[0]


def _brackets(text):
    return f"({text})" if text.startswith("-") else text
