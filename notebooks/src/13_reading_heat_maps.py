# %% [markdown]
# # 13 · 读图要诚实 · Reading heat maps honestly
#
# **目标**：看到一张注意力热图，知道可以得出什么结论，不可以得出什么结论，并会用「关掉这个头」来检验。
#
# **Goal**: know what an attention map lets you conclude and what it does not, and test it by switching the head off.
#
# *约 30 分钟 · about 30 minutes; runs in 15 s*
#
# 这一课的数字：一行 10 个权重，和一个训练好的两层、每层 4 个头的小模型。
#
# The numbers of this lesson: a row of 10 weights, and a trained model with two layers of 4 heads.

# %%
from itertools import combinations

import numpy as np
import numpy_attention as na
from numpy_attention import course

np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# ## 一张图 · The picture
#
# 下面四张图是**同一组数**：没有训练过的头，权重差不多是平均的。你会对每一张说什么？
#
# These four pictures show **the same numbers**: a head that prefers hardly anything. What would you say about each?

# %%
rng = np.random.default_rng(3)
tokens = list("abcdefgh")
weights = na.Softmax()(0.07 * rng.standard_normal((8, 8)) + 0.5 * np.eye(8))
course.four_ways(weights, tokens, alt="The same nearly uniform weights four ways: on their own range they look like a strong diagonal, from 0 to 1 they look "
                                      "flat, with the origin below the diagonal turns round, and on a logarithmic scale everything is bright.")

# %%
print(f"smallest 最小 {weights.min():.2f}, largest 最大 {weights.max():.2f}, all alike 平均 {1 / 8:.3f}")

# %% [markdown]
# - **A** 自动范围：像一条清楚的对角线，其实最大的也不到平均的两倍。
# - **B** 固定 0 到 1：诚实，几乎什么也没有。本项目的图默认都这样画。
# - **C** 原点在下：对角线翻了过去，「看自己」变成了「看镜像」。
# - **D** 对数：什么都亮。
#
# **A**, on its own range, shows a clear diagonal, though the largest weight is less than twice the average. **B**, from 0 to 1, is honest: there is hardly anything. The
# pictures of this project are drawn like that unless asked otherwise. **C**, with the origin below, turns the diagonal round. **D**, logarithmic, is bright everywhere.

# %% [markdown]
# ## 权重不同，输出相同 · Other weights, the same output
#
# 输出是 $wV$。如果 $S > d_v + 1$，就有一些方向 $n$，使得 $nV = 0$，$\sum n = 0$：沿着它移动权重，输出**一点也不变**。
#
# The output is $wV$. If $S > d_v + 1$, there are directions $n$ with $nV = 0$ and $\sum n = 0$. Move the weights along them, and the output does **not change at
# all**.
#
# 先猜：S = 10、d_v = 4，最多能把多少注意力搬到别处，而输出不变？(0 到 1)
#
# Predict: with S = 10 and d_v = 4, how much of the attention can go elsewhere at most, without changing the output? (0 to 1)

# %% tags=["guess"]
guess = None

# %%
def farthest(w, V):
    """The farthest of all weights with the same output. They fill a polytope, and the farthest lie in its corners: at most d_v + 1 of them are not 0."""
    constraints = np.column_stack([V, np.ones(len(V))]).T                       # (d_v + 1, S)
    best = w
    for corner in combinations(range(len(w)), len(constraints)):
        shares = np.linalg.solve(constraints[:, corner], constraints @ w)
        if shares.min() >= 0:
            other = np.zeros(len(w))
            other[list(corner)] = shares
            best = max(best, other, key=lambda each: np.abs(each - w).sum())
    return best


V = rng.standard_normal((10, 4))
w = na.Softmax()(0.5 * rng.standard_normal(10))
other = farthest(w, V)
moved = np.abs(other - w).sum() / 2
print("权重 weights:", w)
print("别的权重 other weights:", other)
print("same output 输出相同:", np.allclose(w @ V, other @ V, atol=1e-12))
course.predict("搬走的注意力 attention moved", guess, round(float(moved), 2))

