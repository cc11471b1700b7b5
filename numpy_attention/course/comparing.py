"""Comparing an answer with what it should be: the first thing that is wrong, where, and in words a learner can use."""
import numpy as np

from ..words.languages import Words
from .remark import Remark

AXES = {"N": "序列 sequence", "H": "头 head", "L": "查询 query", "S": "键 key"}
BLANK = Words("这里还留着空：把 ... 换成你的代码。", "The hole is still there: put your code where the ... is.")


def compare(value, expected, name="", symbols="", *, atol=1e-8, rtol=1e-7, lists=False, reveal=True):
    """None if `value` is `expected`; otherwise the Remark that says what differs first.

    Args:
        value: anything a learner's function may return.
        expected: array. name, symbols: what it is called and its axes, such as "weights", "L S".
        atol, rtol: an element agrees if |value - expected| <= atol + rtol · |expected|.
        lists: whether nested lists will do (numbers typed in by hand).
        reveal: whether to say what is right; otherwise only whether it is larger or smaller.

    >>> print(compare(np.array([[1., 2.], [3., 5.]]), np.array([[1., 2.], [3., 4.]]), "scores", "L S").what.en)
    scores is wrong at [1, 1] (查询 query 1, 键 key 1): yours is 5, it should be 4. 1 of 4 cells differ.
    """
    expected = np.asarray(expected)
    called = name or "the result"
    strange = _strange(value, called, expected, lists)
    if strange is not None:
        return strange
    value = np.asarray(value)
    if value.shape != expected.shape:
        return _shapes(value, expected, called, symbols)
    if value.dtype.kind in "iub" and expected.dtype.kind == "f" and not lists and (expected % 1).any():
        return Remark(Words(f"{called} 是整数数组 ({value.dtype})，小数部分被截掉了。",
                             f"{called} is an array of whole numbers ({value.dtype}): everything behind the decimal "
                             "point was cut off."),
                       Words("是不是用 np.zeros_like(整数数组) 或 dtype=int 建的？改用 float。",
                             "Was it made by np.zeros_like of whole numbers, or with dtype=int? Use float."))
    with np.errstate(all="ignore"):
        bad = ~(np.abs(value - expected) <= atol + rtol * np.abs(expected))
    bad &= ~(value == expected)
    if not bad.any():
        return None
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    yours, right = value[where].item(), expected[where].item()
    place = f" [{', '.join(map(str, where))}]{_named(where, symbols)}" if where else ""
    at = " at" if place else ""
    nan = Words("出现了 nan：哪里算了 0/0、inf − inf 或 log(0)？",
                "There is a nan: where is 0/0, inf − inf or log of 0?")
    right_zh, right_en = f"应为 {_number(right)}", f"it should be {_number(right)}"
    if not reveal:
        more = right > yours
        right_zh, right_en = ("应该更大" if more else "应该更小"), f"it should be {'larger' if more else 'smaller'}"
    return Remark(
        Words(f"{called}{place} 不对：你的是 {_number(yours)}，{right_zh}。共 {bad.sum()} / {bad.size} 格不同。",
              f"{called} is wrong{at}{place}: yours is {_number(yours)}, {right_en}. {bad.sum()} of {bad.size} cells "
              "differ."),
        nan if value.dtype.kind in "fc" and np.isnan(value).any() and not np.isnan(expected).any() else None)


def _strange(value, called, expected, lists):
    """A Remark for what is not an array of numbers at all."""
    if value is Ellipsis:
        return Remark(BLANK)
    if value is None:
        return Remark(Words(f"{called} 是 None：函数没有返回值。", f"{called} is None: nothing was returned."),
                       Words("是不是忘了 return？", "Is the return missing?"))
    if isinstance(value, tuple) or (isinstance(value, list) and not lists):
        kind = type(value).__name__
        return Remark(Words(f"{called} 是一个 {kind}，不是数组。", f"{called} is a {kind}, not an array."),
                       Words("用 np.array(...) 包起来再返回。", "Wrap it: return np.array(...)."))
    if isinstance(value, np.ndarray | np.generic | int | float | complex | list):
        try:
            array = np.asarray(value)
        except ValueError:
            array = None
        if array is not None and array.dtype.kind in "fciub":
            return None
        if array is not None and array.dtype == object and any(x is Ellipsis for x in array.flat):
            return Remark(BLANK)
    return Remark(Words(f"{called} 是 {type(value).__name__}，不是数字数组。",
                         f"{called} is a {type(value).__name__}, not an array of numbers."))


def _shapes(value, expected, called, symbols):
    wanted = f"({', '.join(symbols.split())}) = " if symbols else ""
    hint = None
    if value.shape == expected.shape[::-1]:
        hint = Words("行和列反了：少了或多了一次转置？",
                     "Rows and columns are swapped: a transpose too few, or too many?")
    elif value.size == expected.size:
        hint = Words("数字个数对，排法不对：看看 reshape / transpose。",
                     "As many numbers, differently arranged: look at reshape and transpose.")
    elif value.ndim < expected.ndim:
        hint = Words("少了一个轴：求和时要不要 keepdims=True？",
                     "An axis is missing: did a sum or max need keepdims=True?")
    return Remark(Words(f"{called} 的形状是 {value.shape}，应为 {wanted}{expected.shape}。",
                         f"{called} has shape {value.shape}, it should have {wanted}{expected.shape}."), hint)


def _named(where, symbols):
    """" (查询 query 0, 键 key 2)" for the axes that have a name."""
    names = [f"{AXES[s]} {i}" for s, i in zip(symbols.split(), where, strict=False) if s in AXES]
    return f" ({', '.join(names)})" if names else ""


def _number(x):
    return f"{x:.6g}"
