# %% [markdown]
# # 04 · 为什么除以 √d_k · Why the square root
#
# **目标**：用实验回答除以 √d_k 到底防住了什么，以及在什么条件下不除也行。
#
# **Goal**: find out by experiment what dividing by √d_k prevents, and under which conditions one gets away without it.
#
# *约 30 分钟 · about 30 minutes; runs in 30 s*
#
# 这一课的数字：随机的查询和键，每个数的平均是 0，标准差是 1，键一共 16 个。
#
# The numbers of this lesson: random queries and 16 random keys, with mean 0 and standard deviation 1.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

rng = np.random.default_rng(0)
softmax = na.Softmax()


def draw(d_k, L=2000, S=16):
    return rng.standard_normal((L, d_k)), rng.standard_normal((S, d_k))


# %% [markdown]
# ## 点积有多大？ · How large is a dot product?
#
# 点积是 $d_k$ 个乘积的和。各数彼此独立、均值 0、方差 1 时，每个乘积的方差是 1，所以 $\mathrm{Var}(q \cdot k) = d_k$，**标准差是 $\sqrt{d_k}$**。刚初始化时差不多就是这样；不信就量一量：
#
# A dot product is a sum of $d_k$ products. If the numbers are independent with mean 0 and variance 1, each product has variance 1, so $\mathrm{Var}(q \cdot k) = d_k$ and the **standard deviation is $\sqrt{d_k}$**. That is about how training
# starts. Measure it:

# %%
for d_k in (1, 16, 256):
    q, k = rng.standard_normal((2, 100_000, d_k))
    variance = (q * k).sum(axis=-1).var()
    print(f"d_k = {d_k:3}: variance of q·k = {variance:6.1f}")
    assert abs(variance / d_k - 1) < 0.05

# %% [markdown]
# ## softmax 会饱和 · Softmax saturates
#
# 16 个键，d_k = 64。先猜：不除的话，每一行最大的权重平均是多少？除以 8 以后呢？（平均分是 1/16 ≈ 0.06。）
#
# 16 keys and d_k = 64. Predict: how large is the top weight of a row on average, without the division? And with it? (All alike
# would be 1/16 ≈ 0.06.)

# %% tags=["guess"]
guess_without = None
guess_with = None

# %%
Q, K = draw(64)
scores = Q @ K.T
without, divided = softmax(scores).max(axis=-1).mean(), softmax(scores / 8).max(axis=-1).mean()
print(f"1/16 = {1 / 16:.2f}")
course.predict(("不除 without", guess_without, round(float(without), 2)), ("除以 √64 divided", guess_with, round(float(divided), 2)))

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 把这个测量写成函数：Q (L, d_k)，K (S, d_k)，一个乘数 `scale`；返回每行最大权重的平均。
#
# Write this measurement as a function of Q (L, d_k), K (S, d_k) and a factor `scale`: the mean over rows of the top weight.

# %% tags=["exercise"]
def mean_top_weight(Q, K, scale):
    return ...


course.check("mean-top-weight", mean_top_weight)

# %% [markdown]
# *约 5 分钟，难度 ★；卡住了就运行 `course.hint("mean-top-weight")`，再运行看下一条 · about 5 minutes, difficulty ★; if stuck, run `course.hint("mean-top-weight")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def mean_top_weight(Q, K, scale):
#     weights = na.Softmax()(Q @ K.T * scale)
#     return weights.max(axis=-1).mean()
# ```
#
# </details>

# %% [markdown]
# ## 一张图 · The picture
#
# 同一个查询的 16 个权重，从大到小排好。不除的时候，d_k 越大，越只剩一个键；除了以后，形状不随 d_k 变。
#
# The 16 weights of a query, sorted, averaged over many queries. Without the division a single key is left as d_k grows; with
# it, the shape does not depend on d_k.

# %%
rows, names = [], []
for divide in (False, True):
    for d_k in (4, 16, 64, 256, 1024):
        Q, K = draw(d_k, L=300)
        weights = softmax(Q @ K.T / (np.sqrt(d_k) if divide else 1))
        rows.append(np.sort(weights, axis=-1)[:, ::-1].mean(axis=0)[:8])
        names.append(f"{'÷ √d_k' if divide else 'no scale'}   d_k = {d_k}")

course.table(rows, names, [f"{i}." for i in range(1, 9)], title="最大的 8 个权重 · The 8 largest of 16 weights",
             alt=f"Sorted attention weights for d_k from 4 to 1024. Without a scale the largest grows from {rows[0][0]:.2f} "
                 f"to {rows[4][0]:.2f}; divided by √d_k it stays near {rows[5][0]:.2f}.")

