# %% [markdown]
# # 12 · 捉虫博物馆 · The bug museum
#
# **目标**：设计「因为对的理由而失败」的测试，知道哪一种检查看得见哪一种错误。
#
# **Goal**: design tests that fail for the right reason, and know which check can see which kind of bug.
#
# *约 45 分钟 · about 45 minutes; runs in 40 s*
#
# 博物馆里的错误大多来自真实的项目，卡片上写着出处（没有找到出处的也写明了）。它们被小心地种进一个正确的多头注意力里。
#
# Most bugs of the museum come from real projects; the card says which, or that no thread is known. Here each is planted in a multi-head attention that is otherwise right.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course, museum

names = museum.names("attention")
print(len(names), "specimens 标本:", ", ".join(names[:6]), "…")

# %% [markdown]
# ## 一张卡片 · A card

# %%
print(museum.card("merge-without-transpose"))

# %% [markdown]
# ## 意外：训练也发现不了 · A surprise: training does not notice
#
# 种下错误，然后训练「倒序」任务。这里挑 12 个与掩码无关的错误，其中 7 个错在反向传播，5 个错在前向。先猜：有几个还能学到 99%？
#
# Plant a bug, then train on reversal. Here are 12 bugs that have nothing to do with masks, 7 in backward, 5 in forward. Predict: how many still reach 99 %?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
def train_with(bug, name="reverse", **sizes):
    task = na.training.task(name)
    model = na.training.ToyModel(task.vocab, task.length, heads=4, d_model=32, causal=task.causal, rng=0, **sizes)
    for attention in model.attentions():
        museum.card(bug).plant(attention)
    return na.training.train(task, model, steps=200, stop_at=0.99, progress=False)


backward_bugs = ["softmax-diagonal", "softmax-no-row-term", "scale-missing-backward", "values-untransposed", "keys-untransposed",
                 "key-path-forgotten", "no-gradient-through-weights"]
forward_bugs = ["scale-by-model-width", "split-without-transpose", "merge-without-transpose", "softmax-over-queries", "keys-and-values-swapped"]
accuracy = {bug: train_with(bug).accuracy for bug in backward_bugs + forward_bugs}
for bug, reached in accuracy.items():
    print(f"{bug:28} {reached:.2f}  {'survives 活下来了' if reached >= 0.99 else 'noticed 被发现了'}")

survivors = sum(reached >= 0.99 for reached in accuracy.values())
course.predict("还能学到 99% 的 still reach 99 %", guess, survivors)

# %% tags=["experiment"]
assert survivors >= 9

# %% [markdown]
# **损失在下降，不等于代码是对的。** 网络会绕着错误学：方向大致对的梯度就够用了，切错了的头也能重新适应。
#
# 这是容易的任务。换一个难的：归纳，两层要配合，同样 200 步（没有错误的层学得会）。先猜：12 个里还有几个能学到 99%？
#
# **A falling loss does not mean the code is right.** Networks learn around bugs: a gradient that points roughly downhill is enough, and wrongly cut heads are
# adapted to.
#
# That was an easy task. Take a harder one, induction, where two layers work together, and as many steps (which is enough for a right layer). Predict: how many of the 12 still reach 99 %?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
harder = {bug: train_with(bug, "induction", layers=2).accuracy for bug in backward_bugs + forward_bugs}
for bug, reached in harder.items():
    print(f"{bug:28} reverse {accuracy[bug]:.2f}   induction {reached:.2f}")

hard_survivors = sum(reached >= 0.99 for reached in harder.values())
course.predict("归纳任务上还能学到 99% 的 still reach 99 % on induction", guess, hard_survivors)

# %% tags=["experiment"]
assert 1 <= hard_survivors <= 6 < survivors

# %% [markdown]
# 任务越容易，越藏得住错误；可是难的任务上也还有几个活下来。训练是一张网眼很大的网。
#
# The easier the task, the better a bug can hide; and even on the harder one some survive. Training is a net with wide meshes.

