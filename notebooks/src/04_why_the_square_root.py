# %% [markdown]
# # 04 · 为什么除以 √d_k · Why the square root
#
# **目标**：用实验回答除以 √d_k 到底防住了什么，以及什么时候不除也没事。
#
# **Goal**: find out by experiment what dividing by √d_k prevents, and when one gets away without it.
#
# *约 30 分钟 · about 30 minutes; runs in 30 s*
#
# 这一课的数字：随机的查询和键，每个数的平均是 0，标准差是 1，键一共 16 个。
#
# The numbers of this lesson: random queries and 16 random keys, with mean 0 and spread 1.

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
# 点积是 d_k 个乘积的和。每个乘积的方差是 1，所以和的**方差是 d_k，标准差是 √d_k**。不信就量一量：
#
# A dot product is a sum of d_k products. Each has variance 1, so the sum has **variance d_k and spreads by √d_k**. Measure it:

# %%
for d_k in (1, 16, 256):
    q, k = rng.standard_normal((2, 100_000, d_k))
    print(f"d_k = {d_k:3}: variance of q·k = {(q * k).sum(axis=-1).var():6.1f}")

# %% [markdown]
# ## softmax 会饱和 · Softmax saturates
#
# 16 个键，d_k = 64。先猜：不除的话，每一行最大的权重平均是多少？除以 8 以后呢？（平均分是 1/16 ≈ 0.06。）
#
# 16 keys and d_k = 64. Predict: how large is the top weight of a row on average, without the division? And with it? (All alike
# would be 1/16 ≈ 0.06.)

# %%
guess_without = None
guess_with = None

Q, K = draw(64)
scores = Q @ K.T
without, divided = softmax(scores).max(axis=-1).mean(), softmax(scores / 8).max(axis=-1).mean()
print(course.predict("不除 without", guess_without, round(float(without), 2)))
print(course.predict("除以 √64 divided", guess_with, round(float(divided), 2)))
print(f"1/16 = {1 / 16:.2f}")

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
# ## 饱和了又怎样？梯度没了 · So what? The gradient dies
#
# softmax 的反向是 p ∘ (d − Σ p ∘ d)。当 p 几乎是 0 0 1 0 …，这一行就几乎全是 0：往哪边改都没有感觉。
#
# Softmax backward is p ∘ (d − Σ p ∘ d). When p is nearly 0 0 1 0 …, that row is nearly zero: no direction feels better.

# %%
sizes = np.array([4, 16, 64, 256, 1024, 4096])
felt = {"no scale": [], "÷ √d_k": []}
for d_k in sizes:
    Q, K = draw(d_k)
    upstream = rng.standard_normal((len(Q), len(K)))
    for name, scale in (("no scale", 1), ("÷ √d_k", 1 / np.sqrt(d_k))):
        softmax(Q @ K.T * scale)
        felt[name].append(np.abs(softmax.backward(upstream)).mean())

print({name: [round(float(v), 4) for v in values] for name, values in felt.items()})
course.curves(sizes, felt, log="xy", xlabel="d_k", ylabel="mean |dscores|", limits=(1e-3, 0.1),
              title="softmax 传回多少梯度 · How much gradient comes back through the softmax",
              alt="The gradient behind the softmax shrinks steadily with d_k without the scale, and stays level with it.")

# %%
assert felt["no scale"][-1] < felt["no scale"][0] / 4
assert 0.8 < felt["÷ √d_k"][-1] / felt["÷ √d_k"][0] < 1.4

# %% [markdown]
# 所以准确的说法是「softmax **饱和**，梯度消失」，而不是「数值不稳定」：溢出早就由「先减最大值」解决了（第 01 课）。
#
# So the right word is that softmax **saturates**. It does not become "numerically unstable": overflow was dealt with long ago by
# subtracting the maximum (lesson 01).

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 面试常追问：如果 q 和 k 的每个数标准差不是 1，而是 σ，分数该乘以多少，才能让标准差回到 1？
#
# A favourite follow-up question: if the numbers in q and k spread by σ instead of 1, which factor brings the spread of the
# scores back to 1?

# %% tags=["exercise"]
def right_scale(d_k, sigma):
    return ...


course.check("right-scale", right_scale)

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# 每个乘积的标准差是 σ²，d_k 个加起来是 σ² √d_k。 Each product spreads by σ², the sum of d_k of them by σ² √d_k.
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
# - **induction**: the sequence repeats itself, foretell the next letter (two layers have to work together; lesson 09).
#
# 先猜：不除的时候，哪个任务学不会？`"reverse"`、`"induction"`、`"both"` 还是 `"none"`？
#
# Predict: without the division, which task is not learned? `"reverse"`, `"induction"`, `"both"` or `"none"`?

# %% tags=["experiment"]
guess = None

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
# 倒序任务根本不在乎！教科书上说「不除梯度就消失」，可是在简单任务上量不出差别。只有当两层必须同时学会、一层等着另一层的梯度时，
# 饱和才致命。
#
# Reversal does not care at all! "Without it the gradient vanishes", say the textbooks, but on an easy task you cannot measure it.
# Saturation is deadly where two layers must learn at the same time, one waiting for the gradient of the other.
#
# 还有一层：除法在反向里也出现一次。所以刚开始训练时，不除的那一个，W_Q 的梯度反而**更大**：
#
# There is more to it: the division appears in the backward pass as well. So at the very start, W_Q's gradient is **larger** without it:

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
# ## 面试怎么说 · What to say in an interview
#
# 1. q·k 是 d_k 个乘积之和，方差是 d_k；除以 √d_k 让分数的标准差回到 1，和 d_k 无关。
# 2. 不除的话 softmax 会饱和：权重接近 one-hot，穿过 softmax 的梯度接近 0。这不是溢出问题，溢出靠减最大值解决。
# 3. 我做过实验：简单任务不除也能学会，需要两层配合的任务就学不会；所以它的价值在于让训练对 d_k 不敏感。
#
# 1. q·k is a sum of d_k products and has variance d_k; dividing by √d_k brings the spread of the scores back to 1, whatever d_k is.
# 2. Without it softmax saturates: weights come close to one-hot, and hardly any gradient gets through. That is not overflow,
#    which subtracting the maximum takes care of.
# 3. I measured it: an easy task is learned without the scale too, one that needs two layers to cooperate is not. Its value is that
#    training does not depend on d_k.
