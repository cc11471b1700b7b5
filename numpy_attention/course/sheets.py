"""Attention by hand, a sheet for each student: numbers that are kind to a pencil, and the marking of what was written.

    sheet = course.sheet(7, "李雷", level=2)        always the same sheet for the same seed, student and level
    print(sheet)                                    what is given, what is asked
    sheet.check({"scores": [[...]], ...})           as course.check does: the first thing that is wrong, and a hint
    python -m numpy_attention course sheet --students names.csv --pdf        the same on paper, with a key

The numbers are drawn until they are nice. The scores of a row differ, and a sheet has three kinds of scores at most, of
0, 1, 2 and 3: with e, e² and e³ given, a calculator that adds, multiplies and divides is enough. Every answer is asked
to so many digits that whoever rounds each step as asked, or to one digit fewer, is right; and what is not 0 does not
read as 0. The answers themselves come from the layers of the package.
"""
import hashlib
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..layers.attention import Attention
from ..layers.heads import MergeHeads
from ..layers.linear import Linear
from ..layers.multi_head import MultiHeadAttention
from ..masks import causal_mask
from ..walkthrough.formula import parse
from ..walkthrough.operations import evaluate
from ..words.languages import Words
from ..words.numbers import matrix
from . import speech
from .comparing import BLANK, compare
from .exercise import CheckStage, Exercise
from .remark import Remark

SIZES = {"d_k": 4, "d_v": 2}
EXPONENTIALS = (1, math.e, math.e**2, math.e**3)


class Level(NamedTuple):
    """What a sheet of one level asks for."""

    title: Words
    heads: int
    L: int
    S: int
    masked: bool
    backward: bool
    minutes: int


LEVELS = {
    1: Level(Words("一个头，前向", "one head, forward"), 1, 2, 3, False, False, 15),
    2: Level(Words("因果掩码，前向", "a causal mask, forward"), 1, 3, 3, True, False, 20),
    3: Level(Words("两个头和 W_O，前向", "two heads and W_O, forward"), 2, 2, 3, False, False, 30),
    4: Level(Words("一个头，前向和反向", "one head, forward and backward"), 1, 2, 3, False, True, 45),
    5: Level(Words("两个头，因果掩码，前向和反向", "two heads, a causal mask, forward and backward"),
             2, 2, 2, True, True, 60),
}
SENTENCES = {2: (("你", "好"), ("下", "雪"), ("学", "AI"), ("go", "on"), ("I", "see")),
             3: (("我", "爱", "AI"), ("猫", "吃", "鱼"), ("你", "学", "数学"), ("天", "下", "雨"),
                 ("birds", "can", "fly"), ("you", "learn", "maths"))}
# The layers' own statements: formula and sentences are written there once.
SAID = {stage.name: stage for layer in (MultiHeadAttention, Attention) for stage in (*layer.FORWARD, *layer.BACKWARD)
        if not isinstance(stage, str)}
# Wrong turns, as formulas that are computed with the student's own earlier numbers.
WRONG_TURNS = {
    "scores": (("Q Kᵀ", "还没有除以 √d_k。", "Not yet divided by √d_k."),
               ("Q Kᵀ / d_k", "除以了 d_k，应除以 √d_k。", "Divided by d_k, not by √d_k.")),
    "weights": (("softmax(hidden)", "被掩码挡住的键也算进了总和。", "The hidden keys were counted in the total."),
                ("softmax(scoresᵀ)ᵀ", "softmax 是对每一行做，不是对每一列。",
                 "Softmax goes along each row, not down the columns."),
                ("scores / Σ scores", "忘了取指数。", "The exponentials are missing.")),
    "heads": (("scores V", "应该用权重，不是分数。", "Use the weights, not the scores."),),
    "out": (("concat W_Oᵀ", "W_O 不用转置。", "W_O is not transposed here."),),
    "dconcat": (("dout W_O", "W_O 要转置。", "W_O has to be transposed."),),
    "dV": (("weights dheads", "weights 要转置。", "The weights have to be transposed."),),
    "dscores": (("weights ∘ dweights", "还要减去这一行的总和：Σ weights ∘ dweights。",
                 "The row's own total, Σ weights ∘ dweights, is not subtracted."),
                ("dweights − Σ_S weights ∘ dweights", "前面还要乘 weights。", "The factor weights is missing.")),
    "dQ": (("dscores K", "忘了除以 √d_k。", "The division by √d_k is missing."),),
    "dK": (("dscoresᵀ Q", "忘了除以 √d_k。", "The division by √d_k is missing."),
           ("dscores Q / √d_k", "dscores 要转置。", "dscores has to be transposed.")),
}


