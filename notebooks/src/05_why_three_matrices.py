# %% [markdown]
# # 05 · 为什么要三个矩阵 · Why three matrices
#
# **目标**：说清楚 W_Q、W_K、W_V、W_O 各管什么，哪两个可以合成一个，并用实验检验少了哪一个会失去什么。
#
# **Goal**: say what W_Q, W_K, W_V and W_O are each for and which pairs are one matrix, and test by experiment what is lost without one of them.
#
# *约 40 分钟 · about 40 minutes; runs in 30 s*
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
pages = np.array([[7., 7], [2, 9], [4, 0]])                         # V: 正文 what the pages say
query = np.array([[0., 12, 0]])                                     # Q: 狗 dog

attention = na.ScaledDotProductAttention()
print("V = 正文 pages:", attention(query, titles, pages)[0])
print("V = 标题 titles:", attention(query, titles, titles)[0], "← 只拿回了标题 only the title comes back")

# %% [markdown]
# 在这个最小的搜索引擎里，没有 W_V，拿回来的就是「标题」：你本来就知道的东西。真正的一层后面还有 W_O，那时候情况会变，本课后面再量。
#
# In this smallest of engines, without W_V what comes back is the title, which is what you knew already. A real layer has a W_O behind it, and that changes matters:
# we measure it further down.
#
# ## 不同的查询，看不同的地方 · Different queries look elsewhere
#
# 第 01 课的例子里每个词元都最看重 AI，看不出「各看各的」。换一组数（例子 `cycle`），同样的三个词元。先猜：「我」「爱」「AI」各自最看重谁？写成 `"AI 我 爱"` 这样。
#
# In the example of lesson 01 every token prefers AI, so that one cannot see queries differ. Take other numbers for the same three tokens, the example `cycle`. Predict:
# whom do 我, 爱 and AI prefer? Write it like `"AI 我 爱"`.

# %% tags=["guess"]
guess = None

# %%
cycle = na.worked_example("cycle").trace(backward=False)
weights = cycle["weights"].value
preferred = " ".join(cycle.key_tokens[j] for j in weights.argmax(axis=-1))
course.predict("我, 爱, AI →", guess, preferred)

# %%
print("Q", cycle["Q"].value, "K", cycle["K"].value, "weights", weights, sep="\n")
assert preferred == "AI 我 爱"

# %% [markdown]
# 键只有一套，查询各不相同，所以三个词元看了三个地方：「我」看 AI，「爱」看我，「AI」看爱。**分数由一个查询和一个键这一对决定**；权重还要看这一行别的分数，因为份额此消彼长。
#
# There is one set of keys, yet the queries differ, so three tokens look at three places: 我 at AI, 爱 at 我, AI at 爱. **A score is decided by one query and one key**; a weight depends on
# the other scores of its row as well, because shares compete.

