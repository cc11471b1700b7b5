# %% [markdown]
# # 17 · 它会写了 · It writes
#
# **目标**：把整门课串起来：用一个小小的字符模型读一段文字，看它从乱码写到像样的句子；会用温度和 top-k，也看到 KV 缓存给出同样的结果。
#
# **Goal**: bring the course together: a small character model reads a text, and one watches it write, from noise to something like sentences; use temperature and top-k, and see that a KV cache gives the same.
#
# *约 30 分钟 · about 30 minutes; runs in 35 s*
#
# 用你自己的文字：把 `my_text` 换成你的（几百个字符就够）。这里用每个 Python 都带着的「Python 之禅」。
#
# Take a text of your own: put it into `my_text` (some hundred characters will do). Here it is the Zen of Python, which comes with every Python.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.training.writing import reading

my_text = "zen"
task = na.training.task("text", text=my_text, L=128)
print(f"字符 characters: {len(task.ids)}, 不同的 different: {task.vocab}")

# %% [markdown]
# ## 一个字一个字地猜 · One character at a time
#
# 模型就是前面各课的东西：嵌入，两个完整的块（第 16 课），RoPE 位置（第 08 课），因果掩码。它回答的只有一个问题：**下一个字符是什么？** 先猜：什么也没学时，平均损失是多少？（瞎猜 V 个字符里的一个，损失是 ln V。）学 400 步以后呢？
#
# The model is made of the things of the course: an embedding, two whole blocks (lesson 16), rotary positions (lesson 08), a causal mask. It answers a single question: **which character comes next?** Predict the mean loss before any learning (a blind guess among V characters costs ln V), and after 400 steps.

# %% tags=["guess"]
guess_before = None
guess_after = None

# %% tags=["varies", "experiment"]
written = {}


def write(run, start, n, temperature=0.8, top_k=None, seed=0):
    """The start and n more characters; the cache keeps the keys and values of what was read."""
    ids, rng = run.task.encode(start), np.random.default_rng(seed)
    answers = reading(run.model, ids, n)
    logits = next(answers)
    for _ in range(n):
        ids.append(int(draw(logits, temperature, top_k, rng)))
        logits = answers.send(ids[-1])
    return "".join(run.task.words(ids))


def draw(logits, temperature, top_k, rng):
    """One id, drawn by its share among the top_k; the likeliest at temperature 0."""
    if temperature == 0:
        return logits.argmax()
    scores = logits / temperature
    if top_k is not None:
        scores = np.where(scores >= np.sort(scores)[-top_k], scores, -np.inf)
    shares = na.Softmax()(scores[None].astype(float))[0]
    return rng.choice(len(shares), p=shares / shares.sum())


def watch(run):
    if run.step in (1, 30, 100):
        written[run.step] = write(run, "Beautiful is ", 60).replace("\n", " ")


run = na.training.train(task, steps=400, batch_size=16, measure_every=50, positions="rotary", lr=5e-3, on_step=watch, progress=False)
written[run.step] = write(run, "Beautiful is ", 60).replace("\n", " ")
losses = run.history["loss"]
course.predict(("开始 before", guess_before, losses[0]), ("练 400 步后 after 400 steps", guess_after, losses[-1]))

# %% tags=["experiment"]
assert abs(losses[0] - np.log(task.vocab)) < 1
assert losses[-1] < 0.5

# %% [markdown]
# ## 一张图 · The picture

# %% tags=["varies", "experiment"]
course.curves(run.history["step"], {"loss 损失": losses}, xlabel="步数 step", ylabel="nats per character 每个字符", limits=(0, max(losses) * 1.05),
              title="损失越来越小 · The loss falls",
              alt=f"The loss falls from {losses[0]:.2f} to {losses[-1]:.2f} nats a character over {run.step} steps.")

# %% tags=["varies", "experiment"]
for step, text in written.items():
    print(f"step {step:3}: {text}")

# %% [markdown]
# 先是乱码，再是像样的字母组合，再是单词，最后是原文的句子：800 多个字符，它背下来了。**这不是理解，是记忆**：考的就是读过的文字，满分说明不了别的（第 09 课）。想看它「编」，就给它长得多的文字（比如 `"handbook"`），或者提高温度。（它读的时候一次看 128 个字符；写得比这长，就到了没见过的距离，RoPE 也会慢慢走样，第 08 课。）
#
# Noise first, then likely letters, then words, and in the end sentences of the text: 800 characters and some, which it knows by heart. **That is memory, not understanding**: it is examined on what it has read, and full marks say nothing more (lesson 09). To see it invent, give it a much longer text (such as `"handbook"`), or raise the temperature. (It learns from 128 characters at a time; what it writes beyond that is at distances that it has not seen, and goes astray by and by even with RoPE, lesson 08.)
#
# ## 温度和 top-k · Temperature and top-k
#
# 抽签之前先把分数除以**温度** T：T 小，更尖；T 大，更平；T = 0 总取最大。和 √d_k 一样，都是 softmax 前面的除数！**top-k** 只在最可能的 k 个里抽。先猜：T = 2 时，和 T = 0.5 比，写错的字符（原文里没有的三个字符连写）更多还是更少？`"more"` 还是 `"fewer"`？
#
# Before the draw, scores are divided by the **temperature** T: a small one sharpens, a large one flattens, and T = 0 takes the likeliest. It stands where √d_k stood: in front of a softmax. **top-k** draws among the k likeliest only. Predict: with T = 2, are there more or fewer mistakes (three characters in a row that the text does not have) than with T = 0.5: `"more"` or `"fewer"`?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
text = "".join(task.words(task.ids))
known = {text[i:i + 3] for i in range(len(text) - 2)}


