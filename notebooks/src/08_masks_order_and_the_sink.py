# %% [markdown]
# # 08 · 掩码、顺序与汇聚点 · Masks, order and the sink
#
# **目标**：会用掩码，会检查掩码有没有漏；知道顺序从哪里来，以及为什么有的头总盯着第一个词元。
#
# **Goal**: use masks, and test that nothing leaks; know where order comes from, and why some heads stare at the first token.
#
# *约 55 分钟 · about 55 minutes; runs in 45 s*
#
# 分数还是 **我 爱 AI** 的那一张 3 × 3 表。
#
# The scores are the 3 × 3 table of **我 爱 AI** again.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.plots import plot_masks

np.set_printoptions(precision=4, suppress=True)
tokens = ["我", "爱", "AI"]
Q, K, V = na.worked_example("by-hand").inputs
attention = na.ScaledDotProductAttention()
attention(Q, K, V)
scores = attention.cache["scores"]

# %% [markdown]
# ## 掩码：谁可以看谁 · A mask says who may look at whom
#
# 掩码是布尔表，**True 表示可以看**。因果掩码：只能看自己和前面的，未来不许看。被挡住的格子在 softmax 之前当作 −∞，份额是 0，
# 剩下的重新分，仍然加起来是 1。
#
# A mask is a boolean table, and **True means "may look"**. Causal: a token sees itself and those before it, never the future. Hidden cells
# count as −∞ before the softmax and get a share of 0; the others share anew, and still sum to 1.

# %%
causal = na.causal_mask(3)
plot_masks(scores, causal, query_tokens=tokens, key_tokens=tokens, lang="both")

# %% [markdown]
# 先猜：因果掩码下，「我」（第一个词元）的三个权重是什么？
#
# Predict: under the causal mask, what are the three weights of 我, the first token?

# %% tags=["guess"]
guess = None

# %%
attention(Q, K, V, mask=causal)
course.predict("weights[我]", guess, attention.weights[0].tolist())

# %% [markdown]
# 填充 (padding) 掩码挡的是**键**，不是查询：`padding_mask(lengths, S)` 的形状是 (N, 1, 1, S)，和因果掩码用 `&` 合起来。
#
# A padding mask hides **keys**, never queries: `padding_mask(lengths, S)` has shape (N, 1, 1, S), and masks are combined by `&`.
#
# 先猜：如果一个查询**什么都不许看**，它的权重会是什么？`nan`、平均，还是 0？
#
# Predict: what are the weights of a query that may see **nothing at all**: `nan`, all equal, or 0?

# %% tags=["guess"]
guess = None

# %%
nothing = np.array([[True, False, False], [False, False, False], [True, True, True]])
attention(Q, K, V, mask=nothing)
dQ, dK, dV = attention.backward(np.ones((3, 4)))
print("dQ[爱] =", dQ[1])
assert not attention.weights[1].any() and not dQ[1].any()
course.predict("weights[爱]", guess, attention.weights[1].tolist())

# %% [markdown]
# 这里是 0，梯度也是 0。不少库在这里给出 NaN，一行 NaN 会在下一步污染整个模型。
#
# Here they are 0, and so is the gradient. Many a library answers NaN, and one row of NaN spoils the whole model at the next step.

# %%
plot_masks(scores, nothing, query_tokens=tokens, key_tokens=tokens, lang="both")

# %% [markdown]
# ### 练习 · Exercise
#
# 写一个**因果探针**：`forward` 接受 (L, D)，返回 (L, D)。改动第 t 个词元，t **之前**的输出都不应该变。没有泄漏返回 `True`。
# 你的探针要在好几个模型上试：有的老实，有的没有掩码，有的差一位，有的只在一处漏。
#
# Write a **causality probe**: `forward` takes (L, D) and returns (L, D). Change token t, and no output **before** t may move. Return `True`
# if nothing leaks. Your probe will meet honest models, some without a mask, one that is off by one, one that leaks at a single place.

# %% tags=["exercise"]
def is_causal(forward, x):
    """forward: (L, D) -> (L, D); x (L, D) -> True if the future does not leak"""
    return ...


course.check("causality-probe", is_causal)

# %% [markdown]
# *约 15 分钟，难度 ★★；卡住了就运行 `course.hint("causality-probe")`，再运行看下一条 · about 15 minutes, difficulty ★★; if stuck, run `course.hint("causality-probe")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def is_causal(forward, x):
#     before = forward(x)
#     for t in range(1, len(x)):
#         changed = x.copy()
#         changed[t] += 10
#         if not np.allclose(forward(changed)[:t], before[:t], rtol=0, atol=1e-10):
#             return False
#     return True
# ```
#
# </details>

