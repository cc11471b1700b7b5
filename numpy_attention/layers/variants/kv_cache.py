"""KV cache: when a text grows token by token, do not compute the old keys and values again.

A causal query sees its own token and those before it, and their keys and values never change. So they are kept, and a
step computes queries, keys and values for the new tokens only. The results are those of one full causal run.
"""
import copy

import numpy as np

from ...engine.arguments import precision, rectangular, size, whole
from ...engine.call_rules import take_in
from ...engine.mask_and_bias import fit_bias, fit_mask, without_batch
from ...engine.options import needs_place, options_given, options_known, takes
from ...masks import window_mask
from ..multi_head import MultiHeadAttention


class KVCache:
    """The keys and values that a self-attention has seen so far, for decoding in steps.

    Args:
        mha: a MultiHeadAttention; its parameters are used as they are, its own cache and grads are left alone.
        capacity: how many tokens fit.
        batch: N, the number of sequences that grow together; None for single sequences without the axis N.
        window: a token sees this many, itself included; what is out of sight is forgotten once its room is needed, so a
            text may be longer than capacity. All tokens unless given.
        dtype: of the kept arrays, that of the layer's parameters unless given.

    cache.step(x) -> out        x, out (N, T, D): T new tokens, each seeing itself and what came before it
    cache.append(K, V)          the lower half of it: keeps keys and values (N, H_kv, T, d), returns all that are kept
    len(cache)                  tokens so far; cache.forgotten of them are out of sight and gone
    cache.crop(length)          back to the first `length` tokens, unless the next one would miss a forgotten one
    cache.reorder(rows)         sequence i goes on from what was sequence rows[i]: beams; [0, 0, 0] repeats a prefix
    cache.clear()               start again

    Raises: ValueError when the cache is full or an array does not fit; then nothing has been kept. TypeError for an
        attention that needs to know places but cannot be told.

    >>> mha = na.MultiHeadAttention(8, 2, rng=0)
    >>> x = np.random.default_rng(1).standard_normal((1, 3, 8))
    >>> cache = na.KVCache(mha, capacity=16, batch=1)
    >>> chunks = [cache.step(x[:, :2]), cache.step(x[:, 2:])]
    >>> bool(np.allclose(np.concatenate(chunks, axis=1), mha(x, mask=na.causal_mask(3)), rtol=0, atol=1e-15))
    True

    Source: Shazeer 2019 (Fast Transformer Decoding), section 2.4.
    """

    def __init__(self, mha, capacity, *, batch=None, window=None, dtype=None):
        if not isinstance(mha, MultiHeadAttention):
            raise TypeError(f"mha must be a MultiHeadAttention, got {type(mha).__name__}")
        name = needs_place(mha.attention)
        if name and not takes(type(mha.attention), "query_offset"):
            raise TypeError(f"{type(mha.attention).__name__} cannot decode in steps: the {name} inside of it must know "
                            "where a query stands, so its forward must take query_offset= (or **place) and hand it on")
        widths = [len(proj.params["W"]) for proj in (mha.query_proj, mha.key_proj, mha.value_proj)]
        if len(set(widths)) > 1:
            raise ValueError("a KV cache is for self-attention, where one x is query, key and value: mha must have one "
                             f"width for all, d_model = kdim = vdim; got {widths[0]}, {widths[1]}, {widths[2]}")
        self._mha = _reader(mha)
        dtype = mha.query_proj.params["W"].dtype if dtype is None else precision(dtype)
        self.capacity, self.window = size("capacity", capacity), None if window is None else size("window", window)
        if self.window is not None and self.capacity < self.window:
            raise ValueError(f"capacity must be at least window = {self.window}, got {self.capacity}")
        self._lead = () if batch is None else (size("batch", batch),)
        H = mha.split_kv.num_heads
        d_k, d_v = (proj.params["W"].shape[1] // H for proj in (mha.key_proj, mha.value_proj))
        self._K, self._V = (np.empty((*self._lead, H, self.capacity, d), dtype) for d in (d_k, d_v))
        self.clear()

    def __len__(self):
        return self.forgotten + self._kept

    def __repr__(self):
        return f"KVCache({len(self)} tokens, room for {self.capacity})"

    def clear(self):
        """Forget all tokens."""
        self.forgotten = self._kept = 0
        self._places = None         # of the kept tokens, (N, capacity), once positions have been given

    def crop(self, length):
        """Go back to the first `length` tokens, as if the later ones had never come."""
        length = whole("length", length)
        first = self.forgotten + self.window - 1 if self.forgotten else 0      # the next token needs its whole window
        if not first <= length <= len(self):
            forgotten = f" (its first {self.forgotten} tokens are forgotten)" if self.forgotten else ""
            raise ValueError(f"length must lie in {first}..{len(self)}, what can be gone back to{forgotten}; "
                             f"got {length}")
        self._kept = length - self.forgotten

    def reorder(self, rows):
        """Let sequence i go on from what was sequence rows[i]; there may be more or fewer rows than before."""
        rows = rectangular("rows", rows)
        if not self._lead:
            raise ValueError("rows are sequences of a batch, and this cache holds a single sequence: give batch=")
        N, = self._lead
        if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= N:
            raise ValueError(f"rows must be whole numbers in 0..{N - 1}, one for each sequence; got {rows.tolist()}")
        self._K, self._V, self._lead = self._K[rows], self._V[rows], (len(rows),)
        self._places = None if self._places is None else self._places[rows]

    @property
    def weights(self):
        """The weights of the last step, (N, H, T, kept tokens)."""
        return self._mha.weights

    @property
    def attention(self):
        """What attends, with a cache of its own."""
        return self._mha.attention

    def append(self, K, V):
        """Keep new keys and values, (N, H_kv, T, d_k) and (N, H_kv, T, d_v); returns all that are kept, read-only."""
        K, V = rectangular("K", K), rectangular("V", V)
        T = K.shape[-2] if K.ndim > 1 else 0
        for name, array, kept in (("K", K, self._K), ("V", V, self._V)):
            wanted = (*kept.shape[:-2], T, kept.shape[-1])
            if array.shape != wanted:
                raise ValueError(f"{name} must have shape {'(N, ' if self._lead else '('}H_kv, T, d) = {wanted}; "
                                 f"got {array.shape}")
            if array.dtype.kind == "c" != kept.dtype.kind:
                raise TypeError(f"{name} is {array.dtype}, and this cache keeps {kept.dtype}: make it with "
                                f"dtype=np.{array.dtype}")
        self._make_room(T)
        self._K[..., self._kept:self._kept + T, :] = K
        self._V[..., self._kept:self._kept + T, :] = V
        self._kept += T
        seen = self._K[..., :self._kept, :], self._V[..., :self._kept, :]
        for array in seen:
            array.flags.writeable = False
        return seen

    def step(self, x, *, mask=None, bias=None, positions=None):
        """The output of T new tokens, (N, T, D).

        mask and bias are (T, S) and the like, where S counts the kept tokens with these. positions: the places of the
        new tokens, (T,) or (N, T), where sequences do not begin together; a negative one is padding, a token that
        nobody sees. Without them each sequence goes on where it was.
        """
        given = {"x": x}
        half, x = take_in(given), given["x"]
        D = len(self._mha.query_proj.params["W"])
        if x.ndim != len(self._lead) + 2 or x.shape[:-2] != self._lead or x.shape[-1] != D:
            wanted = f"(N, T, D) = ({self._lead[0]}, T, {D})" if self._lead else f"(T, D) = (T, {D})"
            raise ValueError(f"x must have shape {wanted}; got {x.shape}")
        T, mha = x.shape[-2], self._mha
        new = self._new_places(positions, T)
        before = vars(self).copy()
        try:
            self._make_room(T)
            if new is not None:
                self._places = self._all_places()
                self._places[..., self._kept:self._kept + T] = new
            # 1. Queries, keys and values of the new tokens only; the old keys and values are there.
            Q = mha.split(mha.query_proj(x))                                        # (N,H,T,d_k)
            seen = self.append(mha.split_kv(mha.key_proj(x)), mha.split_kv(mha.value_proj(x)))
            K, V = (kept if kept.dtype.kind == "c" else kept.astype(Q.dtype, copy=False) for kept in seen)
            # 2. The new tokens see what came before them.
            heads = mha.attention(Q, K, V, **self._options(Q, mask, bias))          # (N,H_kv,S,d) -> (N,H,T,d_v)
        except BaseException:
            vars(self).update(before)                   # a step that fails has kept nothing, and forgotten nothing
            raise
        out = mha.output_proj(mha.merge(heads))                                     # (N,T,D)
        return out.astype(np.float16) if half else out

    def _make_room(self, T):
        """Forget what no later token can see if its room is needed, or raise an error if that is not enough."""
        too_many = self._kept + T - self.capacity
        if too_many <= 0:
            return
        if self.window is None or self._kept - too_many < self.window - 1:
            more = "give a larger capacity, or clear() it for another text" if self.window is None else \
                f"with window = {self.window}, at most {self.capacity - self.window + 1} new ones fit at a time"
            raise ValueError(f"the cache is full: it holds {self._kept} of {self.capacity} tokens and cannot take "
                             f"{T} more; {more}")
        gone = self._kept - (self.window - 1)
        self._K, self._V = (np.roll(kept, -gone, axis=-2) for kept in (self._K, self._V))
        self._places = None if self._places is None else np.roll(self._places, -gone, axis=-1)
        self.forgotten, self._kept = self.forgotten + gone, self._kept - gone

    def _new_places(self, positions, T):
        """The places of T new tokens, (N, T), or None as long as every sequence simply counts on."""
        if positions is None and self._places is None:
            return None
        if positions is None:
            last = self._places[..., self._kept - 1:self._kept] if self._kept else -1
            return last + 1 + np.arange(T)
        positions = rectangular("positions", positions)
        if positions.dtype.kind not in "iu" or positions.shape not in ((T,), (*self._lead, T)):
            wanted = f"(T,) or (N, T) = {(*self._lead, T)}" if self._lead else f"(T,) = ({T},)"
            raise ValueError(f"positions must be whole numbers of shape {wanted}; got {positions.dtype} of shape "
                             f"{positions.shape}")
        return positions

    def _all_places(self):
        """The places of the kept tokens, (N, capacity); as long as none were given, each sequence counted on."""
        if self._places is not None:
            return self._places
        return np.broadcast_to(self.forgotten + np.arange(self.capacity), (*self._lead, self.capacity)).copy()

    def _options(self, Q, mask, bias):
        """Mask, bias and places for the attention of the last T tokens."""
        T, S = Q.shape[-2], self._kept
        scores = (*Q.shape[:-1], S)
        if not self._lead:
            mask, bias = without_batch(fit_mask, mask, (1, *scores)), without_batch(fit_bias, bias, (1, *scores))
        left = None if self.window is None else self.window - 1
        visible = window_mask(T, S, left=left, right=0, offset=S - T)
        if mask is not None:
            visible = visible & fit_mask(mask, scores)
        there = {"query_offset": S - T}
        if self._places is not None:
            places = self._places[..., :S]
            visible = visible & (places >= 0)[..., None, None, :]
            there.update(query_positions=places[..., S - T:], key_positions=places)
        return {**options_given(self._mha.attention, mask=visible, bias=bias),
                **options_known(self._mha.attention, **there)}


def _reader(layer):
    """A copy that shares the parameters but has caches of its own, and is not in training."""
    twin = copy.copy(layer)
    twin.cache, twin.grads, twin.training = {}, {}, False
    for name, inner in layer.sublayers().items():
        setattr(twin, name, _reader(inner))
    return twin
