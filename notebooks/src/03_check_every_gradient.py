# %% [markdown]
# # 03 · 相信，但要验证 · Check every gradient
#
# **目标**：不看公式，只靠「动一动、看一看」测出任何梯度，并知道测得有多准。
#
# **Goal**: measure any gradient by nudging and looking, without its formula, and know how exact the measurement is.
#
# *约 35 分钟 · about 35 minutes; runs in 10 s*
#
# 数字还是 **我 爱 AI** 的 Q、K、V。要检验的是第 02 课推出来的 dQ。
#
# The numbers are still Q, K and V of **我 爱 AI**. What we check is the dQ that lesson 02 derived.

# %%
import numpy as np
import numpy_attention as na
from numpy_attention import course
from numpy_attention.plots import plot_step_curve

np.set_printoptions(precision=4, suppress=True)
Q, K, V = na.worked_example("by-hand").inputs
upstream = np.random.default_rng(0).standard_normal((3, 4))     # 随机的上游梯度 random, as lesson 02 advised

attention = na.ScaledDotProductAttention()
attention(Q, K, V)
dQ, dK, dV = attention.backward(upstream)


def loss(Q):
    return (upstream * attention(Q, K, V)).sum()


print(dQ)

# %% [markdown]
# ## 动一动，看一看 · Nudge and look
#
# 导数就是「变化之比」。把 Q 的一个数加上一点点 h，看 loss 变多少，再除以 h；更好的办法是两边各动一次，叫**中心差分**：
#
# $$f'(x) \approx \frac{f(x + h) - f(x - h)}{2h}$$
#
# A derivative is a ratio of changes. Add a little h to one number of Q, see how much the loss moves, divide by h. Better: one
# nudge to each side, the **central difference** above.
#
# 先猜：h 取多大测得最准？`1e-2`、`1e-5` 还是 `1e-8`？
#
# Predict: which h measures best: `1e-2`, `1e-5` or `1e-8`?

# %% tags=["guess"]
guess = None

# %% tags=["varies"]
def central(f, x, h):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        gradient[i] = (f(up) - f(down)) / (up[i] - down[i])
    return gradient


def error(measured):
    """Largest difference from dQ, relative to the largest dQ."""
    return float(np.abs(measured - dQ).max() / np.abs(dQ).max())


errors = {h: error(central(loss, Q, h)) for h in (1e-2, 1e-5, 1e-8)}
best = min(errors, key=errors.get)
print({h: f"{e:.0e}" for h, e in errors.items()})
course.predict("h", guess, best)

# %% [markdown]
# 太大不准，因为函数是弯的；太小也不准，因为两个几乎相等的数相减，剩下的多半是舍入误差。「保险起见取小一点」恰恰是错的：
#
# Too large is wrong, because functions are curved. Too small is wrong too: two nearly equal numbers are subtracted, and
# what is left is mostly rounding. "Smaller, to be safe" is just what one should not do:

# %% tags=["varies"]
print(f"误差之比 ratio of the errors, h = 1e-8 / 1e-5: {errors[1e-8] / errors[1e-5]:.0f}")

# %% [markdown]
# ## 一张图 · The picture
#
# 误差随 h 变化，画出来是一个 V 字。float32 的 V 要高得多，谷底也在别处。最下面那条线是下一节的**复数步长法**。
#
# Plotted over h, the error is a V. With float32 the V stands much higher, and its bottom is somewhere else. The line at the
# very bottom is the **complex step** of the next section.

# %%
steps = 10.0 ** np.arange(-15, 0)


def one_sided(f, x, h):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        up = x.copy()
        up[i] += h
        gradient[i] = (f(up) - f(x)) / h
    return gradient


def complex_step(f, x, h):
    gradient = np.empty_like(x)
    for i in np.ndindex(x.shape):
        z = x.astype(complex)
        z[i] += 1j * h
        gradient[i] = f(z).imag / h
    return gradient


def loss32(Q):
    return (upstream.astype(np.float32) * attention(Q, K.astype(np.float32), V.astype(np.float32))).sum()


def central32(h):
    with np.errstate(all="ignore"):         # 动得太小会被舍入抹掉，除以零 a nudge that is lost in rounding divides by zero
        return error(central(loss32, Q.astype(np.float32), np.float32(h)).astype(float))


lines = {
    "float32 central": [central32(h) for h in steps],
    "float64 one-sided": [error(one_sided(loss, Q, h)) for h in steps],
    "float64 central": [error(central(loss, Q, h)) for h in steps],
    "complex step": [max(error(complex_step(loss, Q, h)), 1e-17) for h in steps],
}
plot_step_curve(steps, lines, name="dQ", lang="both",
                title="误差是一个 V 字，复数步长法除外 A V for all but the complex step")

# %% [markdown]
# ### 练习一 · Exercise 1
#
# 写出你自己的梯度检查器：中心差分，任何形状的 `x`。注意不要改动 `x` 本身。
#
# Write a gradient checker of your own: central differences, for an `x` of any shape. Mind that `x` itself stays as it is.