# %% [markdown]
# ## 意外：漏了，成绩反而更好 · A surprise: a leak makes it look better
#
# 任务：字母序列在重复（第 09 课），预测下一个字母。第一遍的字母是随机抽的，只能瞎猜；重复的部分可以预测。
# 把掩码错开一位，`j <= i + 1`，让每个位置偷看到下一个字母。先猜：训练 300 步以后，谁的正确率高？`"honest"` 还是 `"leaky"`？
#
# A sequence of letters repeats itself (lesson 09); predict each next letter. The first round is drawn at random and can only be guessed; repeats can
# be predicted. Shift the mask by one, `j <= i + 1`, so that every place peeks at the next letter. Which has the higher accuracy after 300 steps, `"honest"` or `"leaky"`?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
def train(task, steps=100, **options):
    return na.training.train(task, steps=steps, progress=False, **options)


every_place = na.training.task("induction", everywhere=True)        # 连猜不到的位置也考 asked also where nobody can know
honest = train(every_place, steps=300)
leaky = train(every_place, steps=300, causal=lambda L: na.causal_mask(L, offset=1))

# 最好能猜对多少？第一遍里，要么猜「到此为止」，要么猜一个没出现过的字母 · the best possible: in the first round guess the end, or a letter not seen yet
known = sum((20 - p) / 20 for p in range(4, 11)) / 7                    # 重复的部分 the repeats
guessed = 0
for i in range(10):
    lengths = [p for p in range(4, 11) if p > i]                        # 第一遍还没完 the first round is not over
    ends, goes_on = sum(p == i + 1 for p in lengths), sum(p > i + 1 for p in lengths)
    guessed += max(ends, goes_on / (15 - i)) / 20 / 7
possible = known + guessed
print(f"老实的 honest {honest.accuracy:.2f}   偷看的 leaky {leaky.accuracy:.2f}   一定知道的 surely known {known:.2f}   最好的可能 best possible {possible:.2f}")
course.predict("更高的是 higher", guess, "leaky" if leaky.accuracy > honest.accuracy else "honest")

# %% tags=["experiment"]
assert leaky.accuracy > possible + 0.1
assert honest.accuracy < possible + 0.02

# %% [markdown]
# 漏的那个超过了**可能达到的上限**。好得不像真的，就不是真的。这里是正确率露了馅，因为我们算得出上限；真实的任务里往往不知道上限，只看正确率就会被骗，而探针一秒就能发现。
#
# The leaky one beats what is **possible at all**. Too good to be true is not true. Here accuracy gave it away, because we can work out the bound. In real tasks the bound is rarely known, and accuracy alone would deceive
# you; a probe finds the leak in a second.

# %% [markdown]
# ## 顺序从哪里来？ · Where does order come from?
#
# 没有掩码的注意力本身不知道顺序。先猜：把 我 爱 AI 换成 AI 我 爱，「我」的输出变不变？
#
# Attention without a mask does not know about order. Predict: if 我 爱 AI becomes AI 我 爱, does the output of 我 change?

# %% tags=["guess"]
guess = None

# %%
rng = np.random.default_rng(0)
mha = na.MultiHeadAttention(8, 2, rng=rng)
x = rng.standard_normal((3, 8))
order = [2, 0, 1]
moved = np.abs(mha(x)[order] - mha(x[order])).max() > 1e-12
course.predict("变了吗 changed?", guess, bool(moved))

# %% [markdown]
# 不变：词元换了位置，输出只是跟着换位置（置换等变）。所以要把位置写进去。几种写法，长度 20 训练，再到长度 40 测试：
#
# It does not: outputs just follow their tokens (permutation equivariance). So the places have to be written in. Some ways, trained at length 20, tested at length 40:

# %% tags=["varies", "experiment"]
long = na.training.task("induction", L=40).batch(300, rng=5)
reached = {}
for positions in ("learned", "sinusoidal", "rotary", "alibi", "none"):
    run = train("induction", steps=200, stop_at=0.99, positions=positions)
    try:
        reached[positions] = run.accuracy, na.training.accuracy(run.model, long)
        print(f"{positions:11} L = 20: {run.accuracy:.2f}   L = 40: {reached[positions][1]:.2f}")
    except ValueError as error:
        print(f"{positions:11} L = 20: {run.accuracy:.2f}   L = 40: {error}")

# %% tags=["experiment"]
assert "learned" not in reached
assert reached["rotary"][1] > 0.9 and reached["rotary"][1] == max(both[1] for both in reached.values())
assert reached["none"][0] > 0.4                 # 远高于瞎猜：掩码本身就透露了顺序 far above guessing: the mask itself tells about order

