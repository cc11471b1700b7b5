"""Training speed beside PyTorch: the induction model here and the same model there, the same numbers and batches.

    python -m numpy_attention.bench.training_vs_torch

Both start from the same parameters, read the same exercises and take turns step by step, so that whatever else the
machine is doing disturbs both alike; what is counted is processor time. That their losses agree shows that they do the
same work. One thread each: products this small are slower with two.
"""
import argparse
import contextlib
import importlib.util
import math
import statistics
import sys
import time

import numpy as np

from ..engine.threads import one_thread_each
from ..layers.cross_entropy import CrossEntropyLoss
from ..training.optimizers import Adam
from ..training.run import model_for
from ..training.step import training_step
from ..training.tasks import Induction

LR, BETAS, CLIP = 1e-2, (0.9, 0.99), 1.0


def main(argv=None):
    """Print tokens per second of all, and their ratios. Returns the exit status; 0 also where torch is missing."""
    parser = argparse.ArgumentParser(prog="python -m numpy_attention.bench.training_vs_torch", description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps timed (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="sequences a step (%(default)s)")
    arguments = parser.parse_args(argv)
    print(table(measure(arguments.steps, arguments.batch_size)))
    return 0


def measure(steps, batch_size=64):
    """One dict for each contender: ms a step with quartiles, tokens a second, ratio to ours, how far losses differ."""
    task = Induction()
    batches = [task.batch(batch_size, rng=seed) for seed in range(steps)]
    model = model_for(task, **task.model, rng=0)
    optimizer, loss = Adam(model, lr=LR, betas=BETAS), CrossEntropyLoss(ignore_index=-1)
    contenders = {"numpy_attention": lambda batch: float(training_step(model, batch, loss, optimizer, clip=CLIP))}
    with one_thread_each(), torch_on_one_thread() as here:
        if here:
            contenders["torch, softmax(Q Kᵀ / √d_k) V"] = torch_step(model, fused=False)
            contenders["torch, scaled_dot_product_attention"] = torch_step(model, fused=True)
        seconds, losses = {name: [] for name in contenders}, {name: [] for name in contenders}
        for batch in batches:
            for name, step in contenders.items():
                began = time.process_time()
                losses[name].append(step(batch))
                seconds[name].append(time.process_time() - began)
    ours, rows = statistics.median(seconds["numpy_attention"]), []
    for name, taken in seconds.items():
        low, middle, high = statistics.quantiles(taken, n=4)
        apart = max(abs(a - b) for a, b in zip(losses[name][:20], losses["numpy_attention"][:20], strict=True))
        rows.append({"contender": name, "ms": middle * 1e3, "low": low * 1e3, "high": high * 1e3, "apart": apart,
                     "tokens": batch_size * task.length / middle, "our_speed": middle / ours})
    return rows


def table(rows):
    """The rows as text; our speed as a multiple of theirs."""
    lines = [f"{row['contender']:<38}{row['tokens']:>9,.0f} tokens/s  {row['ms']:6.2f} ms a step ({row['low']:.2f} … "
             f"{row['high']:.2f})  here {row['our_speed']:5.2f} × as fast  losses differ by {row['apart']:.0e}"
             for row in rows]
    if len(rows) == 1:
        lines.append("PyTorch is not installed here, so there is nothing to compare with: pip install torch")
    return "\n".join(lines)


@contextlib.contextmanager
def torch_on_one_thread():
    """Inside, PyTorch uses one thread. Yields whether it is installed."""
    if not importlib.util.find_spec("torch"):
        yield False
        return
    import torch
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield True
    finally:
        torch.set_num_threads(before)


def torch_step(model, *, fused):
    """One training step of the same model in PyTorch, from a copy of its parameters; returns the loss."""
    import torch
    import torch.nn.functional as F
    params = {name: torch.nn.Parameter(torch.from_numpy(p.copy())) for name, p in model.named_params().items()}
    adam = torch.optim.Adam(params.values(), lr=LR, betas=BETAS)
    blocks, heads = len(model.blocks), model.heads

    def attention(x, prefix):
        N, L, D = x.shape
        Q, K, V = ((x @ params[f"{prefix}{role}_proj.W"]).view(N, L, heads, D // heads).transpose(1, 2)
                   for role in ("query", "key", "value"))
        if fused:
            found = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
        else:
            scores = Q @ K.mT / math.sqrt(D // heads)
            hidden = torch.ones(L, L, dtype=torch.bool).triu(1)
            found = scores.masked_fill(hidden, -math.inf).softmax(-1) @ V
        return found.transpose(1, 2).reshape(N, L, D) @ params[f"{prefix}output_proj.W"]

    def step(batch):
        ids, labels = torch.from_numpy(batch.inputs[0].copy()), torch.from_numpy(np.ascontiguousarray(batch.labels))
        stream = F.embedding(ids, params["embedding.W"]) + params["positions.W"]
        for i in range(blocks):
            stream = stream + attention(stream, f"blocks.{i}.attention.")
        logits = stream @ params["unembedding.W"]
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params.values(), CLIP)
        adam.step()
        return loss.item()

    return step


if __name__ == "__main__":
    sys.exit(main())