def strange(sample):
    """The share of three characters in a row that the text does not have."""
    return np.mean([sample[i:i + 3] not in known for i in range(len(sample) - 2)])


samples = {(T, k): write(run, "Beautiful is ", 110, temperature=T, top_k=k, seed=1) for T, k in ((0, None), (0.5, None), (1, None), (2, None), (2, 3))}
for (T, k), sample in samples.items():
    print(f"T = {T}, top-k = {k}: {strange(sample):.2f} strange 陌生\n    {sample!r}")
course.predict("T = 2", guess, "more" if strange(samples[2, None]) > strange(samples[0.5, None]) else "fewer")

# %% tags=["experiment"]
assert strange(samples[2, None]) > strange(samples[0.5, None])
assert strange(samples[2, 3]) < strange(samples[2, None])

# %% [markdown]
# ### 练习 · Exercise
#
# 写出这一步：logits (V,)、温度、k → 每个字符的**份额** (V,)；只有最大的 k 个不是 0。
#
# Write this step: logits (V,), temperature, k → each character's **share** (V,), of which only the k largest are not 0.

# %% tags=["exercise"]
def shares_top_k(logits, temperature, k):
    """logits (V,), temperature > 0, 1 <= k <= V -> shares (V,)"""
    return ...


course.check("shares-top-k", shares_top_k)

# %% [markdown]
# *约 10 分钟，难度 ★；卡住了就运行 `course.hint("shares-top-k")`，再运行看下一条 · about 10 minutes, difficulty ★; if stuck, run `course.hint("shares-top-k")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def shares_top_k(logits, temperature, k):
#     scores = np.asarray(logits) / temperature
#     scores = np.where(scores >= np.sort(scores)[-k], scores, -np.inf)
#     shares = np.exp(scores - scores.max())
#     return shares / shares.sum()
# ```
#
# </details>

# %% [markdown]
# ## 缓存给出同样的结果 · The cache gives the same
#
# 上面的 `reading` 每一步只算新字符，旧的键和值都在 KV 缓存里（第 11 课）。先猜：和把整段重新读一遍相比，logits 差多少？差得只有舍入误差就写 `"zero"`。
#
# The function `reading` above computes the new character only; old keys and values are in KV caches (lesson 11). Predict: how far are its logits from those of reading everything again? (`"zero"` means no more than rounding.)

# %% tags=["guess"]
guess = None

# %%
ids = task.encode("Beautiful is better than ugly.")
answers = reading(run.model, ids[:5], len(ids) - 5)
stepwise = [next(answers), *(answers.send(i) for i in ids[5:])]
whole = run.model([ids])[0, 4:]
largest = float(np.abs(np.array(stepwise) - whole).max())
assert largest < 1e-3
course.predict("最大的差 largest difference", guess, "zero" if largest < 1e-3 else largest)

# %% [markdown]
# 命令行里也可以 · On the command line:
#
# ```sh
# python -m numpy_attention train text --file my.txt --set L=128 --positions rotary --steps 400 --save my.npz
# python -m numpy_attention generate my.npz --start "Beautiful is " --temperature 1 --top-k 5
# ```

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 损失已经很低了。为什么这还不能说明模型「会写文章」？怎样才能说明？写在下面一格里，再展开参考答案。
#
# The loss is very low by now. Why does that not show that the model can write? What would? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 它是在读过的几百个字符上考的，背下来就能得低分。要留出一段没读过的文字来量损失，再看它写的句子有多少是原文里没有、却仍然通顺的。
#
# It was examined on the few hundred characters that it has read, and knowing them by heart is enough. Keep back a part that it does not read and measure the loss there; then see how much of what it writes is not in the text and still makes sense.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 语言模型只回答「下一个是什么」；把自己的答案接在后面再问，就会写。KV 缓存让每一步只算新词元，结果不变。
# 2. 温度是 softmax 前的除数：小于 1 更尖，大于 1 更平，0 就是取最大；top-k 只在最可能的 k 个里抽。
# 3. 小模型在小文本上损失很低，那是背下来了；要看泛化，得用没读过的文字来考。
#
# 1. A language model answers only "what comes next"; put its answer behind the text, ask again, and it writes. With a KV cache a step computes the new token only, and the result is the same.
# 2. Temperature is what scores are divided by before the softmax: below 1 sharper, above 1 flatter, 0 the likeliest; top-k draws among the k likeliest only.
# 3. A small model with a low loss on a small text knows it by heart; generalisation is examined on text that it has not read.
