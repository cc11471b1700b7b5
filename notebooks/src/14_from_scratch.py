# %% [markdown]
# # 14 · 手撕多头注意力 · Multi-head attention from scratch
#
# **目标**：从一个空白的函数开始，写出整个多头注意力：前向和反向传播，掩码、W_O、偏置一样不少；用 PyTorch 的数检验它，用它训练一个小模型，再认出它最容易犯的错误。
#
# **Goal**: write all of multi-head attention from an empty function, forward and backward, with masks, W_O and biases; check it with PyTorch's numbers, train a small model with it, and recognise the bugs that it gets most easily.
#
# *约 90 分钟 · about 90 minutes; runs in 30 s*
#
# 分三步，每一步都有检查。参数放在一个字典 `p` 里：`p["W_Q"]` (D, D)、`p["b_Q"]` (D,)，还有 K、V、O。
#
# Three stages, each with its check. The parameters are in a dictionary `p`: `p["W_Q"]` (D, D), `p["b_Q"]` (D,), and so on for K, V and O.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.course import capstone

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 一张图 · The picture
#
# 要写的就是这条流水线，从左到右，再从右到左。
#
# This is the pipeline to be written, left to right, and then right to left.

# %%
na.plot_walkthrough(na.worked_example("by-hand").trace(), lang="both")

# %% [markdown]
# | 名字 name | 形状 shape | 怎么来 how |
# |---|---|---|
# | `x` | (N, L, D) | |
# | `Q`, `K`, `V` | (N, H, L, d_k) | $xW + b$, split |
# | `scores` | (N, H, L, L) | $QK^\top/\sqrt{d_k}$ |
# | `weights` | (N, H, L, L) | masked softmax |
# | `concat` | (N, L, D) | merge(weights V) |
# | `out` | (N, L, D) | $\mathrm{concat}\,W_O + b_O$ |
#
# ## 第一步：带掩码的 softmax · Stage 1: softmax with a mask
#
# `mask` 是布尔表，True 表示可以看。分数可能很大；有的行可能什么都不许看，那一行全部是 0，不能出 NaN。
#
# `mask` is boolean, True means may look. Scores may be large; a row may see nothing at all: then it is all 0, and there is no NaN.

# %% tags=["exercise"]
def masked_softmax(scores, mask):
    """scores (..., L, S), mask bool, broadcasts -> weights (..., L, S)"""
    return ...


course.check("masked-softmax", masked_softmax)

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("masked-softmax")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("masked-softmax")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def masked_softmax(scores, mask):
#     scores = np.where(mask, scores, -np.inf)
#     highest = scores.max(axis=-1, keepdims=True)
#     shares = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
#     total = shares.sum(axis=-1, keepdims=True)
#     return shares / np.where(total == 0, 1, total)
# ```
#
# </details>

# %% [markdown]
# ## 第二步：前向 · Stage 2: forward
#
# 检查：PyTorch 的 `nn.MultiheadAttention` 算出的数、随机的大小、因果性、置换等变。
#
# Checked against the numbers of PyTorch's `nn.MultiheadAttention`, at random sizes, for causality, and for permutation.

# %% tags=["exercise"]
def mha_forward(x, p, H, mask):
    """x (N, L, D), p: W_Q b_Q W_K b_K W_V b_V W_O b_O, H heads, mask (L, L) -> out (N, L, D), weights (N, H, L, L)"""
    out = ...
    weights = ...
    return out, weights


course.check("mha-forward", mha_forward)

# %% [markdown]
# *约 20 分钟，难度 ★★；卡住了就运行 `course.hint("mha-forward")`，再运行看下一条 · about 20 minutes, difficulty ★★; if stuck, run `course.hint("mha-forward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def mha_forward(x, p, H, mask):
#     N, L, D = x.shape
#
#     def split(x):
#         return x.reshape(N, L, H, D // H).transpose(0, 2, 1, 3)
#
#     Q, K, V = (split(x @ p["W_" + role] + p["b_" + role]) for role in "QKV")
#     scores = Q @ K.swapaxes(-1, -2) / np.sqrt(D // H)
#     scores = np.where(mask, scores, -np.inf)
#     highest = scores.max(axis=-1, keepdims=True)
#     shares = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
#     total = shares.sum(axis=-1, keepdims=True)
#     weights = shares / np.where(total == 0, 1, total)
#     concat = (weights @ V).transpose(0, 2, 1, 3).reshape(N, L, D)
#     return concat @ p["W_O"] + p["b_O"], weights
# ```
#
# </details>

