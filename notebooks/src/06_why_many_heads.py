# %% [markdown]
# # 06 · 为什么要多头 · Why many heads
#
# **目标**：用实验说明多几个头换来了什么，少几个头要付什么代价，并检验「不同的头各看各的」这句话在训练好的模型里是不是真的。
#
# **Goal**: see by experiment what several heads buy and what fewer of them cost, and test on trained heads whether "each head follows something else" is true.
#
# *约 35 分钟 · about 35 minutes; runs in 50 s*
#
# 这一课的任务：12 个字母围成一圈，每个位置要**同时**回答 k 个问题：前 1 个是谁？前 2 个是谁？……
#
# The task of this lesson: 12 letters on a ring. Every place has to answer k questions **at once**: which letter is 1 place back? Which is
# 2 places back? And so on.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

np.set_printoptions(precision=2, suppress=True)


def task(k):
    return na.training.task("offsets", L=12, offsets=tuple(range(1, k + 1)))


batch = task(2).batch(1, rng=0)
letters = task(2).words(batch.inputs[0][0])
print("sequence 序列:", *letters)
print("位置 5 place 5:", letters[5], "→", task(2).words(batch.targets[0, 5]))

# %% [markdown]
# ## 一个头只有一份注意力 · One head has one share to give
#
# 一行权重加起来是 1。想看两个地方，就得分成两份，取回来的是两个值的**混合**。如果一半一半，哪个是哪个就分不清了（这里的值只说自己是哪个字母）；如果份额不相等，还能分清：
#
# A row of weights sums to 1. To look at two places it has to split, and what comes back is a **mixture** of both values. Half and half, which was which cannot be told any more (values tell their letter only, here);
# with unequal shares it can:

# %%
values = np.eye(4)
for shares in ([0.5, 0.5, 0, 0], [0.65, 0.35, 0, 0]):
    shares = np.array(shares)
    assert (shares[0] == shares[1]) == np.array_equal(shares @ values, shares[[1, 0, 2, 3]] @ values)
    print("shares 份额", shares[:2], "  a then b:", shares @ values, "   b then a:", shares[[1, 0, 2, 3]] @ values)

# %% [markdown]
# 先猜：4 个问题、1 个头，训练 300 步以后能答对多少？(0 到 1；瞎猜是 1/8。)
#
# Predict: with 4 questions and 1 head, which share of the answers is right after 300 steps of training? (0 to 1; guessing gives 1/8.)
#
# 参数的总数和头数无关：D = 32 切成 1、2 或 4 份。
#
# All have the same number of parameters: D = 32 is cut into 1, 2 or 4 pieces.

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
questions, heads = (1, 2, 3, 4), (1, 2, 4)
grid = np.zeros((len(questions), len(heads)))
for i, k in enumerate(questions):
    for j, h in enumerate(heads):
        run = na.training.train(task(k), steps=300, stop_at=0.995, heads=h, progress=False)
        grid[i, j] = run.accuracy

course.predict("k = 4, h = 1", guess, float(grid[3, 0]))

# %% [markdown]
# ## 一张图 · The picture
#
# 行是问题数，列是头数，都是 300 步以后。**头数不少于问题数，一两百步就完全学会；少了，300 步还没有完全学会。**
#
# Rows are questions, columns are heads, all after 300 steps. **With as many heads as questions it is learned exactly, in one or two hundred steps; with fewer it is not yet exact after 300.**

# %% tags=["varies", "experiment"]
course.table(grid, [f"问题 questions k = {k}" for k in questions], [f"头 heads h = {h}" for h in heads],
             title="答对的比例 · Share of right answers after 300 steps",
             alt="Accuracy by number of questions and heads: 1.00 where there are at least as many heads as questions, "
                 f"down to {grid[3, 0]:.2f} for four questions and one head.")

# %% tags=["experiment"]
enough = np.array([[h >= k for h in heads] for k in questions])
assert grid[enough].min() > 0.95
assert grid[3, 0] < 0.7 and grid[2, 0] < 0.8
assert grid[~enough].max() < 0.99

# %% [markdown]
# 「300 步没学会」不等于「学不会」。再给十倍的时间。先猜：2 个问题、1 个头，3000 步以后呢？4 个问题、1 个头呢？
#
# "Not learned in 300 steps" is not "cannot be learned". Give it ten times as long. Predict: 2 questions and 1 head after 3,000 steps? 4 questions and 1 head?

# %% tags=["guess"]
guess_two_questions = None
guess_four_questions = None

