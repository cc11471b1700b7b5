# %% [markdown]
# # 01 · 手算注意力 · Attention by hand
#
# **目标**：用一支铅笔算完一层注意力，并说出每个矩阵的形状。
#
# **Goal**: compute one attention layer with a pencil, and name the shape of every matrix.
#
# *约 25 分钟 · about 25 minutes; runs in 6 s*
#
# 例句只有三个词元：**我 爱 AI**。一共 3 × 4 的数字，全程就用它们。
#
# The sentence has three tokens, **我 爱 AI** ("I love AI"). A few 3 × 4 tables of small numbers go all the way through.
#
# ▶ 想先动手？在终端里输入 `python -m numpy_attention page`：浏览器里打开这个例子，改一个数，后面的数全跟着变。
#
# ▶ Hands first? Type `python -m numpy_attention page` in a terminal: it opens this example in the browser; change a number, and all that follows changes too.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.walkthrough.text import step_text
from numpy_attention.words.languages import lines

np.set_printoptions(precision=4, suppress=True)
trace = na.worked_example("by-hand").trace(backward=False)

# %% [markdown]
# ## 三个角色 · Three roles
#
# 每个词元同时扮演三个角色。想象你在用搜索引擎：你输入的是**查询**，网页标题是**键**，网页内容是**值**。
#
# - **查询 query**，矩阵 Q 的一行：我在找什么？
# - **键 key**，矩阵 K 的一行：别人凭什么找到我？
# - **值 value**，矩阵 V 的一行：找到我以后，我交出什么？
#
# Every token plays three roles at once. Think of a search engine: what you type is the **query**, the titles are the
# **keys**, the pages are the **values**. Q, K and V hold one row for each token.

# %%
for name in ("Q", "K", "V"):
    print(step_text(trace, name, lang="both"), end="\n\n")

# %% [markdown]
# ## 第一步：谁和谁匹配？ · Step 1: who matches whom?
#
# 查询和键做**点积**：对应的数相乘，再加起来。点积越大，越匹配。
#
# A query and a key are compared by their **dot product**: multiply number by number, add up. Large means: a good match.
#
# 先别算，先猜：「我」的查询是 `1 0 1 0`，「我」的键是 `0 1 0 1`。它们的点积是多少？把猜测写在 `guess =` 后面。
#
# Predict first: 我's query is `1 0 1 0`, 我's key is `0 1 0 1`. What is their dot product? Write your guess behind `guess =`.

# %% tags=["guess"]
guess = None

# %%
Q, K, V = (trace[name].value for name in ("Q", "K", "V"))
assert not (Q[0] * K[0]).any()
course.predict("Q[我] · K[我]", guess, float(Q[0] @ K[0]))

# %% [markdown]
# 「我」完全不匹配自己：两行没有一个位置同时不为零。这个例子来自一份面试资料，那里印的是 `1`。印错了，本课最后会把错误全部找出来。
#
# 我 does not match itself at all: the two rows are never non-zero in the same place. The example comes from an interview
# guide, which prints `1` here. That is a misprint; at the end of this lesson we find all of them.
#
# 九个点积一次算完，就是一次矩阵乘法 $QK^\top$：
#
# All nine dot products at once are one matrix product, $QK^\top$:

# %%
print(step_text(trace, "product", lang="both"))

# %% [markdown]
# ## 第二步：缩小 · Step 2: scale
#
# 除以 √d_k。这里 d_k = 4（每行四个数），所以除以 2。为什么要除，第 04 课用实验回答。
#
# Divide by √d_k. Here d_k = 4 (four numbers in a row), so we divide by 2. Notebook 04 finds out why, by experiment.

# %%
print(step_text(trace, "scores", lang="both"))

# %% [markdown]
# ## 第三步：分数变成份额 · Step 3: from scores to shares
#
# **softmax** 对每一行分别做：每个分数取指数，再除以这一行的总和。结果都是正数（程序里太小的会变成 0），每行加起来是 1。
#
# **Softmax** treats each row on its own: take the exponential of every score, divide by the row's total. All shares are
# positive (a program rounds tiny ones to 0), and each row sums to 1.
#
# 「我」这一行，一步一步来：
#
# Row 我, step by step:

# %%
row = trace["scores"].value[0]
print("scores      ", row)
print("exp(scores) ", np.exp(row), " Σ", np.exp(row).sum().round(4))
print("weights     ", np.exp(row) / np.exp(row).sum())

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 轮到你：拿铅笔算出「**爱**」这一行的三个权重（可以用计算器），两三位小数就够。
#
# Your turn: compute the three weights of row **爱** with a pencil (a calculator is allowed). Two or three decimals will do.

