# %% [markdown]
# # 16 · 完整的一块 · The whole block
#
# **目标**：把注意力放回它的家：残差、归一化（前、后、RMSNorm）、前馈层，说得出每一样管什么，并量一量归一化放在前面还是后面有什么差别。
#
# **Goal**: put attention back where it lives, among residual connections, norms (before, after, RMSNorm) and a feed-forward layer; say what each is for, and measure how much it matters where the norm stands.
#
# *约 35 分钟 · about 35 minutes; runs in 30 s*
#
# 建议在第 09 课之前学。数字：三个词元，每个 4 个数。
#
# Best read before lesson 09. The numbers: three tokens of 4 numbers each.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course

np.set_printoptions(precision=2, suppress=True)
rng = np.random.default_rng(0)
x = np.array([[[1., 2, 3, 6], [10, 20, 30, 60], [-1, 0, 1, 0]]])

# %% [markdown]
# ## 残差：只加不换 · Residual: add, do not replace
#
# $$y = x + f(x) \qquad\Rightarrow\qquad dx = dy + f\text{'s backward}(dy)$$
#
# 每一层只往词元的那一行里**加**东西。反向传播时，加法把梯度原样交给两边：一条路直通，不经过任何矩阵；一条路经过 f。先猜：24 层 f(x) = xW 叠起来（W 的元素标准差是 0.5/√D），没有残差时，第 0 层收到的梯度是最后一层的几分之一？有残差呢？
#
# Each layer only **adds** to a token's row. Backward, a sum hands its gradient to both summands: one way runs straight through no matrix at all, the other through f. Predict: stack 24 layers f(x) = xW (the elements of W have standard deviation 0.5/√D). How many times smaller is the gradient at layer 0 than at the
# last one without residuals? And with them, is it smaller or larger?

# %% tags=["guess"]
guess_without = None
guess_with = None

# %%
D, depth = 64, 24
Ws = 0.5 * rng.standard_normal((depth, D, D)) / np.sqrt(D)
plain = residual = rng.standard_normal((1, D))
start = np.linalg.norm(plain)
for W in Ws[::-1]:
    plain, residual = plain @ W.T, residual + residual @ W.T
shrunk, grown = start / np.linalg.norm(plain), np.linalg.norm(residual) / start
assert shrunk > 1e4 and grown > 1
course.predict(("没有残差，缩小的倍数 times smaller without", guess_without, float(shrunk)), ("有残差 with", guess_with, "larger"))

# %% [markdown]
# ## 归一化：每个词元自己的事 · Norms: each token on its own
#
# - **LayerNorm**：对一个词元的 D 个数减均值、除以标准差，再乘 γ 加 β。
# - **RMSNorm**：不减均值，只除以均方根 $\sqrt{\tfrac1D\sum x_i^2}$，更省。
# - BatchNorm 是对一批里的同一个特征做，长短不一的句子、一个词一个词地生成，都不好用。
#
# **LayerNorm** subtracts the mean of a token's D numbers and divides by their standard deviation, then times γ plus β. **RMSNorm** subtracts no mean and divides by the root mean square. BatchNorm works on one feature over the batch, which suits neither sentences of many lengths nor generation token by token.
#
# 先猜：第 1 个词元是第 0 个的十倍，LayerNorm 以后两行差多少？
#
# Predict: token 1 is ten times token 0. How much do their rows differ after LayerNorm?

# %% tags=["guess"]
guess = None

# %%
normed, rms = na.LayerNorm(4)(x), na.RMSNorm(4)(x)
print("LayerNorm", normed[0], "RMSNorm", rms[0], sep="\n")
assert np.allclose(normed[0, 0], normed[0, 1], atol=1e-3) and not np.allclose(na.RMSNorm(4)(x + 5), rms, atol=0.01)
course.predict("最大的差 largest difference", guess, round(float(np.abs(normed[0, 0] - normed[0, 1]).max()), 2))

# %% [markdown]
# ### 练习 · Exercise
#
# 写出一个前归一化的块，三步：`heard = x + attention(norm(x))`，`out = heard + feed_forward(norm2(heard))`。四个参数都是函数。
#
# Write a pre-norm block: `heard = x + attention(norm(x))`, `out = heard + feed_forward(norm2(heard))`. All four arguments are functions.

# %% tags=["exercise"]
def block(x, attention, norm, feed_forward, norm2):
    """x (N, L, D), and four functions (N, L, D) -> (N, L, D) -> out (N, L, D)"""
    return ...


course.check("pre-norm-block", block)

# %% [markdown]
# *约 5 分钟，难度 ★；卡住了就运行 `course.hint("pre-norm-block")`，再运行看下一条 · about 5 minutes, difficulty ★; if stuck, run `course.hint("pre-norm-block")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def block(x, attention, norm, feed_forward, norm2):
#     heard = x + attention(norm(x))
#     return heard + feed_forward(norm2(heard))
# ```
#
# </details>

# %% [markdown]
# ## 前馈层：搬回来以后再加工 · Feed-forward: work on what was brought
#
# 注意力在词元**之间**搬运，前馈层在每个词元**之内**加工：$\mathrm{FFN}(x) = \mathrm{ReLU}(xW_1 + b_1)W_2 + b_2$，中间宽 4D。第 06 课里一个头同时回答四个问题，停在一半左右。先猜：加一个前馈层，500 步以后答对多少？
#
# Attention moves **between** tokens, the feed-forward layer works **within** each: $\mathrm{FFN}(x) = \mathrm{ReLU}(xW_1 + b_1)W_2 + b_2$, 4D wide inside. In lesson 06 one head on four questions stayed at about half. Predict: with a feed-forward layer, what is right after 500 steps?

# %% tags=["guess"]
guess = None

