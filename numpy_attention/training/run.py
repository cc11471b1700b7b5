"""A run: everything that decides how a training goes on, and everything that was noted on the way.

Whoever holds the same run at the same step gets the same rest of it, to the last bit: the task, the model with its
parameters, the optimizer with its running means, and the random generator that makes the next exercises.
"""
import functools
import inspect
from collections import defaultdict

import numpy as np

from ..engine.arguments import count
from ..engine.layer import Layer
from ..layers.cross_entropy import CrossEntropyLoss
from ..masks import causal_mask
from ..words.languages import say
from ..words.pictures import draw
from .lookup import LookupModel
from .measure import read, scores_after_forward
from .model import ToyModel
from .optimizers import SGD, Adam, AdamW, longest
from .schedules import warmup_constant
from .step import training_step
from .tasks import task as make_task
from .tasks.recipe import NOT_ASKED

OPTIMIZERS = {"adam": functools.partial(Adam, betas=(0.9, 0.99)), "adamw": functools.partial(AdamW, betas=(0.9, 0.99)),
              "sgd": SGD}


class Run:
    """One training run, at some step of it; `train` makes it, `resume` reads it from a file.

    Attributes:
        task, model, optimizer, rng: what it goes on with. settings: how it was set up, by name.
        step: updates done. seconds: that they took. stopped: "", "learned", "interrupted" or "done".
        history: by name, what was measured and at which "step"; "loss" and "accuracy" are numbers, the measurements of
            heads are (layers, H). losses: the training loss of every step.
        snapshots: by step, the weights of the watched heads on one fixed exercise, {(layer, head): (L, S)}.
        exercise: that exercise, a Batch of one.

    >>> run = na.training.train("reverse", steps=50, progress=False)
    >>> run.step, run.history["step"], run.history["accuracy"][-1] > 0.9
    (50, [0, 25, 50], True)
    >>> run.task, run.parameters
    (Reverse(V=10, L=8), 1472)
    """

    def __init__(self, settings, task, model, optimizer, batch_size, clip, seed):
        self.settings, self.task, self.model, self.optimizer = settings, task, model, optimizer
        self.batch_size, self.clip = batch_size, clip
        self.loss = CrossEntropyLoss(ignore_index=NOT_ASKED)
        self.rng = np.random.default_rng([seed, 1])             # [seed, 0] made the parameters
        self.held_out = task.batch(128, rng=[seed, 2])          # measured on exercises of its own
        self.exercise = task.batch(1, rng=[seed, 3])
        self.step, self.seconds, self.stopped = 0, 0.0, ""
        self.losses, self.history, self.snapshots = [], defaultdict(list), {}

    def advance(self):
        """One training step on new exercises."""
        batch = self.task.batch(self.batch_size, self.rng)
        with np.errstate(all="ignore"):         # what is not finite is found out by the step itself
            value = training_step(self.model, batch, self.loss, self.optimizer, clip=self.clip)
        self.losses.append(float(value))
        self.step += 1

    def measure(self):
        """Note loss, accuracy and the measurements of all heads on the held-out exercises."""
        for name, value in self.measurement().items():
            self.history[name].append(value)

    def measurement(self):
        """What there is to be noted now: {name: a number, or one for each head (layers, H)}."""
        batch = self.held_out
        logits = read(self.model, batch)
        right = logits.argmax(axis=-1) == batch.targets
        return {"step": self.step, "loss": float(self.loss(logits, batch.labels)),
                "accuracy": float(right[batch.counts].mean()), **scores_after_forward(self.model, batch)}

    def take_snapshot(self, watch=None):
        """Keep the weights on the fixed exercise: of the watched (layer, head) pairs, all unless given."""
        read(self.model, self.exercise)
        layers = [attention.weights[0].copy() for attention in self.model.attentions()]
        heads = watch or [(layer, head) for layer, weights in enumerate(layers) for head in range(len(weights))]
        self.snapshots[self.step] = {(layer, head): layers[layer][head] for layer, head in heads}

    @property
    def accuracy(self):
        """The last measured accuracy."""
        return self.history["accuracy"][-1]

    @property
    def parameters(self):
        """How many numbers the model learns."""
        return sum(p.size for p in self.model.named_params().values())

    def steps_to(self, accuracy):
        """The first measured step with at least this accuracy; None if there is none."""
        measured = zip(self.history["step"], self.history["accuracy"], strict=True)
        return next((step for step, reached in measured if reached >= accuracy), None)

    def __str__(self):
        return (f"{self.task!r}, {self.parameters:,} parameters: accuracy {self.accuracy:.3f} "
                f"after {self.step} steps in {self.seconds:.1f} s")

    __repr__ = __str__