# %% tags=["exercise"]
def numeric_gradient(f, x):
    """f takes an array like x and returns a number -> gradient, shape of x"""
    gradient = ...
    return gradient


course.check("numeric-gradient", numeric_gradient)

# %% [markdown]
# *约 15 分钟，难度 ★★；卡住了就运行 `course.hint("numeric-gradient")`，再运行看下一条 · about 15 minutes, difficulty ★★; if stuck, run `course.hint("numeric-gradient")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def numeric_gradient(f, x):
#     h = 1e-5
#     gradient = np.empty_like(x)
#     for i in np.ndindex(x.shape):
#         up, down = x.copy(), x.copy()
#         up[i] += h
#         down[i] -= h
#         gradient[i] = (f(up) - f(down)) / (2 * h)
#     return gradient
# ```
#
# </details>

# %% [markdown]
# ## 复数步长法：不做减法 · The complex step: nothing is subtracted
#
# 往**虚数**方向动一小步：$f(x + ih) = f(x) + ih f'(x) - \dots$，虚部除以 h 就是导数。没有减法，就没有相减抵消，h 可以小得离谱。
# 只要前向由**解析**的、接受复数的函数组成就行（绝对值、取大小都不解析），本课程的层都是这样写的。
#
# Take the small step in the **imaginary** direction: $f(x + ih) = f(x) + ih f'(x) - \dots$, so the imaginary part divided by h is
# the derivative. Nothing is subtracted, so nothing cancels, and h may be absurdly small. All it needs is a forward made of **analytic**
# functions that accept complex numbers (an absolute value is none); the layers of this course are written that way.

# %% tags=["varies"]
for h in (1e-5, 1e-20, 1e-100):
    print(f"h = {h:g}: 相对误差 relative error {error(complex_step(loss, Q, h)):.0e}")

# %% [markdown]
# ### 练习二 · Exercise 2
#
# 用复数步长法再写一遍。应该精确到最后几位。
#
# Write it again with the complex step. It should be exact to the last digits.

# %% tags=["exercise"]
def complex_gradient(f, x):
    """f takes an array like x, also a complex one, and returns a number -> gradient, shape of x"""
    gradient = ...
    return gradient


course.check("complex-gradient", complex_gradient)

# %% [markdown]
# *约 10 分钟，难度 ★★；卡住了就运行 `course.hint("complex-gradient")`，再运行看下一条 · about 10 minutes, difficulty ★★; if stuck, run `course.hint("complex-gradient")`, and again for the next*

# %% [markdown] tags=["solution"]
# <details><summary>答案 · Solution</summary>
#
# ```python
# def complex_gradient(f, x):
#     h = 1e-20
#     gradient = np.empty_like(x)
#     for i in np.ndindex(x.shape):
#         z = x.astype(complex)
#         z[i] += 1j * h
#         gradient[i] = f(z).imag / h
#     return gradient
# ```
#
# </details>

# %% [markdown]
# ## 程序包里的检验器 · The package's checker
#
# `na.check_gradients` 做的就是这件事：随机的上游梯度，每个输入、每个参数、每个元素都测一遍。
#
# `na.check_gradients` does just this: a random upstream gradient, and every element of every input and parameter measured.

# %% tags=["varies"]
print(na.check_gradients(na.ScaledDotProductAttention(), Q, K, V))

# %% [markdown]
# 现在故意弄坏一层：反向传播忘了除以 √d_k。看 `ratio` 那一列：正好是 2。这里 √d_k = √4 = 2，所以它像是少除了一次 √d_k；「多乘了 2」也是这个数，换一个 d_k 再量就分得开。
#
# Now a layer that is broken on purpose: its backward forgets the division by √d_k. Look at the column `ratio`: it is 2. Here
# √d_k = √4 = 2, so a forgotten √d_k fits; so would a stray factor of 2, and another d_k tells the two apart.

# %% tags=["varies"]
class ForgetsTheScale(na.ScaledDotProductAttention):
    def backward(self, dheads):
        dQ, dK, dV = super().backward(dheads)
        factor = np.sqrt(dQ.shape[-1])
        self.grads["Q"], self.grads["K"] = dQ * factor, dK * factor
        return dQ * factor, dK * factor, dV


report = na.check_gradients(ForgetsTheScale(), Q, K, V)
print(report)

# %% [markdown]
# ## 意外：多小的错误抓得到？ · A surprise: how small a mistake can be caught?
#
# 512 维、8 个头的一层有一百多万个参数，一个一个测太慢。只测**一个随机方向**：所有参数同时动一小步，复数步长法一次前向就够，中心差分两次。
#
# A layer 512 wide with 8 heads has more than a million parameters, too many to be measured one by one. Measure a single
# **random direction** instead: nudge all of them at once. The complex step takes one forward pass for it, central differences two.
#
# 把 W_K 梯度里的**一个**数弄错十万分之一。先猜：中心差分（它自己只准到大约 1e-9，容差不能再小）抓得到吗？复数步长法（容差 1e-12）呢？
#
# Spoil **one** number of W_K's gradient by one part in a hundred thousand. Predict: do central differences catch it, which are exact to about 1e-9 here,
# so that no smaller tolerance makes sense? Does the complex step with 1e-12? Guess `True` or `False` for each.

