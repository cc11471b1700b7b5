# %% [markdown]
# # 02 · 手推反向传播 · Backward by hand
#
# **目标**：从输出的梯度出发，一步一步走回 dQ、dK、dV，每一步都知道形状，也说得出一句话的理由。
#
# **Goal**: walk from the gradient of the output back to dQ, dK and dV, knowing the shape and the reason of every step.
#
# *约 40 分钟 · about 40 minutes; runs in 5 s*
#
# 数字还是第 01 课的那一套：**我 爱 AI**，3 × 4 的 Q、K、V。
#
# The numbers are those of lesson 01: **我 爱 AI** with its 3 × 4 tables Q, K and V.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.walkthrough.text import step_text

np.set_printoptions(precision=4, suppress=True)
example = na.worked_example("by-hand")
trace = example.trace()
Q, K, V, weights, dheads = (trace[name].value for name in ("Q", "K", "V", "weights", "dheads"))

# %% [markdown]
# ## 只要两条规则 · Two rules are all there is
#
# 损失 Loss 是一个数。`dX` 的每个数是一个比：X 的那个数变大一点点时，Loss 的变化是它的多少倍。X 有几个数，dX 就有几个，所以 **dX 的形状和 X 一样**。
#
# The loss is one number. Each number of `dX` is a ratio: the change of the loss over a small change of that number of X. So **dX has the shape of X**.
#
# | 前向 forward | 反向传播 backward |
# |---|---|
# | $C = AB$ | $dA = dC\,B^\top,\quad dB = A^\top dC$ |
# | $p = \mathrm{softmax}(s)$, row by row 逐行 | $ds = p \circ (dp - \sum p \circ dp)$ |
#
# 第一条不用背：几个大小都不相同时，只有这一种转置能让形状对上。要当心的是我们的例子：L = S = 3，`weights @ dheads` 形状也对，数字却是错的。第二条我们自己推。
#
# You need not memorise the first: where all sizes differ, only this way of transposing makes the shapes fit. Beware of our example, in which L = S = 3:
# `weights @ dheads` has the right shape and the wrong numbers. The second we derive ourselves.
#
# 反向传播从 `dheads` 开始，它来自后面的层。我们的每一行只有一个 1，这样一眼就能看出它流到了哪里。
#
# The backward pass begins with `dheads`, which comes from the layers behind. Ours has a single 1 in each row, so that you can
# see where it flows.

# %%
print(step_text(trace, "dheads", lang="both"))

# %% [markdown]
# ## 第一步：heads = weights V · Step 1
#
# 用第一条规则两次。值 j 被每个查询看过，所以 dV 要把所有查询的梯度按份额收集起来：转置就是「反过来收集」。
#
# The first rule, twice. Value j was seen by every query, so dV collects their gradients in the same shares: the transpose
# reads the table of weights the other way round.

# %%
print(step_text(trace, "dV", lang="both"), end="\n\n")
print(step_text(trace, "dweights", lang="both"))

# %% [markdown]
# ## 第二步：穿过 softmax · Step 2: through the softmax
#
# 一行 softmax 有三个输入、三个输出。改变一个分数，三个权重都会变，所以导数是一张 3 × 3 的表，叫**雅可比矩阵**：$J = \mathrm{diag}(p) - p\,p^\top$，其中 $p$ 是这一行权重。「我」那一行：
#
# A row of softmax has three inputs and three outputs. Move one score and all three shares move, so its derivative is a
# 3 × 3 table, the **Jacobian** $J = \mathrm{diag}(p) - p\,p^\top$, where $p$ is the row of weights. For row 我:

# %%
p = weights[0]
jacobian = np.diag(p) - np.outer(p, p)
print(jacobian)
print("row sums 每行的和:", jacobian.sum(axis=-1).round(12) + 0)

# %% [markdown]
# 先猜：`dscores` 的每一行加起来是多少？（提示：份额之和永远是 1，一份变大，别的就得变小。）
#
# Predict: what does each row of `dscores` sum to? (Shares always sum to 1: one can only grow at the others' cost.)

