# %% [markdown]
# # 09 · 两层配合成一个归纳头 · Two layers make an induction head
#
# **目标**：看着两层注意力学会配合，用「动一动原因」的办法检验谁离不开谁，并知道一层做得到什么、代价是什么。
#
# **Goal**: watch two layers learn to cooperate, test by intervention which of them needs the other, and know what one layer can do, and at what price.
#
# *约 40 分钟 · about 40 minutes; runs in 45 s*
#
# 这一课的任务 `jumps`：每个字母后面跟着哪个字母是固定的（一个圈，5 到 8 个字母），但每四次里有一次会**跳**到圈上随便哪个字母。每个序列的圈都不同。只考能从前文知道的位置。层从 0 数起：第 0 层、第 1 层。
#
# The task of this lesson, `jumps`: what follows a letter is fixed (a cycle of 5 to 8 letters), but one time in four the stream **jumps** to any letter of the cycle. Each sequence has another cycle. Only what can be
# known from the text so far is asked. Layers are counted from 0: layer 0, layer 1.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

task = na.training.task("jumps")
for seed in (1, 2):
    batch = task.batch(1, rng=seed)
    print(" ".join(task.words(batch.inputs[0][0])))

# %% [markdown]
# ## 怎么猜下一个字母？ · How do you predict the next letter?
#
# 你看到 `… a f … a`，会想：上次 `a` 后面是 `f`，所以这次也是 `f`。两层可以这样做：
#
# 1. **第 0 层**：每个位置看自己的前一个，把「我前面是谁」写进自己那一行。
# 2. **第 1 层**：当前字母 `a` 作为查询，去找「前面是 `a`」的那个位置，那里正是 `f`，取回来。
#
# You see `… a f … a` and think: last time `a` was followed by `f`, so it will be again. Two layers can do it like this. **Layer 0**: every place looks at
# the one before and writes "before me stands …" into its own row. **Layer 1**: the present `a`, as a query, finds the place that says "before me
# stands `a`". That place holds `f`, which is brought back.
#
# 先猜：两层各一个头，练 200 步，正确率多少？一层一个头呢？一层四个头、宽一倍、练 600 步呢？
#
# Predict the accuracy of two layers of one head after 200 steps, of one layer of one head, and of one layer of four heads, twice as wide, after 600 steps:

# %% tags=["guess"]
guess_two_layers = None
guess_one_layer = None
guess_four_heads = None

# %% tags=["varies", "experiment"]
settings = {"lr": 5e-3, "progress": False}
two = na.training.train(task, layers=2, steps=200, measure_every=10, snapshots=(0, 70, 200), **settings)
one = na.training.train(task, layers=1, steps=200, **settings)
four = na.training.train(task, layers=1, heads=4, d_model=64, steps=600, measure_every=200, **settings)
course.predict(("两层 two layers", guess_two_layers, two.accuracy), ("一层一个头 one layer, one head", guess_one_layer, one.accuracy),
               ("一层四个头 one layer, four heads", guess_four_heads, four.accuracy))

# %% tags=["experiment"]
assert two.accuracy > 0.93
assert one.accuracy < 0.5 and four.accuracy < 0.6

# %% [markdown]
# ## 一张图 · The picture
#
# 三条曲线：正确率；第 0 层「看前一个」的程度；第 1 层「前缀匹配」的程度（多少注意力落在以前同样字母的**后面**）。（第 0 步的值差不多就是「平均看所有位置」的分数。）
#
# Three curves: accuracy; how much layer 0 looks at the previous token; how much layer 1 matches prefixes, that is, how much of its attention goes
# to what *followed* the same letter. (The values at step 0 are about what looking everywhere alike gives.)

