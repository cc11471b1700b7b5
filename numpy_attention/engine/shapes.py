"""Shapes that must fit each other: each check says in symbols what was expected, and what came.

A check that passes costs one condition; its texts are built only when it fails.
"""
import numpy as np

from .arguments import rectangular, size, whole


def check_QKV(Q, K, V):
    """Q (..., L, d_k), K (..., S, d_k) and V (..., S, d_v) agree, or an error says where they do not.

    K and V may have fewer heads than Q, a divisor of them.
    """
    if not (Q.ndim > 1 and Q.shape[:-2] == K.shape[:-2] == V.shape[:-2] and K.ndim == V.ndim == Q.ndim
            and Q.shape[-1] == K.shape[-1] > 0 and K.shape[-2] == V.shape[-2]):
        _explain_QKV(Q.shape, K.shape, V.shape)


def _explain_QKV(Q, K, V):
    shapes = f"Q is {Q}, K is {K}, V is {V}"
    if min(len(Q), len(K), len(V)) < 2:
        raise ValueError(f"Q, K and V must have shapes (..., L, d_k), (..., S, d_k), (..., S, d_v): {shapes}")
    if Q[-1] != K[-1]:
        hint = "; was K transposed already?" if Q[-1] == K[-2] else ""
        raise ValueError(f"Q and K must share the width d_k (last axis): {shapes}{hint}")
    if K[-2] != V[-2]:
        raise ValueError(f"K and V must share the source length S (last axis but one): {shapes}")
    grouped = len(Q) == len(K) > 2 and Q[:-3] == K[:-3] and K[-3] and Q[-3] % K[-3] == 0
    if K[:-2] != V[:-2] or not (Q[:-2] == K[:-2] or grouped):
        raise ValueError(f"Q, K and V must share their leading axes (N, H), but for K and V having a divisor of Q's H "
                         f"heads: {shapes}")
    if Q[-1] == 0:
        raise ValueError(f"d_k must be at least 1: {shapes}")


