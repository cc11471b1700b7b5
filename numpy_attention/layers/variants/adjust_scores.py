"""Adjusting scores: what may happen to them between the product and the softmax.

A softcap bends large scores down; a bias, made of floats, gives some pairs a head start and others a handicap. Both
are left out unless asked for, and then the scores pass through as they are.
"""
from ...engine.arguments import switch
from ...engine.layer import Layer
from ...engine.mask_and_bias import fit, sum_like
from .soft_cap import SoftCap


class AdjustScores(Layer):
    """softcap(scores) + bias, each only if asked for; or softcap(scores + bias).

    Args: softcap: the limit c of SoftCap, or None. bias_first: add the bias before the softcap.

    adjust(scores, *, bias=None) -> adjusted, both (..., L, S); bias as in numpy_attention.masks. backward gives the
    scores' gradient; the bias's is in grads["bias"], summed over the axes for which it stood in.

    >>> from numpy_attention.layers.variants.adjust_scores import AdjustScores
    >>> AdjustScores(softcap=2.0)([[100., 0.]], bias=np.array([[0., 1.]]))
    array([[2., 1.]])
    >>> AdjustScores(softcap=2.0, bias_first=True)([[100., 0.]], bias=np.array([[0., 100.]]))
    array([[2., 2.]])

    Source: Gemma Team 2024 (Gemma 2), section 2, for the softcap; Shaw et al. 2018, equation (4), for terms added to
    the scores.
    """

    def __init__(self, *, softcap=None, bias_first=False):
        super().__init__()
        self.soft_cap = None if softcap is None else SoftCap(softcap)
        self.bias_first = switch("bias_first", bias_first)
        if softcap is not None and not bias_first:
            self.restate(biased="capped + bias")
        if bias_first:
            self.FORWARD, self.BACKWARD = self.FORWARD[::-1], self.BACKWARD[::-1]

    def forward(self, scores, *, bias=None):
        if not self.is_asked(bias):
            self.cache = {}
            return scores
        steps = {"scores": scores} if bias is None else {"scores": scores, "bias": bias}
        adjusted = scores
        for step in ("biased", "capped") if self.bias_first else ("capped", "biased"):
            if step == "capped" and self.soft_cap is not None:
                steps["capped"] = adjusted = self.soft_cap(adjusted)
            if step == "biased" and bias is not None:
                steps["biased"] = adjusted = adjusted + fit("bias", bias, scores.shape)
        self.cache = steps
        return adjusted

    def backward(self, dadjusted):
        if not self.cache:
            self.grads = {"scores": dadjusted}
            return dadjusted
        # In the forward pass each step took what the one before it gave; so back, the last one first.
        self.grads, d = {}, dadjusted
        for step in [name for name in reversed(self.cache) if name in ("biased", "capped")]:
            self.grads[step] = d
            if step == "biased":
                self.grads["bias"] = sum_like(d, self.cache["bias"])
            else:
                d = self.soft_cap.backward(d)
        self.grads["scores"] = d
        return d

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