# %% tags=["varies", "experiment"]
steps = two.history["step"]
previous = [scores[0, 0] for scores in two.history["previous token"]]
matching = [scores[1, 0] for scores in two.history["prefix match"]]
course.curves(steps, {"accuracy 正确率": two.history["accuracy"], "第 1 层：前缀匹配 layer 1: prefix match": matching,
                      "第 0 层：看前一个 layer 0: previous token": previous},
              xlabel="步数 step", ylabel="0 … 1", limits=(0, 1), title="归纳头的诞生 · An induction head is born", size=(8.5, 3.6),
              alt=f"Over {steps[-1]} steps accuracy rises from {two.history['accuracy'][0]:.2f} to {two.accuracy:.2f}, the prefix match of layer 1 "
                  f"from {matching[0]:.2f} to {matching[-1]:.2f}, the previous-token score of layer 0 from {previous[0]:.2f} to {previous[-1]:.2f}.")

# %% tags=["varies", "experiment"]
half = int(np.argmax(np.array(two.history["accuracy"]) > 0.5))
rising = slice(0, half + 6)                              # 上升的那一段 while it rises
correlation = np.corrcoef(two.history["accuracy"][rising], steps[rising])[0, 1]
print(f"correlation of accuracy with the step number 正确率和步数的相关系数: {correlation:.2f}")
assert correlation > 0.9 and matching[half] - matching[0] > previous[half] - previous[0]
print(f"步数 step {steps[half]}: 正确率 accuracy {two.history['accuracy'][half]:.2f}, 前缀匹配 prefix match {matching[0]:.2f} → {matching[half]:.2f}, "
      f"看前一个 previous token {previous[0]:.2f} → {previous[half]:.2f}")

# %% [markdown]
# 看仔细：正确率过半的时候，前缀匹配已经升上去了，「看前一个」却只比开始时高一点点。那么**第 1 层真的离不开第 0 层的前一词元头吗？** 两条一起上升的曲线什么也证明不了（它们和步数的相关系数也有九成多）。要检验，就**动一动原因**：
# 把第 0 层冻结，一次冻成「平均看所有位置」，一次冻成「正好看前一个」，再训练其余的部分。先猜：冻成平均，600 步以后正确率多少？
#
# Look closely: when accuracy passes one half, the prefix match has risen, while "previous token" is hardly above its start. So **does layer 1 really need a previous-token head in layer 0?** Two curves that rise together prove nothing (with the step number they
# correlate just as well). To test it, **change the cause**: freeze layer 0, once at looking everywhere alike, once at looking just before, and train the rest. Predict: with layer 0 frozen at the average, how high is accuracy after 600 steps?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
def with_layer_0(looks):
    model = na.training.ToyModel(task.vocab, task.length, layers=2, causal=True, rng=[0, 0])
    na.training.alter.freeze_first_layer(model, looks)
    return na.training.train(task, model, steps=600, measure_every=50, **settings)


average, just_before = with_layer_0(na.training.alter.everywhere), with_layer_0(na.training.alter.just_before)
free = na.training.train(task, layers=2, steps=600, measure_every=50, **settings)
course.predict("第 0 层只做平均 layer 0 averages", guess, average.accuracy)

# %% tags=["varies", "experiment"]
course.curves(free.history["step"], {"第 0 层看前一个 layer 0 looks just before": just_before.history["accuracy"], "两层都学 both learned": free.history["accuracy"],
                                     "第 0 层只做平均 layer 0 averages": average.history["accuracy"]},
              xlabel="步数 step", ylabel="正确率 accuracy", limits=(0, 1), title="动一动原因 · Change the cause", size=(8.5, 3.6),
              alt=f"Accuracy over 600 steps: with a perfect previous-token head {just_before.history['accuracy'][2]:.2f} after 100 steps, with both layers learned "
                  f"{free.history['accuracy'][2]:.2f}, with an averaging layer 0 {average.history['accuracy'][2]:.2f}, and {average.accuracy:.2f} after 600.")

# %% tags=["experiment"]
assert average.accuracy > 0.8
assert free.accuracy > average.accuracy
assert just_before.steps_to(0.9) <= free.steps_to(0.9)

# %% [markdown]
# 所以：**前一词元头让它更快、更准，但不是非有不可。** 第 0 层只做平均，第 1 层也能学到九成：平均值里也混着前面那个字母，只是信号弱。
#
# So **a previous-token head makes it faster and more exact, but it is not indispensable.** With a layer 0 that only averages, layer 1 still gets about nine in ten right: the average holds the letter before, too, only faintly.
#
# 同一个序列，训练前、中、后第 1 层的权重：
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