# %%
print({name: round(float(row[0]), 2) for name, row in zip(names, rows)})
top = dict(zip(names, (row[0] for row in rows)))
assert top["no scale   d_k = 1024"] > 0.9
assert max(v for n, v in top.items() if n.startswith("÷")) - min(v for n, v in top.items() if n.startswith("÷")) < 0.06

# %% [markdown]
# ## 饱和了又怎样？ · So what?
#
# softmax 的反向传播是 $p \circ (d - \sum p \circ d)$。当 p 几乎是 0 0 1 0 …，这一行就几乎全是 0：分数往哪个方向改，损失都几乎不变。所以常有人说「梯度消失」。
# 可是分数的梯度还要往下传：$dQ = d\mathrm{scores}\,K \cdot \mathrm{scale}$。先猜：不除的时候，到达 Q 的梯度比除的时候大还是小？`"larger"` 还是 `"smaller"`？
#
# Softmax backward is $p \circ (d - \sum p \circ d)$. When p is nearly 0 0 1 0 …, that row is nearly zero: whichever way the scores move, the loss hardly changes. So it
# is often said that "the gradient vanishes". But the scores' gradient goes on: $dQ = d\mathrm{scores}\,K \cdot \mathrm{scale}$. Predict: without the division, is what arrives at Q
# larger or smaller than with it? `"larger"` or `"smaller"`?

# %% tags=["guess"]
guess = None

# %%
sizes = np.array([4, 16, 64, 256, 1024, 4096])
felt = {"no scale": [], "÷ √d_k": []}
arrives = {"no scale": [], "÷ √d_k": []}
for d_k in sizes:
    Q, K = draw(d_k)
    upstream = rng.standard_normal((len(Q), len(K)))
    for name, scale in (("no scale", 1), ("÷ √d_k", 1 / np.sqrt(d_k))):
        softmax(Q @ K.T * scale)
        dscores = softmax.backward(upstream)
        felt[name].append(np.abs(dscores).mean())
        arrives[name].append(np.abs(dscores @ K * scale).mean())

ratio = np.array(arrives["no scale"]) / np.array(arrives["÷ √d_k"])
course.predict("|dQ| 不除 without", guess, "larger" if ratio.min() > 1 else "smaller")

# %%
print("mean |dscores|", {name: [round(float(v), 4) for v in values] for name, values in felt.items()})
print("|dQ|, no scale over ÷ √d_k:", ratio.round(1))
course.curves(sizes, {"dscores, no scale": felt["no scale"], "dscores, ÷ √d_k": felt["÷ √d_k"], "dQ, no scale": arrives["no scale"],
                      "dQ, ÷ √d_k": arrives["÷ √d_k"]}, log="xy", xlabel="d_k", ylabel="mean |gradient|", limits=(1e-4, 1),
              title="分数的梯度变小，Q 的梯度反而更大 · The gradient of the scores shrinks, that of Q is larger",
              alt="Over d_k the gradient of the scores shrinks without the scale and stays level with it; that of Q is larger without the scale at every d_k.")

# %%
assert felt["no scale"][-1] < felt["no scale"][0] / 4
assert 0.8 < felt["÷ √d_k"][-1] / felt["÷ √d_k"][0] < 1.4
assert ratio.min() > 1.5
with np.errstate(over="ignore"):
    large = np.full(64, 40, np.float16)
    assert np.isinf(large @ large) and np.isfinite(large.astype(np.float32) @ large)

# %% [markdown]
# 所以准确的说法是「softmax **饱和**」：分数的梯度平均变小几倍，可是到达 Q 的反而更大，因为不除的时候，反向传播也少除了一次 √d_k。出问题的不是梯度太小，
# 而是每一行还没学就几乎已经选定了一个键，再加上大步更新，就更定了。也不要说「指数溢出」：那早就由「先减最大值」解决了（第 01 课）；只有 float16 里，q·k 本身可能就装不下。
#
# So the right word is that softmax **saturates**: on average the scores' gradient is some times smaller. Yet what arrives at Q is larger, since without the scale
# backward does not divide by √d_k either. What goes wrong is not too little gradient: each row has all but chosen its key before anything is learned, and large
# steps settle it further. Nor does the exponential overflow: subtracting the maximum took care of that (lesson 01); only in float16 may q·k itself be too large.

# %% [markdown]
# ### 谜题 · A puzzle
#
# 只拖动除数，让「我」的最大权重超过 99%。dscores 变成什么样？去掉下面的 `#` 再运行，或者在终端里输入 `python -m numpy_attention page --puzzle 6`。
#
# With the divisor alone, push 我's largest weight above 99 %. What becomes of dscores? Remove the `#` below and run the cell, or type `python -m numpy_attention page --puzzle 6` in a terminal.

