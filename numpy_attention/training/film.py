"""The film of a training: how one head's weights change, above the curve of what the model gets right."""
import numpy as np

from ..masks import causal_mask
from ..words.pictures import draw


def training_film(run, head=None, *, curve="accuracy", lang="en"):
    """Draw the snapshots of one head over a curve of the run's history.

    Args:
        run: a Run with snapshots. head: (layer, head); unless given, the one with the most mass where a perfect head
            looks, or the sharpest one where nobody knows.
        curve: a name in run.history with one number a measurement: "accuracy" or "loss". lang: "en", "zh" or "both".

    Returns: a matplotlib Figure.
    Raises: ValueError without snapshots of that head, or for an unknown curve.

    >>> run = na.training.train("reverse", steps=50, snapshots=(0, 25, 50), progress=False)
    >>> na.training.training_film(run).alt_text.split(":")[0]
    '3 snapshots of steps 0–50'
    """
    steps = sorted(run.snapshots)
    kept = sorted(set.intersection(*(set(run.snapshots[step]) for step in steps))) if steps else []
    head = head or max(kept, key=lambda each: _promise(run, *each), default=None)
    if head not in kept:
        raise ValueError(f"there are no snapshots of head {head}; there are of {kept or 'none'}: train with "
                         "snapshots=(0, 50, 100), and perhaps watch=[(layer, head)]")
    if curve not in ("accuracy", "loss"):
        raise ValueError(f"curve must be accuracy or loss; got {curve!r}")
    tokens = run.exercise.inputs[0][0]
    keys = run.task.words(tokens) if run.task.slots is None else _slots(run)
    return draw(
        "plot_film", np.stack([run.snapshots[step][head] for step in steps]), steps, run.history[curve],
        curve_steps=run.history["step"], curve_label=f"{curve} · head {head[0]}.{head[1]}",
        query_tokens=run.task.words(tokens), key_tokens=keys,
        mask=causal_mask(len(tokens)) if run.task.causal else None, lang=lang)


def _promise(run, layer, head):
    """How much a head is worth a film: its mass on the gold cells, or else how sharp it is."""
    last = {name: values[-1][layer, head] for name, values in run.history.items() if np.ndim(values[-1]) == 2}
    return last.get("gold mass", -last["entropy"])


def _slots(run):
    return [f"{run.task.word(int(key))}→{run.task.word(int(value))}" for key, value in run.exercise.inputs[1][0]]