# %% [markdown]
# ## 第三步：反向传播 · Stage 3: backward
#
# 前向的每一行，倒过来各一行。返回 dx 和一个字典 dp（键和 p 一样）。先猜：在固定的 x 和 dout 下，**b_K** 的梯度是多少？`"zero"`、`"small"` 还是 `"large"`？
#
# Each line of forward has its line, in reverse order. Return dx and a dictionary dp with the names of p. Predict first: how large is the gradient of **b_K**? `"zero"`, `"small"` or `"large"`?

# %% tags=["guess"]
guess = None

# %%
rng = np.random.default_rng(0)
p = {f"{kind}_{role}": rng.standard_normal((8, 8) if kind == "W" else 8) for role in "QKVO" for kind in "Wb"}
x, dout = rng.standard_normal((2, 2, 5, 8))
dx, dp = capstone.backward(x, p, 2, np.tri(5, dtype=bool), dout)
sizes = {name: float(np.abs(d).max()) for name, d in dp.items()}
course.predict("|db_K|", guess, "zero" if sizes["b_K"] < 1e-12 else sizes["b_K"])

# %%
print({name: f"{size:.1e}" for name, size in sizes.items()})
assert sizes["b_K"] < 1e-12 < sizes["b_Q"]

# %% [markdown]
# 零（只剩舍入误差）：b_K 给一个查询的**所有**分数加上同一个数 q · b_K，而 softmax 只看行内的差。所以 b_K 什么也不改变（用 RoPE 时就不是了：每个位置转得不一样），有的模型干脆不要它。
#
# Zero, but for rounding: b_K adds the same number, q · b_K, to **all** scores of a query, and softmax sees only the differences in a row. So b_K changes nothing (with rotary positions it would: each place turns it differently), and some models leave it out.

# %% tags=["exercise"]
def mha_backward(x, p, H, mask, dout):
    """as for mha_forward, and dout (N, L, D) -> dx (N, L, D), dp: the gradients under the names of p"""
    dx = ...
    dp = ...
    return dx, dp


course.check("mha-backward", mha_backward)

# %% [markdown]
# *约 45 分钟，难度 ★★★；卡住了就运行 `course.hint("mha-backward")`，再运行看下一条 · about 45 minutes, difficulty ★★★; if stuck, run `course.hint("mha-backward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def mha_backward(x, p, H, mask, dout):
#     N, L, D = x.shape
#
#     def split(x):
#         return x.reshape(N, L, H, D // H).transpose(0, 2, 1, 3)
#
#     def merge(heads):
#         return heads.transpose(0, 2, 1, 3).reshape(N, L, D)
#
#     Q, K, V = (split(x @ p["W_" + role] + p["b_" + role]) for role in "QKV")
#     _, weights = mha_forward(x, p, H, mask)
#     concat = merge(weights @ V)
#     dp = {"W_O": np.einsum("nli,nlj->ij", concat, dout), "b_O": dout.sum(axis=(0, 1))}
#     dheads = split(dout @ p["W_O"].T)
#     dV = weights.swapaxes(-1, -2) @ dheads
#     dweights = dheads @ V.swapaxes(-1, -2)
#     dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True)) / np.sqrt(D // H)
#     dQ, dK = dscores @ K, dscores.swapaxes(-1, -2) @ Q
#     dx = 0
#     for role, d in (("Q", dQ), ("K", dK), ("V", dV)):
#         d = merge(d)
#         dp["W_" + role] = np.einsum("nli,nlj->ij", x, d)
#         dp["b_" + role] = d.sum(axis=(0, 1))
#         dx = dx + d @ p["W_" + role].T
#     return dx, dp
# ```
#
# </details>

# %% [markdown]
# ## 用你的层训练 · Train with your layer
#
# 检查都通过以后，下面训练的就是**你写的层**；在那之前用参考答案代替。任务：倒序，一层四个头。先猜：多少步学到 99%？
#
# Once your checks pass, it is **your layer** that is trained here; until then the reference stands in. The task is reversal, with one layer of four heads. Predict: how many steps to 99 %?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
mine = course.check("mha-forward", mha_forward).ok and course.check("mha-backward", mha_backward).ok
functions = (mha_forward, mha_backward) if mine else (capstone.forward, capstone.backward)
task = na.training.task("reverse")
run = na.training.train(task, capstone.model_with(task, *functions), steps=200, stop_at=0.99, measure_every=10, progress=False)
print("your layer 你的层" if mine else "the reference 参考答案", f"正确率 accuracy {run.accuracy:.2f}")
course.predict("steps", guess, run.step)

# %% tags=["experiment"]
assert run.accuracy >= 0.99