def multi_head_sizes(d_model, num_heads, num_kv_heads, d_k, d_v, kdim, vdim):
    """(D, H, H_kv, d_k, d_v, kdim, vdim) of a multi-head attention, those left out derived, or an error."""
    D, H = size("d_model", d_model), size("num_heads", num_heads)
    if D % H and None in (d_k, d_v):
        raise ValueError(f"d_model = {D} cannot be cut into num_heads = {H} equal heads: take {_nearest(D, H)} "
                         "heads, or give d_k and d_v")
    d_k, d_v = (size(name, D // H if given is None else given) for name, given in (("d_k", d_k), ("d_v", d_v)))
    kdim, vdim = (size(name, D if given is None else given) for name, given in (("kdim", kdim), ("vdim", vdim)))
    H_kv = H if num_kv_heads is None else size("num_kv_heads", num_kv_heads)
    if H % H_kv:
        raise ValueError(f"num_kv_heads must divide num_heads = {H}: take {_nearest(H, H_kv)}; got {H_kv}")
    return D, H, H_kv, d_k, d_v, kdim, vdim


def _nearest(D, H):
    """The divisors of D just below and just above H, as words."""
    divisors = [n for n in range(1, D + 1) if D % n == 0]
    near = {max(n for n in divisors if n < H), min((n for n in divisors if n > H), default=D)}
    return " or ".join(map(str, sorted(near)))


def check_sequences(query, key, value, D, kdim, vdim):
    """query (N, L, D), key (N, S, kdim) and value (N, S, vdim), or all without N; or an error."""
    if not (query.ndim in (2, 3) and query.ndim == key.ndim == value.ndim
            and query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and key.shape[-2] == value.shape[-2]
            and (query.shape[-1], key.shape[-1], value.shape[-1]) == (D, kdim, vdim)):
        _explain_sequences(query.shape, key.shape, value.shape, D, kdim, vdim)


def _explain_sequences(query, key, value, D, kdim, vdim):
    for name, shape, width, features in (("query", query, "D", D), ("key", key, "kdim", kdim),
                                         ("value", value, "vdim", vdim)):
        length = "L" if name == "query" else "S"
        if len(shape) not in (2, 3) or shape[-1] != features:
            raise ValueError(f"{name} must have shape (N, {length}, {width}), or ({length}, {width}) for a single "
                             f"sequence, with {width} = {features}; got {shape}")
    shapes = f"query is {query}, key is {key}, value is {value}"
    if not query[:-2] == key[:-2] == value[:-2]:
        raise ValueError(f"query, key and value must share the batch size N: {shapes}")
    raise ValueError(f"key and value must share the source length S: {shapes}")


def check_same_shape(name, array, other_name, other):
    """Two arrays that are to be added must have one shape: a single column must not stand for all."""
    if array.shape != other.shape:
        raise ValueError(f"{name} and {other_name} must have the same shape: {name} is {array.shape}, "
                         f"{other_name} is {other.shape}")


def check_tokens(name, x, length, D):
    """x must be rows of width D, of one sequence or of a batch of them; `length` is the letter of their number."""
    if x.ndim not in (2, 3) or x.shape[-1] != D:
        raise ValueError(f"{name} must have shape (N, {length}, D), or ({length}, D) for a single sequence, "
                         f"with D = {D}; got {x.shape}")


def check_same_batch(name, array, other_name, other):
    """Two arrays of rows must be for the same sequences."""
    if array.shape[:-2] != other.shape[:-2]:
        raise ValueError(f"{name} and {other_name} must share the batch size N: {name} is {array.shape}, "
                         f"{other_name} is {other.shape}")


def check_last_axes(x, normalized_shape):
    """The last axes of x must be those that are normalised."""
    if x.shape[-len(normalized_shape):] != normalized_shape:
        wanted = ", ".join(map(str, normalized_shape))
        raise ValueError(f"x must have shape (..., {wanted}), as normalized_shape says; got {x.shape}")


def check_rows(name, rows, width):
    """A single number is no row."""
    if rows.ndim < 1:
        raise ValueError(f"{name} must have shape (..., {width}); got {rows.shape}")


def check_table(name, x):
    """Rows of tokens, of one sequence or of many."""
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(f"{name} must have shape (..., L, D), with at least one token; got {x.shape}")


def rows_of_table(x, offset, places, max_length, D):
    """The rows of a table of positions (max_length, D) for the tokens of x (..., L, D): (L,), or (N, L) where given."""
    if x.ndim < 2 or x.shape[-1] != D:
        raise ValueError(f"x must have shape (..., L, D) with D = {D}; got {x.shape}")
    L = x.shape[-2]
    if places is None:
        offset = whole("offset", offset)
        if not 0 <= offset <= offset + L <= max_length:
            raise ValueError(f"positions {offset}..{offset + L - 1} (offset = {offset}, L = {L}) must lie in "
                             f"0..{max_length - 1}: the table has max_length = {max_length} rows")
        return np.arange(offset, offset + L)
    rows = np.array(rectangular("places", places))
    if rows.dtype.kind not in "iu" or rows.shape not in ((L,), x.shape[:-1]):
        raise ValueError(f"places must be whole numbers of shape (L,) or (N, L) for x of shape {x.shape}; got "
                         f"{rows.dtype} of shape {rows.shape}")
    if rows.size and rows.max() >= max_length:
        raise ValueError(f"places must lie in 0..{max_length - 1}, as the table has max_length = {max_length} rows, or "
                         f"be negative for padding; got {rows.max()}")
    return rows


def classes_of(target, logits, class_weights, ignore_index):
    """A loss's target as an array of our own, and which rows count, (...); or an error.

    The target is one class for each row of logits (..., C), or, of floats, the shares of all classes.
    """
    target = np.array(target)
    if target.dtype.kind == "f" and logits.ndim and target.shape == logits.shape:
        _check_class_weights(class_weights, logits)
        if not (target >= 0).all() or not np.isfinite(target).all():
            raise ValueError("target must hold shares that are not negative; got a negative number, NaN or infinity")
        return target, np.ones(target.shape[:-1], bool)
    if target.dtype.kind not in "iu":
        raise TypeError("target must hold whole numbers, one class for each row, or floats, a share for each class, of "
                        f"the shape of logits, {logits.shape}; got dtype {target.dtype} of shape {target.shape}")
    if logits.ndim < 1 or logits.shape[-1] < 1 or target.shape != logits.shape[:-1]:
        raise ValueError("logits must have shape (..., C), the classes last, and target the same without C: "
                         f"logits are {logits.shape}, target is {target.shape}")
    _check_class_weights(class_weights, logits)
    C = logits.shape[-1]
    wrong = target[(target != ignore_index) & ((target < 0) | (target >= C))]
    if wrong.size:
        raise ValueError(f"target must lie in 0..{C - 1} (C = {C}), or be ignore_index = {ignore_index}; "
                         f"got {wrong[0]}")
    return target, target != ignore_index


def _check_class_weights(class_weights, logits):
    if class_weights is not None and len(class_weights) != logits.shape[-1]:
        raise ValueError(f"class_weights must have shape (C,) = ({logits.shape[-1]},); got {class_weights.shape}")