# %% tags=["varies", "experiment"]
alone = na.training.train("offsets", heads=1, steps=500, measure_every=250, progress=False)
thinking = na.training.train("offsets", heads=1, d_hidden=128, steps=500, measure_every=250, progress=False)
print(f"只有注意力 attention alone {alone.accuracy:.2f}, 加前馈层 with a feed-forward layer {thinking.accuracy:.2f}")
course.predict("加前馈层 with a feed-forward layer", guess, thinking.accuracy)

# %% tags=["experiment"]
assert alone.accuracy < 0.7 and thinking.accuracy > 0.85

# %% [markdown]
# ## 意外：归一化放在哪里？ · A surprise: where does the norm stand?
#
# **后归一化**（原论文）：$\mathrm{LN}(x + f(x))$。**前归一化**（现在的大模型多半如此）：$x + f(\mathrm{LN}(x))$。量一量没有训练过的 12 层，每一层把流改变了多少：|出 − 进| / |进|。先猜：前归一化，最后一层改变的是第 0 层的几分之几？后归一化呢？
#
# **Post-norm** (the paper): $\mathrm{LN}(x + f(x))$. **Pre-norm** (most large models of today): $x + f(\mathrm{LN}(x))$. Take 12 untrained layers and measure how much each changes the stream: |out − in| / |in|. Predict: in pre-norm, which share of layer 0's change is that of the last layer? And in post-norm?

# %% tags=["guess"]
guess_pre = None
guess_post = None

# %%
def changes(norm_first, depth=12, D=32):
    layers = [na.TransformerEncoderLayer(D, 4, 4 * D, norm_first=norm_first, rng=[1, i]) for i in range(depth)]
    stream = np.random.default_rng(2).standard_normal((8, 10, D))
    changed = []
    for layer in layers:
        out = layer(stream)
        changed.append(np.linalg.norm(out - stream) / np.linalg.norm(stream))
        stream = out
    return np.array(changed), stream.std()


(post, post_std), (pre, pre_std) = changes(False), changes(True)
print(f"最后的标准差，后归一化 standard deviation of the stream at the end, post-norm {post_std:.1f}, 前归一化 pre-norm {pre_std:.1f}")
course.predict(("前归一化 pre-norm", guess_pre, round(float(pre[-1] / pre[0]), 2)), ("后归一化 post-norm", guess_post, round(float(post[-1] / post[0]), 2)))

# %%
course.curves(np.arange(12), {"post-norm 后归一化": post, "pre-norm 前归一化": pre}, xlabel="层 layer", ylabel="|out − in| / |in|", limits=(0, float(max(post.max(), pre.max())) * 1.1),
              title="每一层改变了多少 · How much each layer changes",
              alt=f"Change of the stream by layer: post-norm {post[0]:.2f} at layer 0 and {post[-1]:.2f} at the last, pre-norm {pre[0]:.2f} and {pre[-1]:.2f}.")

# %%
assert pre[-1] < 0.6 * pre[0]
assert post[-1] > 0.7 * post[0]
assert pre_std > 2 > post_std

# %% [markdown]
# 前归一化的流越加越大，而每一层加的差不多一样多，所以**越靠后的层，改变得越少**；后归一化每层都把流拉回标准差 1。反过来看梯度：前归一化的残差一路直通，后归一化的梯度每层都要穿过归一化。这是原论文要预热 (warm-up)、前归一化不太需要的原因之一（Xiong 等 2020）。代价：前归一化最后要再加一个归一化。
#
# The stream of pre-norm grows while each layer adds about as much, so **the later a layer, the less it changes**; post-norm brings the stream back to standard deviation 1 at each layer. As to gradients: the residual of pre-norm runs straight through, while in post-norm they go through a norm at each layer. It is one of the reasons why the
# paper warms up and pre-norm hardly has to (Xiong et al. 2020). The price: pre-norm wants one more norm at the end.

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 去掉残差连接，参数一个不少。为什么深的模型还是难训练得多？写在下面一格里，再展开参考答案。
#
# Without residual connections not one parameter is missing. Why are deep models so much harder to train all the same? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 没有残差，梯度只能一层一层地连乘矩阵传回去，乘的数小于 1 就越来越小，大于 1 就越来越大。有残差时，多了一条什么也不乘的路。另外，一层要「什么也不做」，没有残差就得学出恒等，有残差只要学出 0。
#
# Without them the gradient comes back through one matrix after the other; factors below 1 shrink it, factors above 1 blow it up. A residual adds a way that multiplies by nothing. And to do nothing, a layer without residual has to learn the identity; with one it has to learn 0.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 一个块：注意力在词元之间搬运，前馈层（宽 4D）在词元之内加工，都加在残差流上；参数约 4D² + 8D²。
# 2. 残差给梯度一条不经过矩阵的路；LayerNorm 对每个词元归一化，和批次无关；RMSNorm 省掉减均值。
# 3. 前归一化 x + f(LN(x)) 的残差一路直通，没有训练过的时候，流越加越大，越靠后的层改变得越少（我量过 12 层），最后要再加一个归一化；后归一化 LN(x + f(x)) 每层都把流拉回标准差 1，梯度也每层穿过归一化。
#
# 1. A block: attention moves between tokens, the feed-forward layer works within each, and both add to the residual stream; about 4D² + 8D² parameters, with a feed-forward layer 4D wide.
# 2. The residual gives the gradient a way through no matrix; LayerNorm normalises each token, whatever the batch; RMSNorm leaves the mean alone.
# 3. In pre-norm, x + f(LN(x)), the residual runs straight through; untrained, the stream grows and later layers change it less (I measured 12), and it wants one more norm at the end. In post-norm, LN(x + f(x)), each layer brings the stream back to standard deviation 1, and gradients go through a norm each time.