# %% tags=["guess"]
guess_central = None
guess_complex = None

# %%
mha = na.MultiHeadAttention(512, 8, rng=0)
rng = np.random.default_rng(1)
x, direction_up = rng.standard_normal((2, 1, 3, 512))
params = mha.named_params()
ways = {name: rng.standard_normal(p.shape) for name, p in params.items()}
start = {name: p.copy() for name, p in params.items()}


def loss_at(t):
    """The loss after all parameters have moved by t along their random directions."""
    for name, layer_name in ((n, n.rpartition(".")) for n in params):
        getattr(mha, layer_name[0]).params[layer_name[2]] = start[name] + t * ways[name]
    return (direction_up * mha(x)).sum()


by_complex = loss_at(1e-20j).imag / 1e-20
by_central = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6
loss_at(0.0)
mha.backward(direction_up)
grads = {name: g.copy() for name, g in mha.named_grads().items()}


def slope():
    return sum((grads[name] * ways[name]).sum() for name in grads)


def off(measured):
    return float(abs(measured - slope()) / abs(slope()))


print(f"数组 arrays: {len(params)}, 数 numbers: {sum(p.size for p in params.values()):,}")
assert off(by_central) < 1e-9
assert off(by_complex) < 1e-12
before = slope()
grads["key_proj.W"][100, 200] *= 1.00001
caught_central, caught_complex = off(by_central) > 1e-9, off(by_complex) > 1e-12
print(f"the slope changed by 斜率变了 {abs(slope() / before - 1):.0e}")
assert not caught_central and caught_complex
grads["key_proj.W"][100, 200] *= 1.001 / 1.00001                # 错千分之一 one part in a thousand
assert 1e-9 < off(by_central) < 1e-6
course.predict(("中心差分 central differences", guess_central, bool(caught_central)),
               ("复数步长法 complex step", guess_complex, bool(caught_complex)))

# %% [markdown]
# 一百万个数里的一个，错了十万分之一。放过它的不是方法，而是**容差**：容差不能比方法本身更准。错千分之一，中心差分用 1e-9 的容差也抓得到；
# 用 1e-6 就抓不到。**方法有多准，容差就该有多紧。**
#
# One number among a million, wrong by one part in a hundred thousand. It is the **tolerance** that lets a mistake pass, and it cannot be tighter than the method
# is exact. One part in a thousand is caught by central differences at 1e-9, and missed at 1e-6. **Tolerances should be as tight as the method allows.**

# %% [markdown]
# ## 用自己的话说 · In your own words
#
# 同事说：「我的梯度检查用 h = 1e-10，因为越小越准。」你怎么回答？写在下面一格里，再展开参考答案。
#
# A colleague says: "My gradient check uses h = 1e-10, because smaller is more exact." What do you answer? Write it into the cell below, then unfold the sample answer.

# %% [markdown] tags=["words"]
# > …

# %% [markdown] tags=["sample"]
# <details><summary>参考答案 · A sample answer</summary>
#
# 太小的时候，f(x + h) 和 f(x − h) 的前十来位都一样，相减以后只剩舍入误差，再除以 2h 就被放大了。float64 的中心差分在 h ≈ 1e-5 附近最准；想用更小的 h，就用复数步长法，它不做减法。
#
# With so small a step f(x + h) and f(x − h) agree in their first ten digits or more; their difference is mostly rounding, and dividing by 2h makes it large. Central differences in float64 are best near h = 1e-5; for smaller steps take the complex step, which subtracts nothing.
#
# </details>

# %% [markdown]
# ## 面试怎么说 · What to say in an interview
#
# 1. 梯度检查就是拿反向传播的结果和数值导数比：用中心差分，float64，步长约 1e-5，看相对误差，上游梯度要随机。
# 2. 步长不是越小越好：截断误差随 h² 变小，舍入误差随 1/h 变大，误差曲线是一个 V 字。
# 3. 复数步长法 Im f(x + ih)/h 没有减法，精确到最后几位，但要求函数解析；参数太多时，它测一个随机方向只要一次前向。
#
# 1. A gradient check holds backward against a numerical derivative: central differences in float64 with a step of about
#    1e-5, judged by relative error, with a random upstream gradient.
# 2. Smaller steps are not better: the truncation error shrinks like h², the rounding error grows like 1/h, and the error
#    over h is a V.
# 3. The complex step, Im f(x + ih)/h, subtracts nothing and is exact to the last digits, for analytic functions. With many parameters,
#    it measures one random direction in a single forward pass.