# %% [markdown]
# ## 意外：这些错误，训练会发现吗？ · A surprise: does training notice these?
#
# 下面是这两个函数里最常见的错误。每一个都种进去，看三样：检查抓到没有、说对了没有、训练 150 步还能不能到 99%（倒序没有掩码，所以掩码的错误不看训练）。先猜：11 个里有几个训练发现不了？
#
# Here are the commonest bugs of these two functions. Plant each, and see: does the check catch it, does it name it, and does training still reach 99 % in 150 steps? (Reversal has no mask, so bugs of the mask are not trained.) Predict: how many of the 11 does training not notice?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
unnoticed = []
for bug, broken in {**capstone.FORWARD_BUGS, **capstone.BACKWARD_BUGS}.items():
    forwards = bug in capstone.FORWARD_BUGS
    verdict = course.check("mha-forward" if forwards else "mha-backward", broken)
    trained = ""
    if "mask" not in bug and "causal" not in bug:
        pair = (broken, capstone.backward) if forwards else (capstone.forward, broken)
        reached = na.training.train(task, capstone.model_with(task, *pair), steps=150, stop_at=0.99, progress=False).accuracy
        unnoticed += [bug] if reached >= 0.99 else []
        trained = f"练到 trains to {reached:.2f}"
    print(f"{bug:24} {'没抓到 missed' if verdict.ok else '抓到 caught'}  {trained:16} {verdict.hint.say(course.language())}")
    assert not verdict.ok
course.predict("训练发现不了 not noticed by training", guess, len(unnoticed))

# %% tags=["experiment"]
assert len(unnoticed) >= 6

# %% [markdown]
# 检查把它们全部抓到，还叫得出名字；训练放过了一大半。**手撕完了，先检查，再训练。**
#
# The checks catch all of them, by name; training lets most of them pass. **Written by hand? Check first, train later.**
#
# ## 二十分钟版 · The 20-minute version
#
# 面试里的「手撕」一般只要前向。关掉提示，给自己 20 分钟，从空白开始写，边写边说：
#
# 1. 先说形状：x (N, L, D) → (N, H, L, d_k) → 分数 (N, H, L, L) → (N, L, D)。（2 分钟）
# 2. 写 Q、K、V 的投影和拆分，说出「只 reshape 不 transpose 会把数字给错头」。（5 分钟）
# 3. 写分数、÷ √d_k、掩码（softmax 之前，−∞）、减最大值的 softmax。（6 分钟）
# 4. 写合并和 W_O。（3 分钟）
# 5. 自己测：每行之和是 1；改一个未来的词元，过去的输出不变；没有掩码时置换等变。（4 分钟）
#
# In an interview "write attention by hand" mostly means forward. No hints, 20 minutes, an empty function, and talk while you write: 1. the shapes (2 min); 2. projections and the split, and what reshape without transpose would do (5 min); 3. scores, ÷ √d_k, the mask before the softmax, the maximum subtracted (6 min);
# 4. merge and W_O (3 min); 5. test it yourself: row sums, change a token of the future, permute without a mask (4 min).
#
# 常见的追问：复杂度？参数量？KV 缓存怎么加？换成 GQA 改哪一行？答案在「面试」那一本里。
#
# The usual follow-up questions (complexity, parameters, a KV cache, which line changes for GQA) are answered in the notebook "interview".

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 写完以后，你怎么在两分钟里让面试官相信它是对的？写在下面一格里，再展开参考答案。
#
# You have written it. How do you convince an interviewer within two minutes that it is right? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 先说形状；再当场做三个小检查：权重每行之和是 1，改最后一个词元时前面的输出不变，没有掩码时打乱词元输出跟着打乱。反向传播就和一个随机方向的中心差分比。最后说出这些检查看不见什么：比如少了 √d_k，前三个都看不见，要有参考数值。
#
# State the shapes; then run three small checks: rows of weights sum to 1, changing the last token leaves earlier outputs alone, and without a mask shuffled tokens give shuffled outputs. Hold backward against central differences in one random direction. Then say what these do not see: a missing √d_k passes the first three, and takes golden numbers.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 我手写过多头注意力的前向和反向传播，和 PyTorch 的 `nn.MultiheadAttention` 对到小数点后六位，梯度检查、因果性、置换等变都通过。
# 2. 反向传播里最容易错的三处：softmax 少了行内求和、忘了再除一次 √d_k、dx 要把查询、键、值三条路加起来。
# 3. 普通的层里（没有 RoPE、softcap 和额外的键）b_K 的梯度恒为零：它给一行的所有分数加同一个数，softmax 看不见，所以键的偏置可以不要。
#
# 1. I have written multi-head attention by hand, forward and backward, and it agrees with PyTorch's `nn.MultiheadAttention` to six decimals and passes gradient check, causality and permutation.
# 2. The three places where backward goes wrong most easily: the row term of the softmax, the second division by √d_k, and the three paths that add up in dx.
# 3. In a plain layer (without rotary positions, softcap and extra keys) the gradient of b_K is zero: it adds one number to all scores of a row, which softmax cannot see, so the keys need no bias.
