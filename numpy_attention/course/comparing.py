"""Comparing an answer with what it should be: the first thing that is wrong, where, and in words a learner can use."""
import numpy as np

from ..words.languages import Words
from .remark import Remark

AXES = {"N": Words("序列", "sequence"), "H": Words("头", "head"), "L": Words("查询", "query"), "S": Words("键", "key")}
BLANK = Words("这里还留着空：把 ... 换成你的代码。", "The hole is still there: put your code where the ... is.")


def compare(value, expected, name="", symbols="", *, atol=1e-8, rtol=1e-7, typed=False, reveal=True):
    """None if `value` is `expected`; otherwise the Remark that says what differs first.

    Args:
        value: anything a learner's function may return: arrays, numbers, lists and tuples of numbers.
        expected: array. name, symbols: what it is called and its axes, such as "weights", "L S".
        atol, rtol: an element agrees if |value - expected| <= atol + rtol · |expected|; float32 has seven digits, so
            its answers get more room.
        typed: whether these are numbers typed in by hand, so that whole ones are as meant.
        reveal: whether to say what is right; otherwise only whether it is larger or smaller.

    >>> print(compare(np.array([[1., 2.], [3., 5.]]), np.array([[1., 2.], [3., 4.]]), "scores", "L S").what.en)
    scores is wrong at [1, 1] (query 1, key 1): yours is 5, it should be 4. 1 of 4 cells differ.
    """
    expected = np.asarray(expected)
    called = name or "the result"
    strange = _strange(value, called)
    if strange is not None:
        return strange
    value = np.asarray(value)
    if value.dtype.kind == "c" and expected.dtype.kind != "c" and not value.imag.any():
        value = value.real
    if value.shape != expected.shape:
        return _shapes(value, expected, called, symbols)
    if value.dtype.kind in "iub" and expected.dtype.kind == "f" and not typed and (expected % 1).any():
        return Remark(Words(f"{called} 是整数数组 ({value.dtype})，小数部分被截掉了。",
                            f"{called} is an array of whole numbers ({value.dtype}): everything behind the decimal "
                            "point was cut off."),
                      Words("是不是用 np.zeros_like(整数数组) 或 dtype=int 建的？改用 float。",
                            "Was it made by np.zeros_like of whole numbers, or with dtype=int? Use float."))
    bad = _bad(value, expected, atol, rtol)
    if is_coarse(value):
        bad &= _bad(value, expected, max(atol, 1e-5), max(rtol, 1e-4))
    if not bad.any():
        return None
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    yours, right = _different(value[where].item(), expected[where].item())
    place = _place(where, symbols)
    right_zh, right_en = f"应为 {right}", f"it should be {right}"
    if not reveal:
        more = expected[where] > value[where]
        right_zh, right_en = ("应该更大" if more else "应该更小"), f"it should be {'larger' if more else 'smaller'}"
    return Remark(
        Words(f"{called}{place.zh}不对：你的是 {yours}，{right_zh}。共 {bad.sum()} / {bad.size} 格不同。",
              f"{called} is wrong{place.en}: yours is {yours}, {right_en}. {bad.sum()} of {bad.size} cells differ."),
        _seen(value, expected, atol, rtol))


def is_coarse(value):
    """Whether an answer is in float32 or float16, which an answer may be."""
    return getattr(value, "dtype", None) in (np.float32, np.float16)


def is_numbers(value):
    """Whether an array holds numbers, not words or objects."""
    return np.asarray(value).dtype.kind in "fciub"


def _bad(value, expected, atol, rtol):
    with np.errstate(all="ignore"):
        return ~(np.abs(value - expected) <= atol + rtol * np.abs(expected)) & ~(value == expected)


def _seen(value, expected, atol, rtol):
    """What can be seen of wrong numbers without knowing how they were made; None if nothing."""
    if value.dtype.kind == "c":
        return Words("结果里有虚部：要的是实数。", "There is an imaginary part; the result should be real.")
    if value.dtype.kind == "f" and np.isnan(value).any() and not np.isnan(expected).any():
        return Words("出现了 nan：哪里算了 0/0、inf − inf 或 log(0)？",
                     "There is a nan: where is 0/0, inf − inf or log of 0?")
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2] and not _bad(value.mT, expected, atol, rtol).any():
        return TRANSPOSED
    if is_coarse(value) and not _bad(value, expected, 1e-3, 1e-2).any():
        return Words("这些数是 float32，只有七位数字：这一项要用 float64。",
                     "These numbers are float32, with seven digits: this test wants float64.")
    return None