# %%
assert moved > 0.3
for d_v in (2, 4, 8, 9):
    V_d = np.random.default_rng(d_v).standard_normal((10, d_v))
    can_move = np.abs(farthest(w, V_d) - w).sum() / 2
    print(f"d_v = {d_v}: 可以搬走 can move {can_move:.2f}")
    assert (can_move > 0.05) == (d_v + 1 < 10)

# %% [markdown]
# 所以「它看了这里，所以用了这里」不一定成立。$S > d_v + 1$ 的时候，权重不是唯一的解释；$S = d_v + 1$ 时（上面的 d_v = 9）已经没有余地了。
#
# So "it looked here, hence it used this" need not hold. Where $S > d_v + 1$, the weights are not the only explanation; with $S = d_v + 1$ (d_v = 9 above) there is no room left.

# %% [markdown]
# ### 练习 · Exercise
#
# 写出来：给你一行权重 (S,) 和 V (S, d_v)，返回**另一行**权重，非负、和为 1、输出完全相同，至少有 5% 的注意力换了地方。如果 d_v + 1 ≥ S（这里的 V 都是满秩的），没有别的解，原样返回。
#
# Write it: given a row of weights (S,) and V (S, d_v), return **another** row, not negative, with sum 1 and exactly the same output, in which at least 5 % of the attention
# went elsewhere. If d_v + 1 ≥ S there is no other, since V has full rank here; return the row as it is.
#
# 提示 · Hint: `np.linalg.svd(np.column_stack([V, np.ones(S)]).T)[2][rank:]` 的每一行就是一个方向 n；the rows are the directions n.

# %% tags=["exercise"]
def same_output(weights, V):
    """weights (S,), V (S, d_v) -> other weights (S,)"""
    return ...


course.check("same-output", same_output)

# %% [markdown]
# *约 25 分钟，难度 ★★★；卡住了就运行 `course.hint("same-output")`，再运行看下一条 · about 25 minutes, difficulty ★★★; if stuck, run `course.hint("same-output")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def same_output(weights, V):
#     constraints = np.column_stack([V, np.ones(len(V))])
#     rank = np.linalg.matrix_rank(constraints)
#     if rank == len(V):
#         return weights.copy()
#     best = weights.copy()
#     for n in np.linalg.svd(constraints.T)[2][rank:]:
#         for way in (n, -n):
#             down = way < -1e-12
#             step = (weights[down] / -way[down]).min()       # as far as no weight becomes negative
#             other = np.maximum(weights + step * way, 0)
#             if np.abs(other - weights).sum() > np.abs(best - weights).sum():
#                 best = other
#     return best
# ```
#
# </details>

# %% [markdown]
# ## 意外：最尖的头，最要紧吗？ · A surprise: is the sharpest head the one that matters?
#
# 想知道一个头有没有用，光看它的图不够，**把它关掉**，看正确率掉多少。先猜：两层、每层 4 个头的归纳模型，8 个头里有几个关掉以后正确率下降不到 10 个百分点？
#
# To know whether a head matters, looking at its map is not enough: **switch it off** and see how far accuracy falls. Predict: of the 8 heads of an induction model, how many can be
# switched off one at a time at a cost below 10 points?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
run = na.training.train("induction", heads=4, d_model=64, steps=300, stop_at=0.995, progress=False)
costs = na.training.head_costs(run.model, run.held_out)                     # (layers, H)
run.model(*run.held_out.inputs)
entropy = np.stack([na.training.entropy(a.weights) for a in run.model.attentions()])
removable = int((costs < 0.10).sum())
print(f"正确率 accuracy {run.accuracy:.2f}")
course.predict("可以关掉的 can be switched off", guess, removable)

# %% tags=["varies", "experiment"]
widest = np.log(np.arange(1, 21)).mean()             # 因果掩码下，最平均也只有这么多 the most there is under a causal mask
course.table(np.concatenate([entropy / widest, costs]), [f"{what} {layer}" for what in ("熵，层 entropy, layer", "代价，层 cost, layer") for layer in (0, 1)],
             [f"头 head {h}" for h in range(4)], title="熵（0 = 很尖，1 = 平均）和关掉的代价 · Entropy (0 sharp, 1 uniform), and the cost of switching off",
             alt="Entropy and ablation cost of eight heads: the sharp heads of layer 1 cost next to nothing; the costliest is the sharpest of layer 0.")

