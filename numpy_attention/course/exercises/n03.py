# ruff: noqa: E501  (sentences in two languages)
"""03 Check every gradient: a checker of one's own, by central differences and by the complex step."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...words.languages import Words
from ..comparing import BLANK, compare
from ..drawing import draws
from ..exercise import GOLDEN, GRADIENT, INVARIANT, RANDOM, CheckStage, Exercise, Mistake
from ..remark import Remark
from .n01 import BY_HAND

CLOSE = 1e-3


def central(f, x, h=1e-5):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        gradient[i] = (f(up) - f(down)) / (2 * h)
    return gradient


def complex_step(f, x, h=1e-20):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        z = x.astype(complex)
        z[i] += 1j * h
        gradient[i] = f(z).imag / h
    return gradient


def one_sided(f, x, h=1e-5):
    return np.array([(f(x + h * _unit(x, i)) - f(x)) / h for i in np.ndindex(x.shape)]).reshape(x.shape)


def _unit(x, i):
    unit = np.zeros_like(x)
    unit[i] = 1
    return unit


def _first_axis_only(f, x):
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        gradient[i] = (f(up) - f(down)) / 2e-5
    return gradient


NEARLY = Words("已经很近了，但还不够：用的是中心差分吗？步长是不是 1e-5 左右？", "Close, but not close enough: is the difference central, and the step about 1e-5?")
TWICE = Words("是正确答案的两倍：两边都动了，就要除以 2h。", "Twice the right answer: with a nudge to both sides, divide by 2h.")
SIGN = Words("正负号反了。", "The sign is the wrong way round.")
WHOLE_ROW = Words("这些是每行之和：是不是一次移动了一整行？每次只能动一个数，用 np.ndindex(x.shape) 走遍所有格子。",
                  "These are sums over rows: was a whole row moved at once? Move one number at a time; np.ndindex(x.shape) visits every cell.")
NOT_EXACT = Words("很近了，但复数步长法应该精确到最后几位：h 可以小到 1e-20，而且不要做减法。",
                  "Close, but the complex step is exact to the last digits: h may be 1e-20, and nothing is subtracted.")
THROWN_AWAY = Words("全是 0。虚部是不是被丢掉了？实数数组装不下虚部 (thrown away)，先 x.astype(complex)。",
                    "All zero. Was the imaginary part thrown away? An array of real numbers has no room for it; take x.astype(complex) first.")
REAL_PART = Words("导数在虚部里：f(z).imag / h。", "The derivative is in the imaginary part: f(z).imag / h.")
NOT_RESTORED = Words("别人还要用这个数组：先 copy()，或写成 x = x + y 而不是 x += y。",
                     "Others still need that array: work on a .copy(), or write x = x + y instead of x += y.")
NO_STEP = Words("小得离谱：除以 h 了吗？", "Far too small: was it divided by h?")


def _look(value, right, exact):
    found = compare(value, right, "gradient", atol=1e-12 if exact else 1e-7, rtol=1e-12 if exact else 1e-7)
    if found is None or found.hint or found.what is BLANK or np.shape(value) != right.shape:
        return found
    value = np.asarray(value)

    def about(other, tolerance=CLOSE):
        return np.allclose(value, other, rtol=tolerance, atol=tolerance)

    whole_row = np.broadcast_to(right.sum(axis=tuple(range(1, right.ndim)), keepdims=True), right.shape)
    hints = [(about(2 * right), TWICE), (about(-right), SIGN), (about(right), NOT_EXACT if exact else NEARLY),
             (exact and not value.any(), THROWN_AWAY), (exact and 0 < np.abs(value).max() < 1e-15, NO_STEP),
             (exact and np.abs(value).max() > 1e10 and np.ptp(value) < 1e-6 * np.abs(value).max(), REAL_PART), (right.ndim > 1 and about(whole_row), WHOLE_ROW)]
    fitting = [hint for fits, hint in hints if fits]
    return Remark(found.what, fitting[0] if len(fitting) == 1 else None)


def _cubes(x):
    return (x ** 3).sum()


def _stages(exact):
    def golden(learner):
        x = np.array([[1., 2.], [3., 4.]])
        return _look(learner(_cubes, x), 3 * x ** 2, exact)

    def random(learner):
        for seed, shape in ((1, (5,)), (2, (2, 3, 2))):
            rng = draws(seed)
            x, c = rng.standard_normal((2, *shape))

            def f(x, c=c):
                return (c * np.exp(x) * x).sum()

            found = _look(learner(f, x), c * np.exp(x) * (x + 1), exact)
            if found:
                return found
        return None

    def attention(learner):
        Q, K, V = BY_HAND
        layer, upstream = ScaledDotProductAttention(), draws(3).standard_normal((3, 4))
        layer(Q, K, V)
        dQ, _, _ = layer.backward(upstream)

        def loss(Q):
            return (upstream * ScaledDotProductAttention()(Q, K, V)).sum()

        return _look(learner(loss, Q), dQ, exact)

    def linear(learner):
        c = np.array([[3., -1., 0.]])
        return _look(learner(lambda x: (c * x).sum(), np.array([[1000., 1e-3, -2.]])), c, exact)

    return (CheckStage(GOLDEN, golden), CheckStage(RANDOM, random), CheckStage(GRADIENT, attention), CheckStage(INVARIANT, linear))


def _mistake(answer, words):
    return Mistake(answer, *words)


def _in_place(f, x):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        x[i] += 1e-5
        above = f(x)
        x[i] -= 2e-5
        gradient[i] = (above - f(x)) / 2e-5
    return gradient


CENTRAL_MISTAKES = (
    _mistake(one_sided, NEARLY),
    _mistake(lambda f, x: central(f, x, 1e-12), NEARLY),
    _mistake(lambda f, x: 2 * central(f, x), TWICE),
    _mistake(lambda f, x: -central(f, x), SIGN),
    _mistake(_first_axis_only, WHOLE_ROW),
    _mistake(_in_place, NOT_RESTORED),
)
COMPLEX_MISTAKES = (
    _mistake(central, NOT_EXACT),
    _mistake(lambda f, x: np.array([f(x + 1e-20j * _unit(x, i)).imag for i in np.ndindex(x.shape)]).reshape(x.shape), NO_STEP),
    _mistake(lambda f, x: 0 * x, THROWN_AWAY),
    _mistake(lambda f, x: np.array([f(x + 1e-20j * _unit(x, i)).real / 1e-20 for i in np.ndindex(x.shape)]).reshape(x.shape), REAL_PART),
    _mistake(lambda f, x: -complex_step(f, x), SIGN),
    _mistake(lambda f, x: 2 * complex_step(f, x), TWICE),
)
EXERCISES = (
    Exercise("numeric-gradient", "03", Words("用中心差分写一个梯度检查器。", "A gradient checker by central differences."),
             _stages(exact=False), central, CENTRAL_MISTAKES, arguments="f, x", own_hints=True),
    Exercise("complex-gradient", "03", Words("用复数步长法再写一个。", "And one by the complex step."),
             _stages(exact=True), complex_step, COMPLEX_MISTAKES, arguments="f, x", own_hints=True),
)