def set_up(task, model, *, optimizer, lr, warmup, batch_size, clip, seed, sizes):
    """A Run at step 0, from names and numbers."""
    seed, warmup, clip = count("seed", seed), count("warmup", warmup), longest("clip", clip)
    schedule = lr if callable(lr) else warmup_constant(lr, warmup=warmup)
    task = make_task(task)
    if model is None:
        sizes = {**task.model, **sizes}
        model, made = model_for(task, rng=[seed, 0], **sizes), sizes
    elif sizes:
        raise ValueError(f"the model is given, so its sizes are too; got {', '.join(sizes)}")
    elif not isinstance(model, Layer):
        raise TypeError(f"model must be a layer that turns the task's inputs into logits; got {model!r}")
    else:
        made = type(model).__name__
    make = OPTIMIZERS.get(optimizer, optimizer) if isinstance(optimizer, str) else optimizer
    if not callable(make):
        raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, or make one; got {optimizer!r}")
    settings = {"task": task.name, "task settings": task.settings, "model": made, "optimizer": str(optimizer),
                "lr": str(lr) if callable(lr) else lr, "warmup": warmup, "batch_size": batch_size, "clip": clip,
                "seed": seed}
    return Run(settings, task, model, make(model, lr=schedule), batch_size, clip, seed)


def model_for(task, *, rng=None, **sizes):
    """The model that fits a task: ToyModel, or LookupModel where there is a memory."""
    kind = LookupModel if task.slots else ToyModel
    known = inspect.getfullargspec(kind).kwonlyargs
    if unknown := sorted(sizes.keys() - set(known)):
        own = f"; give a size of the task to task({task.name!r}, {unknown[0]}=)" if unknown[0] in task.settings else ""
        raise ValueError(f"{kind.__name__} has no size {unknown[0]}; it has: {', '.join(known)}{own}")
    if task.slots:
        return LookupModel(task.vocab, rng=rng, **sizes)
    fixed = {"classes": task.classes, "questions": task.questions, "causal": task.causal}
    return ToyModel(task.vocab, task.length, rng=rng, **{**fixed, **sizes})


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
        curve_steps=run.history["step"], curve_label=curve, query_tokens=run.task.words(tokens), key_tokens=keys,
        mask=causal_mask(len(tokens)) if run.task.causal else None,
        name=say(lang, f"层 {head[0]} 头 {head[1]}", f"layer {head[0]}, head {head[1]}"), lang=lang)


def save_training_film(run, path, *, curve="accuracy", lang="en"):
    """Write all snapshots of a run as a film that moves: .html with a slider, or .gif.

    Args: run: a Run with snapshots. path: of the file. curve: "accuracy" or "loss". lang: "en", "zh" or "both".

    Returns: the path.
    Raises: ValueError without snapshots, or for another ending.

    >>> import tempfile
    >>> run = na.training.train("reverse", steps=50, snapshots=(0, 25, 50), progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     na.training.save_training_film(run, folder + "/film.html").name
    'film.html'
    """
    steps = sorted(run.snapshots)
    kept = sorted(set.intersection(*(set(run.snapshots[step]) for step in steps))) if steps else []
    if not kept:
        raise ValueError("there are no snapshots: train with snapshots=(0, 50, 100)")
    tokens = run.exercise.inputs[0][0]
    return draw(
        "save_film", np.stack([[run.snapshots[step][head] for head in kept] for step in steps]), steps, path,
        curve=run.history[curve], curve_steps=run.history["step"], curve_label=curve,
        names=[say(lang, f"层 {layer} 头 {head}", f"Layer {layer}, head {head}") for layer, head in kept],
        query_tokens=run.task.words(tokens),
        key_tokens=run.task.words(tokens) if run.task.slots is None else _slots(run),
        mask=causal_mask(len(tokens)) if run.task.causal else None, lang=lang)


def _promise(run, layer, head):
    """How much a head is worth a film: its mass on the gold cells, or else how sharp it is."""
    last = {name: values[-1][layer, head] for name, values in run.history.items() if np.ndim(values[-1]) == 2}
    return last.get("gold mass", -last["entropy"])


def _slots(run):
    return [f"{run.task.word(int(key))}→{run.task.word(int(value))}" for key, value in run.exercise.inputs[1][0]]