# %% [markdown]
# *约 20 分钟，难度 ★★；卡住了就运行 `course.hint("prefix-match")`，再运行看下一条 · about 20 minutes, difficulty ★★; if stuck, run `course.hint("prefix-match")`, and again for the next*

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
# ## 意外：一层也做得到 · A surprise: one layer can do it
#
# 常听人说「归纳要两层，一层做不到」。「没有学会」是测量，「做不到」要证明；推翻它最便宜的办法，是**手工设参数**。一层、38 个头（长度 20，每个位置一对）：头 h 如果发现位置 h 是我的字母，就去看位置 h + 1，否则看位置 h；它的搭档总看位置 h，取负号。一对相减，剩下的就是「我的字母后面那个」。
#
# "Induction takes two layers, one cannot do it", one hears. "It was not learned" is a measurement, "it cannot" wants a proof, and the cheapest way to refute it is to **set the parameters by hand**. One layer of 38 heads (a pair for each place, at length 20): head h looks at place h + 1 if place h holds my letter, and at
# place h otherwise; its twin looks at place h in any case and counts negative. What is left of a pair is the letter after mine.
#
# 更便宜的例子：如果序列就是一段字母原样重复（任务 `induction`，周期 4 到 10，一段里没有重复的字母），一层**两个**头就够了。不用看字母：下一个就是**最久没有出现**的那个。先猜这两个模型的正确率：
#
# A cheaper case: where the sequence is one block of letters repeated as it is (the task `induction`, periods 4 to 10, no letter twice in a block), one layer with **two** heads will do. It need not look at letters: the next one is the one **not seen for the longest time**. Predict the accuracy of these two models:

# %% tags=["guess"]
guess_38_heads = None
guess_2_heads = None

# %%
blocks = na.training.task("induction")
print(" ".join(blocks.words(blocks.batch(1, rng=1).inputs[0][0])))
look_up, least_recent = na.training.by_hand.look_up_by_hand(), na.training.by_hand.induction_by_hand()
by_hand = na.training.accuracy(look_up, task.batch(100, rng=1)), na.training.accuracy(least_recent, blocks.batch(2000, rng=1))
assert by_hand == (1, 1)
course.predict(("38 个头 jumps, 38 heads", guess_38_heads, by_hand[0]), ("2 个头 induction, 2 heads", guess_2_heads, by_hand[1]))

# %%
sizes = {name: sum(p.size for p in model.named_params().values()) for name, model in
         (("两层，训练的 two layers, trained", two.model), ("一层 2 个头 one layer, 2 heads", least_recent), ("一层 38 个头 one layer, 38 heads", look_up))}
print({name: f"{size:,}" for name, size in sizes.items()})
far = na.training.by_hand.least_recent(19, 4, 10)
print("最后一个位置往回看：正的归头 0，负的归头 1 · the last place looks back; positive for head 0, negative for head 1:", far.round(1))
assert sizes["一层 2 个头 one layer, 2 heads"] < sizes["两层，训练的 two layers, trained"]

# %% [markdown]
# 所以准确的说法是：**两层各一个头，一两百步就学会；一层也做得到，但规模要随序列长度增加**：已经证明「头数 × 宽度 × 精度」至少和长度成正比（Sanford、Hsu、Telgarsky 2024），上面用了 38 个头；而且我们试过的训练没有找到。`induction` 这个任务太容易，一层两个头就有捷径，所以这一课用 `jumps`。
#
# So the exact sentence is: **two layers of one head learn it in a hundred steps or two; one layer can do it as well, but at a size that grows with the length**: it is proved that heads × width × precision is at least proportional to it (Sanford, Hsu and Telgarsky 2024; above it took 38 heads), and the training that we tried did not find them. The task `induction` has a shortcut for one
# layer of two heads, which is why this lesson uses `jumps`.