# %%
# course.puzzle(6)

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 面试常追问：如果 q 和 k 的每个数标准差不是 1，而是 σ，分数该乘以多少，才能让标准差回到 1？
#
# A favourite follow-up question: if the numbers in q and k have standard deviation σ instead of 1, which factor brings that of the
# scores back to 1?

# %% tags=["exercise"]
def right_scale(d_k, sigma):
    return ...


course.check("right-scale", right_scale)

# %% [markdown]
# *约 10 分钟，难度 ★★；卡住了就运行 `course.hint("right-scale")`，再运行看下一条 · about 10 minutes, difficulty ★★; if stuck, run `course.hint("right-scale")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# 每个乘积的标准差是 σ²，d_k 个加起来是 σ² √d_k。
#
# Each product has standard deviation σ², the sum of d_k of them σ² √d_k.
#
# ```python
# def right_scale(d_k, sigma):
#     return 1 / (sigma**2 * np.sqrt(d_k))
# ```
#
# </details>

# %% [markdown]
# ## 意外：真的训练试试 · A surprise: train it
#
# 两个小任务，同样的小模型，d_k = 64，一次除，一次不除：
#
# - **倒序**：把字母倒着写出来（一层注意力）。
# - **归纳**：序列在重复，预测下一个字母（两层注意力要互相配合，第 09 课细讲）。
#
# Two toy tasks, the same small model with d_k = 64, with the division and without:
#
# - **reverse**: write the letters backwards (one layer of attention);
# - **induction**: the sequence repeats itself, predict the next letter (two layers work together; lesson 09).
#
# 先猜：学习率 0.01、150 步，不除的时候，哪个任务没有学会？`"reverse"`、`"induction"`、`"both"` 还是 `"none"`？
#
# Predict: at a rate of 0.01, in 150 steps, which task is not learned without the division? `"reverse"`, `"induction"`, `"both"` or `"none"`?

# %% tags=["guess"]
guess = None

# %% tags=["experiment"]
results = {}
for task in ("reverse", "induction"):
    for name, scale in (("÷ √d_k", None), ("no scale", 1.0)):
        runs = [na.training.train(task, steps=150, stop_at=0.99, seed=seed, d_k=64, scale=scale, progress=False)
                for seed in (0, 1)]
        results[task, name] = [run.accuracy for run in runs]
        learned = all(run.stopped == "learned" for run in runs)
        print(f"{task:10} {name:9} {'learned 学会了' if learned else 'not learned 没学会'}")

failed = [task for task in ("reverse", "induction") if max(results[task, "no scale"]) < 0.8]
course.predict("学不会的任务 not learned", guess, ", ".join(failed))

# %% [markdown]
# 倒序任务根本不在乎！那么归纳任务不除就**永远**学不会吗？别急着下结论，换两个条件再试：学习率降到三分之一、多练一会儿；或者学习率不变，只把 W_Q、W_K 的初值
# 各缩小到 $1/\sqrt8 = d_k^{-1/4}$，这样分数一开始就和除过一样大。
#
# Reversal does not care at all! Then is induction **never** learned without the scale? Try two other conditions before you say so: a third of the rate and more steps; or the same
# rate, with W_Q and W_K started at $1/\sqrt8 = d_k^{-1/4}$ of their size, so that scores begin as large as if they were divided.

# %% tags=["varies", "experiment"]
slower = [na.training.train("induction", steps=1200, stop_at=0.95, measure_every=100, seed=seed, d_k=64, scale=1.0, lr=0.01 / 3, progress=False)
          for seed in (0, 1)]
smaller = []
for seed in (0, 1):
    model = na.training.ToyModel(16, 20, layers=2, causal=True, d_k=64, scale=1.0, rng=[seed, 0])
    na.training.alter.start_smaller(model)
    smaller.append(na.training.train("induction", model, steps=300, stop_at=0.99, seed=seed, progress=False))

print("不除，学习率降到三分之一 no scale, a third of the rate:", *(f"{run.accuracy:.2f}, 步数 steps {run.step};" for run in slower))
print("不除，初值小 no scale, small start:", *(f"{run.accuracy:.2f}, 步数 steps {run.step};" for run in smaller))

# %% tags=["experiment"]
assert failed == ["induction"]
assert min(run.accuracy for run in slower) > 0.85
assert min(run.accuracy for run in smaller) > 0.95

# %% [markdown]
# 都学会了。还有一个办法更简单：每层两个头（下面一格）。所以不是「不除就学不会」，而是「一个头、这个学习率、这种初始化下没有学会」：**√d_k 放宽了能训练的范围**。除了以后，同一个学习率、同一种初始化，d_k 从 4 到 1024 都学会了。
#
# Both are learned. There is a simpler way, too: two heads a layer (the cell below). So it is not "without the scale it is not learned", but "not with one head, at this rate, from this start": **√d_k widens the range in which training works**. With it, one
# rate and one start did for every d_k from 4 to 1024.