# %% tags=["guess"]
guess = None

# %%
row_sums = trace["dscores"].value.sum(axis=-1).round(12) + 0
assert not row_sums.any() and np.allclose(weights.sum(axis=-1), 1)
course.predict("Σ dscores", guess, row_sums)

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 写 softmax 的反向传播，**用完整的雅可比矩阵**，一行一行地算：`dscores[i] = J @ dweights[i]`。
#
# Write the backward pass of softmax **with the full Jacobian**, row by row: `dscores[i] = J @ dweights[i]`.

# %% tags=["exercise"]
def softmax_backward_jacobian(weights, dweights):
    """(L, S), (L, S) -> dscores (L, S)"""
    return ...


course.check("softmax-backward-jacobian", softmax_backward_jacobian)

# %% [markdown]
# *约 10 分钟，难度 ★★；卡住了就运行 `course.hint("softmax-backward-jacobian")`，再运行看下一条 · about 10 minutes, difficulty ★★; if stuck, run `course.hint("softmax-backward-jacobian")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def softmax_backward_jacobian(weights, dweights):
#     dscores = np.empty_like(weights)
#     for i, p in enumerate(weights):
#         J = np.diag(p) - np.outer(p, p)
#         dscores[i] = J @ dweights[i]
#     return dscores
# ```
#
# </details>

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 把 $J$ 乘进去：不用建矩阵，一行就够。
#
# $$(\mathrm{diag}(p) - p\,p^\top)\,d = p \circ d - p\,(p \cdot d) = p \circ (d - p \cdot d)$$
#
# Multiply $J$ out, as above: no matrix is needed, one line will do.
#
# 这一次要对任何形状 (..., S) 都成立，比如 (N, H, L, S)。
#
# This time it has to work for any shape (..., S), such as (N, H, L, S).

# %% tags=["exercise"]
def softmax_backward(weights, dweights):
    """(..., S), (..., S) -> dscores (..., S)"""
    return ...


course.check("softmax-backward", softmax_backward)

# %% [markdown]
# *约 10 分钟，难度 ★★；卡住了就运行 `course.hint("softmax-backward")`，再运行看下一条 · about 10 minutes, difficulty ★★; if stuck, run `course.hint("softmax-backward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def softmax_backward(weights, dweights):
#     return weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
# ```
#
# </details>

# %% [markdown]
# 两种写法差多少时间？一行 512 个键，雅可比矩阵就有 512 × 512 个数：
#
# How long do the two take? With 512 keys in a row, the Jacobian holds 512 × 512 numbers:

# %% tags=["varies", "experiment"]
from time import perf_counter


def with_jacobian(weights, dweights):
    return np.array([(np.diag(p) - np.outer(p, p)) @ d for p, d in zip(weights, dweights)])


def one_line(weights, dweights):
    return weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))


big = na.Softmax()(np.random.default_rng(0).standard_normal((64, 512)))
dbig = np.random.default_rng(1).standard_normal((64, 512))
for function in (with_jacobian, one_line):
    times = []
    for _ in range(5):
        start = perf_counter()
        function(big, dbig)
        times.append(perf_counter() - start)
    print(f"{function.__name__:14} {1000 * np.median(times):8.2f} ms")

# %% [markdown]
# 回到我们的例子：
#
# Back to our example:

# %%
print(step_text(trace, "dscores", lang="both"))

# %% [markdown]
# ## 第三步：scores = Q Kᵀ / √d_k · Step 3
#
# 除法原样还回来：再除一次 √d_k。然后第一条规则再用两次。
#
# The division comes back as it was: divide by √d_k again. Then the first rule, twice more.

# %%
for name in ("dproduct", "dQ", "dK"):
    print(step_text(trace, name, lang="both"), end="\n\n")

# %% [markdown]
# ## 一张图 · The picture
#
# 上面是前向，从左到右；下面是反向传播，从右到左。**每个梯度正好在它自己的矩阵下面，形状相同。**
#
# Forward on top, left to right; backward below, right to left. **Each gradient stands right below its own matrix and has
# its shape.**