TRANSPOSED = Words("行和列反了：少了或多了一次转置？",
                   "Rows and columns are swapped: a transpose too few, or too many?")


def _strange(value, called):
    """A Remark for what is not an array of numbers at all."""
    if value is Ellipsis:
        return Remark(BLANK)
    if value is None:
        return Remark(Words(f"{called} 是 None：函数没有返回值。", f"{called} is None: nothing was returned."),
                      Words("是不是忘了 return？", "Is the return missing?"))
    if isinstance(value, list | tuple):
        if any(x is Ellipsis for x in value):
            return Remark(BLANK)
        try:
            array = np.asarray(value)
        except ValueError:
            lengths = sorted({str(np.shape(x)) for x in value[:100]})[:6]
            return Remark(Words(f"{called} 是一个 {type(value).__name__}，里面的东西大小不一：{'、'.join(lengths)}。",
                                f"{called} is a {type(value).__name__} of things of different sizes: "
                                f"{', '.join(lengths)}."))
        if is_numbers(array):
            return None
        if any(x is Ellipsis for x in array.flat):
            return Remark(BLANK)
    elif isinstance(value, np.ndarray | np.generic | int | float | complex) and is_numbers(value):
        return None
    return Remark(Words(f"{called} 是 {type(value).__name__}，不是数字数组。",
                        f"{called} is a {type(value).__name__}, not an array of numbers."))


def _shapes(value, expected, called, symbols):
    """A Remark for a wrong shape; it says no more than what is seen."""
    wanted = f"({', '.join(symbols.split())}) = " if symbols else ""
    hint = None
    if value.ndim == expected.ndim >= 2 and value.shape == expected.mT.shape and np.allclose(
            value.mT, expected, rtol=1e-4, atol=1e-5):
        hint = TRANSPOSED
    elif value.size == expected.size and np.allclose(*(np.sort(x, axis=None) for x in (value, expected)), atol=1e-5):
        hint = Words("数字都在，排法不对：看看 reshape / transpose。",
                     "The numbers are all there, differently arranged: look at reshape and transpose.")
    elif value.ndim == 0 and expected.ndim:
        hint = Words("得到的是一个数，应该是一个数组。", "This is a single number; it should be an array.")
    elif value.ndim < expected.ndim:
        missing = [axis for axis in range(expected.ndim) if value.shape == tuple(np.delete(expected.shape, axis))]
        named = f" {symbols.split()[missing[0]]}" if len(missing) == 1 and symbols else ""
        hint = Words(f"少了一个轴{named}。", f"The axis{named} is missing." if named else "An axis is missing.")
    return Remark(Words(f"{called} 的形状是 {value.shape}，应为 {wanted}{expected.shape}。",
                        f"{called} has shape {value.shape}, it should have {wanted}{expected.shape}."), hint)


def _place(where, symbols):
    """Where a wrong number stands, with the names of those axes that have one: " at [0, 2] (query 0, key 2)"."""
    if not where:
        return Words(" ", "")
    cell = f"[{', '.join(map(str, where))}]"
    named = [(AXES[s], i) for s, i in zip(symbols.split(), where, strict=False) if s in AXES]
    zh, en = (f"{mark[0]}{mark[1].join(f'{axis.say(lang)} {i}' for axis, i in named)}{mark[2]}" if named else mark[3]
              for lang, mark in (("zh", ("（", "，", "）", " ")), ("en", (" (", ", ", ")", ""))))
    return Words(f" {cell}{zh}", f" at {cell}{en}")


def _different(*numbers):
    """Numbers as text, with as many digits as it takes to tell them apart, six at least."""
    for digits in range(6, 18):
        texts = [f"{x:.{digits}g}" for x in numbers]
        if len(set(texts)) == len(texts):
            break
    return texts
