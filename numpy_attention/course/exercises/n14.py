# ruff: noqa: E501  (sentences in two languages)
"""14 From scratch: the whole layer, forward and backward, with masks, W_O and biases."""
from pathlib import Path

import numpy as np

from ...layers.multi_head import MultiHeadAttention
from ...words.languages import Words
from ..capstone import BACKWARD_BUGS, FORWARD_BUGS, NAMES, backward, forward, masked_softmax
from ..comparing import compare
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, RANDOM, CheckStage, Exercise, Mistake, golden, outcome, random_case
from ..remark import Remark

TORCH_TITLE = Words("PyTorch 的数", "the numbers of PyTorch")
CAUSAL = Words("因果性", "causality")
OUTPUTS = (("out", "N L D"), ("weights", "N H L S"))


def _numbers():
    """What torch.nn.MultiheadAttention gives for X, P, MASK and DOUT, by name."""
    found = {}
    for line in Path(__file__).with_name("torch_numbers.txt").read_text().splitlines():
        head, _, numbers = line.partition(" : ")
        name, *shape = head.split()
        found[name] = np.array(numbers.split(), float).reshape([int(n) for n in shape])
    return found


def wave(start, *shape):
    """Numbers that look like noise and can be made anywhere, to two decimals."""
    return np.cos(1.7 * np.arange(np.prod(shape)) + start).reshape(shape).round(2)


X, DOUT, MASK, HEADS = wave(0, 2, 3, 4), wave(9, 2, 3, 4), np.tri(3, dtype=bool), 2
P = {f"{kind}_{role}": wave(start + i, *shape) for i, role in enumerate("QKVO")
     for kind, start, shape in (("W", 10, (4, 4)), ("b", 20, (4,)))}
TORCH = _numbers()


def _case(rng, N=2, L=5, D=6, H=3, causal=True):
    p = {name: rng.standard_normal((D, D) if name[0] == "W" else D) for name in NAMES}
    mask = np.tri(L, dtype=bool) if causal else rng.random((L, L)) < 0.7
    return rng.standard_normal((N, L, D)), p, H, mask | np.eye(L, dtype=bool)


def _layer(x, p, H):
    """The package's layer with these parameters."""
    mha = MultiHeadAttention(x.shape[-1], H, rng=0)
    for role, proj in zip("QKVO", (mha.query_proj, mha.key_proj, mha.value_proj, mha.output_proj), strict=True):
        proj.params["W"], proj.params["b"] = p[f"W_{role}"], p[f"b_{role}"]
    return mha


def _engine(x, p, H, mask):
    mha = _layer(x, p, H)
    out = mha(x, mask=mask)
    return out, mha.weights


# 1. softmax with a mask
SHARES, MANY_SHARES = (("weights", "L S"),), (("weights", "N H L S"),)
MASKED_MISTAKES = (
    Mistake(lambda s, m: masked_softmax(s, np.ones_like(m)), "没有用到掩码。", "The mask is not used."),
    Mistake(lambda s, m: masked_softmax(s, ~m), "掩码反了：True 表示可以看。", "The mask is the wrong way round: True means may look."),
    Mistake(lambda s, m: masked_softmax(s, np.ones_like(m)) * m, "掩码来晚了：先把分数变成 −∞，再做 softmax，否则每行的和不是 1。",
            "The mask comes too late: let scores be −∞ before the softmax, or rows do not sum to 1."),
    Mistake(lambda s, m: masked_softmax(s * m, np.ones_like(m)), "分数乘以 0 得到 0，不是 −∞：e⁰ = 1，照样分到一份。",
            "A score times 0 is 0, not −∞: e⁰ = 1, and it gets a share all the same."),
    Mistake(lambda s, m: _plain(np.where(m, s, -np.inf)), "整行被挡住时算出了 nan：−∞ − (−∞)。这样的行要全部为 0。",
            "A row that is hidden altogether gives nan: −∞ − (−∞). Such a row should be all 0."),
    Mistake(lambda s, m: _plain(np.where(m, s, -1e9)), "整行被挡住时成了平均分：把分数都换成 −1e9，它们就一样大了；这样的行要全部为 0。",
            "A row that is hidden altogether became even shares: replaced by −1e9 all its scores are alike; such a row should be all 0."),
    Mistake(lambda s, m: _plain(s - 1e9 * ~m), "整行被挡住时等于没有挡：大家都减 1e9，差不变；这样的行要全部为 0。",
            "A row that is hidden altogether is not hidden at all: with 1e9 subtracted from each, differences stay; such a row should be all 0."),
    Mistake(lambda s, m: np.moveaxis(masked_softmax(np.moveaxis(s, 1, -1), np.moveaxis(np.broadcast_to(m, s.shape), 1, -1)), -1, 1), "沿着 axis=1 做了 softmax：前面有别的轴时要用 axis=-1。", "Softmax over axis=1: with axes in front it has to be axis=-1."),
    Mistake(lambda s, m: masked_softmax(s.swapaxes(-1, -2), m.T).swapaxes(-1, -2), "沿着查询做了 softmax；要沿着键（最后一个轴）。", "Softmax over the queries; it goes over the keys, the last axis."),
)