# %% [markdown]
# ## 满分也会骗人 · Full marks deceive
#
# 如果 `induction` 的周期每次都是 9，一层模型很快就考满分。它学会的是归纳吗？拿变周期的题考考它。再给**两层**的模型同样的机会。先猜两个正确率：
#
# If the period of `induction` is always 9, a model of one layer gets full marks in no time. But has it learned induction? Examine it on varying periods. Give a model of **two** layers the same chance. Predict both accuracies:

# %% tags=["guess"]
guess_one_layer = None
guess_two_layers = None

# %% tags=["varies", "experiment"]
always_9 = na.training.task("induction", periods=(9, 9))
fixed, fixed_two = (na.training.train(always_9, layers=layers, positions="rotary", steps=400, stop_at=0.99, progress=False) for layers in (1, 2))
elsewhere, elsewhere_two = (na.training.accuracy(run.model, blocks.batch(500, rng=1)) for run in (fixed, fixed_two))
print(f"周期 9，一层 period 9, one layer {fixed.accuracy:.2f}, 步数 steps {fixed.step}; 两层 two layers {fixed_two.accuracy:.2f}, 步数 steps {fixed_two.step}")
course.predict(("一层，变周期 one layer, varying periods", guess_one_layer, elsewhere), ("两层 two layers", guess_two_layers, elsewhere_two))

# %% tags=["experiment"]
assert fixed.accuracy > 0.98 and fixed_two.accuracy > 0.98
assert elsewhere < 0.4 and elsewhere_two < 0.4

# %% [markdown]
# 学会的是「往回数 8 格」，不是归纳，**两层也一样**：怪的不是层数，是数据。**在训练分布里考满分，不等于学会了你以为它学会的东西。** 看图：权重是固定的斜线，只看距离，不看内容。
#
# They learned "look 8 places back", which is no induction, **two layers as much as one**: it is the data, not the depth. **Full marks on the training distribution do not mean that it learned what you think.** The picture shows fixed diagonals, by distance and not by content.

# %% tags=["varies", "experiment"]
fixed.model(*fixed.exercise.inputs)
words = fixed.task.words(fixed.exercise.inputs[0][0])
na.plot_heads(fixed.model.attentions()[0].weights, words, mask=na.causal_mask(len(words)), lang="both")

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 正确率和「前缀匹配」一起上升，说明前缀匹配**造成**了正确率吗？你会怎么检验？写在下面一格里，再展开参考答案。
#
# Accuracy and the prefix match rise together. Does the match **cause** the accuracy? How would you test it? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 不能说明：两条都上升一次的曲线总会相关，和步数也相关。要动原因：把那个头关掉（W_O 的那几行置零），或者把它冻结在平均上再训练，看正确率怎么变；还要有对照，比如关掉同一层的另一个头。
#
# It does not show that: two curves that each rise once correlate, with the step number as well. Change the cause: switch that head off (its rows of W_O to zero), or freeze it at the average and train, and see what accuracy does; with a control, such as another head of the same layer.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 两层各一个头，一两百步就学会归纳；我试过的一层没有学会。但一层不是做不到：手工设参数可以，只是头数 × 宽度 × 精度要随序列长度增加（已证明）。前一词元头让它更快更准，不过第 0 层只做平均，第 1 层也能学到九成。
# 2. 这是上下文学习最小的例子：规律写在提示里，不在参数里；我用前缀匹配分数量出了它的形成过程，用冻结一层的办法检验了因果。
# 3. 周期固定时一层、两层都学到同一个捷径，换个周期就不行：评测要换分布，不能只看训练分布上的满分。
#
# 1. Two layers of one head learn induction in a hundred steps or two; the one layer that I tried did not. Yet one layer can: with parameters set by hand, at a size (heads × width × precision) that provably grows with the length. A previous-token head makes it faster and more
#    exact, but with a layer 0 that only averages, layer 1 still gets about nine in ten right.
# 2. It is the smallest example of learning in context: the rule lies in the prompt, not in the parameters. I measured how it forms by its prefix-match score, and tested the cause by freezing a layer.
# 3. With a fixed period one layer and two learn the same shortcut, and fail at any other period: evaluate on another distribution, do not trust full marks.