# %%
na.plot_walkthrough(trace, lang="both")

# %% [markdown]
# ### 练习三 · Exercise 3
#
# 现在写出整个反向传播。前向的每一步都有一行，反向传播把它们倒过来。
#
# Now write the whole backward pass. Every step of forward has its line, in reverse order.

# %% tags=["exercise"]
def attention_backward(Q, K, V, dheads):
    """(L, d_k), (S, d_k), (S, d_v), (L, d_v) -> dQ (L, d_k), dK (S, d_k), dV (S, d_v)"""
    dQ = ...
    dK = ...
    dV = ...
    return dQ, dK, dV


course.check("attention-backward", attention_backward)

# %% [markdown]
# *约 25 分钟，难度 ★★；卡住了就运行 `course.hint("attention-backward")`，再运行看下一条 · about 25 minutes, difficulty ★★; if stuck, run `course.hint("attention-backward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def attention_backward(Q, K, V, dheads):
#     scale = 1 / np.sqrt(Q.shape[-1])
#     weights = na.Softmax()(Q @ K.T * scale)
#     dV = weights.T @ dheads
#     dweights = dheads @ V.T
#     dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
#     dQ = dscores @ K * scale
#     dK = dscores.T @ Q * scale
#     return dQ, dK, dV
# ```
#
# </details>

# %% [markdown]
# ## 意外 · A surprise
#
# 如果三个值完全一样（三个人说同样的话），dQ 会有多大？先猜：`"large"`、`"small"` 还是 `"zero"`？
#
# Suppose all three values are the same: everybody says the same thing. How large is dQ then? Guess `"large"`, `"small"` or
# `"zero"`.

# %% tags=["guess"]
guess = None

# %%
attention = na.ScaledDotProductAttention()
attention(Q, K, np.repeat(V[:1], 3, axis=0))
dQ, dK, dV = attention.backward(dheads)
largest = float(max(np.abs(dQ).max(), np.abs(dK).max()))
course.predict("max |dQ|, |dK|", guess, next(word for word, bound in (("zero", 1e-15), ("small", 0.01), ("large", 9)) if largest < bound))

# %% [markdown]
# 看谁都一样，就没有理由去学看谁。还有一个同样道理的陷阱：用 Loss = Σ weights 来测试反向传播。
#
# If it makes no difference whom you look at, there is nothing to learn about looking. There is a trap of the same kind:
# testing a backward pass with Loss = Σ weights.

# %%
softmax = na.Softmax()
p, ones = softmax(trace["scores"].value), np.ones((3, 3))
right = softmax.backward(ones)
assert np.abs(right).max() < 1e-15
wrong = {"always 0 永远返回零": 0 * p, "wrong sign 符号反了": -right, "twice as large 大了一倍": 2 * right, "no row term 少了那一行的和": p * ones,
         "diagonal only 只用对角线": p * (1 - p) * ones}
for bug, dscores in wrong.items():
    print(f"{bug}: {'passes 通过了' if np.allclose(dscores, right) else 'is caught 被抓到'}")

# %% [markdown]
# 不管分数是多少，每一行权重之和都是 1，Loss 是常数，正确的梯度全是零：**返回零、符号反了、大了一倍，都能通过。** 只有把本该是零的地方算成了别的数，才会露馅。所以第 03 课用随机的上游梯度。
#
# Each row of weights sums to 1 whatever the scores are, so this loss is constant and its right gradient zero: **plain zeros, a wrong sign and a wrong factor
# all pass.** Only what should be zero and is not gets caught. That is why lesson 03 uses a random upstream gradient.

# %% [markdown]
# ## 用它来学习 · Learning with it
#
# 让「我」学会看「爱」，而不是 AI：目标是 heads[我] = V[爱]，损失是差的平方的一半，所以 dheads 就是这个差。只用梯度下降更新 Q。
# 你的 `attention_backward` 通过检查以后，这里用的就是它；在那之前先用程序包的。
#
# Let 我 learn to look at 爱 instead of AI: its answer should become V[爱]. The loss is half the squared difference, so dheads
# is the difference itself. Only Q learns, by plain gradient descent. Once your `attention_backward` passes its check, it
# is the one that is used here; until then the package's stands in.
#
# 先猜：60 步以后，「我」分给「爱」的权重是多少？（现在是 0.2447。）
#
# Predict: which weight does 我 give to 爱 after 60 steps? (It begins with 0.2447.)

