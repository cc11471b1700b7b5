"""Checkpoints: a run in a file, so that it can go on tomorrow as if nothing had happened.

The file holds the parameters, the optimizer's running means, the state of the random generator, the step, the settings
and what was noted so far: a NumPy .npz archive of plain arrays, without pickle, so that reading it runs no code.
Whatever goes wrong while it is written (a kill, a full disk), the previous checkpoint is still there, and whole.
"""
import io
import json
import os
from collections import defaultdict
from pathlib import Path

import numpy as np

from ..engine.arguments import count, is_number
from ..words.files import write_whole
from ..words.npz import Npz, read_ordinary
from .measure import read as answers
from .run import set_up
from .tasks import task as make_task

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be written, cannot be read, or belongs to another run.

    Attributes: run, the run that could not be written, with all that it has learned; None if it was to be read.

    >>> na.training.CheckpointError("run.npz is damaged")
    CheckpointError('run.npz is damaged')
    """

    def __init__(self, message, run=None):
        self.run = run
        super().__init__(message)


def save_checkpoint(path, run):
    """Write the run to `path`, or leave what is there as it is.

    Raises: CheckpointError, with the run in it, if it cannot be written.

    >>> import tempfile
    >>> run = na.training.train("reverse", steps=2, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     na.training.save_checkpoint(f"{folder}/run.npz", run)
    ...     na.training.train("reverse", steps=3, resume=f"{folder}/run.npz", progress=False).losses[:2] == run.losses
    True
    """
    path, content = Path(path), io.BytesIO()
    try:
        np.savez(content, **_arrays(run))
        write_whole(path, content.getbuffer())
    except (OSError, MemoryError, ValueError) as error:     # ValueError: a name that no file can have
        kept = "; the one that is there is unharmed" if os.path.isfile(path) else ""
        why = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        raise CheckpointError(f"the checkpoint {path} could not be written: {why}{kept}", run) from error


def load_checkpoint(path, run):
    """Put the run, set up in the same way, where the checkpoint was.

    Raises: CheckpointError if the file is missing, damaged or of another run; the run is unchanged then.
    """
    npz, told = _opened(Path(path))
    mine = json.loads(_json(run.settings))
    if different := [name for name in mine if told["settings"].get(name) != mine[name]]:
        raise CheckpointError(f"{path} is of another run: " + "; ".join(
            f"its {name} is {told['settings'].get(name)!r}, yours is {mine[name]!r}" for name in different))
    params = run.model.named_params()
    saved = {name.removeprefix("param "): header for name, header in npz.headers.items() if name.startswith("param ")}
    if {n: (p.shape, p.dtype) for n, p in params.items()} != {n: (p.shape, p.dtype) for n, p in saved.items()}:
        odd = next(n for n in {**params, **saved} if n not in params or n not in saved
                   or (params[n].shape, params[n].dtype) != (saved[n].shape, saved[n].dtype))
        shapes = (f"{p[odd].shape} {p[odd].dtype}" if odd in p else "missing" for p in (saved, params))
        raise CheckpointError(f"{path} is of another model: its {odd} is {next(shapes)}, yours is {next(shapes)}")
    try:
        _check_contents(npz, told, run)
        held = _sorted(npz.read())
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}") from None
    try:
        run.optimizer.load_state_dict(held["optimizer"])
    except ValueError as error:
        raise CheckpointError(f"{path} is of another optimizer: {error}") from None
    for name, p in params.items():
        p[...] = held["param"][name]
    for rng, state in zip(_generators(run), told["rng"], strict=True):
        rng.bit_generator.state = state
    run.step, run.seconds, run.losses = told["step"], told["seconds"], held["losses"][""].tolist()
    run.history = defaultdict(list, {name: list(values) if values.ndim > 1 else values.tolist()
                                     for name, values in held["history"].items()})
    run.snapshots = {step: {tuple(head): held["snapshot"][f"{step}.{i}"] for i, head in enumerate(heads)}
                     for step, heads in told["snapshots"]}


def load_run(path):
    """The run of a checkpoint, with its task and model as they were: to look at, or to write with.

    Raises: CheckpointError if the file is missing or damaged, or if its model was made by hand.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = na.training.train("reverse", steps=2, save=f"{folder}/run.npz", progress=False)
    ...     na.training.checkpoint.load_run(f"{folder}/run.npz").task
    Reverse(V=10, L=8)
    """
    told = _opened(Path(path))[1]["settings"]
    if not isinstance(told.get("model"), dict):
        raise CheckpointError(f"{path} holds a model that was made by hand, a {told.get('model')}: set it up yourself, "
                              "and load_checkpoint reads the file")
    try:
        lr = told["lr"] if isinstance(told["lr"], float) else 0.01          # a schedule is not kept
        run = set_up(make_task(told["task"], **told["task settings"]), None, optimizer=told["optimizer"], lr=lr,
                     warmup=told["warmup"], batch_size=told["batch_size"], clip=told["clip"], seed=told["seed"],
                     sizes=told["model"])
        run.settings["lr"] = told["lr"]
    except KeyError as missing:
        raise CheckpointError(f"{path} cannot be set up again: its settings lack {missing}") from None
    except (TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{path} cannot be set up again: {error}") from None
    load_checkpoint(path, run)
    return run


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


def _opened(path):
    """The file, and what it tells beside its arrays; nothing else of it is read yet."""
    try:
        content = read_ordinary(path)
    except OSError as error:
        raise CheckpointError(f"there is no checkpoint {path} to be read: {error.strerror}") from error
    except ValueError as error:                     # a name that no file can have
        raise CheckpointError(f"there is no checkpoint {path!r} to be read: {error}") from error
    try:
        npz = Npz(content)
        if "told" not in npz.headers:
            raise ValueError("it does not hold the entry told, which every checkpoint begins with")
        told = _told(npz["told"])
        if told["format"] == FORMAT:
            _check_kinds(told)
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged or no checkpoint: {error}") from None
    if told["format"] != FORMAT:
        raise CheckpointError(f"{path} has format {told['format']}, this version reads format {FORMAT}")
    return npz, told


TOLD = {"settings": dict, "step": int, "seconds": (int, float), "rng": list, "snapshots": list}


def _told(array):
    """The entry `told` as a dict that says its format, or ValueError; another format may tell other things."""
    try:
        told = json.loads(str(array))
    except (ValueError, RecursionError):
        raise ValueError("what it tells beside its arrays cannot be read") from None
    if not isinstance(told, dict) or type(told.get("format")) is not int:
        raise ValueError("it does not tell its format as a checkpoint does")
    return told


def _check_kinds(told):
    """ValueError unless everything that is told is of the right kind."""
    for name, kind in TOLD.items():
        if not isinstance(told.get(name), kind) or isinstance(told[name], bool):
            raise ValueError(f"it does not tell its {name} as a checkpoint does")


def _check_contents(npz, told, run):
    """What the file tells and what the headers of its arrays say must be what this run would have written."""
    step = told["step"]
    if step < 0 or not is_number(told["seconds"]) or told["seconds"] < 0:
        raise ValueError(f"step and seconds must not be negative; got {step} and {told['seconds']}")
    generators = _generators(run)
    try:
        for rng, state in zip(generators, told["rng"], strict=True):
            type(rng.bit_generator)().state = state
    except Exception:                               # NumPy raises nearly anything for a state that is none
        raise ValueError("its states of the random generators are none") from None
    weights, measured = _pristine(run)
    heads = {(layer, head): w[head].shape for layer, w in enumerate(weights) for head in range(len(w))}
    noted = npz.headers.get("history step")
    times = noted.shape[0] if noted is not None and len(noted.shape) == 1 else 0
    expected = {"losses ": (step,), **{f"history {name}": (times, *shape) for name, shape in measured.items()}}
    try:
        for taken, kept in told["snapshots"]:
            if taken > step:
                raise ValueError
            expected |= {f"snapshot {count('step', taken)}.{i}": heads[tuple(head)] for i, head in enumerate(kept)}
    except (TypeError, ValueError, KeyError):
        raise ValueError("what it tells of its snapshots is not what a run of this model has") from None
    found = {name: header.shape for name, header in npz.headers.items()
             if name != "told" and not name.startswith(("param ", "optimizer "))}
    if found != expected:
        odd = next(name for name in {**expected, **found} if found.get(name) != expected.get(name))
        raise ValueError(f"its {odd.strip()} has shape {found.get(odd, 'none: it is missing')}, after {step} steps and "
                         f"{times} measurements it must have {expected.get(odd, 'none: there is no such entry')}")
    if not times:
        raise ValueError("it holds no measurements, and a run begins with one")
    wrong = [name for name in found if npz.headers[name].dtype.kind not in ("iu" if name == "history step" else "f")]
    if wrong:
        raise ValueError(f"its {wrong[0].strip()} has dtype {npz.headers[wrong[0]].dtype}, which a run does not write")
    before = run.optimizer.steps - run.step if hasattr(run.optimizer, "steps") else None
    if before is not None and "optimizer step" in npz.headers and (npz["optimizer step"] != before + step).any():
        raise ValueError(f"its optimizer has done {npz['optimizer step']} steps, the run {step}")
    steps = npz["history step"]
    if steps[0] < 0 or steps[-1] > step or not (np.diff(steps) > 0).all():
        raise ValueError(f"its measurements must be of rising steps from 0 to {step}; got {steps.tolist()[:10]}")


def _pristine(run):
    """What the run would note now: the weights of each layer (H, L, S), and by name the shape of each measurement."""
    answers(run.model, run.exercise)
    weights = [attention.weights[0] for attention in run.model.attentions()]
    return weights, {name: np.shape(value) for name, value in run.measurement().items()}


def _sorted(arrays):
    """The arrays sorted by the first word of their names, each kind in the order of the file."""
    held = {"param": {}, "optimizer": {}, "losses": {}, "history": {}, "snapshot": {}, "told": {}}
    for name, array in arrays.items():
        kind, _, rest = name.partition(" ")
        held[kind][rest] = array
    return held
