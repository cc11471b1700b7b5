"""KV cache: when a text grows token by token, do not compute the old keys and values again.

A causal query sees its own token and those before it, and their keys and values never change. So they are kept, and a
step computes queries, keys and values for the new tokens only. The results are those of one full causal run.
"""
import copy

import numpy as np

from ...engine.arguments import options_given, precision, size, takes
from ...engine.mask_and_bias import fit_mask
from ...masks import causal_mask
from ..multi_head import MultiHeadAttention


class KVCache:
    """The keys and values that a self-attention has seen so far, for decoding in steps.

    Args:
        mha: a MultiHeadAttention; its parameters are used as they are, its own cache and grads are left alone.
        capacity: how many tokens fit.
        batch: N, the number of sequences that grow together; None for single sequences without the axis N.
        dtype: of the kept arrays, that of the layer's parameters unless given.

    cache.step(x) -> out        x, out (N, T, D): T new tokens, each seeing itself and everything before it
    cache.append(K, V)          the lower half of it: keeps keys and values (N, H_kv, T, d), returns all so far
    len(cache)                  tokens so far
    cache.clear()               start again

    Raises: ValueError when the cache is full or an array does not fit; then nothing has been kept.

    >>> mha = na.MultiHeadAttention(8, 2, rng=0)
    >>> x = np.random.default_rng(1).standard_normal((1, 3, 8))
    >>> cache = na.KVCache(mha, capacity=16, batch=1)
    >>> chunks = [cache.step(x[:, :2]), cache.step(x[:, 2:])]
    >>> bool(np.allclose(np.concatenate(chunks, axis=1), mha(x, mask=na.causal_mask(3)), rtol=0, atol=1e-15))
    True

    Source: Shazeer 2019 (Fast Transformer Decoding), section 2.4.
    """

    def __init__(self, mha, capacity, *, batch=None, dtype=None):
        if not isinstance(mha, MultiHeadAttention):
            raise TypeError(f"mha must be a MultiHeadAttention, got {type(mha).__name__}")
        self._mha = _reader(mha)
        dtype = mha.query_proj.params["W"].dtype if dtype is None else precision(dtype)
        self.capacity = size("capacity", capacity)
        self._lead = () if batch is None else (size("batch", batch),)
        H = mha.split_kv.num_heads
        d_k, d_v = (proj.params["W"].shape[1] // H for proj in (mha.key_proj, mha.value_proj))
        self._K, self._V = (np.empty((*self._lead, H, self.capacity, d), dtype) for d in (d_k, d_v))
        self._length = 0

    def __len__(self):
        return self._length

    def __repr__(self):
        return f"KVCache({self._length} of {self.capacity} tokens)"

    def clear(self):
        """Forget all tokens."""
        self._length = 0

    @property
    def weights(self):
        """The weights of the last step, (N, H, T, tokens so far)."""
        return self._mha.weights

    def append(self, K, V):
        """Keep new keys and values, (N, H_kv, T, d_k) and (N, H_kv, T, d_v); returns all so far, read-only."""
        K, V = np.asarray(K), np.asarray(V)
        end = self._check(K.shape[-2] if K.ndim > 1 else 0)
        for name, array, kept in (("K", K, self._K), ("V", V, self._V)):
            wanted = (*kept.shape[:-2], end - self._length, kept.shape[-1])
            if array.shape != wanted:
                raise ValueError(f"{name} must have shape {'(N, ' if self._lead else '('}H_kv, T, d) = {wanted}; "
                                 f"got {array.shape}")
        self._K[..., self._length:end, :] = K
        self._V[..., self._length:end, :] = V
        self._length = end
        seen = self._K[..., :end, :], self._V[..., :end, :]
        for array in seen:
            array.flags.writeable = False
        return seen

    def step(self, x, *, mask=None, bias=None):
        """The output of T new tokens, (N, T, D); mask and bias are (T, tokens so far with these) and the like."""
        x = np.asarray(x)
        D = len(self._mha.query_proj.params["W"])
        if x.ndim != len(self._lead) + 2 or x.shape[:-2] != self._lead or x.shape[-1] != D:
            wanted = f"(N, T, D) = ({self._lead[0]}, T, {D})" if self._lead else f"(T, D) = (T, {D})"
            raise ValueError(f"x must have shape {wanted}; got {x.shape}")
        before, T = self._length, x.shape[-2]
        self._check(T)
        mha = self._mha
        Q = mha.split(mha.query_proj(x))
        K, V = self.append(mha.split_kv(mha.key_proj(x)), mha.split_kv(mha.value_proj(x)))
        try:
            past = causal_mask(T, self._length, offset=before)
            place = {"query_offset": before} if takes(type(mha.attention), "query_offset") else {}
            mask = past if mask is None else past & fit_mask(mask, (*Q.shape[:-1], self._length))
            heads = mha.attention(Q, K, V, **options_given(mha.attention, mask=mask, bias=bias, **place))
        except BaseException:
            self._length = before           # a step that fails has kept nothing
            raise
        return mha.output_proj(mha.merge(heads))

    def _check(self, T):
        """The length after T more tokens, or an error that says that they do not fit."""
        if self._length + T > self.capacity:
            raise ValueError(f"the cache is full: it holds {self._length} of {self.capacity} tokens and cannot take "
                             f"{T} more; give a larger capacity, or clear() it for another text")
        return self._length + T


def _reader(layer):
    """A copy that shares the parameters but has caches of its own, and is not in training."""
    twin = copy.copy(layer)
    twin.cache, twin.grads, twin.training = {}, {}, False
    for name, inner in layer.sublayers().items():
        setattr(twin, name, _reader(inner))
    return twin
