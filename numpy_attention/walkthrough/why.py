"""Why a cell has its number: the one dot product, softmax row or mixture behind it, written out term by term."""
import numpy as np

from ..words.languages import Words
from ..words.numbers import numbers
from ..words.terminal import wrap
from .origins import hidden, origin

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
    made = origin(trace, step.name)
    if made is None:
        return [f"{name} = {value}", f"{step.name} = {step.formula}", f"{UNSTATED.say(lang)} {step.code}"]
    taken = [np.atleast_1d(made.take(part, index)) for part in made.parts]
    if made.how == "softmax":
        return _softmax(name, value, taken, masked, index, precision, lang)
    if made.how == "softmax backward":
        weight, felt, weights, all_felt = taken
        if masked is not None:
            weights, all_felt = weights[~masked[index[:-1]]], all_felt[~masked[index[:-1]]]
        total = _one((weights * all_felt).sum(), precision)
        row = cell_name(trace, "weights", (*index[:-1], ":")).partition("[")[2][:-1]
        return [f"Σ weights[{row}] ∘ dweights[{row}] = {_terms(weights, all_felt, precision)} = {total}",
                f"{name} = {_one(weight[0], precision)} · ({_one(felt[0], precision)} − {_brackets(total)}) = {value}"]
    if made.how in ("dot", "scaled dot"):
        text = _terms(taken[0], taken[1], precision, _tokens(trace, made))
        if made.how == "scaled dot":
            text = f"({text}) / √{made.d_k}"
        if len(taken) > 2:
            text += f" + {_brackets(_one(taken[2][0], precision))}"
        return [f"{name} = {text} = {value}"]
    if made.how == "scale":
        return [f"{name} = {_one(taken[0][0], precision)} / √{made.d_k} = {value}"]
    if made.how == "copy":
        return [f"{name} = {cell_name(trace, made.parts[0].name, made.places(made.parts[0], index))} = {value}"]
    texts = [_brackets(t) for t in _texts(np.concatenate(taken), precision)]
    return [f"{name} = {_sum(texts, np.concatenate(taken), precision)} = {value}"]


def _softmax(name, value, taken, masked, index, precision, lang):
    one, row = taken
    seen = row if masked is None else row[~masked[index[:-1]]]
    top, remark = 0, []
    if np.abs(seen).max() > 20:
        top = seen.max()
        remark = [f"(− {_brackets(_one(top, precision))}: {LESS.say(lang)})"]
    powers = np.exp(seen - top)
    exponents = _texts(np.append(seen, one) - top, precision)
    total = _sum([f"e^{_brackets(x)}" for x in exponents[:-1]], powers, precision)
    return [f"{name} = e^{_brackets(exponents[-1])} / ({total})", *remark,
            f"= {_one(np.exp(one[0] - top), precision)} / {_one(powers.sum(), precision)} = {value}"]


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
    return f"{name}[{', '.join(shown)}]"


def _tokens(trace, made):
    """The labels of the axis that a dot product runs over: the tokens, if it runs over queries or keys."""
    part = made.parts[0]
    if part.name not in trace or part.axes.count(":") != 1:
        return None
    symbols = trace[part.name].symbols.split()[-len(part.axes):]
    return trace.tokens(symbols[part.axes.index(":")])


def _terms(a, b, precision, tokens=None):
    pairs = zip(_texts(a, precision), _texts(b, precision), tokens or [""] * len(a), strict=True)
    return _sum([f"{token} {_brackets(x)}·{_brackets(y)}".lstrip() for x, y, token in pairs], a * b, precision)


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