# %% [markdown]
# 学出来的位置表到头就没有了；旋转位置编码 (RoPE) 看的是相对距离，在这个设置下带得最远（学习率小一些，正弦编码也一样好）。最有意思的是 `none`：没有任何位置编码，成绩也远高于瞎猜，
# 因为因果掩码本身就透露了顺序：第一个词元只看得到一个键，最后一个看得到全部。去掉掩码试试：
#
# A learned table ends where it ends; rotary positions tell relative distances and lose least in this setting (at a smaller rate the fixed waves are as good). Most interesting is `none`: without any positions
# it is still far better than guessing, because the causal mask itself tells about order: the first token sees one key, the last sees all. Take the mask away to see:

# %% tags=["varies", "experiment"]
unmasked = train("induction", steps=200, positions="none", causal=False)
print(f"有掩码 none, with the mask {reached['none'][0]:.2f}, 没有掩码 without {unmasked.accuracy:.2f}")
assert unmasked.accuracy < 0.4

# %% [markdown]
# ### RoPE 为什么只看相对距离？ · Why does RoPE tell relative distances?
#
# 把查询和键的每两个数看成平面上的一个点，位置 m 的查询转 mθ，位置 n 的键转 nθ。旋转矩阵有 $R(a)^\top R(b) = R(b - a)$，所以
#
# $$(R(m\theta)\,q)^\top (R(n\theta)\,k) = q^\top R(m\theta)^\top R(n\theta)\,k = q^\top R((n - m)\theta)\,k$$
#
# 分数里只剩 **n − m**。每一对数有自己的 θ：快的分辨近处，慢的分辨远处。转动不改变 q、k 的长度；分数却会随距离变（最大到 |q||k|）。验证：整句往后挪 7 个位置，距离没变，分数就不变（只差舍入）。
#
# Take every two numbers of a query or key as a point in a plane; the query at place m is turned by mθ, the key at place n by nθ. Since $R(a)^\top R(b) = R(b - a)$, the formula above follows: only **n − m** is left in the
# score. Each pair has a θ of its own; fast ones tell near places apart, slow ones far ones. Turning changes no length of q or k; the score does change with the distance (up to |q||k|). Check it: move the whole sentence by 7 places; distances stay, and so do scores, but for rounding.

# %%
q, k = np.random.default_rng(1).standard_normal((2, 8))
theta = 10_000.0 ** (-np.arange(4) / 4)


def turned(x, place):
    a, b = x[:4], x[4:]                                                 # 四对数 four pairs
    return np.concatenate([a * np.cos(place * theta) - b * np.sin(place * theta), a * np.sin(place * theta) + b * np.cos(place * theta)])


same_distance = [turned(q, m) @ turned(k, m + 3) for m in (0, 7, 1000)]
print("n − m = 3:", np.round(same_distance, 6), "  n − m = 4:", round(turned(q, 0) @ turned(k, 4), 6))
assert np.allclose(same_distance, same_distance[0]) and np.isclose(np.linalg.norm(turned(q, 9)), np.linalg.norm(q))
assert not np.isclose(same_distance[0], turned(q, 0) @ turned(k, 4))

# %% [markdown]
# ### ALiBi：离得远就扣分 · ALiBi: far away costs points
#
# 不改查询和键，直接在分数上减去「斜率 × 距离」，每个头一个斜率（$2^{-8h/H}$）：陡的头只看近处，平的头看得远。没有要学的东西，多长的序列都算得出。
#
# It leaves queries and keys alone and subtracts "slope × distance" from the scores, with a slope for each head ($2^{-8h/H}$): steep heads look near, flat ones far. Nothing is learned, and any length can be computed.

# %%
print("slopes 斜率:", na.alibi_slopes(8))
print(na.alibi_bias(2, 4)[0, 0])
assert np.allclose(na.alibi_slopes(8), 2.0 ** -np.arange(1, 9))

# %% [markdown]
# ## 注意力汇聚点：没处可看的时候 · The attention sink: when there is nothing to look at
#
# softmax 让权重加起来是 1。如果没有什么值得看，注意力往哪里放？给序列开头加一个 `<s>`，训练以后看第 1 层（从 0 数起）：
#
# Softmax makes weights sum to 1. Where does attention go when nothing deserves it? Put `<s>` in front of every sequence, train, and look at layer 1 (counted from 0):

# %% tags=["varies", "experiment"]
sink = train(na.training.task("induction", bos=True, everywhere=True), steps=400, heads=2)
sink.model(*sink.held_out.inputs)
on_bos = sink.model.attentions()[1].weights[..., 0]                 # (N, H, L): 多少给了<s> how much goes to it
match = sink.held_out.gold.any(axis=(1, 3))                         # (N, L): 有没有可找的 is there something to find?
no_match = ~match & (np.arange(match.shape[1]) >= 2)
for head in (0, 1):
    print(f"头 head {head}: <s>上，没有匹配时 on <s> while nothing matches {on_bos[:, head][no_match].mean():.2f}, "
          f"有匹配时 once there is a match {on_bos[:, head][match].mean():.2f}")