# %%
louder = cycle["K"].value.copy()
louder[1] *= 2                                                      # 只改「爱」的键 only this key
before = attention(cycle["Q"].value, cycle["K"].value, cycle["V"].value), attention.cache["scores"][1], attention.weights[1]
after = attention(cycle["Q"].value, louder, cycle["V"].value), attention.cache["scores"][1], attention.weights[1]
print("爱 → 我: score 分数", before[1][0], "→", after[1][0], "  weight 权重", before[2][0].round(2), "→", after[2][0].round(2))
assert before[1][0] == after[1][0] and before[2][0] != after[2][0]

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

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("self-attention")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("self-attention")`, and again for the next*

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
# ## W_Q 和 W_K 能不能合并？ · Can W_Q and W_K be merged?
#
# 面试的标准追问。两个意思，两个答案。**第一个意思**：分数只用到它们的乘积，
#
# $$\text{scores} = \frac{(xW_Q)(xW_K)^\top}{\sqrt{d_k}} = \frac{x\,M\,x^\top}{\sqrt{d_k}},\qquad M = W_Q W_K^\top$$
#
# 所以可以合并成一个 D × D 的矩阵 M。两个瘦矩阵带来两个限制：M 的**秩最多是 d_k**，但**不必对称**。参数从 $D^2$ 变成 $2 D d_k$（$d_k < D/2$ 时更少）。先猜：D = 512、d_k = 64，分成两个矩阵的
# 参数是合并成一个的几分之几？
#
# The standard follow-up question. It has two meanings, and two answers. **The first**: scores use only the product of the two, as written above, so they can be merged into one
# D × D matrix M. Two thin factors mean two things: the **rank of M is at most d_k**, and M **need not be symmetric**. They cost $2 D d_k$ numbers instead of $D^2$, fewer if $d_k < D/2$. Predict: with
# D = 512 and d_k = 64, what share of D² do the two factors take?

# %% tags=["guess"]
guess = None

# %%
D, d_k = 512, 64
course.predict("2·D·d_k / D²", guess, 2 * D * d_k / D**2)

# %% [markdown]
# 在训练好的头上量一量：每个头的 $M = W_Q W_K^\top$ 是 32 × 32 的，秩却只有 8；它对称吗？W_V W_O 是另一对，同样的道理：一个头交出去的是 $x W_V W_O$，秩最多是 d_v。
#
# Measure it on trained heads: each head's M is 32 × 32, but of rank 8 only; is it symmetric? W_V W_O is the other pair: what a head hands over is $x W_V W_O$, of rank d_v at most.

# %% tags=["varies", "experiment"]
four = na.training.train("offsets", steps=300, stop_at=0.995, progress=False)
layer = four.model.attentions()[0]
W_Q, W_K, W_V, W_O = (p.params["W"] for p in (layer.query_proj, layer.key_proj, layer.value_proj, layer.output_proj))
for head in range(4):
    own = slice(8 * head, 8 * head + 8)
    M, handed = W_Q[:, own] @ W_K[:, own].T, W_V[:, own] @ W_O[own]
    unlike = np.linalg.norm(M - M.T) / np.linalg.norm(M + M.T)
    singular = np.linalg.svd(M, compute_uv=False)
    print(f"头 head {head}: M {M.shape}, 秩 rank {np.linalg.matrix_rank(M, tol=1e-4)}, 奇异值 singular values {singular[:9].round(1)}, "
          f"|M − Mᵀ| / |M + Mᵀ| = {unlike:.2f}; W_V W_O 的秩 rank {np.linalg.matrix_rank(handed, tol=1e-4)}")
    assert np.linalg.matrix_rank(M, tol=1e-4) <= 8 and np.linalg.matrix_rank(handed, tol=1e-4) <= 8
    assert unlike > 0.3

# %% [markdown]
# 所以分成两个瘦矩阵，换来的是：参数少、每个头只在 d_k 个方向上比较；失去的是：一个头的 M 不能是满秩的。
#
# So two thin factors buy fewer parameters and a comparison in d_k directions; what they forbid is an M of full rank in one head.
#
# **第二个意思**：让两个矩阵**相等**。如果 W_K = W_Q，分数就是 $QQ^\top/\sqrt{d_k}$，一张**对称**的表：i 给 j 的分数等于 j 给 i 的分数。（权重不一定对称：每一行各自归一化。）
#
# **The second meaning**: let the two be **equal**. With W_K = W_Q the scores are $QQ^\top/\sqrt{d_k}$, a **symmetric** table: i's score for j is j's score for i. (The weights need not
# be symmetric: each row is normalised by itself.)
#
# 两个任务，同样的小模型（一个头，没有掩码），一次用两个矩阵，一次让它们相等：
#
# - **倒序**：第 i 个看倒数第 i 个。互相看，对称！
# - **移位**：每个看自己的前一个。前一个并不看我，不对称。
#
# Two tasks, the same small model (one head, no mask), with two matrices and with equal ones:
#
# - **reverse**: place i looks at the i-th from the end, and is looked at by it. Symmetric!
# - **shift**: each place looks at the one before it, which does not look back.
#
# 先猜：相等以后，哪个还学得会？`"reverse"`、`"shift"`、`"both"` 还是 `"none"`？
#
# Predict: which is still learned with equal ones? `"reverse"`, `"shift"`, `"both"` or `"none"`?

# %% tags=["guess"]
guess = None

# %% tags=["experiment"]
learned = {}
runs = {}
for task in ("reverse", "shift"):
    for tied in (False, True):
        three = [na.training.train(task, steps=400, stop_at=0.99, seed=seed, tied=tied, d_model=16 if task == "reverse" else 32,
                                   progress=False) for seed in range(3)]
        learned[task, tied] = sum(run.stopped == "learned" for run in three)
        runs[task, tied] = three[0]
        print(f"{task:8} {'W_K = W_Q ' if tied else 'W_Q, W_K '}  三次里学会 learned, of 3 runs: {learned[task, tied]}; 正确率 accuracy",
              *(f"{run.accuracy:.2f}" for run in three))

course.predict("W_K = W_Q", guess, ", ".join(task for task in ("reverse", "shift") if learned[task, True] == 3))

# %% [markdown]
# ## 一张图 · The picture
#
# 训练后「移位」任务的分数、它的转置、两者之差。上：两个矩阵；下：两个相等。相等的话，差就是零（只剩舍入误差）。两张图的色标不同，看旁边写的数。
#
# The trained scores of the shift task, their transpose, and the difference. First with two matrices, then with equal ones: the difference is zero, but for rounding. The two
# pictures have colour scales of their own; mind the numbers beside them.

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

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("previous-beats-next")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("previous-beats-next")`, and again for the next*

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

# %% tags=["guess"]
guess = None

