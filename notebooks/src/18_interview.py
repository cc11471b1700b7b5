# %% [markdown]
# # 18 · 面试 · The interview
#
# **目标**：四十二个问题，每个都有 30 秒的回答、2 分钟的回答、追问、常见的错误回答，和一段证明它的代码。
#
# **Goal**: forty-two questions, each with a 30-second answer, a 2-minute answer, follow-up questions, a typical wrong answer, and code that proves it.
#
# *约 60 分钟 · about 60 minutes; runs in 25 s*
#
# 先自己说一遍，再点开答案。命令行里也能练，它问、等、再给答案：`python -m numpy_attention course interview why`。
#
# Say it yourself first, then unfold the answer. On the command line it asks, waits, and shows: `python -m numpy_attention course interview why`.

# %%
from numpy_attention.course import interview

print(", ".join(interview.groups()), len(interview.questions()))

# %% [markdown]
# ## 基础 · Basics

# %%
interview.page("basics")

# %% tags=["experiment"]
print(interview.prove("basics"))

# %% [markdown]
# ## 形状与参数 · Shapes and counts

# %%
interview.page("shapes")

# %% tags=["experiment"]
print(interview.prove("shapes"))

# %% [markdown]
# ## 为什么 · Why

# %%
interview.page("why")

# %% tags=["experiment"]
print(interview.prove("why"))

# %% [markdown]
# ## 反向传播 · Backward

# %%
interview.page("backward")

# %% tags=["experiment"]
print(interview.prove("backward"))

# %% [markdown]
# ## 掩码与位置 · Masks and positions

# %%
interview.page("order")

# %% tags=["experiment"]
print(interview.prove("order"))

# %% [markdown]
# ## 代价与缓存 · Cost and cache

# %%
interview.page("cost")

# %% tags=["experiment"]
print(interview.prove("cost"))

# %% [markdown]
# ## 变体与块 · Variants and blocks

# %%
interview.page("variants")

# %% tags=["experiment"]
print(interview.prove("variants"))

# %% [markdown]
# ## 读懂头 · Reading heads

# %%
interview.page("reading")

# %% tags=["experiment"]
print(interview.prove("reading"))
