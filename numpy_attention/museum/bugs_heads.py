"""Bugs of the heads: right shapes with the wrong numbers in them."""
import math

import numpy as np

from .specimen import replace, specimen

SCALED = "Any scale makes a proper attention: rows sum to 1, masks hold, gradients agree."
SCALED_ZH = "任何缩放都是一个正当的注意力：每行之和为 1，掩码有效，梯度相符。"


@specimen("scale-by-model-width", caught_by="golden numbers",
          seen="karpathy/ng-video-lecture PR #6, FareedKhan-dev/train-llm-from-scratch PR #3, "
               "aladdinpersson/Machine-Learning-Collection PR #159",
          what="The scores are divided by √d_model instead of √d_k.", what_zh="分数除以 √d_model，而不是 √d_k。",
          why=SCALED + " With one head it is not even wrong.", why_zh=SCALED_ZH + "只有一个头时它甚至没错。")
def scale_by_model_width(mha):
    mha.attention.scale = 1 / math.sqrt(len(mha.query_proj.params["W"]))


@specimen("scale-missing", caught_by="golden numbers",
          seen="huggingface/blog PR #2893, juho-lee/set_transformer #18",
          what="The scores are not divided at all.", what_zh="分数根本没有缩放。", why=SCALED, why_zh=SCALED_ZH)
def scale_missing(mha):
    mha.attention.scale = 1.0


@specimen("scale-multiplied", caught_by="golden numbers",
          seen="delzac/cntkx #10",
          what="The scores are multiplied by √d_k.", what_zh="分数乘了 √d_k。", why=SCALED, why_zh=SCALED_ZH)
def scale_multiplied(mha):
    mha.attention.scale = math.sqrt(mha.query_proj.params["W"].shape[1] // mha.split.num_heads)


@specimen("split-without-transpose", caught_by="permutation", also="golden numbers, causality probe",
          seen="hyunwoongko/transformer #15, FuxiCTR #30, 649453932/Chinese-Text-Classification-Pytorch #53",
          what="(L, H·d) is reshaped straight into (H, L, d): heads get pieces of tokens instead of columns.",
          what_zh="把 (L, H·d) 直接 reshape 成 (H, L, d)：每个头拿到的是词元的碎片，而不是各自的列。",
          why="Shapes and row sums are right, and so is the gradient of this scrambled function.",
          why_zh="形状和每行之和都对，这个打乱了的函数的梯度也对。")
def split_without_transpose(mha):
    for part in (mha.split, mha.split_kv):
        _reshape_only(part)


def _reshape_only(split, forward_too=True):
    def forward(self, x):
        *lead, L, width = x.shape
        heads = x.reshape(*lead, self.num_heads, L, width // self.num_heads)
        self.cache = {"x": x, "heads": heads}
        return heads

    def backward(self, dheads):
        *lead, H, L, d = dheads.shape
        self.grads = {"heads": dheads, "x": dheads.reshape(*lead, L, H * d)}
        return self.grads["x"]
    replace(split, backward=backward, **({"forward": forward} if forward_too else {}))


@specimen("merge-without-transpose", caught_by="permutation", also="golden numbers, causality probe",
          seen="jsbaan/transformer-from-scratch PR #6, unnoticed for years, since copying is too easy a task; "
               "meta-pytorch/opacus PR #825",
          what="(H, L, d) is reshaped straight into (L, H·d): a token's row holds pieces of other tokens' answers.",
          what_zh="把 (H, L, d) 直接 reshape 成 (L, H·d)：一个词元的那一行里混进了别的词元的答案。",
          why="Shapes and row sums are right, and so is the gradient of this scrambled function.",
          why_zh="形状和每行之和都对，这个打乱了的函数的梯度也对。")
def merge_without_transpose(mha):
    def forward(self, heads):
        *lead, H, L, d = heads.shape
        concat = heads.reshape(*lead, L, H * d)
        self.cache = {"heads": heads, "concat": concat}
        return concat

    def backward(self, dconcat):
        self.grads = {"concat": dconcat, "heads": dconcat.reshape(self.cache["heads"].shape)}
        return self.grads["heads"]
    replace(mha.merge, forward=forward, backward=backward)


@specimen("split-backward-by-reshape", caught_by="gradient check",
          seen="no thread cited; the half-repaired twin of split-without-transpose",
          what="Splitting is right, but its backward is a bare reshape.",
          what_zh="切分是对的，它的反向却只是 reshape。",
          why="The forward pass is right, and so is every test of it.", why_zh="前向正确，对前向的一切测试都通过。")
def split_backward_by_reshape(mha):
    _reshape_only(mha.split, forward_too=False)


@specimen("heads-share-a-projection", caught_by="golden numbers",
          seen="episodic-transformer PR #22",
          what="All heads ask the question of the first one.", what_zh="所有的头问的都是第一个头的问题。",
          why="It is a proper attention with less to learn: all symmetries hold, and its gradient is right.",
          why_zh="这仍是正当的注意力，只是能学的更少：对称性都在，梯度也对。")
def heads_share_a_projection(mha):
    split = type(mha.split)

    def forward(self, x):
        heads = split.forward(self, x)
        return np.repeat(heads[..., :1, :, :], self.num_heads, axis=-3)

    def backward(self, dheads):
        first = np.zeros_like(dheads)
        first[..., 0, :, :] = dheads.sum(axis=-3)
        return split.backward(self, first)
    replace(mha.split, forward=forward, backward=backward)


@specimen("keys-and-values-swapped", caught_by="golden numbers",
          seen="jsbaan/transformer-from-scratch #1 (the order of q, v, k), huggingface/diffusers PR #14341",
          what="Keys and values change places.", what_zh="键和值互换了位置。",
          why="With equal widths it is the same layer under other names; only the numbers know which matrix was which.",
          why_zh="宽度相等时，它只是换了名字的同一层；只有数值知道哪个矩阵是哪个。")
def keys_and_values_swapped(mha):
    attention = type(mha.attention)

    def forward(self, Q, K, V, *, mask=None, bias=None):
        return attention.forward(self, Q, V, K, mask=mask, bias=bias)

    def backward(self, dheads):
        dQ, dV, dK = attention.backward(self, dheads)
        return dQ, dK, dV
    replace(mha.attention, forward=forward, backward=backward)
