"""Checkpoints: a run in a file, so that it can go on tomorrow as if nothing had happened.

The file holds the parameters, the optimizer's running means, the state of the random generator, the step, the settings
and what was noted so far: a NumPy .npz archive of plain arrays, without pickle, so that reading it runs no code.
Whatever goes wrong while it is written (a kill, a full disk), the previous checkpoint is still there, and whole.
"""
import io
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from ..words.files import write_whole

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be written, cannot be read, or belongs to another run.

    >>> na.training.CheckpointError("run.npz is damaged")
    CheckpointError('run.npz is damaged')
    """


def save_checkpoint(path, run):
    """Write the run to `path`, or leave what is there as it is.

    Raises: CheckpointError if it cannot be written.

    >>> import tempfile
    >>> run = na.training.train("reverse", steps=2, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     na.training.save_checkpoint(f"{folder}/run.npz", run)
    ...     na.training.train("reverse", steps=3, resume=f"{folder}/run.npz", progress=False).losses[:2] == run.losses
    True
    """
    path, content = Path(path), io.BytesIO()
    np.savez(content, **_arrays(run))
    try:
        write_whole(path, content.getbuffer())
    except OSError as error:
        kept = "; the one that is there is unharmed" if path.exists() else ""
        raise CheckpointError(f"the checkpoint {path} could not be written: {error.strerror or error}{kept}") from error


def load_checkpoint(path, run):
    """Put the run, set up in the same way, where the checkpoint was.

    Raises: CheckpointError if the file is missing, damaged or of another run; the run is unchanged then.
    """
    held = _read(Path(path))
    told = held["told"]
    mine = json.loads(_json(run.settings))
    if different := [name for name in mine if told["settings"].get(name) != mine[name]]:
        raise CheckpointError(f"{path} is of another run: " + "; ".join(
            f"its {name} is {told['settings'].get(name)!r}, yours is {mine[name]!r}" for name in different))
    params, saved = run.model.named_params(), held["param"]
    if {n: (p.shape, p.dtype) for n, p in params.items()} != {n: (p.shape, p.dtype) for n, p in saved.items()}:
        odd = next(n for n in {**params, **saved} if n not in params or n not in saved
                   or (params[n].shape, params[n].dtype) != (saved[n].shape, saved[n].dtype))
        shapes = (f"{p[odd].shape} {p[odd].dtype}" if odd in p else "missing" for p in (saved, params))
        raise CheckpointError(f"{path} is of another model: its {odd} is {next(shapes)}, yours is {next(shapes)}")
    try:
        run.optimizer.load_state_dict(held["optimizer"])
    except ValueError as error:
        raise CheckpointError(f"{path} is of another optimizer: {error}") from None
    for name, p in params.items():
        p[...] = saved[name]
    for rng, state in zip(_generators(run), told["rng"], strict=True):
        rng.bit_generator.state = state
    run.step, run.seconds, run.losses = told["step"], told["seconds"], held["losses"][""].tolist()
    run.history = defaultdict(list, {name: list(values) if values.ndim > 1 else values.tolist()
                                     for name, values in held["history"].items()})
    run.snapshots = {step: {tuple(head): held["snapshot"][f"{step}.{i}"] for i, head in enumerate(heads)}
                     for step, heads in told["snapshots"]}


def _arrays(run):
    """The run as named arrays; the first tells in JSON what is not an array."""
    told = {"format": FORMAT, "settings": run.settings, "step": run.step, "seconds": run.seconds,
            "rng": [rng.bit_generator.state for rng in _generators(run)],
            "snapshots": [(step, list(heads)) for step, heads in run.snapshots.items()]}
    return {"told": np.array(_json(told)),
            **{f"param {name}": p for name, p in run.model.named_params().items()},
            **{f"optimizer {name}": array for name, array in run.optimizer.state_dict().items()},
            "losses ": np.array(run.losses),
            **{f"history {name}": np.array(values) for name, values in run.history.items()},
            **{f"snapshot {step}.{i}": weights for step, heads in run.snapshots.items()
               for i, weights in enumerate(heads.values())}}


def _json(told):
    """`told` as JSON; NumPy's numbers become Python's, and what is no number or text is told by its name."""
    return json.dumps(told, default=lambda value: value.item() if isinstance(value, np.generic) else str(value))


def _generators(run):
    """All random generators that the next steps depend on: the run's own, and those of dropout in a model."""
    def within(layer):
        own = [layer.rng] if isinstance(getattr(layer, "rng", None), np.random.Generator) else []
        return [*own, *(rng for inner in layer.sublayers().values() for rng in within(inner))]

    return [run.rng, *within(run.model)]


def _read(path):
    """The file's arrays, sorted by the first word of their names; all of it is read and checked, or an error."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"there is no checkpoint {path} to be read: {error.strerror}") from error
    try:
        held = {"param": {}, "optimizer": {}, "losses": {}, "history": {}, "snapshot": {}}
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            held["told"] = json.loads(str(file["told"]))
            for key in set(file.files) - {"told"}:
                kind, _, name = key.partition(" ")
                held[kind][name] = file[key]        # the archive's checksums are compared here
        expected = held["told"]["format"]
    except Exception as error:                      # a damaged file can break its readers in any way
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}") from error
    if expected != FORMAT:
        raise CheckpointError(f"{path} has format {expected}, this version reads format {FORMAT}")
    return held
