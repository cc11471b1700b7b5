# %% [markdown]
# # 11 · 注意力的代价 · What attention costs
#
# **目标**：知道注意力把时间和内存花在哪里，并亲手写出省内存的关键一步：分块合并 softmax。
#
# **Goal**: know where attention spends time and memory, and write the step that saves the memory yourself: merging softmaxes block by block.
#
# *约 35 分钟 · about 35 minutes; runs in 25 s*
#
# 一个头，d = 64；最后用 **我 爱 AI** 的分数验证。
#
# One head, d = 64; the scores of **我 爱 AI** check what you write.

# %%
import tracemalloc
from time import perf_counter

import numpy as np
import numpy_attention as na
from numpy_attention import course

np.set_printoptions(precision=4, suppress=True)
rng = np.random.default_rng(0)


def peak_mebibytes(call, *inputs):
    tracemalloc.start()
    call(*inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


# %% [markdown]
# ## 平方 · Quadratic
#
# 分数和权重都是 L × S 的表。长度翻一倍，表就大四倍。先猜：L = 2048 时，前向最多占多少 MiB？（一个数 8 字节。）
#
# Scores and weights are L × S tables: twice the length, four times the table. Predict: how many MiB does a forward pass take at most for L = 2048? (A
# number takes 8 bytes.)

# %% tags=["varies"]
guess = None

lengths = (256, 512, 1024, 2048)
memory = {"direct 直接算": [], "blocked 分块": []}
for L in lengths:
    Q, K, V = rng.standard_normal((3, L, 64))
    direct, blocked = na.ScaledDotProductAttention(), na.BlockedAttention(query_block=128, key_block=128)
    for name, layer in zip(memory, (direct, blocked)):
        memory[name].append(peak_mebibytes(layer, Q, K, V))

course.predict("MiB", guess, float(memory["direct 直接算"][-1]))

# %% [markdown]
# ## 一张图 · The picture
#
# 对数坐标上，斜率 2 就是平方，斜率 1 就是线性。分块以后，**同样的答案**，内存只随 L 线性增长。
#
# On logarithmic axes, slope 2 is quadratic and slope 1 is linear. In blocks, **the same answer** takes memory that grows with L only.

# %% tags=["varies"]
course.curves(lengths, memory, log="xy", xlabel="L", ylabel="peak memory 内存峰值, MiB", title="前向的内存 · Memory of a forward pass",
              alt="Peak memory over L: direct " + ", ".join(f"{m:.1f}" for m in memory["direct 直接算"]) + " MiB; in blocks "
                  + ", ".join(f"{m:.1f}" for m in memory["blocked 分块"]) + " MiB.")

# %%
print("same answer 答案相同:", np.allclose(direct.cache["heads"], blocked.cache["heads"], atol=1e-12))
growth = [values[-1] / values[-2] for values in memory.values()]
assert growth[0] > 3.4
assert growth[1] < 2.6

# %% [markdown]
# ## 怎么可能？softmax 明明要看完整行 · How? Softmax needs the whole row
#
# 可以一块一块地看，只要记住三样东西：目前为止的最大分数 **m**、Σ exp(分数 − m) **l**、按这些份额混合的值 **o**。来了新的一块，如果最大值变了，
# 旧的 l 和 o 就乘上 exp(旧 m − 新 m) 再相加。最后 o / l 就是答案。
#
# It can be read in blocks, if three things are kept: the highest score so far **m**, Σ exp(score − m) **l**, and the values mixed in these shares **o**.
# When a new block brings a higher score, the old l and o are multiplied by exp(old m − new m) before adding. In the end, o / l is the answer.
#
# 「AI」那一行，一次来一个键：
#
# Row AI, one key at a time:

# %%
scores = na.worked_example("by-hand").trace()["scores"].value[2]
m, l = -np.inf, 0.0
for key, score in zip(("我", "爱", "AI"), scores):
    new = max(m, score)
    l = l * np.exp(m - new) + np.exp(score - new)
    m = new
    print(f"+ {key:2}  score {score:.0f}   m = {m:.0f}   l = {l:.4f}")
print("weights[AI, AI] =", (np.exp(scores[2] - m) / l).round(4))

# %% [markdown]
# ### 练习 · Exercise
#
# 写出合并的一步：两半各有 (m, l, o)，合成一个。注意：有一半可能**什么都看不到** (m = −∞, l = 0)，不能出 NaN；分数可能有几百那么大，
# 不能溢出。
#
# Write the merge: two halves, each with (m, l, o), become one. Mind: a half may see **nothing at all** (m = −∞, l = 0), and there must be no NaN; scores
# may be in the hundreds, and nothing may overflow.

# %% tags=["exercise"]
def merge(m1, l1, o1, m2, l2, o2):
    """m (L,), l (L,), o (L, d_v), twice -> m (L,), l (L,), o (L, d_v)"""
    m = ...
    l = ...
    o = ...
    return m, l, o


course.check("merge-softmax", merge)

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def merge(m1, l1, o1, m2, l2, o2):
#     m = np.maximum(m1, m2)
#     a, b = np.exp(m1 - m), np.exp(m2 - m)
#     l = a * l1 + b * l2
#     o = a[:, None] * o1 + b[:, None] * o2
#     return m, l, o
# ```
#
# 两半都看不到时 m = −∞，−∞ − (−∞) 是 NaN，真正的实现要再小心一点；程序包里的 `BlockedAttention` 处理了这种情况。
#
# If both halves see nothing, m is −∞ and −∞ − (−∞) is NaN: a real implementation is a little more careful, as `BlockedAttention` of the package is.
#
# </details>

# %% [markdown]
# ## 意外：生成文字时，同样的事做了多少遍？ · A surprise: how often is the same work done over?
#
# 一个字一个字地生成，每一步都把前面的键和值重新算一遍，太傻了：因果掩码下，旧的键和值**永远不变**。存起来，就是 **KV 缓存**。
# 先猜：生成 256 个词元，乘法少多少倍？
#
# Text is generated token by token. To compute all old keys and values anew at every step is silly: under a causal mask they **never change**. Keep them,
# and you have a **KV cache**. Predict: how many times fewer multiplications do 256 tokens take?

# %%
guess = None

steps, D = 256, 64
work = sum(4 * t * D**2 + 2 * t**2 * D for t in range(1, steps + 1))        # 每一步全部重算 all anew at every step
work_kept = sum(4 * D**2 + 2 * t * D for t in range(1, steps + 1))          # 只算新词元 the new token only
course.predict("倍 times", guess, round(work / work_kept))

# %% [markdown]
# 量一量时间（机器忙的时候会抖动，所以只看大概）：
#
# And in time (a busy machine makes it jitter, so take it as a rough number):

# %% tags=["varies", "experiment"]
mha = na.MultiHeadAttention(64, 4, rng=0)
x = rng.standard_normal((1, steps, 64))

start = perf_counter()
again = [mha(x[:, :t], mask=na.causal_mask(t))[:, -1:] for t in range(1, steps + 1)]
without = perf_counter() - start

start = perf_counter()
cache = na.KVCache(mha, capacity=steps, batch=1)
kept = [cache.step(x[:, t:t + 1]) for t in range(steps)]
with_cache = perf_counter() - start

same = np.allclose(np.concatenate(again, axis=1), np.concatenate(kept, axis=1), atol=1e-12)
print("same answer 答案相同:", same)
print(f"快 {without / with_cache:.0f} 倍 · times faster")
assert same

# %% [markdown]
# 乘法少得多，时间却没有少那么多：这么小的矩阵，时间主要花在一次次调用上，不在乘法上。序列越长，差距越接近乘法的比例。
#
# Far fewer multiplications, but not as much less time: with matrices this small it is the calls that take time, not the arithmetic. The longer the
# sequence, the closer it comes to the count.
#
# 代价是内存：每一层都要存 2 · L · D 个数。第 07 课的分组查询省的正是它：
#
# The price is memory: 2 · L · D numbers for every layer. It is what the grouped heads of lesson 07 save:

# %%
for kv_heads in (8, 2, 1):
    numbers = 2 * 4096 * kv_heads * 64
    print(f"{kv_heads} key/value heads of 64, L = 4096, 32 layers, float16: {32 * numbers * 2 / 2**20:5.0f} MiB for each sequence")

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 时间是 L² · D，内存是 L²；FlashAttention 没有减少计算量，而是分块算 softmax，不把 L × L 的表写出来，内存变成线性。
# 2. 关键是在线 softmax：每行只留最大值 m、归一化和 l、加权和 o，合并时旧的乘 exp(m旧 − m新)。结果是精确的，不是近似。
# 3. KV 缓存用内存换时间：因果掩码下旧的 K、V 不变；GQA/MQA 减少的就是缓存里的头数。
#
# 1. Time is L² · D, memory L². FlashAttention does not save operations: it takes the softmax in blocks and never writes the L × L table out, so that
#    memory becomes linear.
# 2. The key is the online softmax: keep the maximum m, the sum l and the mixture o of each row, and rescale what is old by exp(old m − new m). It is exact,
#    no approximation.
# 3. A KV cache trades memory for time: under a causal mask old keys and values never change. Grouped and multi-query attention reduce its heads.