# %% tags=["experiment"]
assert on_bos.max(axis=1)[no_match].mean() > 0.5
assert on_bos.mean(axis=1)[match].mean() < 0.15

# %% tags=["varies", "experiment"]
sink.model(*sink.exercise.inputs)
words = sink.task.words(sink.exercise.inputs[0][0])
na.plot_heads(sink.model.attentions()[1].weights, words, mask=na.causal_mask(len(words)), lang="both")

# %% [markdown]
# 第一列很亮，一有匹配就熄灭：`<s>` 是头的「停车位」。真的是「因为权重之和必须是 1」吗？要检验「因为」，就动一动原因：给每个头多一个**空的键**（键和值都是 0），让它有地方放权重。先猜：放在 `<s>` 上的会变多还是变少？`"more"` 还是 `"less"`？
#
# The first column is bright and goes out as soon as there is a match: `<s>` is where a head parks. Is it really "because weights must sum to 1"? To test a "because", change the cause: give every head an **empty key** (key and value are 0) to
# leave its weight at. Predict: does `<s>` get `"more"` or `"less"`?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
behind_s = na.training.task("induction", bos=True, everywhere=True)
with_empty = na.training.ToyModel(behind_s.vocab, behind_s.length, layers=2, heads=2, causal=True, rng=[0, 0])
na.training.alter.empty_key(with_empty)
emptied = na.training.train(behind_s, with_empty, steps=400, progress=False)
emptied.model(*emptied.held_out.inputs)
shares = emptied.model.attentions()[1].weights                          # 最后一列是空的键 the last column is the empty key
here = ~emptied.held_out.gold.any(axis=(1, 3)) & (np.arange(20) >= 2)
on_s, on_empty = (float(shares[..., column].mean(axis=1)[here].mean()) for column in (0, -1))
before = float(on_bos.mean(axis=1)[no_match].mean())
print(f"没有匹配时，<s>上原来 while nothing matches, on <s> before {before:.2f}, 现在 now {on_s:.2f}; 空的键上 on the empty key {on_empty:.2f}")
course.predict("<s>", guess, "less" if on_s < before else "more")

# %% tags=["experiment"]
assert on_s < before - 0.1 and on_empty > 0.2

# %% [markdown]
# 有了别处可放，`<s>` 上的就少了（换几个种子，少得有多有少）。所以盯着第一个词元，不说明它的内容重要。（可是生成文字时丢掉它的 K、V，停车位没了，模型会坏掉：流式推理要留着它。）
#
# With somewhere else to go, less goes to `<s>` (how much less differs from seed to seed). So a head that stares at the first token does not mean that what it says matters. (But drop its K and V while generating, and the parking place is gone: streaming keeps them.)

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 训练的正确率突然好得出奇。列出你会先查的两件事，为什么？写在下面一格里，再展开参考答案。
#
# Training accuracy is suddenly surprisingly good. Name two things that you would check first, and why. Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 一查因果：用探针改动一个未来的词元，看过去的输出动不动，掩码错一位就会这样。二查数据：考的题是不是训练里见过的，或者有捷径（比如周期固定）。能算出上限的话，先看有没有超过上限。
#
# First causality: probe it by changing a token of the future and looking whether outputs of the past move; a mask that is off by one does this. Second the data: was the test seen in training, or is there a shortcut, such as a fixed period? If the best possible can be worked out, see whether it was beaten.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 掩码在 softmax 之前把分数变成 −∞，True 表示可以看；填充挡的是键；整行被挡时要定义好，不能出 NaN。
# 2. 检查因果性不要只看正确率，要用探针：改一个未来的词元，过去的输出一点都不能变。
# 3. 没有掩码的注意力是置换等变的，位置要另外写入：RoPE 把 q、k 按位置旋转，分数只剩相对距离；ALiBi 按距离扣分；因果掩码本身也带一点顺序信息。没东西可看时，头会把注意力停在第一个词元上。
#
# 1. A mask turns scores into −∞ before the softmax, True means "may look"; padding hides keys; a row that is hidden altogether needs a
#    defined answer, not NaN.
# 2. Do not judge causality by accuracy alone, probe it: change a token of the future, and no output of the past may move.
# 3. Without a mask attention follows permutations, so positions are written in: RoPE turns q and k by their places, and only the distance is left in a score; ALiBi subtracts points for distance; a causal mask
#    tells something about order, too. With nothing to look at, heads park on the first token.