# %% tags=["guess"]
guess = None

# %%
def package_backward(Q, K, V, dheads):
    attention(Q, K, V)
    return attention.backward(dheads)


backward = attention_backward if course.check("attention-backward", attention_backward) else package_backward
learned = Q.copy()
for step in range(61):
    heads = attention(learned, K, V)
    difference = np.zeros((3, 4))
    difference[0] = heads[0] - V[1]
    if step % 20 == 0:
        print(f"step {step:2}  loss {0.5 * (difference ** 2).sum():.4f}  weights[我] = {attention.weights[0]}")
    dQ, dK, dV = backward(learned, K, V, difference)
    learned = learned - 2.0 * dQ

assert attention.weights[0, 1] > 0.5
course.predict("weights[我, 爱]", guess, float(attention.weights[0, 1]))

# %% [markdown]
# 没有自动求导，没有框架：三行公式就让「我」换了一个注意的对象。注意方向：dQ 指向损失**变大**的一边，更新减去它，所以是 **−dQ** 让「我」的查询朝「爱」的键移动。
#
# No automatic differentiation, no framework: three lines of formulas made 我 attend to something else. Mind the direction: dQ points to where the loss
# **grows**, and the update subtracts it. It is a step along **−dQ** that moves 我's query towards the key of 爱.

# %% [markdown]
# ## 谜题 · A puzzle
#
# 让 dQ 全是零，而 dV 不是：该改哪些数？想好了，去掉下面的 `#` 再运行；或者在终端里输入 `python -m numpy_attention page --puzzle 9`。反过来的是谜题 10。
#
# Make dQ zero everywhere, and dV not: which numbers would you change? Then remove the `#` below and run the cell, or type `python -m numpy_attention page --puzzle 9` in a terminal. Puzzle 10 is the other way round.

# %%
# course.puzzle(9)

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 为什么 dV 要用 weights 的**转置**？别说「为了形状对上」，说它收集的是什么。写在下面一格里，再展开参考答案。
#
# Why does dV take the **transpose** of weights? Do not say "to make the shapes fit"; say what it collects. Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 前向里查询 i 按 weights[i, j] 用了值 j。所以值 j 变一点，每个查询 i 的结果都变 weights[i, j] 那么多；值 j 的梯度要把所有查询的梯度按这些份额加起来，也就是读 weights 的第 j 列：转置的第 j 行。
#
# Forward, query i used value j in the share weights[i, j]. So if value j moves, the result of each query i moves by that share; the gradient of value j adds up all queries' gradients in these shares. That reads column j of weights, which is row j of its transpose.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 矩阵乘法 $C = AB$ 的反向传播是 $dA = dC\,B^\top$、$dB = A^\top dC$；注意力里有两次乘法，所以用两遍，再加上 softmax 和 1/√d_k。
# 2. softmax 的反向传播是 $p \circ (d - \sum p \circ d)$，不用建雅可比矩阵；每一行的分数梯度之和为 0，因为份额此消彼长。
# 3. 测试反向传播时上游梯度要随机：全 1 会让 softmax 的正确梯度恒为零，返回零、写错符号或倍数都查不出来。
#
# 1. For $C = AB$, $dA = dC\,B^\top$ and $dB = A^\top dC$. Attention has two products, so the rule is used twice, with the softmax and
#    the factor 1/√d_k in between.
# 2. Softmax backward is $p \circ (d - \sum p \circ d)$, without ever building the Jacobian. Each row of score gradients sums to 0,
#    because shares compete.
# 3. Test a backward pass with a random upstream gradient: with ones the softmax's right gradient is zero, and plain zeros, a wrong sign
#    or a wrong factor do not show.