# %% tags=["varies", "experiment"]
patient = {(k, h): na.training.train(task(k), steps=3000, measure_every=300, heads=h, progress=False) for k, h in ((2, 1), (4, 1))}
for (k, h), run in patient.items():
    print(f"k = {k}, h = {h}: 300 步 steps {run.history['accuracy'][1]:.2f}, 3000 步 steps {run.accuracy:.2f}")
course.predict(("k = 2, h = 1", guess_two_questions, patient[2, 1].accuracy), ("k = 4, h = 1", guess_four_questions, patient[4, 1].accuracy))

# %% tags=["varies", "experiment"]
run = patient[2, 1]
run.model(*run.held_out.inputs)
weights, gold = run.model.attentions()[0].weights[:, 0], run.held_out.gold > 0
shares = np.stack([(weights * gold[:, k]).sum(axis=-1) for k in (0, 1)])        # (2, N, L)
larger, smaller = shares.max(axis=0).mean(), shares.min(axis=0).mean()
equal = (1 + 1 / 8) / 2                             # 份额相等：知道是哪两个，不知道顺序 the pair is known, its order is not
print(f"shares of the two answers 两个答案的份额: {larger:.2f}, {smaller:.2f}; equal shares would allow 相等的话最多 {equal:.2f}")

# %% tags=["experiment"]
assert patient[2, 1].accuracy > 0.95 > patient[2, 1].history["accuracy"][1]
assert patient[4, 1].accuracy < 0.75
assert larger - smaller > 0.05 and patient[2, 1].accuracy > equal

# %% [markdown]
# 一个头两个问题，十倍的步数，几乎全对（在这个学习率和初值下；学习率降到三分之一，同样的步数只到七八成）：份额相等的话最多 0.56，所以只能是靠**不相等的份额**；一个头四个问题，3000 步以后还是半对半错（没有前馈层时；加上前馈层，它也能到九成多，第 16 课）。所以多头换来的是：**学得快、学得准**，而不是
# 「k 个问题非要 k 个头」。
#
# Two questions on one head get nearly everything right in ten times the steps (at this rate and start; a third of the rate gets to seven or eight in ten): equal shares allow 0.56 at most, so it must be by **unequal shares**; four questions on one head are still about half right after 3,000 steps (without a feed-forward layer; with one it
# gets beyond nine in ten, lesson 16). So what several heads buy is that it is learned **fast and exactly**, and not that "k questions need k heads".

# %% [markdown]
# ## 「不同的头各看各的」：是真的吗？ · "Each head follows something else": is it true?
#
# 面试里常说「一个头看语法，一个头看语义」。这里不必相信，可以**量**：任务是我们出的，正确答案在哪个位置，我们知道。
# 每个头的注意力有多少落在问题 k 的答案上？
#
# "One head follows syntax, another meaning" is often said in interviews. Here we need not believe it, we can **measure** it: we made the
# task, so we know where each answer lies. How much of each head's attention goes to the answer of question k?

# %% tags=["varies", "experiment"]
def who_looks_where(h):
    run = na.training.train(task(4), steps=400, stop_at=0.995, heads=h, progress=False)
    run.model(*run.held_out.inputs)
    return run, na.training.gold_mass(run.model.attentions()[0].weights, run.held_out.gold)


run4, mass4 = who_looks_where(4)
run1, mass1 = who_looks_where(1)
course.table(mass4, [f"头 head {h}" for h in range(4)], [f"前 back {k}" for k in range(1, 5)],
             title="4 个头，4 个问题：注意力落在哪里 · 4 heads, 4 questions: where the attention goes",
             alt="Attention of four trained heads on the answers of four questions.")

# %% tags=["varies", "experiment"]
print("一个头 one head:", mass1)
favourite = mass4.argmax(axis=0)
print("第 1、2、3、4 问，最看答案的头 which head looks most at answers 1, 2, 3, 4:", favourite)
print("四个问题，最看它的头各不相同 four questions, four different heads:", len(set(favourite)) == 4)
other = na.training.train(task(4), steps=400, stop_at=0.995, heads=4, seed=1, progress=False)
other.model(*other.held_out.inputs)
reassigned = na.training.gold_mass(other.model.attentions()[0].weights, other.held_out.gold).argmax(axis=0)
print("with another seed 换一个随机种子:", reassigned)

# %% tags=["experiment"]
assert mass4.max(axis=0).min() > 0.4
assert mass1.max() < 0.6
assert (reassigned != favourite).any()