# %% tags=["exercise"]
my_row = [..., ..., ...]

course.check("one-row-by-hand", my_row)

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("one-row-by-hand")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("one-row-by-hand")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# 分数 scores: 2, 2, 4. 先减去最大值 4，结果不变 subtract the largest, nothing changes: −2, −2, 0.
#
# exp: 0.1353, 0.1353, 1. Σ 1.2707.
#
# ```python
# my_row = [0.1065, 0.1065, 0.7870]
# ```
#
# </details>

# %% [markdown]
# 和电脑算的比一比：
#
# Compare with the computer:

# %%
print(step_text(trace, "weights", lang="both"))

# %% [markdown]
# ## 第四步：取回内容 · Step 4: gather the content
#
# 用这些份额去混合三个值，就是 weights V。我们的 V 是特意挑的：输出的前三列正好重复权重，一眼就能看出「谁的内容占多少」。
#
# Mix the three values in these shares: weights V. Our V was chosen on purpose: the first three columns of the output
# repeat the weights, so you can see whose content arrived, and how much of it.

# %%
print(step_text(trace, "heads", lang="both"))

# %% [markdown]
# ## 一张图 · The picture
#
# 从左到右就是公式 $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$。红框标出一个格子是怎么来的：一行查询，一列键，一个点积，一个份额。
#
# From left to right this is the formula $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$. The red frames show where one cell comes from: a row of
# queries, a column of keys, one dot product, one share.

# %%
na.plot_walkthrough(trace, highlight=(0, 2), lang="both")

# %% [markdown]
# 看得懂这张图，就记住一句话：**Q 和 K 决定看谁，V 是看到的内容。**
#
# If you can read it, remember one sentence: **Q and K decide whom to look at; V is what is seen there.**

# %% [markdown]
# ### 谜题 · A puzzle
#
# 只改一个数，让「我」主要看「爱」，行吗？去掉下面的 `#` 再运行，就在这里改；也可以在终端里输入 `python -m numpy_attention page --puzzle 1`。
#
# Change a single number, so that 我 looks at 爱 most of all: can you? Remove the `#` below and run the cell to do it right here, or type `python -m numpy_attention page --puzzle 1` in a terminal.

# %%
# course.puzzle(1)

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 把四步写成一个函数。它要对任何大小都成立，不只是 3 × 4。
#
# Write the four steps as one function. It has to work for any sizes, not for 3 × 4 only.
#
# | | shape |
# |---|---|
# | `Q` | (L, d_k) |
# | `K` | (S, d_k) |
# | `V` | (S, d_v) |
# | `weights` | (L, S) |
# | `heads` | (L, d_v) |

# %% tags=["exercise"]
def attention(Q, K, V):
    scores = ...
    weights = ...
    heads = ...
    return weights, heads


course.check("attention-forward", attention)

# %% [markdown]
# *约 15 分钟，难度 ★；卡住了就运行 `course.hint("attention-forward")`，再运行看下一条 · about 15 minutes, difficulty ★; if stuck, run `course.hint("attention-forward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def attention(Q, K, V):
#     scores = Q @ K.T / np.sqrt(Q.shape[-1])
#     shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
#     weights = shares / shares.sum(axis=-1, keepdims=True)
#     heads = weights @ V
#     return weights, heads
# ```
#
# </details>

# %% [markdown]
# ## 意外 · A surprise
#
# 给「我」那一**行**分数统统加 1000，权重变多少？再换成给「我」那一**列**加 1000 呢？先猜：`"nothing"` 还是 `"everything"`？
#
# Add 1000 to a whole **row** of scores: how do the weights change? And if it is added to a **column** instead? Guess
# `"nothing"` or `"everything"` for each.

# %% tags=["guess"]
guess_row = None
guess_column = None

# %%
softmax = na.Softmax()
scores, weights = trace["scores"].value, trace["weights"].value
row_up, column_up = scores.copy(), scores.copy()
row_up[0] += 1000
column_up[:, 0] += 1000
row_change = np.abs(softmax(row_up) - weights).max()
column_change = np.abs(softmax(column_up) - weights).max()
assert row_change < 1e-9 and column_change > 0.1 and np.isfinite(softmax(column_up)).all()
said = ["everything" if change > 0.1 else "nothing" for change in (row_change, column_change)]
print(softmax(column_up))
course.predict(("行 row", guess_row, said[0]), ("列 column", guess_column, said[1]))

