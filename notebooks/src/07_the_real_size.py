# %% [markdown]
# # 07 · 真实尺寸与变形 · The real size, and the reshape
#
# **目标**：跟着 512 维、8 个头走一遍，每个轴都叫得出名字，会数参数，拆分、合并多头不出错。
#
# **Goal**: follow 512 columns and 8 heads all the way, name every axis, count the parameters, and split and merge heads without a mistake.
#
# *约 35 分钟 · about 35 minutes; runs in 10 s*
#
# 还是 **我 爱 AI**，这一次是论文里的尺寸：词元编号 → 嵌入 (3, 512) → 加位置 → 8 个头，每个 64 维 → (1, 3, 512)。
#
# Still **我 爱 AI**, now at the size of the paper: token ids → embedding (3, 512) → plus positions → 8 heads of width 64 → (1, 3, 512).

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

trace = na.worked_example("full-size").trace()
print(trace.forward.summary())

# %% [markdown]
# 注意 `x` 这一步：**批次轴** N 是在这里加上的。很多教程对 (3, 512) 的张量直接写 `view(batch, …)`，其实那里还没有批次轴。
#
# Look at the step `x`: this is where the **batch axis** N appears. Many tutorials write `view(batch, …)` for a (3, 512) tensor
# that has no batch axis yet.

# %% [markdown]
# ## 拆分多头：先 reshape，再 transpose · Splitting: reshape, then transpose
#
# 为什么要两步？给每个数写上它的来历：**数字 = 100 × 词元 + 列**。三个词元，四列，切成两个头（颜色 = 应该属于哪个头）。
#
# Why two steps? Let every number say where it comes from: **number = 100 × token + column**. Three tokens, four columns, two heads
# (the colour is the head that a number belongs to).
#
# 先猜：只用 `x.reshape(2, 3, 2)`，头 0 会拿到谁的数字？
#
# Predict: with `x.reshape(2, 3, 2)` alone, whose numbers does head 0 get?

# %% tags=["guess"]
guess = None

# %%
x = 100 * np.arange(3)[:, None] + np.arange(4)
wrong = x.reshape(2, 3, 2)
assert wrong[0].tolist() == [[0, 1], [2, 3], [100, 101]]
course.predict("头 0 拿到 head 0 gets", guess, wrong[0].tolist())

# %% [markdown]
# 形状 (2, 3, 2) 完全正确，程序不会报错，可是头 0 拿到了「我」的全部和「爱」的一半。正确的做法：
#
# The shape (2, 3, 2) is right and nothing complains, yet head 0 got all of 我 and half of 爱. The right way:

# %%
right = x.reshape(3, 2, 2).transpose(1, 0, 2)
print("头 0 head 0:", right[0].tolist(), "  头 1 head 1:", right[1].tolist())

# %% [markdown]
# ## 一张图 · The picture

# %%
belongs = np.tile([0, 0, 1, 1], (3, 1))
wrong_belongs, right_belongs = belongs.reshape(2, 3, 2), belongs.reshape(3, 2, 2).transpose(1, 0, 2)
course.coloured([("x (L, H·d)", x, belongs), ("对：头 0 right: head 0", right[0], right_belongs[0]),
                 ("头 1 head 1", right[1], right_belongs[1]), ("错：头 0 wrong: head 0", wrong[0], wrong_belongs[0]),
                 ("头 1 head 1", wrong[1], wrong_belongs[1])],
                title="数字 = 100 × 词元 + 列，颜色 = 该属于哪个头 · number = 100 × token + column, colour = its head",
                alt="With reshape and transpose each head holds one colour: its own two columns of all three tokens. "
                    "With reshape alone both heads hold both colours.")

# %% [markdown]
# ### 练习 · Exercises
#
# 写出拆分和合并多头，前面可以有任意多个轴。
#
# Write both ways, with any number of axes in front.

# %% tags=["exercise"]
def split_heads(x, H):
    """(..., L, H·d) -> (..., H, L, d)"""
    return ...


course.check("split-heads", split_heads)

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("split-heads")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("split-heads")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def split_heads(x, H):
#     *lead, L, D = x.shape
#     return x.reshape(*lead, L, H, D // H).swapaxes(-3, -2)
# ```
#
# </details>

# %% tags=["exercise"]
def merge_heads(heads):
    """(..., H, L, d) -> (..., L, H·d)"""
    return ...


course.check("merge-heads", merge_heads)

# %% [markdown]
# *约 5 分钟，难度 ★；卡住了就运行 `course.hint("merge-heads")`，再运行看下一条 · about 5 minutes, difficulty ★; if stuck, run `course.hint("merge-heads")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def merge_heads(heads):
#     *lead, H, L, d = heads.shape
#     return heads.swapaxes(-3, -2).reshape(*lead, L, H * d)
# ```
#
# </details>