# %% tags=["varies", "experiment"]
sharpest = np.unravel_index(entropy.argmin(), entropy.shape)
costliest = np.unravel_index(costs.argmax(), costs.shape)
print(f"最尖的头 sharpest head: {sharpest[0]}.{sharpest[1]}, 代价 costs {costs[sharpest]:.2f}")
print(f"最要紧的头 costliest head: {costliest[0]}.{costliest[1]}, 代价 costs {costs[costliest]:.2f}, 熵 entropy {entropy[costliest]:.2f}")
print(f"第 0 层里最尖的 sharpest of layer 0: {0}.{entropy[0].argmin()}, 熵 entropy {entropy[0].min():.2f}; 平均的话 even {widest:.2f}")

# %% tags=["experiment"]
assert removable >= 5
assert costs[sharpest] < 0.1
assert costliest[0] == 0
assert entropy[costliest] > entropy[1].max()
assert entropy[costliest] - entropy[0].min() < 0.15

# %% tags=["varies", "experiment"]
run.model(*run.exercise.inputs)
words = run.task.words(run.exercise.inputs[0][0])
na.plot_heads([a.weights for a in run.model.attentions()], words, mask=na.causal_mask(len(words)), lang="both")

# %% [markdown]
# 第 1 层的四个头都很尖，图也漂亮，却没有一个是单独离不开的：它们做着同样的事，互为备份。最要紧的头在第 0 层，它的熵比第 1 层的每一个头都大。所以**跨层比较，尖不说明重要**。
# 可是在第 0 层**之内**，它正是最尖的那一个：要比就在同一层里比。还有，单个关掉代价小，也不等于可以一起关掉：
#
# The four heads of layer 1 are sharp and pretty, and none of them is indispensable alone: they do the same job and stand in for one another. The head that matters most is in layer 0, and its entropy is higher than that of each head of layer 1. So **between layers, sharp does
# not mean important**. But **within** layer 0 it is just the sharpest: compare heads of one layer. And cheap one at a time does not mean cheap all together:

# %% tags=["varies", "experiment"]
from contextlib import ExitStack

with ExitStack() as stack:
    for head in range(4):
        stack.enter_context(na.training.head_off(run.model, 1, head))
    together = na.training.accuracy(run.model, run.held_out)
print(f"第 1 层的四个头一起关掉，正确率 all four heads of layer 1 off: accuracy {together:.2f}")

# %% tags=["experiment"]
assert together < run.accuracy - 0.3

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 论文里有一张漂亮的热图，说「模型看的是这个词，所以判断对了」。你要问作者哪三个问题？写在下面一格里，再展开参考答案。
#
# A paper shows a pretty map: "the model looked at this word, and so it was right". Which three questions do you ask the authors? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 一，色标是多少到多少，是不是每张图各用各的？二，别的头、别的句子也这样吗，还是挑出来的？三，把这个头关掉（或者换掉那个词的值），判断会变吗？有对照吗？
#
# One: from what to what does the colour bar go, and is it the same for all? Two: is it so for other heads and sentences, or was this one picked? Three: switch the head off (or exchange that word's value): does the answer change, and compared with which control?
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 看热图先看色标：范围要固定在 0 到 1，原点在上，所有头用同一把尺。
# 2. 权重不是解释：S > d_v + 1、权重都大于 0 时，一定有别的权重给出完全相同的输出；要结合值，或者做消融。
# 3. 一个头重不重要，要把它关掉来量：尖锐的头可以是冗余的，第 1 层的头互为备份；而第 0 层里最要紧的，恰恰几乎总是那一层最尖的头。
#
# 1. Look at the colour bar first: fixed from 0 to 1, origin on top, one scale for all heads.
# 2. Weights are no explanation: where S > d_v + 1 and all weights are above 0, there are always other weights with exactly the same output. Look at the values too, or ablate.
# 3. Whether a head matters is measured by switching it off: a sharp head may be redundant, those of layer 1 stand in for each other; within layer 0 the one that mattered was nearly always the sharpest.
