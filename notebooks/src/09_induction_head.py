# %% [markdown]
# # 09 · 两层合成一个归纳头 · Two layers make an induction head
#
# **目标**：看着两层注意力学会配合：第一层记住「我前面是谁」，第二层找到「上次遇到同样的字以后发生了什么」。
#
# **Goal**: watch two layers learn to cooperate: the first notes "who stands before me", the second finds "what happened after this token last time".
#
# *约 30 分钟 · about 30 minutes; runs in 25 s*
#
# 这一课的任务：一段随机字母不断重复，**周期每次不同**（4 到 10），只考能预测的位置。
#
# The task of this lesson: a block of random letters repeats itself, **with another period each time** (4 to 10). Only what can be foretold is asked.

# %%
import numpy_attention as na
from numpy_attention import course

task = na.training.task("induction")
for seed in (1, 2):
    batch = task.batch(1, rng=seed)
    print(" ".join(task.words(batch.inputs[0][0])))

# %% [markdown]
# ## 怎么猜下一个字母？ · How do you foretell the next letter?
#
# 你看到 `… a f … a`，会想：上次 `a` 后面是 `f`，所以这次也是 `f`。这需要两步：
#
# 1. **第一层**：每个位置看自己的前一个，把「我前面是谁」写进自己那一行。
# 2. **第二层**：当前字母 `a` 作为查询，去找「前面是 `a`」的那个位置，那里正是 `f`，取回来。
#
# You see `… a f … a` and think: last time `a` was followed by `f`, so it will be again. That takes two steps. **Layer 0**: every place looks at
# the one before and writes "before me stands …" into its own row. **Layer 1**: the present `a`, as a query, finds the place that says "before me
# stands `a`". That place holds `f`, which is brought back.
#
# 先猜：只有**一层**，训练多久都好，能学会吗？
#
# Predict: with **one** layer, however long it trains, can it be learned?

# %% tags=["varies", "experiment"]
guess = None

settings = {"positions": "rotary", "lr": 5e-3, "progress": False}
two = na.training.train("induction", layers=2, steps=160, measure_every=20, snapshots=(0, 80, 160), **settings)
one = na.training.train("induction", layers=1, steps=300, **settings)
print(f"2 layers: {two.accuracy:.2f} after {two.step} steps, {two.parameters:,} parameters")
print(f"1 layer:  {one.accuracy:.2f} after {one.step} steps")
course.predict("一层能学会吗 learned with one layer?", guess, bool(one.accuracy > 0.9))

# %% tags=["experiment"]
assert two.accuracy > 0.9
assert one.accuracy < 0.7
assert two.history["previous token"][-1][0, 0] > 2 * two.history["previous token"][0][0, 0]

# %% [markdown]
# ## 一张图 · The picture
#
# 三条曲线：正确率；第一层「看前一个」的程度；第二层「前缀匹配」的程度（多少注意力落在上次同样字母的**后面**）。
# 单有一个头没有用，两个头是一起长出来的；它们长成的时候，正确率就起飞了。（基线：平均看所有位置，分数大约就是第 0 步的值。）
#
# Three curves: accuracy; how much layer 0 looks at the previous token; how much layer 1 matches prefixes, that is, how much of its attention goes
# to what *followed* the same letter. One head alone is of no use, they grow together, and when they are there accuracy takes off. (The values at
# step 0 are what looking everywhere alike gives.)

# %% tags=["varies", "experiment"]
steps = two.history["step"]
previous = [scores[0, 0] for scores in two.history["previous token"]]
matching = [scores[1, 0] for scores in two.history["prefix match"]]
course.curves(steps, {"accuracy 正确率": two.history["accuracy"], "layer 1: prefix match 前缀匹配": matching,
                      "layer 0: previous token 看前一个": previous},
              xlabel="step", ylabel="0 … 1", limits=(0, 1), title="归纳头的诞生 · An induction head is born", size=(8.5, 3.6),
              alt=f"Over {steps[-1]} steps accuracy rises from {two.history['accuracy'][0]:.2f} to {two.accuracy:.2f}, the prefix match of layer 1 "
                  f"from {matching[0]:.2f} to {matching[-1]:.2f}, the previous-token score of layer 0 from {previous[0]:.2f} to {previous[-1]:.2f}.")