# %% [markdown]
# ## 一个大矩阵，还是八个小矩阵？ · One large matrix or eight small ones?
#
# 有的书写「每个头有自己的 W_Q，形状 D × d_k」；有的代码只有一个 D × D 的 W_Q，乘完再切。是同一件事吗？用数字看：
#
# Some books give every head a W_Q of its own, D × d_k; some code has a single W_Q, D × D, and splits afterwards. Are they the same?
# With numbers:

# %%
mha = na.MultiHeadAttention(512, 8, bias=False, rng=0)
tokens = trace["x"].value
W_Q = mha.query_proj.params["W"]                                    # (512, 512)
split_after = mha.split(tokens @ W_Q)                               # (1, 8, 3, 64)
one_each = np.stack([tokens @ W_Q[:, 64 * h: 64 * (h + 1)] for h in range(8)], axis=1)
print(split_after.shape, one_each.shape, "相同 same:", np.allclose(split_after, one_each, atol=1e-12))

# %% [markdown]
# 完全一样：大矩阵就是八个小矩阵左右并排。W_O 也一样，只是上下叠：拼接再乘 W_O，等于每个头乘自己那 64 行，再**相加**。
#
# The same: the large matrix is the eight small ones side by side. So is W_O, stacked the other way: to concatenate and multiply by W_O is to
# let each head multiply its own 64 rows and **add up**.

# %%
out = mha(tokens)
W_O, heads = mha.output_proj.params["W"], mha.cache["heads"]
added = sum(heads[:, h] @ W_O[64 * h: 64 * (h + 1)] for h in range(8))
print("相同 same:", np.allclose(out, added, atol=1e-12))
assert np.allclose(split_after, one_each, atol=1e-12) and np.allclose(out, added, atol=1e-12)

# %% [markdown]
# 那 W_O 有什么用？没有它，头 h 的结果就只能待在第 h 段的 64 列里；有了它，每个头都能写到 D 列的任何方向上，几个头可以写到同一个地方，也可以互相抵消。
#
# What is W_O for, then? Without it, what head h found would stay in its 64 columns. With it every head may write to any of the D columns, several to the same place, and they may cancel.
#
# ## 参数有多少？ · How many parameters?
#
# 先猜：D = 512、8 个头、没有偏置的一层注意力，有几个 D² 的参数？换成 1 个头或 16 个头呢？后面的前馈层（宽度 4D）又是几个 D²？
#
# Predict: how many times D² are the parameters of one attention layer with D = 512, 8 heads and no biases? With 1 head, or 16? And those of the feed-forward layer behind it, which is 4D wide?

# %% tags=["guess"]
guess_8_heads = None
guess_1_head = None
guess_feed_forward = None

# %%
def in_squares(layer):
    return sum(p.size for name, p in layer.named_params().items() if p.ndim == 2) / 512**2


counts = [in_squares(na.MultiHeadAttention(512, heads, bias=False, rng=0)) for heads in (8, 1, 16)]
feed_forward = in_squares(na.FeedForward(512, 4 * 512, rng=0))
assert counts == [4, 4, 4] and feed_forward == 8
course.predict(("H = 8", guess_8_heads, counts[0]), ("H = 1", guess_1_head, counts[1]), ("前馈层 feed-forward", guess_feed_forward, feed_forward))

# %% [markdown]
# 注意力 $4D^2$（W_Q、W_K、W_V、W_O 各一个），**和头数无关**：头多了，每个头就窄了，H · d_k = D。前馈层 $2 \cdot 4D^2 = 8D^2$。所以一个完整的块大约 $12D^2$，其中三分之二在前馈层；偏置只有 D 的几倍，
# 可以忽略。
#
# Attention takes $4D^2$ (W_Q, W_K, W_V and W_O), **however many heads there are**: more heads are narrower heads, H · d_k = D. The feed-forward layer takes $2 \cdot 4D^2 = 8D^2$. So a whole block has about
# $12D^2$, two thirds of them in the feed-forward layer; the biases are a few times D and do not count.
#
# ## 八个头的样子 · What eight heads look like

# %%
na.plot_heads(trace, lang="both")

# %% [markdown]
# 这些头**没有训练过**，参数是随机的，可是每个头看上去都像「在关注什么」。所以光看图不能下结论：分工是训练出来的（第 06 课），图怎么读才诚实，
# 第 13 课再讲。
#
# These heads were **not trained**, their parameters are random, and yet each seems to care about something. A picture alone proves nothing: the
# division of labour comes with training (lesson 06), and lesson 13 is about reading such pictures honestly.

