# %% [markdown]
# # 05 · 为什么要三个矩阵 · Why three matrices
#
# **目标**：说清楚 W_Q、W_K、W_V 各管什么，并用实验证明少了哪一个会失去什么。
#
# **Goal**: say what W_Q, W_K and W_V are each for, and show by experiment what is lost without one of them.
#
# *约 30 分钟 · about 30 minutes; runs in 20 s*
#
# 这一课的数字：10 个字母围成一圈（第一个的前面是最后一个）。
#
# The numbers of this lesson: 10 letters on a ring, so that the last one stands before the first.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# ## 搜索引擎 · The search engine
#
# 你在搜索框里输入几个词：**查询**。每个网页有标题：**键**。点进去看到的正文：**值**。
# 匹配的时候比较的是「查询」和「标题」，拿到手的却是「正文」。三样东西，三个矩阵：
#
# - W_Q 把词元变成「我在找什么」；
# - W_K 把词元变成「我能被什么找到」；
# - W_V 把词元变成「找到我的人能拿走什么」。
#
# You type a **query**. Every page has a title, its **key**. What you read after the click is the page, the **value**. Matching
# compares the query with titles, yet what you take home is a page. Three things, three matrices: W_Q makes "what I look
# for" out of a token, W_K "what I can be found by", W_V "what I hand over".
#
# 一个最小的搜索引擎，三个网页：
#
# The smallest of all search engines, with three pages:

# %%
titles = np.array([[1., 0, 0], [0, 1, 0], [0, 0, 1]])               # K: 猫 cat, 狗 dog, 鱼 fish
pages = np.array([[7., 7], [2, 9], [4, 0]])                         # V: what the pages say
query = np.array([[0., 12, 0]])                                     # Q: 狗 dog

attention = na.ScaledDotProductAttention()
print("V = pages:  ", attention(query, titles, pages)[0])
print("V = titles: ", attention(query, titles, titles)[0], "← 只拿回了标题 only the title comes back")

# %% [markdown]
# 没有 W_V，注意力只能把「标题」还给你：你本来就知道的东西。
#
# Without W_V attention hands you the title, which is what you knew already.

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 从词元 `x` (L, D) 和三个矩阵写出自注意力，返回分数和输出。
#
# Write self-attention from the tokens `x` (L, D) and three matrices; return the scores and the output.

# %% tags=["exercise"]
def self_attention(x, W_Q, W_K, W_V):
    """x (L, D), W_Q and W_K (D, d_k), W_V (D, d_v) -> scores (L, L), heads (L, d_v)"""
    scores = ...
    heads = ...
    return scores, heads


course.check("self-attention", self_attention)

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def self_attention(x, W_Q, W_K, W_V):
#     Q, K, V = x @ W_Q, x @ W_K, x @ W_V
#     scores = Q @ K.T / np.sqrt(Q.shape[-1])
#     heads = na.Softmax()(scores) @ V
#     return scores, heads
# ```
#
# </details>

# %% [markdown]
# ## 那 W_Q 和 W_K 能不能合成一个？ · Could W_Q and W_K be one?
#
# 如果 W_K = W_Q，分数就是 Q Qᵀ，一张**对称**的表：i 给 j 的分数等于 j 给 i 的分数。「我看你」必然等于「你看我」。
#
# With W_K = W_Q the scores are Q Qᵀ, a **symmetric** table: i's score for j is j's score for i. Whoever looks at you is looked
# at by you.
#
# 两个任务，同样的小模型，一次用两个矩阵，一次合成一个：
#
# - **倒序**：第 i 个看倒数第 i 个。互相看，对称！
# - **移位**：每个看自己的前一个。前一个并不看我，不对称。
#
# Two tasks, the same small model, with two matrices and with one:
#
# - **reverse**: place i looks at the i-th from the end, and is looked at by it. Symmetric!
# - **shift**: each place looks at the one before it, which does not look back.
#
# 先猜：合成一个以后，哪个还学得会？`"reverse"`、`"shift"`、`"both"` 还是 `"none"`？
#
# Predict: which is still learned with one matrix? `"reverse"`, `"shift"`, `"both"` or `"none"`?

# %% tags=["experiment"]
guess = None

learned = {}
runs = {}
for task in ("reverse", "shift"):
    for tied in (False, True):
        three = [na.training.train(task, steps=400, stop_at=0.99, seed=seed, tied=tied, d_model=16 if task == "reverse" else 32,
                                   progress=False) for seed in range(3)]
        learned[task, tied] = sum(run.stopped == "learned" for run in three)
        runs[task, tied] = three[0]
        print(f"{task:8} {'W_K = W_Q ' if tied else 'W_Q, W_K '}  learned in {learned[task, tied]} of 3 runs 学会")