def _plain(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def _scores(rng):
    """Scores with axes in front, over which one mask is spread; one row may see nothing."""
    mask = rng.random((5, 7)) < 0.6
    mask[2], mask[:2, 0] = False, True
    return 3 * rng.standard_normal((2, 3, 5, 7)), mask


def _large(learner):
    scores, mask = _scores(draws(3))
    return outcome(learner(scores * 1000, mask), masked_softmax(scores * 1000, mask), MANY_SHARES)


def _hidden_scores_do_not_matter(learner):
    scores, mask = _scores(draws(4))
    return outcome(learner(np.where(mask, scores, 99.0), mask), masked_softmax(scores, mask), MANY_SHARES)


SMALL = np.array([[0., 1, 2], [2, 2, 4], [1, 2, 4]]), np.array([[True, False, False], [True, True, False], [False, False, False]])

# 2. forward
FORWARD_WORDS = {
    "scale-missing": ("分数忘了除以 √d_k。", "The scores were not divided by √d_k."),
    "scale-by-model-width": ("除以了 √D；应除以 √d_k = √(D/H)。", "Divided by √D; it should be √d_k = √(D/H)."),
    "split-without-transpose": ("拆分多头时只有 reshape：先 reshape 成 (N, L, H, d_k)，再 transpose。", "The heads were split by reshape alone: reshape to (N, L, H, d_k), then transpose."),
    "merge-without-transpose": ("合并多头时少了 transpose：先换回 (N, L, H, d_k)，再 reshape。", "The heads were merged without a transpose: first back to (N, L, H, d_k), then reshape."),
    "mask-after-softmax": ("掩码来晚了：要在 softmax 之前。", "The mask comes too late: it belongs before the softmax."),
    "mask-inverted": ("掩码反了：True 表示可以看。", "The mask is the wrong way round: True means may look."),
    "mask-ignored": ("没有用到掩码。", "The mask is not used."),
    "causal-off-by-one": ("多看了一个未来的词元。", "It looks at one token of the future."),
}


def _without(*names):
    return lambda x, p, H, mask: forward(x, {name: np.zeros_like(a) if name in names else a for name, a in p.items()}, H, mask)


FORWARD_MISTAKES = (
    *(Mistake(FORWARD_BUGS[name], *words) for name, words in FORWARD_WORDS.items()),
    Mistake(_without("b_Q", "b_K", "b_V", "b_O"), "没有加偏置。", "The biases were not added."),
    Mistake(_without("b_Q", "b_K", "b_V"), "Q、K、V 没有加偏置。", "The biases of Q, K and V were not added."),
    Mistake(lambda x, p, H, mask: forward(x, {**p, **{f"W_{r}": p[f"W_{r}"].T for r in "QKV"}}, H, mask), "W_Q、W_K、W_V 转置了：Q = x W_Q + b_Q。", "W_Q, W_K and W_V were transposed: Q = x W_Q + b_Q."),
    Mistake(_without("b_O"), "没有加 b_O。", "b_O was not added."),
    Mistake(lambda x, p, H, mask: forward(x, {**p, "W_O": np.eye(x.shape[-1]), "b_O": 0 * p["b_O"]}, H, mask), "没有乘 W_O。", "W_O is missing."),
    Mistake(lambda x, p, H, mask: forward(x, {**p, "W_O": p["W_O"].T}, H, mask), "W_O 转置了：out = concat W_O。", "W_O was transposed: out = concat W_O."),
)


def _causal(learner):
    """What comes later does not change what came before."""
    x, p, H, mask = _case(draws(5))
    before = learner(x, p, H, mask)
    found = outcome(before, _engine(x, p, H, mask), OUTPUTS, atol=np.inf)
    if found:
        return found
    for t in (1, 4):
        later = x.copy()
        later[:, t:] += 10
        found = compare(np.asarray(learner(later, p, H, mask)[0])[:, :t], np.asarray(before[0])[:, :t], f"out[:, :{t}]", "N L D")
        if found:
            return found
    return None


def _permuted(learner):
    """Without a mask outputs follow their tokens."""
    x, p, H, _ = _case(draws(6))
    order, everything = np.array([3, 0, 4, 1, 2]), np.ones((5, 5), bool)
    plain, moved = learner(x, p, H, everything), learner(x[:, order], p, H, everything)
    found = outcome(plain, _engine(x, p, H, everything), OUTPUTS, atol=np.inf)
    return found or compare(moved[0], np.asarray(plain[0])[:, order], "out(x[order])", "N L D")


# 3. backward
BACKWARD_WORDS = {
    "softmax-no-row-term": ("softmax 的反向传播少了那一行的总和。", "The softmax's backward lacks the row's own term."),
    "softmax-diagonal": ("softmax 的反向传播只用了对角线 p(1 − p)。", "The softmax's backward used the diagonal p(1 − p) only."),
    "scale-missing-backward": ("反向传播也要除以 √d_k。", "The backward pass needs the division by √d_k, too."),
    "values-untransposed": ("dV 要用 weights 的转置。", "dV needs the transpose of the weights."),
    "key-path-forgotten": ("dx 少了键这条路：x 一身三职，三条路相加。", "dx lacks the path through the keys: x played three roles, and three paths add up."),
    "paths-overwritten": ("dx 只剩下最后一条路：要 +=，不要 =。", "Only the last path is left of dx: it is +=, not =."),
    "bias-forgotten": ("偏置的梯度是 0？dout 一类的梯度要对 N 和 L 求和。", "The gradients of the biases are 0? Sum over N and L."),
}
BACKWARD_OUT = (("dx", "N L D"), *((f"d{name}", "D D" if name[0] == "W" else "D") for name in NAMES))


def _flat(answer):
    """dx and the dictionary as one tuple; a Remark if it is nothing of the kind."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or not isinstance(answer[1], dict):
        if answer is None or answer is Ellipsis or (isinstance(answer, tuple) and any(a is Ellipsis for a in answer)):
            return compare(answer if not isinstance(answer, tuple) else ..., 0, "dx, dp")
        return Remark(Words("应返回 dx 和一个字典 dp。", "Return dx and a dictionary dp."),
                      Words("dp 的键和 p 的一样：W_Q, b_Q, …", "dp has the names of p: W_Q, b_Q, …"))
    missing = [name for name in NAMES if name not in answer[1]]
    if missing:
        return Remark(Words(f"dp 里少了 {'、'.join(missing)}。", f"dp lacks {', '.join(missing)}."))
    return (answer[0], *(answer[1][name] for name in NAMES))


def _backward_outcome(answer, expected, **tolerance):
    flat = _flat(answer)
    return flat if isinstance(flat, Remark) else outcome(flat, expected, BACKWARD_OUT, **tolerance)


def _engine_backward(x, p, H, mask, dout):
    mha = _layer(x, p, H)
    mha(x, mask=mask)
    dx = mha.backward(dout)
    projs = dict(zip("QKVO", (mha.query_proj, mha.key_proj, mha.value_proj, mha.output_proj), strict=True))
    return (dx, *(projs[name[2]].grads[name[0]] for name in NAMES))


def _torch_gradients(learner):
    expected = TORCH["dx"], *(TORCH[f"d{name}"] for name in NAMES)
    return _backward_outcome(learner(X, P, HEADS, MASK, DOUT), expected, atol=1e-5)


def _random_gradients(learner):
    for seed, causal in ((1, True), (2, False)):
        rng = draws(seed)
        x, p, H, mask = _case(rng, causal=causal)
        dout = rng.standard_normal(x.shape)
        found = _backward_outcome(learner(x, p, H, mask, dout), _engine_backward(x, p, H, mask, dout))
        if found:
            return found
    return None


def _slope(learner):
    """All gradients at once along one random direction, held against the reference forward, by the complex step."""
    rng = draws(7)
    x, p, H, mask = _case(rng)
    dout, way = rng.standard_normal(x.shape), {name: rng.standard_normal(a.shape) for name, a in {**p, "x": x}.items()}
    flat = _flat(learner(x, p, H, mask, dout))
    if isinstance(flat, Remark):
        return flat
    found = outcome(flat, (x, *(p[name] for name in NAMES)), BACKWARD_OUT, atol=np.inf)
    if found:
        return found
    h = 1e-5
    up, down = (forward(x + s * h * way["x"], {n: a + s * h * way[n] for n, a in p.items()}, H, mask)[0] for s in (1, -1))
    slope = np.sum(flat[0] * way["x"]) + sum(np.sum(d * way[name]) for d, name in zip(flat[1:], NAMES, strict=True))
    return compare(slope, np.sum(dout * (up - down)) / (2 * h), "dLoss", atol=1e-3, rtol=1e-5)


def _same_values(learner):
    """Where all values are alike it makes no difference whom one looks at: W_Q and W_K have gradient 0."""
    x, p, H, mask = _case(draws(8))
    p["W_V"] = 0 * p["W_V"]
    flat = _flat(learner(x, p, H, mask, draws(9).standard_normal(x.shape)))
    if isinstance(flat, Remark):
        return flat
    for name in ("W_Q", "W_K"):
        found = compare(flat[1 + NAMES.index(name)], 0 * p[name], f"d{name} (W_V = 0)", "D D", atol=1e-9)
        if found:
            return found
    return None


BACKWARD_MISTAKES = (
    *(Mistake(BACKWARD_BUGS[name], *words) for name, words in BACKWARD_WORDS.items()),
    Mistake(lambda x, p, H, mask, dout: backward(x, p, H, mask, dout, scale=H / x.shape[-1]), "除了两次 √d_k：只除一次。", "Divided by √d_k twice; once is right."),
)
EXERCISES = (
    Exercise("masked-softmax", "14", Words("带掩码的 softmax。", "Softmax with a mask."),
             (golden(SMALL, masked_softmax(*SMALL), SHARES), random_case(_scores, masked_softmax, MANY_SHARES),
              CheckStage(Words("分数很大", "large scores"), _large), CheckStage(INVARIANT, _hidden_scores_do_not_matter)),
             masked_softmax, MASKED_MISTAKES, arguments="scores, mask"),
    Exercise("mha-forward", "14", Words("多头注意力的前向：拆分、掩码、合并、W_O、偏置。", "Multi-head attention forward: split, mask, merge, W_O, biases."),
             (golden((X, P, HEADS, MASK), (TORCH["out"], TORCH["weights"]), OUTPUTS, TORCH_TITLE, atol=1e-5),
              random_case(_case, _engine, OUTPUTS), CheckStage(CAUSAL, _causal), CheckStage(INVARIANT, _permuted)),
             forward, FORWARD_MISTAKES, arguments="x, p, H, mask"),
    Exercise("mha-backward", "14", Words("多头注意力的反向传播：dx 和八个参数的梯度。", "Multi-head attention backward: dx and the gradients of eight parameters."),
             (CheckStage(TORCH_TITLE, _torch_gradients), CheckStage(RANDOM, _random_gradients), CheckStage(GRADIENT, _slope), CheckStage(INVARIANT, _same_values)),
             backward, BACKWARD_MISTAKES, arguments="x, p, H, mask, dout"),
)