# %% [markdown]
# ## 一张图 · The picture
#
# 五种检查，谁看得见什么？实心是抓到了。
#
# - **参考数值**：输出和另外算好的数比；
# - **每行之和**：权重每行加起来是 1；
# - **因果探针**（第 08 课）；
# - **置换词元**：输出应该跟着换位置；
# - **梯度检查**（第 03 课）。
#
# Five checks: which sees what? Filled means caught. Golden numbers: the output against numbers worked out elsewhere. Row sums. The causality probe of lesson 08.
# Permuting the tokens. The gradient check of lesson 03.
#
# 先猜：哪一种检查能抓到全部错误？
#
# Predict: which of the checks catches all bugs?

# %% tags=["guess"]
guess = None

# %%
matrix = museum.matrix(names)
caught = {d: sum(bool(matrix.caught(name, d)) for name in names) for d in matrix.detectors}
print(caught, "/", len(names))
course.predict("抓到全部的 catches all", guess, [d for d, n in caught.items() if n == len(names)] or "none")

# %%
matrix.plot(lang="both")

# %% [markdown]
# 没有一列是满的，也没有一行是空的；而**前两样合起来（参考数值加梯度检查）就抓到了全部**。**参考数值**看不见反向传播；**梯度检查**看不见前向：它只问「反向传播配不配这个前向」，前向算错了，只要反向传播跟着错，它就满意。
# 那四个它也亮的掩码标本，是因为反向传播没有跟着错：有的出了 NaN，有的忘了那几格本该为零。
# 两样都要有。其余三样不变量抓到的，前两样也都抓到了；它们的好处是不需要参考答案，便宜，还能说出错的是哪一类。
#
# No column is full, and no row is empty; and **golden numbers and the gradient check together catch everything**. **Golden numbers** cannot see backward. The **gradient check** cannot see forward: it asks whether backward belongs to
# this forward, and is content with the right gradient of the wrong function. One needs both. What the other three catch, these two catch as well; invariants need no reference, cost next to nothing, and say what kind of
# bug it is.
# It does see four of the mask's specimens: there backward did not follow, it gives NaN or forgets that hidden cells get 0.

# %%
assert max(caught.values()) < len(names)
assert matrix.survivors() == []
both = [name for name in names if matrix.caught(name, matrix.detectors[0]) or matrix.caught(name, matrix.detectors[-1])]
print(f"{matrix.detectors[0]} + {matrix.detectors[-1]}: {len(both)} / {len(names)}")
assert len(both) == len(names)
mask_bugs = [name for name in names if name.startswith(("mask-", "hidden-", "causal-"))]
seen = [name for name in mask_bugs if matrix.caught(name, matrix.detectors[-1])]
print("specimens of the mask that the gradient check sees 梯度检查看得见的掩码标本:", seen)
assert len(seen) == 4

# %% [markdown]
# 梯度检查有时还能说出病名：
#
# Sometimes the gradient check even names the disease:

# %%
for bug in ("key-path-forgotten", "scale-missing-backward"):
    print(f"{bug}:", *museum.diagnosis(bug), sep="\n    ")

# %% [markdown]
# ### 练习 · Exercise
#
# 写**一个测试**（不是修复）：函数接受一个 `MultiHeadAttention`，发现不对就 `assert` 失败或返回 `False`。它会在许多层上运行：对正确的层不许抱怨，
# 下面这几类错误都要抓到：前向的、掩码的、反向传播的。
#
# Write **one test**, not a repair: a function that takes a `MultiHeadAttention` and fails an `assert`, or returns `False`, if something is wrong. It meets many
# layers: it must not complain about right ones, and it should kill bugs of forward, of masks, and of backward.
#
# 提示 · Hints: `mha.query_proj.params["W"]`, `["b"]`, `key_proj`, `value_proj`, `output_proj`; `mha.split.num_heads`; `na.causal_mask`; `na.check_gradients(…).ok`.