course.predict("W_K = W_Q", guess, ", ".join(task for task in ("reverse", "shift") if learned[task, True] == 3))

# %% [markdown]
# ## 一张图 · The picture
#
# 训练后「移位」任务的分数、它的转置、两者之差。上：两个矩阵；下：一个矩阵。合成一个，差就永远是零。
#
# The trained scores of the shift task, their transpose, and the difference. First with two matrices, then with one: the
# difference is zero, and nothing can be done about it.

# %% tags=["varies", "experiment"]
from numpy_attention.plots import plot_symmetry

pictures = []
for tied in (False, True):
    run = runs["shift", tied]
    run.model(*run.exercise.inputs)
    scores = run.model.attentions()[0].cache["scores"]
    pictures.append(plot_symmetry(scores, run.task.words(run.exercise.inputs[0][0]), lang="both"))

pictures[0]

# %% tags=["varies", "experiment"]
pictures[1]

# %% [markdown]
# ## 意外：可以证明 · A surprise: it can be proved
#
# 在一个 L 个位置的环上，我们希望每个位置 i 都满足：scores[i, 前一个] > scores[i, 后一个]。写一个函数，数一数有几个位置做到了。
#
# On a ring of L places we want scores[i, previous] > scores[i, next] at every place i. Write a function that counts at how
# many places it holds.

# %% [markdown]
# ### 练习二 · Exercise 2

# %% tags=["exercise"]
def previous_beats_next(scores):
    """scores (L, L) -> how many places i of the ring have scores[i, previous] > scores[i, next]"""
    return ...


course.check("previous-beats-next", previous_beats_next)

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def previous_beats_next(scores):
#     L = len(scores)
#     return sum(scores[i, (i - 1) % L] > scores[i, (i + 1) % L] for i in range(L))
# ```
#
# </details>

# %% [markdown]
# 先猜：随机生成 100 000 张对称的 10 × 10 分数表，最好的一张能做到几个位置？（满分 10。）
#
# Predict: of 100,000 random symmetric 10 × 10 tables, at how many places does the best one succeed? (10 would be all.)

# %%
guess = None

tables = np.random.default_rng(0).standard_normal((100_000, 10, 10))
tables = tables + tables.mT
place = np.arange(10)
counts = (tables[:, place, place - 1] > tables[:, place, (place + 1) % 10]).sum(axis=-1)
course.predict("最多 at most", guess, int(counts.max()))

# %% [markdown]
# 精心构造一张，可以做到 9 个：让相邻两个位置之间的分数沿着环一路变小。
#
# Built on purpose, a table can do 9: let the scores between neighbours fall all the way round.

# %%
best = np.zeros((10, 10))
for i in range(10):
    best[i, (i + 1) % 10] = best[(i + 1) % 10, i] = -i
built = int((best[place, place - 1] > best[place, (place + 1) % 10]).sum())
print(built)

# %% [markdown]
# 可是永远到不了 10。理由很短：对称意味着 s(i, 前一个) 和「前一个」的 s(·, 后一个) 是同一个数。沿着环写下去：
#
# s₀₁ < s₉₀ < s₈₉ < … < s₁₂ < s₀₁ ，一个数小于它自己，矛盾。所以最多 9 个。
#
# But never 10, and the reason is short. By symmetry, the score that i gives to the one before it is the score that *that one*
# gives to the one behind it. Go round the ring: s₀₁ < s₉₀ < s₈₉ < … < s₁₂ < s₀₁, a number below itself. So 9 at most.
#
# 「倒序」没有这个麻烦：i 的搭档的搭档就是 i 自己。（这个证明限制的是排名；第 06 课会看到，一个头偶尔能用不同大小的权重绕过排名。）
#
# Reversal has no such trouble: the partner of i's partner is i. (The proof bounds rankings; lesson 06 shows how a head can now and
# then get round a ranking by weights of different size.)

# %% tags=["experiment"]
assert learned["reverse", True] == 3
assert learned["shift", False] == 3
assert learned["shift", True] == 0
assert counts.max() <= built == 9

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 查询是「我找什么」，键是「我凭什么被找到」，值是「找到我能拿走什么」：就像搜索引擎里的关键词、标题和正文。
# 2. W_Q 和 W_K 合成一个，分数表就是对称的，「看前一个」这样不对称的关系学不会；我训练过，也能证明。
# 3. 没有 W_V，拿回来的只是用来匹配的那份表示，匹配和内容就分不开了。
#
# 1. A query is what I look for, a key what I can be found by, a value what I hand over: the words typed, the titles, the pages.
# 2. With one matrix for queries and keys the scores are symmetric, and an asymmetric relation such as "look at the previous
#    token" cannot be learned. I have trained it, and it can be proved.
# 3. Without W_V one only gets back the representation that was matched: what to match by and what to hand over are no longer two things.
