"""Training: heads that learn something, in seconds.

    run = na.training.train("induction")        # a task by name, a model of the sizes that it needs
    run.history["accuracy"], run.snapshots

What is here: toy tasks (tasks/), a small model (model.py, block.py), one training step on one page (step.py), the loop
around it (loop.py), measurements of heads (measure.py), checkpoints, sweeps over many runs, and the claims that
textbooks repeat about attention, each as a measurement (claims/). The optimizers are na.SGD, na.Adam and na.AdamW.

Matrices this small are multiplied faster by one thread than by several: set OPENBLAS_NUM_THREADS=1 in the environment
before Python starts. Sweeps do so for their own processes.
"""
from importlib import import_module

from .optimizers import SGD, Adam, AdamW, clip_grad_norm
from .schedules import warmup_cosine, warmup_inverse_sqrt

# Where the rest lies; it is imported when it is first asked for.
_LATER = {
    "TASKS": "tasks", "Batch": "tasks", "Task": "tasks", "task": "tasks",
    "Block": "block", "LookupModel": "lookup", "ToyModel": "model", "TiedAttention": "model",
    "training_step": "step", "Diverged": "step", "Run": "run", "train": "loop",
    "CheckpointError": "checkpoint", "save_checkpoint": "checkpoint", "load_checkpoint": "checkpoint",
    "training_film": "run", "save_training_film": "run",
    "sweep": "sweeps", "check_claims": "claims", "grid": "sweeps", "outcome": "sweeps",
    "accuracy": "measure", "entropy": "measure", "gold_mass": "measure", "head_costs": "measure", "head_off": "measure",
    "head_scores": "measure", "prefix_match_score": "measure", "previous_token_score": "measure",
}

__all__ = ["SGD", "Adam", "AdamW", "clip_grad_norm", "warmup_cosine", "warmup_inverse_sqrt", *_LATER]


def __getattr__(name):
    if name in ("alter", "by_hand"):
        return import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER, "alter", "by_hand"})
