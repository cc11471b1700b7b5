"""Bugs of masks: seeing too much, too little, or the wrong way round."""
import numpy as np

from .specimen import replace, specimen

CONSISTENT = "A wrong mask is still one function: its rows sum to 1 and its gradient is that of what it computes."
CONSISTENT_ZH = "用错掩码仍是一个确定的函数：每行之和为 1，梯度也与它所算的一致。"

SUMS_TOO = ("It is still one function, with the gradient of what it computes; its row sums give it away only because "
            "one query may see nothing at all and should have weights of 0.")
SUMS_TOO_ZH = "它仍是一个确定的函数，梯度与它所算的一致；每行之和露馅，只因为有个查询什么都不该看见，权重本应全是 0。"


def _with_mask(change):
    """Plant an attention that sees change(mask) instead of the mask."""
    def plant(mha):
        attention = type(mha.attention)

        def forward(self, Q, K, V, *, mask=None, bias=None):
            if mask is not None:
                mask = change(np.broadcast_to(np.asarray(mask), (*Q.shape[:-1], K.shape[-2])))
            return attention.forward(self, Q, K, V, mask=mask, bias=bias)
        replace(mha.attention, forward=forward)
    return plant


specimen("causal-off-by-one", caught_by="causality probe", also="golden numbers",
         seen="no thread cited; it trains, and faster than the correct layer, because it sees the answer",
         what="Every query sees one key too many: the next token.", what_zh="每个查询多看见一个键：下一个词元。",
         why=CONSISTENT, why_zh=CONSISTENT_ZH)(
    _with_mask(lambda mask: mask | np.roll(mask, 1, axis=-1)))

specimen("mask-inverted", caught_by="causality probe", also="golden numbers, row sums",
         seen="pytorch/pytorch PR #170415, rasbt/LLMs-from-scratch #1061, tensorflow/text PR #894",
         what="True is read as \"hide\": two libraries, two meanings.",
         what_zh="把 True 理解成“遮住”：两个库，两种含义。",
         why=SUMS_TOO, why_zh=SUMS_TOO_ZH)(
    _with_mask(lambda mask: ~mask))

specimen("mask-ignored", caught_by="causality probe", also="golden numbers, row sums",
         seen="lucidrains/flamingo-pytorch #10, keras-team/keras #23038",
         what="The mask is accepted and never used.", what_zh="接收了掩码，却从来没有用上。",
         why=SUMS_TOO, why_zh=SUMS_TOO_ZH)(
    _with_mask(lambda mask: None))

specimen("padding-hides-queries", caught_by="golden numbers", also="causality probe",
         seen="harvardnlp/annotated-transformer #137, bentrevett/pytorch-seq2seq #96",
         what="The mask is laid along the queries instead of the keys.", what_zh="掩码加在了查询轴上，而不是键轴上。",
         why="A causal mask turned over shows the past nothing but the future, which the probe sees as well; with a "
             "padding mask nothing but the numbers tells.",
         why_zh="因果掩码转置后只能看见未来，因果探针也能发现；但对填充掩码，只有数值会说话。")(
    _with_mask(lambda mask: mask.mT if mask.shape[-1] == mask.shape[-2] else mask))

specimen("mask-heads-before-batch", caught_by="golden numbers", also="row sums",
         seen="attention-is-all-you-need-keras #36",
         what="The masks of the batch are laid out heads first, the scores batch first: items get each other's masks.",
         what_zh="掩码按“头优先”排列，分数按“批优先”排列：各个样本用了别人的掩码。",
         why="One mask for all items hides it, and so does N = 1. " + SUMS_TOO,
         why_zh="所有样本共用一个掩码、或者 N = 1 时都看不出来。" + SUMS_TOO_ZH)(
    _with_mask(lambda mask: np.concatenate([mask[:, 0]] * mask.shape[1]).reshape(mask.shape)
               if mask.ndim == 4 else mask))


@specimen("mask-added-as-ones", caught_by="causality probe", also="golden numbers, row sums",
          seen="pytorch/pytorch #21518, huggingface/transformers #46458, timeseriesAI/tsai #171",
          what="A mask of ones and zeros is added to the scores: nothing is hidden, all is slightly tilted.",
          what_zh="把 0/1 掩码直接加到分数上：什么都没遮住，只是略微倾斜。",
          why=SUMS_TOO, why_zh=SUMS_TOO_ZH)
