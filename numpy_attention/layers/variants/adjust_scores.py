"""Adjusting scores: what may happen to them between the product and the softmax.

A softcap bends large scores down; a bias, made of floats, gives some pairs a head start and others a handicap. Both
are left out unless asked for, and then the scores pass through as they are.
"""
from ...engine.layer import Layer
from ...engine.mask_and_bias import fit, sum_like
from .soft_cap import SoftCap


class AdjustScores(Layer):
    """softcap(scores) + bias, each only if asked for.

    Args: softcap: the limit c of SoftCap, or None.

    adjust(scores, *, bias=None) -> adjusted, both (..., L, S); bias as in numpy_attention.masks. backward gives the
    scores' gradient; the bias's is in grads["bias"], summed over the axes for which it stood in.

    >>> from numpy_attention.layers.variants.adjust_scores import AdjustScores
    >>> AdjustScores(softcap=2.0)([[100., 0.]], bias=np.array([[0., 1.]]))
    array([[2., 1.]])

    Source: Gemma Team 2024 (Gemma 2), section 2, for the softcap; Shaw et al. 2018, equation (4), for terms added to
    the scores.
    """

    def __init__(self, *, softcap=None):
        super().__init__()
        self.soft_cap = None if softcap is None else SoftCap(softcap)
        if softcap is not None:
            self.restate(biased="capped + bias")

    def forward(self, scores, *, bias=None):
        if not self.is_asked(bias):
            self.cache = {}
            return scores
        capped = scores if self.soft_cap is None else self.soft_cap(scores)
        biased = capped if bias is None else capped + fit("bias", bias, scores.shape)
        self.keep(scores=scores, bias=bias, capped=None if self.soft_cap is None else capped, biased=biased)
        return biased

    def backward(self, dbiased):
        # In the forward pass: biased = softcap(scores) + bias, each only if asked for.
        if not self.cache:
            self.grads = {"scores": dbiased}
            return dbiased
        dscores = dbiased if self.soft_cap is None else self.soft_cap.backward(dbiased)
        self.grads = {"biased": dbiased, "scores": dscores}
        if self.soft_cap is not None:
            self.grads["capped"] = dbiased
        if "bias" in self.cache:
            self.grads["bias"] = sum_like(dbiased, self.cache["bias"])
        return dscores

    def is_asked(self, bias):
        """Is there anything to do?"""
        return bias is not None or self.soft_cap is not None

    FORWARD = (
        "soft_cap",
        ("biased", "scores + bias", "N H L S",
         "Some pairs get a head start, others a handicap.", "给有些配对加分，给有些扣分。"),
    )
    BACKWARD = (
        ("dbias", "Σ dbiased over the axes for which bias stood in", "N H L S",
         "The bias was added, so it gets the same gradient.", "偏置是加上去的，所以得到同样的梯度。"),
        "soft_cap",
    )