# %% tags=["exercise"]
def my_test(mha):
    D = len(mha.query_proj.params["W"])
    x = np.random.default_rng(0).standard_normal((2, 5, D))
    return ...


course.check("kill-the-bugs", my_test)

# %% [markdown]
# *约 40 分钟，难度 ★★★；卡住了就运行 `course.hint("kill-the-bugs")`，再运行看下一条 · about 40 minutes, difficulty ★★★; if stuck, run `course.hint("kill-the-bugs")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def forward_by_hand(mha, x, mask=None):
#     Q, K, V = (x @ p.params["W"] + p.params["b"] for p in (mha.query_proj, mha.key_proj, mha.value_proj))
#     H = mha.split.num_heads
#     d = Q.shape[-1] // H
#     heads = []
#     for h in range(H):
#         part = slice(h * d, (h + 1) * d)
#         scores = Q[..., part] @ K[..., part].swapaxes(-1, -2) / np.sqrt(d)
#         if mask is not None:
#             scores = np.where(mask, scores, -np.inf)
#         shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
#         heads.append(shares / shares.sum(axis=-1, keepdims=True) @ V[..., part])
#     return np.concatenate(heads, axis=-1) @ mha.output_proj.params["W"] + mha.output_proj.params["b"]
#
#
# def my_test(mha):
#     D = len(mha.query_proj.params["W"])
#     x = np.random.default_rng(0).standard_normal((2, 5, D))
#     mask = na.causal_mask(5)
#     assert np.allclose(mha(x), forward_by_hand(mha, x))
#     assert np.allclose(mha(x, mask=mask), forward_by_hand(mha, x, mask))
#     assert na.check_gradients(mha, x, mask=mask, method="directional").ok
# ```
#
# </details>

# %% [markdown]
# 想知道你的测试抓到了多少？`print(museum.grade(my_test))` 给出全部名单。想自己破案？`museum.exercise("…")` 给你一个坏掉的层，不告诉你哪里坏了。
#
# How many does your test kill in all? `print(museum.grade(my_test))` lists them. Rather play detective? `museum.exercise("…")` hands you a broken layer and does not
# say what is wrong.

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 你只能写一个测试，五行以内。你会测什么？它看不见什么？写在下面一格里，再展开参考答案。
#
# You may write a single test of at most five lines. What would you test, and what can it not see? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 例如：带因果掩码，拿一个独立写的前向比输出，再加一行 check_gradients(...).ok：前向、掩码、反向传播都看得到。看不见的：整行被挡住时的 NaN、很大的分数时的溢出、别的精度、太慢。
#
# For example: under a causal mask, compare the output with a forward written independently, plus one line check_gradients(...).ok: it sees forward, mask and backward. It does not see NaN where a whole row is hidden, overflow at large scores, other precisions, or that it is slow.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 我用三类检查：独立算出的参考数值查前向，梯度检查查反向传播，这两样合起来抓到了全部标本；不变量（每行之和、因果、置换）不需要参考答案，还能告诉你错在哪一类。
# 2. 训练收敛不能证明实现正确：我在一个正确的层里种过 12 个错误，很容易的任务上有 11 个照样学到 99%，在归纳任务上还剩三四个。
# 3. 好的测试既要抓得到错误，也不能误报；最好用种下的错误来测试「测试」本身。
#
# 1. I use three kinds of checks: golden numbers from an independent computation for forward and gradient checks for backward, which together caught every specimen; and invariants (row sums, causality, permutation), which need no
#    reference and say what kind of bug it is.
# 2. Convergence proves nothing: I have planted 12 bugs in a right layer. On a very easy task 11 still trained to 99 %, on induction three or four did.
# 3. A good test catches bugs and raises no false alarm; the best way to test a test is with bugs planted on purpose.
