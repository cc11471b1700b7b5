"""Layers of random sizes with random options: python -m tests.fuzz [CONFIGURATIONS] [SEED].

Each configuration is held to what needs no reference: a random directional derivative by the complex step agrees with
backward, for inputs and parameters together; float32 stays float32; the caller's arrays stay as they are; a single
sequence is a batch of one; a query that sees nothing gets zeros.
"""
import sys
import time

import numpy as np

import numpy_attention as na

STEP = 1e-30


def pick(rng, *options):
    return options[rng.integers(len(options))]


def sizes(rng, *limits):
    return [int(rng.integers(1, limit + 1)) for limit in limits]


def an_attention(rng, H, H_kv, d_k, d_v):
    """A random attention for H heads: innermost kind, then wrappers that fit."""
    kind = pick(rng, "plain", "options", "sink", "blocked")
    scale = pick(rng, None, 0.3, -1.0)
    layer = {"plain": lambda: na.ScaledDotProductAttention(),
             "options": lambda: na.ScaledDotProductAttention(scale=scale, softcap=pick(rng, None, 1.5),
                                                             bias_first=bool(rng.integers(2)),
                                                             dropout=pick(rng, 0.0, 0.3), rng=1),
             "sink": lambda: na.SinkAttention(H, scale=scale),
             "blocked": lambda: na.BlockedAttention(query_block=sizes(rng, 4)[0], key_block=sizes(rng, 4)[0],
                                                    scale=scale)}[kind]()
    names = [kind]
    if rng.random() < 0.3:
        layer = na.ExtraKeyAttention(H_kv, d_k, d_v, learned=bool(rng.integers(2)), zero=True, rng=2, attention=layer)
        names.append("extra key")
    if rng.random() < 0.3:
        layer = na.RelativeBiasAttention(H, num_buckets=8, max_distance=4, rng=3, attention=layer)
        names.append("relative bias")
    if rng.random() < 0.3:
        layer = na.QKNormAttention(d_k, attention=layer)
        names.append("qk-norm")
    if d_k % 2 == 0 and rng.random() < 0.3:
        layer = na.RotaryAttention(d_k, interleaved=bool(rng.integers(2)), attention=layer)
        names.append("rotary")
    return layer, "(".join(reversed(names))


def a_configuration(rng):
    """(what it is, layer, inputs, options) at random."""
    N, H, L, S, d_k, d_v, D = sizes(rng, 3, 4, 5, 6, 6, 5, 6)
    draw, kind = rng.standard_normal, pick(rng, "mha", "mha", "attention", "attention", "rows", "block", "loss")
    mask = rng.random(pick(rng, (L, S), (N, 1, S), (N, L, S), (N, H, L, S), (1, H, 1, S))) < 0.7
    options = {} if rng.random() < 0.4 else {"mask": mask}
    if rng.random() < 0.3:
        options["bias"] = draw(pick(rng, (L, S), (N, L, S), (N, H, L, S), (1, H, 1, S)))
    if kind == "attention":
        H_kv = pick(rng, H, 1)
        layer, name = an_attention(rng, H, H_kv, d_k, d_v)
        return name, layer, [draw((N, H, L, d_k)), draw((N, H_kv, S, d_k)), draw((N, H_kv, S, d_v))], options
    if kind == "mha":
        H_kv = pick(rng, H, 1)
        inner, name = an_attention(rng, H, H_kv, d_k, d_v)
        layer = na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, num_kv_heads=H_kv, bias=bool(rng.integers(2)), rng=4,
                                      attention=inner)
        return f"mha of {name}", layer, [draw((N, L, D)), draw((N, S, D))], options
    if kind == "block":
        layer = na.TransformerDecoderLayer(H * d_k, H, d_v, norm_first=bool(rng.integers(2)), activation=pick(
            rng, "gelu", "silu"), dropout=pick(rng, 0.0, 0.2), rng=5)
        return "decoder layer", layer, [draw((N, L, H * d_k)), draw((N, S, H * d_k))], {
            f"memory_{name}": option for name, option in options.items()}
    if kind == "loss":
        target = rng.integers(0, D, (N, L)) if rng.integers(2) else rng.dirichlet(np.ones(D), (N, L))
        layer = na.CrossEntropyLoss(label_smoothing=pick(rng, 0.0, 0.2), reduction=pick(rng, "mean", "sum", "none"),
                                    class_weights=pick(rng, None, rng.random(D) + 0.1))
        return "cross-entropy", layer, [draw((N, L, D)), target], {}
    layer = pick(rng, lambda: na.Linear(D, d_v, bias=bool(rng.integers(2)), rng=6), lambda: na.LayerNorm(D),
                 lambda: na.RMSNorm(D), lambda: na.GELU(approximate=pick(rng, "none", "tanh")), lambda: na.SiLU(),
                 lambda: na.GatedFeedForward(D, d_v, rng=7), lambda: na.FeedForward(D, d_v, activation="gelu", rng=8),
                 lambda: na.LearnedPositions(L + 2, D, rng=9), lambda: na.Softmax(), lambda: na.LogSoftmax(),
                 lambda: na.SoftCap(2.0))()
    return type(layer).__name__, layer, [draw((N, L, D))], {}


