"""Reference numbers for sinks, relative position biases and rotary scaling."""
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

with np.load(Path(__file__).parent / "extra.npz", allow_pickle=False) as _file:
    NUMBERS = {name: _file[name] for name in _file}


def names(kind):
    return sorted({key.partition("|")[0] for key in NUMBERS if key.startswith(kind + "/")})


def case(name):
    return {key.partition("|")[2]: array for key, array in NUMBERS.items() if key.partition("|")[0] == name}


@pytest.mark.parametrize("name", names("sink"))
def test_a_learned_sink(name):
    c = case(name)
    attention = na.SinkAttention(3)
    attention.softmax.params["sink"] = c["sink"]
    heads = attention(c["Q"], c["K"], c["V"], **({"mask": na.causal_mask(4)} if "causal" in name else {}))
    dQ, dK, dV = attention.backward(c["dheads"])
    for got, wanted in ((heads, "heads"), (attention.weights, "weights"), (dQ, "dQ"), (dK, "dK"), (dV, "dV"),
                        (attention.softmax.grads["sink"], "dsink")):
        assert_allclose(got, c[wanted], rtol=0, atol=1e-13, err_msg=wanted)


@pytest.mark.parametrize("name", names("t5"))
def test_relative_position_bias(name):
    c = case(name)
    settings = {"num_buckets": int(c["num_buckets"]), "max_distance": int(c["max_distance"]),
                "bidirectional": bool(c["bidirectional"].all())}
    assert_array_equal(na.t5_buckets(c["relative"], **settings), c["bucket"])
    layer = na.RelativePositionBias(3, **settings)
    layer.params["table"] = c["table"]
    assert_array_equal(layer(na.relative_places(5, 7))[0], c["bias"])
    layer.backward(c["dbias"][None])
    assert_allclose(layer.grads["table"], c["dtable"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", names("rope"))
def test_rotary_scaling(name):
    c = case(name)
    kind = {"dynamic": "ntk"}.get(str(c["rope_type"].ravel()[0]), str(c["rope_type"].ravel()[0]))
    original = "max_position_embeddings" if kind == "ntk" else "original_max_position_embeddings"
    known = {"base": "theta", "factor": "factor", "low": ("beta_slow" if kind == "yarn" else "low_freq_factor"),
             "high": ("beta_fast" if kind == "yarn" else "high_freq_factor"), "original": original, "length": "seq_len"}
    settings = {ours: c[theirs].item() for ours, theirs in known.items() if theirs in c}
    speeds = na.rotary_speeds(int(c["dim"]), kind=kind, **settings)
    assert_allclose(speeds, c["inv_freq"], rtol=2e-7)           # theirs were computed in float32
    if name == "rope/yarn":
        assert_allclose(na.yarn_attention_factor(settings["factor"]), c["attention_factor"], rtol=1e-7)
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 16))
    stretched = na.ScaledRotary(speeds, attention_factor=c["attention_factor"].item())
    assert_allclose(stretched(x), c["attention_factor"] * na.ScaledRotary(speeds)(x), rtol=1e-13)
    na.check_gradients(stretched, x).assert_ok()


@pytest.mark.parametrize("name", names("soft"))
def test_soft_targets(name):
    c = case(name)
    options = {"class_weights": c["weight"]} if "weight" in c else {}
    options |= {"label_smoothing": c["label_smoothing"].item()} if "label_smoothing" in c else {}
    options |= {"reduction": str(c["reduction"].ravel()[0])} if "reduction" in c else {}
    loss = na.CrossEntropyLoss(**options)
    assert_allclose(loss(c["logits"], c["target"]), c["loss"], rtol=1e-13)
    assert_allclose(loss.backward(c["dloss"]), c["dlogits"], rtol=0, atol=1e-13)