# %% [markdown]
# 分工是真的，但没有人安排：是训练自己分出来的，而且分得不一定干净（有的头把注意力分给两个问题）。也要看到另一面：换一个随机种子，头的编号和分工都会变；
# 「第 3 个头负责什么」不是模型的性质，而是这一次训练的结果。真实语言里的头往往不是一人一职，第 13 课再说。
#
# The division of labour is real, and nobody arranged it: training found it, and not always cleanly (a head may split between two questions). The other side: with another seed
# other heads get other jobs. "What head 3 does" is no property of the model, but of this one run. In real language a head rarely has
# a single job; more on that in lesson 13.

# %% tags=["varies", "experiment"]
run4.model(*run4.exercise.inputs)
na.plot_heads(run4.model.attentions()[0].weights, task(4).words(run4.exercise.inputs[0][0]), lang="both")

# %% [markdown]
# ## 一个看语法，一个看语义 · One head syntax, another meaning
#
# 这句话到底是什么意思？在 **我 爱 AI** 上亲手造两个头：每个词元写成几个特征，头 0 的 W_Q、W_K 只用**词性**（名词找动词，动词找名词），头 1 的只用**意思**（会感受的找感情，感情找它的对象，东西找会感受的）。
#
# What would that sentence mean? Build two heads by hand on **我 爱 AI**: write each token as a few features; let W_Q and W_K of head 0 use the **part of speech** only (a noun looks for the verb, the
# verb for nouns), and those of head 1 the **meaning** only (what feels looks for feeling, what is felt about looks for the one who feels).

# %%
tokens = ["我", "爱", "AI"]
#                  noun 名词, verb 动词, feels 会感受, feeling 感情, thing 东西
x = np.array([[1.,      0,      1,      0,      0],      # 我: a noun that feels 名词，会感受
              [0,       1,      0,      1,      0],      # 爱: a verb, a feeling 动词，感情
              [1,       0,      0,      0,      1]])     # AI: a noun, a thing 名词，东西
W_Q, W_K = np.zeros((2, 2, 5, 3))                          # (head, features, d_k)
W_Q[0, 0, 0], W_K[0, 1, 0] = 6, 1                          # 语法：名词找动词 syntax: a noun looks for a verb
W_Q[0, 1, 1], W_K[0, 0, 1] = 6, 1                          # 语法：动词找名词 syntax: a verb looks for nouns
W_Q[1, 2, 0], W_K[1, 3, 0] = 6, 1                          # 语义：会感受的找感情 meaning: who feels looks for feeling
W_Q[1, 3, 1], W_K[1, 4, 1] = 6, 1                          # 语义：感情找对象 meaning: a feeling looks for its object
W_Q[1, 4, 2], W_K[1, 2, 2] = 6, 1                          # 语义：东西找会感受的 meaning: a thing looks for who feels
attention = na.ScaledDotProductAttention()
attention(x @ W_Q, x @ W_K, np.stack([x, x]))
na.plot_heads(attention.weights[None], tokens, lang="both")

# %%
print("头 0，语法 head 0, syntax:", {t: tokens[j] for t, j in zip(tokens, attention.weights[0].argmax(axis=-1))}, "爱 →", attention.weights[0, 1])
print("头 1，语义 head 1, meaning:", {t: tokens[j] for t, j in zip(tokens, attention.weights[1].argmax(axis=-1))})
assert attention.weights[0, 1, 0] == attention.weights[0, 1, 2] > 0.45
assert attention.weights[1].argmax(axis=-1).tolist() == [1, 2, 0]

# %% [markdown]
# 同一句话，同一个公式，W_Q 和 W_K 不同，「像」的含义就不同：头 0 里「爱」同时看主语和宾语，头 1 里「爱」只看它的对象。**头的含义在 $W_Q W_K^\top$ 里。** 这是我们设好的；训练出来的头是不是这样分工，要像上面那样去量。
#
# The same sentence and the same formula; with other W_Q and W_K, "to match" means something else: in head 0, 爱 looks at subject and object alike, in head 1 at its object only. **What a head means lies in
# $W_Q W_K^\top$.** We set it up that way; whether trained heads divide their labour like that has to be measured, as above.

# %% [markdown]
# ### 练习 · Exercise
#
# 不训练，亲手造两个头：在 L 个位置的环上，头 0 看前一个，头 1 看后一个，权重都要超过 99%。返回 Q 和 K，形状都是 (2, L, d_k)，
# d_k 随你选。（提示：K 取单位矩阵，让每个位置的键各不相同；Q 就写「我想要哪个键」。记得分数会除以 √d_k。）
#
# Without training, build two heads by hand: on a ring of L places, head 0 looks at the previous place, head 1 at the next, each with a
# weight above 99 %. Return Q and K, both of shape (2, L, d_k), with a d_k of your choice. (Hint: let K be the identity, so that every
# place has a key of its own; then Q says which key I want. Mind that scores are divided by √d_k.)