# %%
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
# 可是到不了 10，这一点可以证明。理由很短：对称意味着 s(i, 前一个) 和「前一个」的 s(·, 后一个) 是同一个数。沿着环写下去：
#
# $$s_{01} < s_{90} < s_{89} < \dots < s_{12} < s_{01}$$
#
# 一个数小于它自己，矛盾。所以最多 9 个。
#
# But not 10, and that can be proved shortly. By symmetry, the score that i gives to the one before it is the score that *that one*
# gives to the one behind it. Go round the ring, as above: a number would be below itself. So 9 at most.
#
# 「倒序」没有这个麻烦：i 的搭档的搭档就是 i 自己。
#
# Reversal has no such trouble: the partner of i's partner is i.
#
# 那么正确率最多是多少？如果分数只取决于位置，那个排错的位置上，把两个邻居的字母对调，线性读出最多只对一种顺序，再加上两个字母相同的情况：$(9 + 0.1 + 0.45)/10$。
#
# Then how high can accuracy be? If scores depend on places only: at the one place that is ranked wrongly, exchange the two neighbours' letters, and a linear read-out is right for at
# most one of the two orders; add the case of equal letters, and it is $(9 + 0.1 + 0.45)/10$.

# %% tags=["varies", "experiment"]
bound = round((9 + 0.1 + 0.45) / 10, 3)
tied_accuracy = [na.training.train("shift", tied=True, d_model=32, steps=400, seed=seed, progress=False).accuracy for seed in range(3)]
print(f"at most 最多 (9 + 0.1 + 0.45) / 10 = {bound}; trained 训练出来的", *(f"{a:.2f}" for a in tied_accuracy))
assert max(tied_accuracy) < bound

# %% [markdown]
# 证明里有三个条件：**一个头**、**没有掩码**、**首尾相接**。去掉任何一个条件试试。先猜：两个头（W_K = W_Q），学得会吗？一个头加因果掩码呢（环上第 0 个位置看不到最后一个，所以最多 0.91）？一个头、没有掩码，但首尾不相接（不问第 0 个位置）呢？
#
# The proof has three conditions: **one head**, **no mask**, and **a ring**. Drop any of them. Predict: is it learned with two heads, W_K = W_Q? With one head and a causal mask (place 0 of the ring
# cannot see the last one, so that 0.91 is all that can be known)? With one head and no mask, where the ends do not meet (place 0 is not asked)?

# %% tags=["guess"]
guess_two_heads = None
guess_masked = None
guess_line = None

# %% tags=["varies", "experiment"]
two_heads = [na.training.train("shift", tied=True, heads=2, d_model=32, steps=400, stop_at=0.99, seed=seed, progress=False) for seed in range(3)]
masked = [na.training.train("shift", tied=True, causal=True, d_model=32, steps=400, seed=seed, progress=False) for seed in range(2)]
line = [na.training.train(na.training.task("shift", ring=False), tied=True, d_model=32, steps=400, stop_at=0.99, seed=seed, progress=False) for seed in range(3)]
print("两个头 two heads:", *(f"{run.accuracy:.2f}, 步数 steps {run.step};" for run in two_heads))
print("因果掩码 causal mask:", *(f"{run.accuracy:.2f}" for run in masked), f"/ {(9 + 0.1) / 10:.2f}")
print("首尾不相接 no ring:", *(f"{run.accuracy:.2f}, 步数 steps {run.step};" for run in line))
course.predict(("两个头 two heads", guess_two_heads, all(run.accuracy > 0.98 for run in two_heads)),
               ("因果掩码 causal mask", guess_masked, all(run.accuracy > 0.88 for run in masked)),
               ("首尾不相接 no ring", guess_line, all(run.accuracy > 0.98 for run in line)))

# %% tags=["experiment"]
assert min(run.accuracy for run in two_heads) > 0.98
assert min(run.accuracy for run in masked) > 0.88
assert min(run.accuracy for run in line) > 0.98
line[0].model(*line[0].held_out.inputs)
between = np.diagonal(line[0].model.attentions()[0].cache["scores"].mean(axis=(0, 1)), offset=1)
print("scores between neighbours 相邻位置之间的分数:", between.round(1))
assert (np.diff(between) < 0).mean() > 0.8                             # 从左到右变小 they fall from left to right

