"""Tied attention: what if the query matrix and the key matrix were one?

Then the score of place i for place j is the score of j for i: the table of scores is symmetric before the softmax. Some
jobs do not mind, like reversal, where partners look at each other. "Look at your left neighbour" minds: your left
neighbour does not look back at you. That is why there are two matrices.
"""
from ..layers.multi_head import MultiHeadAttention


class TiedAttention(MultiHeadAttention):
    """MultiHeadAttention in which W_K is W_Q, the same array.

    Args: as for MultiHeadAttention. key_proj shares its params with query_proj and is not learned a second time.

    >>> tied = na.training.TiedAttention(4, 1, rng=0)
    >>> _ = tied(np.random.default_rng(1).standard_normal((3, 4)))
    >>> scores = tied.cache["scores"]
    >>> bool(np.allclose(scores, scores.mT)), "key_proj.W" in tied.named_params()
    (True, False)

    Source: the shared-QK attention of Kitaev et al. 2020 (Reformer), section 2, without its normalisation.
    """

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.key_proj.params = self.query_proj.params

    def backward(self, dout):
        found = super().backward(dout)
        # One matrix played two roles, so its gradients add up.
        for name in self.query_proj.params:
            both = self.query_proj.grads[name] + self.key_proj.grads[name]
            self.query_proj.grads[name] = self.key_proj.grads[name] = both
        return found

    def sublayers(self):
        """All but key_proj, which has nothing of its own to learn."""
        return {name: layer for name, layer in super().sublayers().items() if name != "key_proj"}