def check(layer, inputs, options, rng):
    """Whatever is wrong, as a list of sentences."""
    owned = [array.copy() for array in inputs]
    wrong = []
    for part in na.engine.layer.parts(layer):
        for name, array in part.params.items():
            part.params[name] = array + rng.standard_normal(array.shape) * 0.1
    generators = [(part, part.rng.bit_generator.state) for part in na.engine.layer.parts(layer)
                  if isinstance(getattr(part, "rng", None), np.random.Generator)]

    def rewound():
        for part, state in generators:
            part.rng.bit_generator.state = state
    rewound()
    out = layer(*inputs, **options)
    dout = rng.standard_normal(out.shape)
    found = layer.backward(dout)
    found = found if isinstance(found, tuple) else (found,)
    grads = layer.named_grads()
    # One direction for all float inputs and parameters at once.
    smooth = [array.dtype.kind == "f" and not (type(layer).__name__ == "CrossEntropyLoss" and i)
              for i, array in enumerate(inputs)]
    moves = [rng.standard_normal(array.shape) if moved else 0 for array, moved in zip(inputs, smooth, strict=True)]
    slope = sum((move * d).sum() for move, d, moved in zip(moves, found, smooth, strict=False) if moved)
    before = [(part, name, array) for part in na.engine.layer.parts(layer) for name, array in part.params.items()]
    names = {id(part.params[name]): dotted for dotted in grads for part, name, _ in before
             if layer.named_params()[dotted] is part.params[name]}
    for part, name, array in before:
        move = rng.standard_normal(array.shape)
        slope += (move * grads[names[id(array)]]).sum()
        part.params[name] = array + 1j * STEP * move
    moved = [array + 1j * STEP * move if is_moved else array
             for array, move, is_moved in zip(inputs, moves, smooth, strict=True)]
    rewound()
    measured = (layer(*moved, **options).imag / STEP * dout).sum()
    for part, name, array in before:
        part.params[name] = array
    if not abs(measured - slope) <= 1e-9 * max(1, abs(measured), abs(slope)):
        wrong.append(f"the slope along a random direction is {measured:.12g}, backward says {slope:.12g}")
    rewound()
    single = layer(*(array.astype(np.float32) if array.dtype.kind == "f" else array for array in inputs), **options)
    d32 = layer.backward(dout.astype(np.float32))
    if {single.dtype, *(d.dtype for d in (d32 if isinstance(d32, tuple) else (d32,)))} != {np.dtype(np.float32)}:
        wrong.append("float32 does not stay float32")
    if any(not np.array_equal(a, b) for a, b in zip(owned, inputs, strict=True)):
        wrong.append("an input was written to")
    weights = getattr(layer, "weights", None)
    if weights is not None and not (np.isfinite(weights).all() and (weights.sum(axis=-1) < 1 + 1e-5).all()):
        wrong.append("a row of weights sums to more than 1")
    return wrong


def fuzz(configurations, seed=0):
    """(what, its number, what is wrong) of each configuration that fails."""
    for number in range(configurations):
        rng = np.random.default_rng([seed, number])
        name, layer, inputs, options = a_configuration(rng)
        try:
            wrong = check(layer, inputs, options, rng)
        except Exception as error:                      # a crash is a finding like any other
            wrong = [f"{type(error).__name__}: {error}"]
        for sentence in wrong:
            yield name, number, sentence


if __name__ == "__main__":
    began, (count, seed) = time.perf_counter(), (*map(int, sys.argv[1:3]), *(2000, 0)[len(sys.argv) - 1:])
    findings = list(fuzz(count, seed))
    for name, number, sentence in findings:
        print(f"{number:6}  {name}: {sentence}")
    print(f"{count} configurations, {len(findings)} findings, {time.perf_counter() - began:.0f} s")
    sys.exit(bool(findings))
