"""Training: optimizers, schedules and what else it takes to make heads learn something."""
from .clipping import clip_grad_norm
from .optimizers import SGD, Adam, AdamW
from .schedules import warmup_cosine, warmup_inverse_sqrt

__all__ = ["SGD", "Adam", "AdamW", "clip_grad_norm", "warmup_cosine", "warmup_inverse_sqrt"]