# %% [markdown]
# ## 意外：时间花在哪里？ · A surprise: where does the work go?
#
# 数一数乘加次数。四个投影：$4LD^2$。分数和混合：$2L^2D$。先猜：L 要多长，后者才追上前者？
#
# Count multiplications. The four projections: $4LD^2$. Scores and mixing: $2L^2D$. Predict: how long must L be until the second
# catches up with the first?

# %% tags=["guess"]
guess = None

# %%
D = 512
for L in (3, 128, 1024, 8192):
    projections, attention = 4 * L * D**2, 2 * L**2 * D
    print(f"L = {L:4}: 注意力本身占的乘法 share of attention itself {attention / (attention + projections):.2%}")

crossing = next(L for L in range(1, 10_000) if 2 * L**2 * D >= 4 * L * D**2)
assert crossing == 2 * D
course.predict("L", guess, crossing)

# %% [markdown]
# 「注意力是平方复杂度」当然对，可是在 L = 2D 以前，注意力这一层的乘法大头是那四个矩阵（因果掩码下只算看得见的一半，要到 4D）。
#
# "Attention is quadratic" is true, of course. Yet up to L = 2D, most multiplications of this layer are in the four matrices (up to 4D, where a causal mask halves the rest).

# %% tags=["varies", "experiment"]
from time import perf_counter

rng = np.random.default_rng(0)
print(f"{sum(p.size for p in mha.named_params().values()):,} 个参数 parameters")
for L in (3, 128):
    sequence = rng.standard_normal((1, L, 512))
    for name, call in (("forward", mha.forward), ("backward", mha.backward)):
        times = []
        for _ in range(10):
            start = perf_counter()
            call(sequence)
            times.append(perf_counter() - start)
        print(f"L = {L:3} {name:8} {1000 * np.median(times):6.2f} ms")

# %% [markdown]
# ## 分组查询注意力：键和值的头可以少 · Grouped heads: fewer keys and values
#
# 生成文字时，每个词元的 K 和 V 都要存着（第 11 课）。这叫分组查询注意力 (GQA)；只剩一组就是 MQA。几个查询头**共用**一组键和值，就能省内存：4 个查询头，配 4、2 或 1 组键值头。
# 还学得会第 06 课的任务（4 个问题）吗？
#
# While text is generated, K and V of every token are kept (lesson 11). Let several query heads **share** one head of keys and values and memory is
# saved: 4 query heads with 4, 2 or 1 key/value heads. Is the task of lesson 06 with 4 questions still learned?

# %% tags=["experiment"]
for kv_heads in (4, 2, 1):
    run = na.training.train("offsets", steps=600, stop_at=0.99, kv_heads=kv_heads, progress=False)
    K = run.model.attentions()[0].key_proj.params["W"]
    print(f"键值头 key/value heads: {kv_heads}; K 的列数 columns of K: {K.shape[1]:2}; {'学会了 learned' if run.stopped == 'learned' else '没学会 not learned'}")
    assert run.stopped == "learned"

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# `x.reshape(N, H, L, d)` 的形状完全正确，为什么还是错的？怎么用一个小例子让别人看见？写在下面一格里，再展开参考答案。
#
# `x.reshape(N, H, L, d)` has exactly the right shape. Why is it wrong, and which small example shows it? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# reshape 按内存顺序切：它先切词元再切列，头 0 拿到的是前几个词元的全部列，而不是每个词元的前 d 列。用「数字 = 100 × 词元 + 列」的表，一看就知道谁的数字跑到了谁那里。
#
# Reshape cuts in the order of memory: it cuts between tokens first, so head 0 gets all columns of the first tokens instead of the first d columns of each token. A table with number = 100 × token + column shows whose numbers went where.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. (N, L, D) 先 reshape 成 (N, L, H, d_k)，再 transpose 成 (N, H, L, d_k)；只 reshape 形状也对，但数字给错了头。
# 2. 一个 D × D 的矩阵乘完再切，和每个头一个 D × d_k 的矩阵，是同一件事；拼接乘 W_O 等于各头乘自己的行再相加。参数是 4D²，和头数无关；前馈层 8D²。
# 3. L 小于 2D 时，注意力层的乘法主要在四个投影上；GQA/MQA 让多个查询头共用键和值，省的是 KV 缓存。
#
# 1. (N, L, D) is reshaped to (N, L, H, d_k) and then transposed to (N, H, L, d_k). Reshape alone gives the right shape and the wrong numbers.
# 2. One D × D matrix split afterwards and a D × d_k matrix for each head are the same thing; concatenating and multiplying by W_O is adding
#    up what each head makes with its own rows. The parameters are 4D², however many heads there are; the feed-forward layer has 8D².
# 3. Below L = 2D most multiplications of an attention layer are in its four projections. Grouped and multi-query attention share keys and values among query heads,
#    and what they save is the KV cache.
