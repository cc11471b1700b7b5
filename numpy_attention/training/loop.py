"""The loop: steps until it is learned, or done, or somebody has had enough.

Between the steps it measures, takes snapshots for the film, and saves. Whatever ends it, what was learned is kept. The
matrices are small, so each product gets one thread: a second one would mostly wait.
"""
import signal
import sys
import threading
import time

from ..engine.arguments import count, fraction, listed, size, switch
from ..engine.threads import one_thread_each
from ..words.files import path_of
from .checkpoint import load_checkpoint, save_checkpoint
from .measure import head_pairs
from .run import set_up
from .step import Diverged


def train(task, model=None, *, steps=None, stop_at=None, seed=0, batch_size=64, lr=0.01, warmup=20, clip=1.0,
          optimizer="adam", measure_every=25, snapshots=(), watch=None, save=None, save_every=100, resume=None,
          on_step=None, progress=True, **sizes):
    """Train a small model on a toy task.

    Args:
        task: a task or its name, such as "induction".
        model: any layer that turns the task's inputs into logits; unless given, one of the sizes that the task needs.
        steps: updates at most, counted from the run's first; the task's own number unless given.
        stop_at: an accuracy at which to stop early.
        seed: of parameters and exercises. batch_size: N exercises a step.
        lr: learning rate after `warmup` steps, or a schedule. clip: how long the gradient may be at most.
        optimizer: "adam" (β = 0.9, 0.99), "adamw", "sgd", or what makes one when called with the model and lr=.
        measure_every: how many steps from one measurement on held-out exercises to the next.
        snapshots: the steps at which to keep weights. watch: of which (layer, head) pairs, all unless given.
        save: a file to write a checkpoint to, every `save_every` steps and at the end. resume: one to go on from.
        on_step: called with the run after each step. progress: whether to show a bar.
        sizes: layers=, heads=, d_model=, kv_heads=, d_k=, d_hidden=, norm=, positions=, scale=, tied= as in ToyModel.

    Returns: the Run. Ctrl-C ends it after the step under way.
    Raises: ValueError for an unknown task or impossible sizes; CheckpointError for a file that does not fit, and,
        with the run in it, for one that cannot be written; Diverged, with the run in it, at the first loss or gradient
        that is not finite.

    >>> run = na.training.train("reverse", steps=150, stop_at=0.99, progress=False)
    >>> run.stopped, run.parameters
    ('learned', 1472)
    """
    measure_every, save_every = size("measure_every", measure_every), size("save_every", save_every)
    snapshots = {count("snapshots", step) for step in listed("snapshots", snapshots, "steps")}
    stop_at, progress = None if stop_at is None else fraction("stop_at", stop_at), switch("progress", progress)
    steps = None if steps is None else count("steps", steps)
    save, resume = (None if file is None else path_of(name, file)
                    for name, file in (("save", save), ("resume", resume)))
    run = set_up(task, model, optimizer=optimizer, lr=lr, warmup=warmup, batch_size=size("batch_size", batch_size),
                 clip=clip, seed=seed, sizes=sizes)
    watch = None if watch is None else head_pairs("watch", watch, run.model)
    if resume is not None:
        load_checkpoint(resume, run)
    run.stopped = ""
    steps = run.task.steps if steps is None else steps
    with one_thread_each(), Progress(steps, run.step, shown=progress) as bar, Interrupt() as interrupted:
        while True:
            if (run.step % measure_every == 0 or run.step >= steps) and run.step not in run.history["step"][-1:]:
                run.measure()
            if run.step in snapshots and run.step not in run.snapshots:
                run.take_snapshot(watch)
            bar.show(run.step, loss=run.history["loss"][-1], accuracy=run.accuracy)
            run.stopped = _reason(run, steps, stop_at, interrupted)
            if save is not None and (run.stopped or run.step % save_every == 0):
                save_checkpoint(save, run)
            if run.stopped:
                return run
            began = time.perf_counter()
            try:
                run.advance()
            except Diverged as broken:
                raise Diverged(broken.why, broken.origin, run.step + 1, run) from None
            run.seconds += time.perf_counter() - began
            if on_step is not None:
                on_step(run)


def _reason(run, steps, stop_at, interrupted):
    """Why to stop now; "" to go on."""
    if stop_at is not None and run.accuracy >= stop_at and run.history["step"][-1] == run.step:
        return "learned"
    if run.step >= steps:
        return "done"
    return "interrupted" if interrupted else ""


class Interrupt:
    """While in the with-block, true once Ctrl-C was pressed.

    The loop then stops when its step is complete, not in the middle of an update; whoever presses again need not wait.

    >>> from numpy_attention.training.loop import Interrupt
    >>> with Interrupt() as interrupted:
    ...     bool(interrupted)
    False
    """

    def __init__(self):
        self.pressed, self.before = False, None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():       # only there may it be listened to
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised):
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def __bool__(self):
        return self.pressed

    def _note(self, number, frame):
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True


class Progress:
    """Show how far a run is, on the error stream: with tqdm's bar if it is installed, otherwise a plain line.

    Args: total: how many steps. done: how many are behind us. shown: False for silence.

    >>> from numpy_attention.training.loop import Progress
    >>> with Progress(total=100, shown=False) as bar:
    ...     bar.show(10, loss=2.3, accuracy=0.1)
    """

    def __init__(self, total, done=0, *, shown=True):
        self.total, self.shown, self.line, self.bar = total, shown, "", None
        if shown:
            try:
                from tqdm import tqdm
                self.bar = tqdm(total=total, initial=done, unit="step", mininterval=0.2)
            except ImportError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if self.bar is not None:
            self.bar.close()
        elif self.line:
            sys.stderr.write("\n" if sys.stderr.isatty() else self.line + "\n")

    def show(self, step, **numbers):
        """Step number `step` is done; the numbers are shown beside it."""
        text = ", ".join(f"{name} {value:.3f}" for name, value in numbers.items())
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update(step - self.bar.n)
        elif self.shown:
            self.line = f"step {step}/{self.total}: {text}"
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{self.line}")
