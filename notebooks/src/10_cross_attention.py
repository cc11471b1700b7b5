# %% [markdown]
# # 10 · 交叉注意力：软字典 · Cross-attention as a soft dictionary
#
# **目标**：把注意力看成一本可以求导的字典，写出它的反向传播，并发现「键和值放在一起」有多重要。
#
# **Goal**: see attention as a dictionary that can be differentiated, write its backward pass, and find out how much it matters that key and value come
# together.
#
# *约 35 分钟 · about 35 minutes; runs in 30 s*
#
# 这一课的数字：一本小字典，6 个格子，每格一个键（字母）和一个值（字母）。
#
# The numbers of this lesson: a small dictionary of 6 slots, each with a key and a value (both letters).

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.plots import plot_cross_attention

np.set_printoptions(precision=2, suppress=True)
task = na.training.task("recall")
asked, memory = task.batch(1, rng=0).inputs
print("字典 dictionary:", {task.word(k): task.word(v) for k, v in memory[0]})
print("要查 asked:     ", task.words(asked[0]))

# %% [markdown]
# ## 从字典到软字典 · From a dictionary to a soft one
#
# Python 的字典要求键**完全相等**，取回**一个**值。注意力给每个键打分，取回**按份额混合**的值：所以查询可以模糊，结果可以求导。
#
# A Python dictionary wants an **equal** key and returns **one** value. Attention scores every key and returns a **mixture**: so a query may be vague,
# and the answer can be differentiated.

# %%
keys = np.eye(3)                                        # 红 red, 绿 green, 蓝 blue
values = np.array([[10.], [20.], [30.]])
attention = na.ScaledDotProductAttention()
for name, query in (("红 red", [1, 0, 0]), ("红绿之间 between red and green", [0.5, 0.5, 0])):
    for sharpness in (1, 20):
        found = attention(sharpness * np.array([query]), keys, values)
        print(f"{name:32} × {sharpness:2}: 权重 weights {attention.weights[0]}, 值 value {found[0, 0]:.1f}")

# %% [markdown]
# 查询乘得越大，越像真正的字典，除非两个键一样近：红绿之间，乘多大都是各一半。
#
# The larger the query, the more it behaves like a real dictionary, unless two keys are equally near: between red and green, they share it half and half at any size.
#
# ## 交叉注意力 · Cross-attention
#
# 自注意力里 Q、K、V 来自同一个序列。**交叉注意力**：查询来自一边 (L 个)，键和值来自另一边 (S 个)。权重是 L × S 的长方形。翻译时，
# 译文查原文；这里，问题查字典。
#
# In self-attention Q, K and V come from the same sequence. In **cross-attention** the queries come from one side (L of them), keys and values from the
# other (S). The weights are a rectangle, L × S. In translation the target asks the source; here the question asks the dictionary.
#
# 先猜：一个头，要训练多少步才能查得准（99%）？
#
# Predict: with one head, how many steps of training until it looks things up correctly (99 %)?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
run = na.training.train(task, steps=150, stop_at=0.99, measure_every=10, progress=False)
course.predict("steps", guess, run.step)

# %% [markdown]
# ## 一张图 · The picture
#
# 行是问题，列是格子（键→值），框是正确的格子。
#
# Rows are questions, columns are slots (key→value), and the frame is the right slot.

# %% tags=["varies", "experiment"]
exercise = run.exercise
run.model(*exercise.inputs)
asked, memory = exercise.inputs
plot_cross_attention(run.model.attentions()[0].weights, [f"{w}?" for w in task.words(asked[0])], task.words(memory[0, :, 0]),
                     value_tokens=task.words(memory[0, :, 1]), gold=exercise.gold[0, 0].argmax(axis=-1), lang="both")

# %% tags=["experiment"]
run.model(*run.held_out.inputs)
mass = na.training.gold_mass(run.model.attentions()[0].weights, run.held_out.gold)
assert run.accuracy >= 0.99
assert mass.max() > 0.7

# %% [markdown]
# ### 练习 · Exercise
#
# 写出交叉注意力的**反向传播**。dQ 流向提问的一边，dK 和 dV 流向 memory。memory 一身二职（键和值），所以两条路的梯度**相加**。
#
# Write the **backward** pass of cross-attention. dQ flows to the side that asks, dK and dV to the memory. The memory plays two roles, so its two
# gradients **add up**.
#
# | | shape |
# |---|---|
# | `query`, `memory` | (L, D), (S, D) |
# | `W_Q`, `W_K`, `W_V` | (D, d_k), (D, d_k), (D, d_v) |
# | `dheads` | (L, d_v) |

# %% tags=["exercise"]
def cross_backward(query, memory, W_Q, W_K, W_V, dheads):
    """-> dquery (L, D), dmemory (S, D)"""
    dquery = ...
    dmemory = ...
    return dquery, dmemory