# %% [markdown]
# 同一个序列，训练前、中、后第二层的权重：
#
# The weights of layer 1 on the same sequence, before, during and after training:

# %% tags=["varies", "experiment"]
from numpy_attention.plots import plot_film

words = task.words(two.exercise.inputs[0][0])
kept = sorted(two.snapshots)
plot_film([two.snapshots[step][1, 0] for step in kept], kept, two.history["accuracy"], curve_steps=steps, curve_label="accuracy 正确率",
          query_tokens=words, key_tokens=words, mask=na.causal_mask(len(words)), lang="both")

# %% [markdown]
# ### 练习 · Exercise
#
# 写一个归纳头**探测器**：给出每个头的前缀匹配分数。对每个位置 i，找出所有 j ≤ i，使得 `tokens[j − 1] == tokens[i]`；把 `weights[n, h, i, j]`
# 对这些 j 相加；再对所有「至少有一个匹配」的 (n, i) 求平均。
#
# Write a **detector** of induction heads: the prefix-match score of each head. For each place i take all j ≤ i with `tokens[j − 1] == tokens[i]`, add
# up `weights[n, h, i, j]` over these j, and average over all (n, i) that have a match.

# %% tags=["exercise"]
def prefix_match(weights, tokens):
    """weights (N, H, L, L), tokens (N, L) -> (H,)"""
    return ...


course.check("prefix-match", prefix_match)

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def prefix_match(weights, tokens):
#     N, H, L, _ = weights.shape
#     total, count = np.zeros(H), 0
#     for n in range(N):
#         for i in range(L):
#             places = [j for j in range(1, i + 1) if tokens[n, j - 1] == tokens[n, i]]
#             if places:
#                 total += weights[n, :, i, places].sum(axis=0)
#                 count += 1
#     return total / count
# ```
#
# </details>

# %% [markdown]
# ## 意外：周期固定，一层就够？ · A surprise: with a fixed period, one layer is enough?
#
# 如果每次的周期都是 9，一层模型很快就学会了。它学会的是归纳吗？拿变周期的题考考它。先猜：正确率多少？
#
# If the period is always 9, a model of one layer learns it in no time. But has it learned induction? Examine it on varying periods. Predict its
# accuracy:

# %% tags=["varies", "experiment"]
guess = None

fixed = na.training.train(na.training.task("induction", periods=(9, 9)), layers=1, steps=200, stop_at=0.99, **settings)
elsewhere = na.training.accuracy(fixed.model, task.batch(500, rng=1))
print(f"period 9: {fixed.accuracy:.2f} after {fixed.step} steps")
course.predict("变周期 varying periods", guess, elsewhere)

# %% tags=["experiment"]
assert fixed.accuracy > 0.98
assert elsewhere < 0.4

# %% [markdown]
# 它学会的是「往回数 8 格」，不是归纳。**在训练分布里考满分，不等于学会了你以为它学会的东西。**
#
# It learned "look 8 places back", which is no induction. **Full marks on the training distribution do not mean that it learned what you think.**
#
# 看图就知道：一层模型的权重是固定的斜线，只看距离，不看内容。
#
# The picture shows it: its weights are fixed diagonals, by distance and not by content.

# %% tags=["varies", "experiment"]
fixed.model(*fixed.exercise.inputs)
words = fixed.task.words(fixed.exercise.inputs[0][0])
na.plot_heads(fixed.model.attentions()[0].weights, words, mask=na.causal_mask(len(words)), lang="both")

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 归纳头要两层配合：第一层的「前一词元头」把前一个词写进当前位置，第二层用当前词去匹配，再抄它后面的词。
# 2. 这是上下文学习最小的例子：规律写在提示里，不在参数里；我用前缀匹配分数量出了它的形成过程。
# 3. 周期固定时一层就能「学会」，但换个周期就不行：评测要换分布，不能只看训练集上的满分。
#
# 1. An induction head takes two layers: a previous-token head writes the preceding token into each place, the second layer matches the present
#    token against that and copies what came next.
# 2. It is the smallest example of learning in context: the rule lies in the prompt, not in the parameters. I measured how it forms, by its
#    prefix-match score.
# 3. With a fixed period one layer "learns" it too, and fails at any other period: evaluate on another distribution, do not trust full marks.
