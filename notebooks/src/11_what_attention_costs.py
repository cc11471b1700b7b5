# %% [markdown]
# # 11 · 注意力的代价 · What attention costs
#
# **目标**：知道注意力把时间和内存花在哪里，并亲手写出省内存的关键一步：分块合并 softmax。
#
# **Goal**: know where attention spends time and memory, and write the step that saves the memory yourself: merging softmaxes block by block.
#
# *约 40 分钟 · about 40 minutes; runs in 25 s*
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

# %% tags=["guess"]
guess = None

# %% tags=["varies"]
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
# 可以一块一块地看，只要记住三样东西：目前为止的最大分数 **m**、$\sum e^{s - m}$（s 是分数）**l**、按这些份额混合的值 **o**。来了新的一块，如果最大值变了，
# 旧的 $l$ 和 $o$ 就乘上 $e^{m_\text{old} - m_\text{new}}$ 再相加。最后 $o / l$ 就是答案。
#
# It can be read in blocks, if three things are kept: the highest score so far **m**, $\sum e^{s - m}$ over the scores **l**, and the values mixed in these shares **o**.
# When a new block brings a higher score, the old $l$ and $o$ are multiplied by $e^{m_\text{old} - m_\text{new}}$ before adding. In the end, $o / l$ is the answer.
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
# Write the merge: two halves, each with (m, l, o), become one. Mind: a half may see **nothing at all** (m = −∞, l = 0), and no NaN is allowed; scores
# may be in the hundreds, and nothing may overflow.

# %% tags=["exercise"]
def merge(m1, l1, o1, m2, l2, o2):
    """m (L,), l (L,), o (L, d_v), twice -> m (L,), l (L,), o (L, d_v)"""
    m = ...
    l = ...
    o = ...
    return m, l, o


course.check("merge-softmax", merge)

# %% [markdown]
# *约 20 分钟，难度 ★★★；卡住了就运行 `course.hint("merge-softmax")`，再运行看下一条 · about 20 minutes, difficulty ★★★; if stuck, run `course.hint("merge-softmax")`, and again for the next*

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
# ## FlashAttention 真正的理由：搬运 · The real reason for FlashAttention: moving data
#
# 省内存只是一半。GPU 有一小块很快的存储 (SRAM，每个核心一百多 KB) 和一大块慢的 (HBM，几十 GB)，慢十倍左右。普通写法把 L × L 的分数写到 HBM、读回来做 softmax、再写、再读；乘法单元大部分时间在**等数据**。
# FlashAttention 把 Q、K、V 切成放得进 SRAM 的块，用上面的合并步骤在里面算完，只写出结果。乘法没有少（反向传播还要**重算**一遍权重，更多；因果掩码下整块跳过，是另一件事），可是搬得少，所以快。数一数 L = 4096、d = 64、SRAM 放得下 32 768 个数时搬多少个数
# （原论文定理 2：普通写法 $\Theta(Ld + L^2)$，分块 $\Theta(L^2 d^2 / M)$）。先猜：少几倍？
#
# Saving memory is half of it. A GPU has a small fast memory (SRAM, some hundred KB a core) and a large slow one (HBM, tens of GB), about ten times slower. Written plainly, the L × L scores are written to HBM, read for the softmax, written, and read again; most of the time the
# multipliers **wait for data**. FlashAttention cuts Q, K and V into blocks that fit into SRAM, finishes them there by the merge above, and writes the result only. It saves no multiplication (backward even **computes the weights again**; skipping blocks that a causal mask hides is another matter), but it moves less, and so it is faster. Count the numbers
# moved for L = 4096, d = 64 and an SRAM of 32,768 numbers (theorem 2 of the paper: plainly $\Theta(Ld + L^2)$, in blocks $\Theta(L^2 d^2 / M)$). Predict: how many times fewer?

# %% tags=["guess"]
guess = None

# %%
L, d, M = 4096, 64, 32_768
plain = 4 * L * d + 4 * L**2                    # Q K V heads；分数写、读，权重写、读 · Q K V heads; scores written and read, weights written and read
block = M // (4 * d)                            # 一块有几行：Q、K、V、o 各一块 rows of a block: Q, K, V and o must fit
passes = L // block                             # 每来一块 K、V，就读一遍 Q，读一遍、写一遍结果 for every block of K and V, Q is read and o read and written
blocked_moves = 2 * L * d + passes * 3 * L * d
print(f"每块的行数 rows of a block: {block}; 普通 plain {plain / 1e6:.0f} 百万个数 million numbers, 分块 blocked {blocked_moves / 1e6:.0f} 百万 million")
assert plain > 2 * blocked_moves
course.predict("倍 times", guess, round(plain / blocked_moves, 1))