# %% tags=["varies", "experiment"]
two_heads = na.training.train("induction", heads=2, steps=300, stop_at=0.95, d_k=64, scale=1.0, progress=False)
scaled = {d_k: na.training.train("induction", steps=300, stop_at=0.95, d_k=d_k, progress=False) for d_k in (4, 64, 1024)}
print(f"不除，每层两个头 no scale, two heads a layer: {two_heads.accuracy:.2f}, 步数 steps {two_heads.step}")
print("÷ √d_k:", {d_k: f"{run.accuracy:.2f}, 步数 steps {run.step}" for d_k, run in scaled.items()})

# %% tags=["experiment"]
assert two_heads.accuracy > 0.9
assert min(run.accuracy for run in scaled.values()) > 0.9

# %% [markdown]
# 训练会改变分数的大小：量一量学会以后的标准差，就知道「回到 1」说的只是开始。
#
# Training changes how large scores are: measure their standard deviation once it has learned, and see that "back to 1" speaks of the start only.

# %% tags=["varies", "experiment"]
learned = scaled[64].model
learned(*scaled[64].held_out.inputs)
spread = [float(a.cache["scores"].std()) for a in learned.attentions()]
print("standard deviation of the scores after training 训练以后分数的标准差:", [round(s, 1) for s in spread])
assert max(spread) > 1.5

# %% [markdown]
#
# 再看一眼刚开始训练时 W_Q 的梯度：
#
# And W_Q's gradient at the very start:

# %%
def query_gradient(scale):
    attention = na.ScaledDotProductAttention(scale=scale)
    mha = na.MultiHeadAttention(64, 1, bias=False, rng=0, attention=attention)
    generator = np.random.default_rng(1)
    x = generator.standard_normal((8, 16, 64))
    mha.backward(generator.standard_normal(mha(x).shape))
    return float(np.linalg.norm(mha.query_proj.grads["W"]))


size_without, size_with = query_gradient(1.0), query_gradient(None)
print(f"|dW_Q|  no scale {size_without:.0f}   ÷ √d_k {size_with:.0f}")
assert size_without > size_with

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 面试官说：「不除以 √d_k，梯度就消失，所以学不会。」哪一半对，哪一半不对？写在下面一格里，再展开参考答案。
#
# An interviewer says: "Without √d_k the gradient vanishes, so nothing is learned." Which half is right, and which is not? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 对的一半：softmax 一开始就饱和，分数的梯度平均小好几倍。不对的一半：常用初始化时传到 W_Q 的梯度反而更大；而且学不学得会要看任务、头数、学习率和初值：倒序照样学会，归纳任务每层两个头、小一点的学习率或小一点的初值也学会了。
#
# Right: softmax is saturated from the start, and the scores' gradient is some times smaller on average. Not right: at the usual start what reaches W_Q is larger; and whether it is learned depends on the task, the heads, the rate and the start: reversal is learned all the same, and induction with two heads a layer, a smaller rate or a smaller start.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 刚初始化时 q、k 各数差不多独立、均值 0、方差 1，q·k 的方差是 d_k；除以 √d_k 让分数的标准差回到 1，和 d_k 无关。
# 2. 不除的话 softmax 一开始就饱和：每一行几乎已经选定了一个键，分数的梯度平均小好几倍；但常用初始化时传到 W_Q 的梯度反而更大，所以不能简单说「梯度消失」。指数溢出是另一回事，靠减最大值解决。
# 3. 我做过实验：两层各一个头、学习率 0.01、常用初始化，不除就没有学会；每层两个头，学习率降到三分之一，或者把 W_Q、W_K 的初值各缩小 d_k^¼ 倍，不除也能学会。它的价值是放宽了能训练的范围。
#
# 1. At the start the numbers of q and k are about independent with mean 0 and variance 1, so q·k has variance d_k; dividing by √d_k brings the standard deviation of the scores back to 1, whatever d_k is.
# 2. Without it softmax is saturated from the start: each row has all but chosen its key, and the scores' gradient is some times smaller on average. At the usual start what reaches
#    W_Q is larger, though, so "the gradient vanishes" is not the whole story. Overflow of the exponential is another matter, which subtracting the maximum takes care of.
# 3. I measured it: two layers of one head, at learning rate 0.01 with the usual start, did not learn their task without the scale; with two heads a layer, with a third of the rate, or with W_Q and W_K
#    started smaller by d_k^¼, they did. The scale widens the range in which training works.