# %% [markdown]
# 三个都学得会。两个头各排各的，合起来就够了；因果掩码直接挡掉了右邻居；首尾不相接时，相邻位置之间的分数从左到右一路变小，就不矛盾了。所以「W_K = W_Q 学不会处处看前一个」只在**一个头、没有掩码、首尾相接**时成立：文字不是环，每个 GPT 都有掩码，
# Reformer 就真的让 Q 和 K 共用一个矩阵。
#
# All three are learned. Two heads rank differently, and together that is enough; a causal mask simply hides the right neighbour; where the ends do not meet, the scores between neighbours fall from left to right, which is no contradiction. So "with W_K = W_Q one cannot look at the previous token
# everywhere" holds for **one head without a mask on a ring**. A text is no ring, every GPT has a mask, and Reformer does share one matrix between Q and K.
#
# ## 去掉 W_V 会怎样？ · What if there is no W_V?
#
# 先猜：V 直接取 x（W_V 固定成单位矩阵），一个头，归纳任务还学得会吗？
#
# Predict: let V be x itself (W_V is frozen at the identity). With one head, is induction still learned?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
def without_W_V(name, heads, seed):
    task = na.training.task(name)
    sizes = {**task.model, "heads": heads}
    model = na.training.ToyModel(task.vocab, task.length, questions=task.questions, causal=task.causal, rng=[seed, 0], **sizes)
    na.training.alter.value_is_x(model)
    return na.training.train(task, model, steps=300, stop_at=0.99, seed=seed, progress=False)


found = {name: [without_W_V(name, heads, seed) for seed in (0, 1)] for name, heads in (("reverse", 1), ("induction", 1), ("offsets", 4))}
for name, pair in found.items():
    print(f"{name:10} V = x:", *(f"{run.accuracy:.2f}, 步数 steps {run.step};" for run in pair))
course.predict("V = x", guess, all(run.accuracy > 0.95 for run in found["induction"]))

# %% tags=["experiment"]
assert min(run.accuracy for pair in found.values() for run in pair) > 0.95

# %% [markdown]
# 照样学会，步数也差不多。因为一层里还有 W_O：真正交出去的是 $x W_V W_O$，**只有一个头时 W_V W_O 就是一个矩阵**，W_V 什么也没有多给。那 W_V 有什么用？让每个头只搬运自己的 d_v 个数，
# 而且各搬各的；否则每个头都要搬运全部 D 个数（这里 V = x 切成了几份，是「搬哪几个」固定了）。W_O 的用处：把各头的结果写回到该写的方向上，混合各个头。
#
# It is learned all the same, in about as many steps. For there is W_O: what is handed over is $x W_V W_O$, and **with one head W_V W_O is one matrix**, to which W_V adds nothing. What is W_V for,
# then? It lets a head carry d_v numbers instead of D, and each head other ones (here x was cut into pieces, so that which numbers a head carries was fixed). And W_O writes what the heads have
# found where it belongs, and mixes the heads.

# %% tags=["experiment"]
assert learned["reverse", True] == 3
assert learned["shift", False] == 3
assert learned["shift", True] == 0
assert counts.max() <= built == 9
assert min(run.accuracy for run in three) > 0.5

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 如果只能保留两个矩阵，你会留哪两个？说出失去什么。写在下面一格里，再展开参考答案。
#
# If you could keep only two of the four matrices, which would you keep, and what would be lost? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 没有唯一的答案。比如合成 $M = W_Q W_K^\top$ 和 W_V W_O：一个头的计算一点不变，但每个都是 D × D，参数变多，K 也不能只缓存 d_k 个数。或者 W_Q = W_K 而且 V = x：省下两个，分数变对称，内容要靠 W_O 来选。
#
# There is no single answer. With $M = W_Q W_K^\top$ and W_V W_O one head computes just the same, but both are D × D, which is more numbers, and K can no longer be cached as d_k of them. Or W_Q = W_K and V = x: two are saved, scores become symmetric, and W_O has to choose the content.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 查询是「我找什么」，键是「我凭什么被找到」，值是「找到我能拿走什么」：就像搜索引擎里的关键词、标题和正文。
# 2. 分数只用到 $M = W_Q W_K^\top$，可以合并，秩最多 d_k，分成两个要 $2 D d_k$ 个数；要是让 W_Q = W_K，分数就对称：首尾相接的环上、没有掩码、只有一个头，没法处处看前一个（可以证明至少错一处）；首尾不相接、有因果掩码或者两个头，都学得会。
# 3. 拿走的内容是 $x W_V W_O$：只有一个头时 W_V 和 W_O 可以合成一个矩阵，我试的任务去掉 W_V 也一样学得会；W_V 的作用是让每个头只带走自己的 d_v 维。
#
# 1. A query is what I look for, a key what I can be found by, a value what I hand over: the words typed, the titles, the pages.
# 2. Scores use only $M = W_Q W_K^\top$, so the two can be merged; its rank is at most d_k, and two factors take $2 D d_k$ numbers. With W_Q = W_K scores are symmetric: on a ring one head without a mask cannot
#    look at the previous token everywhere (at least one place is provably wrong); where the ends do not meet, with a causal mask or with two heads it can.
# 3. What is handed over is $x W_V W_O$. With one head both are one matrix, and the tasks that I tried were learned without W_V; W_V lets every head carry d_v numbers of its own.