# %% [markdown]
# softmax 只看一行里的**差**。整行一起变，差不变，权重也不变；一列变了，每一行里的差都变了，所有查询都只看「我」。
# 这也解释了程序里为什么先减去每行的最大值：答案不变，但 exp(1000) 不会溢出。（那两个 0 其实是 e⁻¹⁰⁰⁰，小得浮点数装不下。）
#
# Softmax sees only the **differences** within a row. Move the whole row and they stay; move a column and they change in
# every row: now all queries look at 我 only. This is also why programs subtract each row's maximum first: the answer
# stays, and exp(1000) cannot overflow. (The zeros that are printed stand for e⁻¹⁰⁰⁰, too small for a float.)

# %% [markdown]
# ## 它真的会学 · It really learns
#
# Q、K、V 从哪里来？从三个**学出来**的矩阵。一个只有一层注意力的小模型，学习把 8 个字母倒着写。先猜：它要练多少步？
#
# Where do Q, K and V come from? From three **learned** matrices. A small model with one layer of attention learns to write 8 letters backwards. Predict: how many
# steps of practice does it need?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
run = na.training.train("reverse", steps=150, stop_at=0.99, snapshots=range(0, 151, 25), progress=False)
print(f"{run.parameters:,} 个参数 parameters, {run.seconds:.1f} s")
course.predict("steps", guess, run.step)

# %% tags=["varies", "experiment"]
run.model(*run.exercise.inputs)
na.plot_heads(run.model.attentions()[0].weights, run.task.words(run.exercise.inputs[0][0]), lang="both")

# %% tags=["experiment"]
assert run.accuracy >= 0.99

# %% [markdown]
# 一条反对角线：第一个看最后一个，第二个看倒数第二个。没有人告诉它该看哪里。
#
# An anti-diagonal: the first looks at the last, the second at the last but one. Nobody told it where to look.

# %% [markdown]
# ## 找错 · What the source printed
#
# 原文的数字里有几行是错的（原文：这个例子出自的那份面试资料）。程序把它们和正确答案并排列出来：
#
# Some rows of the source's numbers are wrong (the source: the interview guide that this example comes from). Here they are, next to the
# right ones:

# %%
example = na.worked_example("by-hand")
for mistake in example.corrections:
    right = trace[mistake.step].value[trace.query_tokens.index(mistake.token)]
    print(f"{mistake.step}, {mistake.token}: printed {mistake.printed}, right {tuple(right.round(4).tolist())}")
    print(*lines(lang="both", zh=mistake.note_zh, en=mistake.note_en), sep="\n")

wrong_rows = len(example.corrections)
print("错了几行 wrong rows:", wrong_rows)

# %% [markdown]
# 结论却没有变：每个词元最看重的都是 AI。**手算一遍，再让程序验证**，这就是整门课的方法。
#
# The reading survives: every token attends most to AI. **By hand first, then checked by a program** is the method of this
# whole course.

# %%
most = [trace.key_tokens[j] for j in weights.argmax(axis=-1)]
print(dict(zip(trace.query_tokens, most)))

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 不看公式，用三句话告诉一个没学过的朋友：注意力的一行权重是怎么来的，又拿来做什么？写在下面一格里，再展开参考答案。
#
# Without a formula, in three sentences to a friend to whom it is new: where does a row of weights come from, and what is it used for? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 一个词元拿自己的「问题」（查询）去和每个词元的「标题」（键）比，越像分数越高。softmax 把这一行分数变成加起来等于 1 的份额。再按份额把每个词元的「内容」（值）混在一起，就是它的新的一行。
#
# A token compares its question (query) with each token's title (key); the better they match, the higher the score. Softmax turns this row of scores into shares that sum to 1. In these shares the tokens' contents (values) are mixed, and that is its new row.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 注意力就是软查字典：用查询和每个键做点积，除以 √d_k，softmax 得到权重，再按权重把值加起来。
# 2. 形状：Q 是 (L, d_k)，K 是 (S, d_k)，V 是 (S, d_v)；分数和权重是 (L, S)，输出是 (L, d_v)。
# 3. 权重的每一行和为 1；softmax 只看行内的差，所以实现时先减去行最大值来防止溢出。
#
# 1. Attention is a soft dictionary look-up: dot products of the query with every key, divided by √d_k, softmax gives
#    weights, and the values are added up in these weights.
# 2. Shapes: Q is (L, d_k), K is (S, d_k), V is (S, d_v); scores and weights are (L, S), the output is (L, d_v).
# 3. Each row of weights sums to 1. Softmax sees differences within a row only, so one subtracts the row's maximum to keep
#    it from overflowing.