# %% tags=["exercise"]
def two_heads(L):
    """-> Q (2, L, d_k), K (2, L, d_k)"""
    Q = ...
    K = ...
    return Q, K


course.check("two-heads", two_heads)

# %% [markdown]
# *约 20 分钟，难度 ★★；卡住了就运行 `course.hint("two-heads")`，再运行看下一条 · about 20 minutes, difficulty ★★; if stuck, run `course.hint("two-heads")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def two_heads(L):
#     places = np.eye(L)
#     K = np.stack([places, places])
#     previous, following = np.roll(places, -1, axis=1), np.roll(places, 1, axis=1)
#     Q = 30 * np.sqrt(L) * np.stack([previous, following])
#     return Q, K
# ```
#
# </details>

# %% [markdown]
# ## 意外：平均，也是两个头更好 · A surprise: even for an average, two heads are better
#
# 假设只想要两个值的平均，一个头似乎就够了：让查询指向两个键的中间。可是键的长度只要有 10% 的误差呢？
#
# Suppose all we want is the average of two values. One head seems to do: point the query between the two keys. But what if the keys'
# lengths are off by 10 %?
#
# 先猜：输出（应为 0.5）的标准差有多大？一个头呢，两个头呢？
#
# Predict the standard deviation of the output, which should be 0.5: with one head, and with two?

# %% tags=["guess"]
guess_one = None
guess_two = None

# %%
rng = np.random.default_rng(0)
beta = 50                                                       # 很尖的注意力 sharp attention
softmax = na.Softmax()
lengths = 1 + 0.1 * rng.standard_normal((2000, 2))              # 两个键各长多少 how long the two keys are
one = softmax(beta * lengths)[:, 0]                             # 一个头：同时看两个键 one head looks at both
first = softmax(beta * lengths * [1, 0])[:, 0]                  # 两个头：各看一个 two heads, one key each
second = softmax(beta * lengths * [0, 1])[:, 1]
two = (first + (1 - second)) / 2
print(f"the output should be 输出应为 {0.5}")
course.predict(("一个头 one head", guess_one, round(float(one.std()), 3)), ("两个头 two heads", guess_two, round(float(two.std()), 3)))

# %% [markdown]
# 注意力很尖的时候（这里 β = 50），一个头在两个几乎一样的分数之间摇摆，谁稍微大一点就全归谁；两个头各看各的，再平均，稳如泰山。
#
# Where attention is sharp (here β = 50), one head wavers between two nearly equal scores, and whichever is a little larger takes it all. Two heads look at one key each, are
# averaged afterwards, and do not move.

# %%
assert one.std() > 0.3
assert two.std() < 0.001

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 「每个头都有自己的分工。」这句话要怎么说，才不会被人用一台笔记本电脑推翻？写在下面一格里，再展开参考答案。
#
# "Each head has its own job." How would you put it so that nobody with a laptop can refute it? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 「在这个任务、这次训练里，我量了每个头的注意力有多少落在每个问题的答案上：四个问题各有一个最看它的头。换一个种子，分工就换了；有的头还兼着两件事。」说清楚任务、量法和种子。
#
# "On this task, in this run, I measured how much of each head's attention lies on the answer of each question: four questions had four different heads. With another seed the jobs change hands, and some heads share." Name the task, the measure and the seed.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 一行权重加起来是 1，一个头一次只能给出一种分配；多个头可以同时取不同位置的内容而不混在一起。
# 2. 参数总数不变：d_model 切成 H 份，每个头 d_k = d_model / H，最后拼接再乘 W_O。
# 3. 我做过实验（常用的学习率和初值）：头数够时，一两百步就完全学会；两个问题共用一个头要十倍的步数，靠不相等的份额几乎全对；一个头四个问题，3000 步还在一半左右（没有前馈层时）。
#
# 1. A row of weights sums to 1, so a head has one distribution to give; several heads fetch several places without mixing them up.
# 2. It costs no parameters: d_model is cut into H pieces of d_k = d_model / H, concatenated at the end and mixed by W_O.
# 3. I measured it, at the usual rate and start: with enough heads it is learned exactly in one or two hundred steps; two questions on one head take ten times as long and get nearly everything right, by unequal
#    shares; four questions on one head are still at about a half after 3,000 steps (without a feed-forward layer).
