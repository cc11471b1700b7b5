# ruff: noqa: E501  (sentences in two languages)
"""16 The whole block: residual connections and where the norm stands."""
import numpy as np

from ...words.languages import Words
from ..drawing import draws
from ..exercise import GOLDEN, INVARIANT, RANDOM, CheckStage, Exercise, Mistake, outcome

OUT = (("out", "N L D"),)


def block(x, attention, norm, feed_forward, norm2):
    heard = x + attention(norm(x))
    return heard + feed_forward(norm2(heard))


def _parts(seed):
    """Four functions that differ in all that matters; none is linear."""
    W = draws(seed).standard_normal((4, 4, 4))
    return tuple(lambda x, w=w: np.tanh(x @ w) + 0.1 for w in W)


def _stage(title, *seeds):
    def run(learner):
        for seed in seeds:
            x = draws(seed, 1).standard_normal((2, 3, 4))
            found = outcome(learner(x, *_parts(seed)), block(x, *_parts(seed)), OUT)
            if found:
                return found
        return None
    return CheckStage(title, run)


def _silent(learner):
    """Layers that add nothing leave the stream as it is, whatever the norms do."""
    x = draws(9).standard_normal((2, 3, 4))
    return outcome(learner(x, np.zeros_like, np.tanh, np.zeros_like, np.tanh), x, OUT)


MISTAKES = (
    Mistake(lambda x, a, n, f, m: m((h := n(x + a(x))) + f(h)), "这是后归一化：归一化要放在注意力和前馈层的前面。",
            "That is post-norm: the norms belong before attention and feed-forward."),
    Mistake(lambda x, a, n, f, m: f(m(a(n(x)))), "两个残差都没有加。", "Both residual connections are missing."),
    Mistake(lambda x, a, n, f, m: (h := a(n(x))) + f(m(h)), "第一个残差没有加：heard = x + …", "The first residual is missing: heard = x + …"),
    Mistake(lambda x, a, n, f, m: f(m(x + a(n(x)))), "第二个残差没有加：out = heard + …", "The second residual is missing: out = heard + …"),
    Mistake(lambda x, a, n, f, m: x + a(n(x)) + f(m(x)), "前馈层看的是 x：它应该看 heard（这是并行的写法）。",
            "The feed-forward layer reads x; it should read heard (this is the parallel form)."),
    Mistake(lambda x, a, n, f, m: (h := n(x) + a(n(x))) + f(m(h)), "残差加的是 norm(x)：要加没有归一化的 x。",
            "The residual adds norm(x); it should add x as it was."),
    Mistake(lambda x, a, n, f, m: (h := x + a(x)) + f(h), "没有用归一化。", "The norms are not used."),
    Mistake(lambda x, a, n, f, m: (h := x + a(m(x))) + f(n(h)), "两个归一化用反了。", "The two norms are in each other's place."),
)
EXERCISES = (
    Exercise("pre-norm-block", "16", Words("写出一个前归一化的块。", "Write a pre-norm block."),
             (_stage(GOLDEN, 1), _stage(RANDOM, 2, 3), CheckStage(INVARIANT, _silent)), block, MISTAKES,
             arguments="x, attention, norm, feed_forward, norm2"),
)