def mask_added_as_ones(mha):
    softmax = type(mha.attention.softmax)

    def forward(self, scores, *, mask=None):
        return softmax.forward(self, scores if mask is None else scores + np.asarray(mask, float))
    replace(mha.attention.softmax, forward=forward)


@specimen("mask-after-softmax", caught_by="row sums", also="golden numbers, causality probe, gradient check",
          seen="huggingface/pytorch-image-models PR #2236, lucidrains/memory-compressed-attention #2, "
               "NVIDIA/Megatron-LM PR #731",
          what="The hidden weights are set to 0 after the softmax, and what is left no longer sums to 1.",
          what_zh="softmax 之后才把被遮住的权重置 0，剩下的加起来不再是 1。",
          why="Without a mask all is well, so permutations see nothing. The future is in the denominators, and the "
              "backward formula holds only for rows that sum to 1: probe and gradient check see it, too.",
          why_zh="没有掩码时一切正常，置换查不出来。未来混进了分母，而反向公式只对和为 1 的行成立，"
                 "所以因果探针和梯度检查也能发现。")
def mask_after_softmax(mha):
    softmax = type(mha.attention.softmax)

    def forward(self, scores, *, mask=None):
        weights = softmax.forward(self, scores)
        weights = weights if mask is None else weights * mask
        self.cache = {"scores": scores, "mask": None, "weights": weights}
        return weights
    replace(mha.attention.softmax, forward=forward)


@specimen("mask-times-infinity", caught_by="golden numbers", also="row sums, causality probe, gradient check",
          seen="onnx/onnx PR #8068, tensorflow/tensorflow #11756",
          what="The additive mask is made as (1 − mask) · −∞, which is 0 · ∞ = NaN wherever the key may be seen.",
          what_zh="加性掩码写成 (1 − mask) · −∞，于是凡是可见之处都成了 0 · ∞ = NaN。",
          why="Every test with a mask sees NaN; permutations are tried without one.",
          why_zh="凡是带掩码的测试都会看到 NaN；置换测试不带掩码，所以看不到。")
def mask_times_infinity(mha):
    softmax = type(mha.attention.softmax)

    def forward(self, scores, *, mask=None):
        return softmax.forward(self, scores if mask is None else scores + (1.0 - mask) * -np.inf)
    replace(mha.attention.softmax, forward=forward)


@specimen("hidden-row-is-nan", caught_by="golden numbers", also="row sums, gradient check",
          seen="pytorch/pytorch #41508 and PR #131060, burn #4694, mlx #2395, allennlp #890",
          what="A query that may see no key gets −∞ − (−∞) = NaN, and NaN spreads to every parameter.",
          what_zh="什么都看不见的查询得到 −∞ − (−∞) = NaN，而 NaN 会传染给所有参数。",
          why="A causal mask always leaves the query itself, so only tests in which some row sees nothing can tell.",
          why_zh="因果掩码总会留下自己，只有测试里真有一行什么都看不见时才会发现。")
def hidden_row_is_nan(mha):
    def forward(self, scores, *, mask=None):
        visible = scores if mask is None else np.where(mask, scores, -np.inf)
        exponentials = np.exp(visible - visible.real.max(axis=-1, keepdims=True))
        weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
        self.cache = {"scores": scores, "mask": mask, "weights": weights}
        return weights
    replace(mha.attention.softmax, forward=forward)


@specimen("mask-minus-ten-thousand", caught_by="golden numbers", also="row sums, gradient check",
          seen="hyunwoongko/transformer PR #40",
          what="Hidden scores are set to −10000 instead of −∞: a query that may see nothing looks at everything.",
          what_zh="被遮住的分数设成 −10000 而不是 −∞：什么都不该看的查询反而平均地看了所有键。",
          why="While one key may be seen, exp(−10000) is 0 to the last digit, and all tests agree.",
          why_zh="只要还有一个可见的键，exp(−10000) 就精确为 0，所有测试都通过。")
def mask_minus_ten_thousand(mha):
    softmax = type(mha.attention.softmax)

    def forward(self, scores, *, mask=None):
        return softmax.forward(self, scores if mask is None else np.where(mask, scores, -10000.0))
    replace(mha.attention.softmax, forward=forward)