class SheetPart(NamedTuple):
    """One matrix that is asked for: its statement, its right numbers, and to how many decimals."""

    name: str
    formula: str
    symbols: str
    meaning: Words
    value: np.ndarray
    digits: int
    shown: np.ndarray       # False where a mask hides the cell, so that nothing is asked

    @property
    def room(self):
        """How far off an answer may be: who writes one digit fewer than asked is right, too."""
        return 5 * 10.0 ** -self.digits + 1e-9


@dataclass(frozen=True)
class Worksheet:
    """One student's sheet.

    Attributes:
        seed, student, level: what its numbers follow from. code: six letters that stand on paper and in the key.
        key: the student's number, or name where there is none.
        tokens: labels of the keys; the first L of them are the queries. mask: boolean (L, S), or None.
        given: {"Q": (L, d_k), ...}, with a first axis H where there are two heads. parts: what is asked, in order.

    >>> sheet = sheet_for(7, "李雷")
    >>> sheet.given["Q"].shape, [part.name for part in sheet.parts]
    ((2, 4), ['scores', 'weights', 'heads'])
    >>> sheet.check(sheet.answers).ok
    True
    """

    seed: int
    student: str
    level: int
    code: str
    key: str
    tokens: tuple
    mask: np.ndarray | None
    given: dict
    parts: tuple

    @property
    def answers(self):
        """The key: {"scores": array, ...}."""
        return {part.name: part.value for part in self.parts}

    @property
    def exercise(self):
        """The sheet as an exercise of the course: whatever marks an Exercise marks this one."""
        level = LEVELS[self.level]
        return Exercise(
            f"sheet-{self.level}-{self.code}", "sheet",
            Words(f"练习单 {self.code}：{level.title.zh}。", f"Sheet {self.code}: {level.title.en}."),
            tuple(CheckStage(Words(part.name, ""), lambda answers, part=part: self._first(part, answers))
                  for part in self.parts),
            self.answers, minutes=level.minutes, difficulty=min(3, (self.level + 1) // 2), own_hints=True)

    def check(self, answers):
        """Check {"scores": rows, ...}; stops at the first matrix that is wrong. Returns: a CheckResult."""
        return self.exercise.check(answers)

    def marks(self, answers):
        """Each matrix for itself: [(part, None or the Remark that says what is wrong), ...].

        A matrix that follows from the student's own earlier numbers counts, whatever was wrong with those.
        """
        found = []
        for part in self.parts:
            remark = self._mark(part, answers)
            wrong = remark is not None and remark.what is not BLANK and isinstance(answers, dict)
            found.append((part, None if wrong and self._follows(part, answers) else remark))
        return found

    def _first(self, part, answers):
        remark = self._mark(part, answers)
        if remark is None or remark.what is BLANK or not isinstance(answers, dict):
            return remark
        return Remark(remark.what, self._hint(part, answers) or remark.hint)

    def _mark(self, part, answers):
        """None if the part is right; otherwise the Remark on it."""
        if not isinstance(answers, dict):
            return Remark(Words("请交一个字典：{\"scores\": [[...]], ...}。",
                                "Hand in a dictionary: {\"scores\": [[...]], ...}."))
        value = written(answers.get(part.name, ...), part)
        if isinstance(value, Remark):
            return value
        return compare(value, part.value, part.name, part.symbols, atol=part.room, rtol=0, typed=True, reveal=False)

    def _values(self, answers):
        """What the formulas can be computed from: what is given, and what this student has written."""
        values = {**self.given, **{name: float(size) for name, size in SIZES.items()}}
        for part in self.parts:
            value = written(answers.get(part.name, ...), part)
            if not isinstance(value, Remark) and value.shape == part.value.shape:
                values[part.name] = value
        if "scores" in values:
            values["hidden"] = values["scores"]
            if self.mask is not None:       # hidden scores are not asked for; a wrong turn needs them
                values["hidden"] = np.where(self.mask, values["scores"], raw_scores(self.given))
                values["scores"] = np.where(self.mask, values["scores"], -np.inf)
        if LEVELS[self.level].heads > 1:
            values |= {"concat": evaluate(parse("merge(heads)"), values)} if "heads" in values else {}
            two = ("split", ("name", "dconcat"), ("number", float(LEVELS[self.level].heads)))
            values |= {"dheads": evaluate(two, values)} if "dconcat" in values else {}
        return values

    def _agrees(self, formula, part, values, answer):
        """Whether this formula, computed with these values, gives the answer."""
        try:
            with np.errstate(all="ignore"):
                value = evaluate(parse(formula), values)
        except (KeyError, ValueError):      # a matrix that was left blank, or sizes that do not fit
            return False
        return np.shape(value) == answer.shape and bool(
            (np.abs(np.where(part.shown, value - answer, 0)) <= part.room).all())

    def _follows(self, part, answers):
        value = written(answers.get(part.name, ...), part)
        return not isinstance(value, Remark) and self._agrees(part.formula, part, self._values(answers), value)

    def _hint(self, part, answers):
        """The words of the one wrong turn that gives this answer; None if none does, or several do."""
        value = written(answers.get(part.name, ...), part)
        if isinstance(value, Remark) or value.shape != part.value.shape:
            return None
        values = self._values(answers)
        found = [Words(zh, en) for formula, zh, en in WRONG_TURNS.get(part.name, ())
                 if self._agrees(formula, part, values, value)]
        return found[0] if len(found) == 1 else None

    def __str__(self):
        level = LEVELS[self.level]
        lines = [f"{self.student} · {speech.say(level.title)} · {self.code}"]
        for name, value in self.given.items():
            lines += [f"\n{name}", *(matrix(each, precision=1) for each in (value if value.ndim == 3 else [value]))]
        if self.mask is not None:
            hidden = Words("因果掩码：后面的词元看不见。", "A causal mask: later tokens are hidden.")
            lines.append("\n" + speech.say(hidden))
        lines.append("\n" + speech.say(Words("要写的：", "To be written:")))
        for part in self.parts:
            decimals = Words(f"{part.digits} 位小数", f"{part.digits} decimals")
            lines.append(f"  {part.name} = {part.formula}   {part.value.shape}, {speech.say(decimals)}")
        return "\n".join(lines)

    __repr__ = __str__


def sheet_for(seed, student, level=1):
    """The sheet that follows from a seed, a student and a level.

    Args: seed: a whole number, 0 or more. student: a name or number, or a Student. level: 1 to 5.
    Returns: a Worksheet. Raises: ValueError for another level or seed, or nobody.

    >>> print(sheet_for(7, "李雷").check({"scores": [[1, 2, 3], [0, 0, 0]]}).results[0][1].what.en)
    scores is wrong at [0, 2] (query 0, key 2): yours is 3, it should be smaller. 3 of 6 cells differ.
    """
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(map(str, LEVELS))}, not {level!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed must be a whole number, 0 or more, not {seed!r}")
    key = getattr(student, "key", student)
    if not isinstance(key, str) or not key.strip():
        raise ValueError(f"student must be a name or a number as text, not {student!r}")
    digest = hashlib.sha256(f"{seed} {level} {key.strip()}".encode("utf-8", "backslashreplace")).digest()
    rng = np.random.default_rng(list(digest))
    wanted = LEVELS[level]
    mask = causal_mask(wanted.L) if wanted.masked else None
    while True:
        given = choose(rng, wanted, mask)
        parts = asked(given, mask, wanted)
        if all(map(readable, parts)):
            tokens = SENTENCES[wanted.S][rng.integers(len(SENTENCES[wanted.S]))]
            code = digest.hex()[:6]
            return Worksheet(int(seed), str(student), level, code, key.strip(), tokens, mask, given, tuple(parts))


def choose(rng, level, mask):
    """Draw what is given: small whole numbers and halves, with scores that are nice."""
    H, d_k = level.heads, SIZES["d_k"]
    d_v = SIZES["d_v"] if H == 1 else 1         # with two heads a column each, so that a page is enough
    kinds = rng.choice(4, 3, replace=False)     # the three scores of this sheet, of 0, 1, 2, 3
    pairs = [_queries_and_keys(rng, level, d_k, kinds, mask) for _ in range(H)]
    Q, K = (np.stack(each) for each in zip(*pairs, strict=True))
    given = {"Q": Q, "K": K, "V": _rows(rng, (-1, -0.5, 0, 0.5, 1, 2), (H, level.S, d_v))}
    if H == 1:
        given = {name: value[0] for name, value in given.items()}
    else:
        given["W_O"] = _rows(rng, (-1, 0, 1, 2), (H * d_v, 3))
    if level.backward:
        name, shape = ("dheads", (level.L, d_v)) if H == 1 else ("dout", (level.L, 3))
        given[name] = _rows(rng, (-1, 0, 0.5, 1, 2), shape)
    return given


def _queries_and_keys(rng, level, d_k, kinds, mask):
    """Q (L, d_k) and K (S, d_k) of whole numbers, so that each row of scores holds S different ones of `kinds`."""
    candidates = np.array(list(itertools.product((-1, 0, 1, 2), repeat=d_k)), float)
    while True:
        K = _rows(rng, (0, 1, 2), (level.S, d_k))
        scores = candidates @ K.T / math.sqrt(d_k)
        nice = np.isin(scores, kinds).all(-1) & (np.diff(np.sort(scores)) != 0).all(-1) & candidates.any(-1)
        if nice.sum() < level.L:
            continue
        Q = rng.permutation(candidates[nice])[:level.L]
        tops = (Q @ K.T).argmax(-1)
        if mask is not None or len(set(tops)) > 1:      # not all queries look at the same key
            return Q, K


def _rows(rng, numbers, shape):
    """Rows of these numbers that are all different, none of them 0; no column of several rows is all alike."""
    while True:
        x = rng.choice(numbers, shape).astype(float)
        flat = x.reshape(-1, shape[-2], shape[-1])
        if (all(len({*map(tuple, each)}) == shape[-2] for each in flat) and x.any(-1).all()
                and (np.ptp(x, axis=-2) > 0).all()):
            return x


def raw_scores(given):
    """All scores, those a mask hides included, as the layer computes them before the mask."""
    attention = Attention()
    attention.forward(*(given[name] for name in "QKV"))
    return attention.cache["scores"]


def asked(given, mask, level):
    """The parts of a sheet: the layers compute them, forward and back."""
    attention, merge = Attention(), MergeHeads()
    heads = attention(*(given[name] for name in "QKV"), mask=mask)
    values = {name: attention.cache[name] for name in ("scores", "weights", "heads")}
    dheads = given.get("dheads")
    if level.heads > 1:
        output = Linear(*given["W_O"].shape, bias=False)
        output.params["W"] = given["W_O"]
        values["out"] = output(merge(heads))
        if level.backward:
            values["dconcat"] = output.backward(given["dout"])
            dheads = merge.backward(values["dconcat"])
    if level.backward:
        attention.backward(dheads)
        values |= {f"d{name}": attention.grads[name] for name in ("V", "weights", "scores", "Q", "K")}
    return [_part(name, value, mask, level) for name, value in values.items()]


def _part(name, value, mask, level):
    said = SAID[name]
    symbols = [symbol for symbol in said.shape.split() if symbol != "N" and (symbol != "H" or level.heads > 1)]
    over_keys = name in ("scores", "weights", "dweights", "dscores")
    shown = np.broadcast_to(mask if mask is not None and over_keys else True, value.shape)
    exact = not (value * 4 % 1).any()
    digits = 4 if name == "weights" else 2 if exact else 3
    return SheetPart(name, said.formula.removesuffix(" + b_O"), " ".join(symbols), Words(said.zh, said.en),
                np.where(shown, value, 0) + 0.0, digits, shown)


def readable(part):
    """Whether the digits asked for say it: what is not 0 does not read as 0, and no rounding hangs by a hair."""
    value = part.value[part.shown]
    steps = np.abs(value) * 10**part.digits
    hair = np.abs(steps % 1 - 0.5)
    small = (np.abs(value) > 1e-12) & (np.abs(value) <= 2 * part.room)
    return not small.any() and bool((hair > 1e-3).all()) and np.ptp(value) > 0


def written(value, part):
    """What a student wrote as an array in the shape of the part, or the Remark that says why it is none.

    Cells that a mask hides may hold anything. Texts are read as one writes numbers: "1/2", "½", "−0,5".
    """
    if value is ... or value is None or (isinstance(value, (list, tuple)) and not value):
        return Remark(BLANK)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return np.where(part.shown, value, 0) if value.shape == part.shown.shape else value
    shape = np.shape(_plain(value))
    if shape != part.value.shape:
        flat = np.array(_plain(value), dtype=object)
        if part.value.shape[-1] == 1 and flat.shape == part.value.shape[:-1]:    # a column, written as a row
            value, shape = flat[..., None].tolist(), part.value.shape
        else:
            return np.zeros(shape) if shape else Remark(Words(f"{part.name} 应该是一个矩阵。",
                                                              f"{part.name} should be a matrix."))
    cells = np.array(_plain(value), dtype=object)
    found = np.zeros(shape)
    for where in zip(*np.nonzero(part.shown), strict=True):
        cell = cells[where]
        if cell is ... or cell is None or (isinstance(cell, str) and not cell.strip()):
            return Remark(BLANK)
        number = read_number(cell)
        if number is None:
            place = ", ".join(map(str, map(int, where)))
            return Remark(Words(f"{part.name} [{place}] 不是一个数：{str(cell)[:20]}。",
                                f"{part.name} [{place}] is no number: {str(cell)[:20]}."))
        found[where] = number
    return found


def _plain(value):
    """Lists of one depth whose leaves are single things; rows of different lengths keep only their number."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not isinstance(value, (list, tuple)):
        return value
    inner = [_plain(each) for each in value]
    lengths = {len(each) if isinstance(each, list) else -1 for each in inner}
    return inner if len(lengths) == 1 else [None] * len(inner)


def read_number(text):
    """A number as a student writes it, or None: "0.5", "1/2", "½", "−0,5", "1½".

    >>> [read_number(text) for text in ("1/2", "−1½", "0,25", ".5", "e")]
    [0.5, -1.5, 0.25, 0.5, None]
    """
    if isinstance(text, (int, float, np.number)) and not isinstance(text, bool):
        return float(text) if math.isfinite(text) else None
    text = str(text).strip().replace("−", "-").replace("－", "-").replace("，", ".").replace(",", ".")
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-").replace("½", "+1/2").replace("¼", "+1/4").replace("¾", "+3/4").lstrip("+")
    try:
        total = 0.0
        for term in text.split("+"):
            above, _, below = term.partition("/")
            total += float(above) / float(below or 1)
        return sign * total if math.isfinite(total) else None
    except (ValueError, ZeroDivisionError):
        return None