course.check("cross-backward", cross_backward)

# %% [markdown]
# *约 25 分钟，难度 ★★★；卡住了就运行 `course.hint("cross-backward")`，再运行看下一条 · about 25 minutes, difficulty ★★★; if stuck, run `course.hint("cross-backward")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def cross_backward(query, memory, W_Q, W_K, W_V, dheads):
#     Q, K, V = query @ W_Q, memory @ W_K, memory @ W_V
#     scale = 1 / np.sqrt(Q.shape[-1])
#     weights = na.Softmax()(Q @ K.T * scale)
#     dV = weights.T @ dheads
#     dweights = dheads @ V.T
#     dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
#     dQ = dscores @ K * scale
#     dK = dscores.T @ Q * scale
#     dquery = dQ @ W_Q.T
#     dmemory = dK @ W_K.T + dV @ W_V.T
#     return dquery, dmemory
# ```
#
# </details>

# %% [markdown]
# 程序包里的一层也是这样：`mha(query, memory)` 的 `backward` 返回两个梯度。
#
# So does the package's layer: the `backward` of `mha(query, memory)` returns two gradients.

# %%
rng = np.random.default_rng(0)
mha = na.MultiHeadAttention(8, 2, rng=0)
query, rows = rng.standard_normal((1, 4, 8)), rng.standard_normal((1, 5, 8))
out = mha(query, rows)
dquery, dmemory = mha.backward(rng.standard_normal(out.shape))
print(dquery.shape, dmemory.shape, "dmemory = dkey + dvalue:", np.allclose(dmemory, mha.grads["key"] + mha.grads["value"]))

# %% [markdown]
# ## 意外：把字典摊平 · A surprise: lay the dictionary flat
#
# 同样的内容，不放在格子里，而是排成一串：键 值 键 值 … 最后问一个键。先猜：**一层一个头**练 400 步，正确率多少？两层各一个头呢？
#
# The same facts, not in slots, but in one stream: key value key value …, and at the end one key is asked. Predict the accuracy of **one layer with one head** after 400 steps, and of
# two layers with one head each:

# %% tags=["guess"]
guess_one = None
guess_two = None

# %% tags=["varies", "experiment"]
facts = na.training.task("facts")
print("一串 stream:", *facts.words(facts.batch(1, rng=0).inputs[0][0]))
one = na.training.train(facts, layers=1, steps=400, progress=False)
two = na.training.train(facts, layers=2, steps=400, stop_at=0.99, progress=False)
course.predict(("一层 one layer", guess_one, one.accuracy), ("两层 two layers", guess_two, two.accuracy))

# %% tags=["experiment"]
assert one.accuracy < 0.7
assert two.accuracy > 0.95

# %% [markdown]
# 摊平以后，键和值在**不同的位置**：找到了键，值却在隔壁。两层的办法：先有一层把它们绑在一起（值的位置写上「我的键是谁」），第二层再查。
# 这就是第 09 课的归纳头。那么一层就**做不到**吗？训练没找到，不等于做不到。先猜：一层四个头，手工设参数，能答对多少？
#
# In the stream, key and value lie in **different places**: you find the key, but the value is next door. With two layers, one binds them (writes "my key
# is …" into the value's place) and the second looks it up: it is the induction head of lesson 09. So **can** one layer not do it? What training did not find may still exist. Predict:
# one layer of four heads, with parameters set by hand, gets how much right?

# %% tags=["guess"]
guess = None

# %%
by_hand = na.training.by_hand.facts_by_hand()
course.predict("一层四个头，手工 one layer, four heads, by hand", guess, na.training.accuracy(by_hand, facts.batch(3000, rng=1)))

# %%
batch = facts.batch(1, rng=0)
assert na.training.accuracy(by_hand, facts.batch(3000, rng=1)) == 1
by_hand(*batch.inputs)
print("一串 stream:", *facts.words(batch.inputs[0][0]), "→", facts.word(batch.targets[0, -1]))
for head, row in enumerate(by_hand.attentions()[0].weights[0, :, -1]):
    print(f"头 head {head} 看位置 looks at place {row.argmax()}: {facts.words(batch.inputs[0][0])[row.argmax()]}")

# %% [markdown]
# 全对！每条事实一个头：头 h 平时待在第 h 个键上，键不交出任何内容，等于不说话；如果第 h 个键正好是要问的那个，它的分数就被压下去，权重落到旁边的值上。照这个办法，事实越多，要的头越多；两层各一个头就够了。
# 所以准确的说法是：**一层做得到，这个办法的代价是每条事实一个头，而且训练很难找到；两层一两百步就学会。**
#
# All of it! A head for each fact: head h stays on key h, and keys hand over nothing, so it says nothing; if key h is the one that is asked for, its score is pushed down, and the weight falls to the value beside it. In this way more facts take more heads; two
# layers do with one head each. So the exact sentence is: **one layer can, in this way at the price of a head for each fact, and training hardly finds it; two layers learn it in a hundred steps or two.**

