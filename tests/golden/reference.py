"""Every reference case and its verdict, shared by the tests and the report.

An adapter takes a case and returns our numbers under the reference's names, all of them. What the engine cannot do
yet stands in NOT_BUILT and nowhere else; what we answer differently on purpose stands in DIFFERENT.
"""
import importlib
from typing import NamedTuple

import numpy as np

from .golden import cases

ADAPTERS = {}

# (source, operator, tag or None for all of it) -> what is missing. Delete a line to switch its cases on.
NOT_BUILT = {}


class Different(NamedTuple):
    """Why we answer differently, and what stands in our answer where the reference has NaN (None: anything finite)."""

    reason: str
    instead: dict


_ZEROS = "a row in which everything is hidden gives zeros and gradient 0, where torch gives NaN"
_MHA = Different(_ZEROS, {"attn": 0.0, "out": "out_proj.bias", "grad_query": None, "grad_in_proj_weight": None,
                          "grad_in_proj_bias": None, "grad_out_proj.weight": None})
DIFFERENT = {
    "mha_fullmask_row_weights_h2": _MHA,
    "mha_fullmask_kpm_weights_d8": _MHA,
    "softmax_all_neginf_row": Different(_ZEROS, {"out": 0.0, "grad_input": 0.0}),
    "ce_all_ignored_mean": Different("the mean over no targets is 0, where torch gives NaN", {"out": 0.0}),
}


class Verdict(NamedTuple):
    status: str     # "passed", "differs" (on purpose, as stated), "left" (not built yet) or "failed"
    detail: str = ""


def adapter(source, op):
    """Registers the function below it as the way to run `op`."""
    def register(run):
        ADAPTERS[source, op] = run
        return run
    return register


def all_cases():
    """Every case of both sources, as (source, case)."""
    for name in ("torch_layers", "torch_attention", "torch_blocks", "torch_training", "onnx_ops"):
        importlib.import_module(f".{name}", __package__)
    return [(source, case) for source in ("torch", "onnx") for case in cases(source)]


def missing(source, case):
    """What a case needs that is not built yet, or None."""
    return next((f"{tag or op}: {what} not built yet" for (where, op, tag), what in NOT_BUILT.items()
                 if (where, op) == (source, case.op) and (tag is None or tag in case.tags)), None)


def verdict(source, case):
    """Runs one case, unless it is left out, and holds every one of its numbers against ours."""
    if reason := missing(source, case):
        return Verdict("left", reason)
    actual = ADAPTERS[source, case.op](case)
    bad = []
    if set(actual) != set(case.outputs):
        bad.append(f"{case.name}: compared {sorted(actual)}, but the reference has {sorted(case.outputs)}")
    different = DIFFERENT.get(case.name)
    if different is None:
        bad += case.mismatches(actual)
        return Verdict("failed", "; ".join(bad)) if bad else Verdict("passed")
    bad += _mismatches_except_nan(case, actual, different)
    return Verdict("failed", "; ".join(bad)) if bad else Verdict("differs", different.reason)


def _mismatches_except_nan(case, actual, different):
    """As case.mismatches, but where the reference has NaN ours must hold what `different` promises."""
    bad = [f"{case.name}:{name}: the reference has no NaN here" for name in different.instead
           if not np.isnan(case.outputs[name]).any()]
    filled = {}
    for name, ours in actual.items():
        nan = np.isnan(case.outputs[name])
        promise = different.instead.get(name)
        if isinstance(promise, str):
            promise = np.broadcast_to(case.inputs[promise], nan.shape)[nan]
        elif promise is None:
            promise = ours[nan]
            if not np.isfinite(promise).all():
                bad.append(f"{case.name}:{name}: not finite")
        if not np.array_equal(ours[nan], np.broadcast_to(promise, ours[nan].shape)):
            bad.append(f"{case.name}:{name}: not what was promised where the reference has NaN")
        filled[name] = np.where(nan, np.nan, ours)
    return bad + case.mismatches(filled)
