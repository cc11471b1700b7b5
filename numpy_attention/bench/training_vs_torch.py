"""Training speed beside PyTorch: the induction model here and the same model there, the same numbers and batches.

    OPENBLAS_NUM_THREADS=1 python -m numpy_attention.bench.training_vs_torch

Both start from the same parameters, read the same exercises and take turns step by step, so that whatever else the
machine is doing disturbs both alike; what is counted is processor time. That their losses agree shows that they do the
same work. One thread each: products this small are slower with two.
"""
import argparse
import importlib.util
import math
import statistics
import sys
import time

import numpy as np

from ..layers.cross_entropy import CrossEntropyLoss
from ..training.optimizers import Adam
from ..training.run import model_for
from ..training.step import training_step
from ..training.tasks import Induction

LR, BETAS, CLIP = 1e-2, (0.9, 0.99), 1.0


def main(argv=None):
    """Print tokens per second of both, and their ratio. Returns the exit status; 0 also where torch is missing."""
    parser = argparse.ArgumentParser(prog="python -m numpy_attention.bench.training_vs_torch", description=__doc__)
    parser.add_argument("--steps", type=int, default=300, help="steps timed (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=64, help="sequences a step (%(default)s)")
    arguments = parser.parse_args(argv)
    if not importlib.util.find_spec("torch"):
        print("PyTorch is not installed here, so there is nothing to compare with: pip install torch")
        return 0
    task = Induction()
    batches = [task.batch(arguments.batch_size, rng=seed) for seed in range(arguments.steps)]
    model = model_for(task, **task.model, rng=0)
    optimizer, loss = Adam(model, lr=LR, betas=BETAS), CrossEntropyLoss(ignore_index=-1)
    contenders = {"numpy_attention": lambda batch: float(training_step(model, batch, loss, optimizer, clip=CLIP)),
                  "torch, softmax(Q Kᵀ / √d_k) V": torch_step(model, fused=False),
                  "torch, scaled_dot_product_attention": torch_step(model, fused=True)}
    seconds, losses = {name: [] for name in contenders}, {name: [] for name in contenders}
    for batch in batches:
        for name, step in contenders.items():
            began = time.process_time()
            losses[name].append(step(batch))
            seconds[name].append(time.process_time() - began)
    tokens = arguments.batch_size * task.length
    ours = statistics.median(seconds["numpy_attention"])
    for name, taken in seconds.items():
        low, middle, high = statistics.quantiles(taken, n=4)
        apart = max(abs(a - b) for a, b in zip(losses[name][:20], losses["numpy_attention"][:20], strict=True))
        print(f"{name:<38}{tokens / middle:>9,.0f} tokens/s  {middle * 1e3:6.2f} ms a step ({low * 1e3:.2f} … "
              f"{high * 1e3:.2f})  here {middle / ours:5.2f} × as fast  losses differ by {apart:.0e}")
    return 0


def torch_step(model, *, fused):
    """One training step of the same model in PyTorch, from a copy of its parameters; returns the loss."""
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(1)
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
