"""Bugs around attention: dropout, grouped heads, embeddings, norms and residual sums."""
import numpy as np

from .specimen import replace, specimen

RIGHT = "The forward pass is right, and so is every test of it."
RIGHT_ZH = "前向正确，对前向的一切测试都通过。"


@specimen("dropout-redrawn", room="dropout", caught_by="gradient check",
          seen="pytorch/pytorch #114333 and PR #62315",
          what="backward draws new holes instead of going through those of forward.",
          what_zh="反向重新抽了一次洞，而不是沿用前向的那些。", why=RIGHT, why_zh=RIGHT_ZH)
def dropout_redrawn(mha):
    def backward(self, dout):
        keep = self.rng.random(dout.shape) >= self.p if self.training else np.ones(dout.shape, bool)
        dx = np.where(keep, dout / (1 - self.p), 0)
        self.grads = {"out": dout, "x": dx}
        return dx
    replace(mha.attention.dropout, backward=backward)


@specimen("dropout-unscaled", room="dropout", caught_by="gradient check",
          seen="ooples/AiDotNet #1949, NVIDIA/apex PR #816",
          what="backward goes through the holes, but forgets to divide by 1 − p.",
          what_zh="反向走了同样的洞，却忘了除以 1 − p。", why=RIGHT, why_zh=RIGHT_ZH)
def dropout_unscaled(mha):
    dropout = type(mha.attention.dropout)

    def backward(self, dout):
        dx = dropout.backward(self, dout) * (1 - self.p)
        self.grads["x"] = dx
        return dx
    replace(mha.attention.dropout, backward=backward)


@specimen("weights-after-dropout", room="dropout", caught_by="row sums",
          seen="pytorch/pytorch #42929, facebookresearch/fairseq #351, huggingface/transformers #31468",
          what="The weights that are shown have been through dropout: their rows sum to 2, or to 0.",
          what_zh="展示的权重经过了 dropout：一行加起来是 2，或者是 0。",
          why="Nothing is computed wrongly; only what is shown is not what was meant.",
          why_zh="计算没有错，错的只是展示的不是该展示的。")
def weights_after_dropout(mha):
    replace(mha.attention, weights=property(lambda self: self.cache.get("dropped", self.cache["weights"])))


def _expanded(order, collect):
    """Plant attention over key/value heads that are copied for every query head, in some order."""
    def plant(mha):
        attention = type(mha.attention)

        def forward(self, Q, K, V, *, mask=None, bias=None):
            self.kv_heads = K.shape[-3]
            places = order(Q.shape[-3], self.kv_heads)
            return attention.forward(self, Q, K[..., places, :, :], V[..., places, :, :], mask=mask, bias=bias)

        def backward(self, dheads):
            dQ, dK, dV = attention.backward(self, dheads)
            places = order(dQ.shape[-3], self.kv_heads)
            return dQ, collect(dK, places), collect(dV, places)
        replace(mha.attention, forward=forward, backward=backward)
    return plant


def _summed(gradient, places):
    return np.stack([gradient[..., places == h, :, :].sum(axis=-3) for h in range(places.max() + 1)], axis=-3)


def _first(gradient, places):
    return np.stack([gradient[..., np.flatnonzero(places == h)[0], :, :] for h in range(places.max() + 1)], axis=-3)


specimen("grouped-heads-tiled", room="grouped", caught_by="golden numbers",
         seen="no thread cited; np.tile where np.repeat belongs",
         what="Key/value heads are laid out 0 1 0 1 instead of 0 0 1 1: queries look at another group's keys.",
         what_zh="键/值头按 0 1 0 1 排列，而不是 0 0 1 1：查询看的是别组的键。",
         why="It is a proper grouped attention with other partners; only weights from elsewhere would notice.",
         why_zh="这仍是正当的分组注意力，只是搭档换了；只有别处训练好的权重才会察觉。")(
    _expanded(lambda H, H_kv: np.tile(np.arange(H_kv), H // H_kv), _summed))

specimen("grouped-gradient-of-the-first", room="grouped", caught_by="gradient check",
         seen="no thread cited",
         what="A shared key gets the gradient of its group's first query head, not the sum over the group.",
         what_zh="共用的键只收到组里第一个查询头的梯度，而不是全组之和。", why=RIGHT, why_zh=RIGHT_ZH)(
    _expanded(lambda H, H_kv: np.repeat(np.arange(H_kv), H // H_kv), _first))


@specimen("repeated-ids-overwritten", room="embedding", caught_by="gradient check",
          seen="no thread cited; NumPy's dW[ids] += dout adds a repeated id only once",
          what="A token that occurs twice learns from its last place alone.",
          what_zh="出现两次的词元只从最后一处学习。", why=RIGHT + " Without repeated ids the gradient is right, too.",
          why_zh=RIGHT_ZH + "没有重复的编号时梯度也对。")
def repeated_ids_overwritten(embedding):
    def backward(self, dout):
        dW = np.zeros(self.params["W"].shape, dout.dtype)
        dW[self.cache["ids"]] += dout
        self.grads = {"out": dout, "W": dW}
    replace(embedding, backward=backward)


@specimen("norm-without-its-means", room="norm", caught_by="gradient check",
          seen="no thread cited; llm.c's layernorm tutorial explains the two terms that are missing here",
          what="LayerNorm's backward only divides by the spread: that mean and spread depend on the row is forgotten.",
          what_zh="LayerNorm 的反向只除以标准差：忘了均值和标准差也取决于这一行。", why=RIGHT, why_zh=RIGHT_ZH)
def norm_without_its_means(norm):
    layer_norm = type(norm)

    def backward(self, dout):
        layer_norm.backward(self, dout)
        self.grads["x"] = self.grads["normed"] / self.cache["std"]
        return self.grads["x"]
    replace(norm, backward=backward)


@specimen("residual-dropped", room="block", caught_by="gradient check",
          seen="no thread cited; it survives every training task of the course",
          what="The gradient goes back through attention, but not around it.",
          what_zh="梯度只穿过注意力传回，没有走绕过它的那条路。", why=RIGHT, why_zh=RIGHT_ZH)
def residual_dropped(block):
    kind = type(block)

    def backward(self, dout):
        self.grads["x"] = dx = kind.backward(self, dout) - self.grads["summed"]
        return dx
    replace(block, backward=backward)