# %% [markdown]
# ## 一个头能记多少？ · How much does one head hold?
#
# 12 个格子，32 个不同的键。250 步里，宽度 D 要多大才学得会九成？
#
# 12 slots, 32 different keys. How wide does D have to be to learn 90 % within 250 steps?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
widths = (2, 4, 6, 8, 16)
large = na.training.task("recall", slots=12, V=32)
reached = [na.training.train(large, d_model=d, steps=250, stop_at=0.99, progress=False).accuracy for d in widths]
course.predict("九成要几维 the smallest D with 90 %", guess, next(d for d, a in zip(widths, reached) if a > 0.9))

# %% tags=["varies", "experiment"]
course.curves(widths, {"accuracy 正确率": reached}, xlabel="D", ylabel="正确率 accuracy", limits=(0, 1.05), title="12 个格子，32 个键 · 12 slots, 32 keys",
              alt="Accuracy over the width D: " + ", ".join(f"D = {d}: {a:.2f}" for d, a in zip(widths, reached)))

# %% tags=["experiment"]
assert reached[0] < 0.4 and reached[-1] > 0.95

# %% [markdown]
# 这张图量的是「250 步里学得会」，不是「放得下」。**放得下**要几维？手工设参数：键放在两个数的一个圆上，值放在另外两个数的一个圆上，D = 4。再让 D = 4 练 6000 步，学习率沿余弦慢慢降到 0。先猜两个正确率：
#
# The picture shows what is learned in 250 steps, not what there is **room** for. By hand: let the keys lie on a circle in two of the numbers, and the values on a circle in two others, so that D = 4. And train D = 4 for 6,000 steps, with a rate that falls
# along a cosine. Predict both accuracies:

# %% tags=["guess"]
guess_by_hand = None
guess_6000_steps = None

# %% tags=["varies", "experiment"]
narrow = na.training.by_hand.rows_of_four_by_hand()
placed = na.training.accuracy(narrow, large.batch(2000, rng=1))
falling = na.warmup_cosine(0.01, warmup=20, total=6000)
patient = na.training.train(large, d_model=4, steps=6000, lr=falling, stop_at=0.99, measure_every=500, progress=False)
print(f"D = 4: 250 步 steps {reached[1]:.2f}, {patient.step} 步 steps {patient.accuracy:.2f}, 手工 by hand {placed:.2f}")
course.predict(("手工 by hand", guess_by_hand, placed), ("练 6000 步 after 6000 steps", guess_6000_steps, patient.accuracy))

# %% tags=["experiment"]
assert placed == 1
assert patient.accuracy > 0.95

# %% [markdown]
# **4 维就放得下 32 个键和值**，只是要学会用它，得有耐心，还得让学习率降下来；宽一些，学得快得多。几维空间里能放许多方向，只要彼此分得开。
#
# **4 dimensions have room for 32 keys and values**; to learn to use it takes patience and a falling rate. Wider rows learn much faster. A few dimensions hold many directions, as long as they can be told apart.

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 「一层没有学会」和「一层做不到」差在哪里？各要什么样的证据？写在下面一格里，再展开参考答案。
#
# What is the difference between "one layer did not learn it" and "one layer is not able to do it"? What evidence does each take? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 前一句是测量：写明步数、学习率、头数、种子就行。后一句是定理：要推导出来。推翻它只要一个例子，最便宜的是手工设参数，像这一课的四个头那样。
#
# The first is a measurement: name the steps, the rate, the heads and the seeds. The second is a theorem and wants a derivation. A single example refutes it, and the cheapest is to set the parameters by hand, as with the four heads of this lesson.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 交叉注意力：Q 来自解码器，K 和 V 来自编码器；权重是 L × S，两边长度可以不同。
# 2. 它是一本软字典：打分、归一化、加权取值，处处可导；反向传播时 dK、dV 都流向 memory，所以要相加。
# 3. 键和值在同一个格子里，一层就够；排成一串时，两层各一个头一两百步就学会；一层给每条事实一个头也做得到（可以手工设参数证明），只是很难训练出来。
#
# 1. In cross-attention Q comes from the decoder, K and V from the encoder; the weights are L × S, and both lengths are free.
# 2. It is a soft dictionary: score, normalise, mix, all differentiable. Backward, dK and dV both flow to the memory, so they add up.
# 3. With key and value in one slot a single layer is enough. In one stream, two layers of one head learn it in a hundred steps or two; one layer with a head for each fact can do it as well
#    (parameters set by hand prove it), though training hardly finds them.