# %% [markdown]
# 所以准确的说法是：**FlashAttention 是「为搬运而优化」(IO-aware)**：同样的结果，更少的读写；内存从平方变成线性是同一件事的另一面。在 NumPy 里看不到 SRAM，看得到的是内存峰值。
#
# So the exact sentence is: **FlashAttention is IO-aware**: the same result with fewer reads and writes; that memory becomes linear is the other side of the same coin. In NumPy one sees the peak of the memory, not the SRAM.

# %% [markdown]
# ## 意外：生成文字时，同样的事做了多少遍？ · A surprise: how often is the same work done over?
#
# 一个字一个字地生成，每一步都把前面的键和值重新算一遍，太傻了：因果掩码下，旧的键和值**不会变**（后来的词元影响不到前面的行）。存起来，就是 **KV 缓存**。
# 先猜：生成 256 个词元，乘法少多少倍？
#
# Text is generated token by token. To compute all old keys and values anew at every step is silly: under a causal mask they **do not change** (later tokens do not reach earlier rows). Keep them,
# and you have a **KV cache**. Predict: how many times fewer multiplications do 256 tokens take?

# %% tags=["guess"]
guess = None

# %%
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
print(f"快几倍 times faster: {without / with_cache:.0f}")
assert same

# %% [markdown]
# 乘法少得多，时间却没有少那么多：这么小的矩阵，时间主要花在一次次调用上，不在乘法上。序列越长，差距越大，但要到几百个词元才看得出，离乘法的比例还差很远。
#
# Far fewer multiplications, but not as much less time: with matrices this small it is the calls that take time, not the arithmetic. The longer the
# sequence, the larger the gain, though it takes some hundred tokens to show, and is still far from the count.
#
# 代价是内存：每一层都要存 2 · L · (键值头数 · d_k) 个数。第 07 课的分组查询注意力省的正是它：
#
# $$\text{bytes} = 2 \cdot \text{layers} \cdot L \cdot H_{kv} \cdot d_k \cdot \text{bytes per number}$$
#
# The price is memory: 2 · L · (key/value heads · d_k) numbers for every layer. It is what the grouped heads of lesson 07 save:

# %%
for kv_heads in (8, 2, 1):
    numbers = 2 * 4096 * kv_heads * 64          # L = 4096, d_k = 64; 32 层 layers, float16
    print(f"键值头 key/value heads: {kv_heads}; 每个序列 for each sequence {32 * numbers * 2 / 2**20:5.0f} MiB")

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# FlashAttention 和 KV 缓存都「更快」。它们省的东西有什么不同？写在下面一格里，再展开参考答案。
#
# FlashAttention and a KV cache are both "faster". What does each of them save? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# FlashAttention 省的是慢存储的读写和 L × L 的内存，乘法没有少。KV 缓存省的是重复的计算：旧的 K、V 不再重算；代价是内存，而且每一步都要把缓存读一遍。
#
# FlashAttention saves reads and writes of slow memory, and the L × L table; not multiplications. A KV cache saves computing old K and V again; it costs memory, and each step has to read the cache.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 时间是 L² · D（外加投影 L · D²），内存是每个头 L²；FlashAttention 没有减少乘法，减少的是慢存储 (HBM) 的读写：分块放进 SRAM 里算完，不把 L × L 的表写出来，反向传播时重算；内存也就变成线性。
# 2. 关键是在线 softmax：每行只留最大值 m、归一化和 l、加权和 o，合并时旧的乘 exp(m旧 − m新)。结果是精确的（只差舍入），不是近似。
# 3. KV 缓存用内存换时间：因果掩码下旧的 K、V 不变；GQA/MQA 减少的就是缓存里的头数。
#
# 1. Time is L² · D (and L · D² for the projections), memory L² a head. FlashAttention saves no multiplications, it saves reads and writes of slow memory (HBM): blocks are finished inside SRAM, the L × L table is not written out, and backward computes it
#    again; so memory becomes linear, too.
# 2. The key is the online softmax: keep the maximum m, the sum l and the mixture o of each row, and rescale what is old by exp(old m − new m). It is exact but for
#    rounding, no approximation.
# 3. A KV cache trades memory for time: under a causal mask old keys and values do not change. Grouped and multi-query attention reduce its heads.
