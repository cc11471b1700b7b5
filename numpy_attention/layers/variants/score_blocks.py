"""Score blocks: the scores of one head, a block of queries and keys at a time.

Whoever needs them, forward or backward, asks for the blocks in turn; each is computed when it comes and forgotten
afterwards. Blocks in which nothing is seen are left out.
"""
import numpy as np

from ...engine.mask_and_bias import fit
from .repeat_heads import group_size


class ScoreBlocks:
    """One head of one sequence: its rows of Q, K and V, and its scores, block by block."""

    def __init__(self, layer, place, dtype):
        self.Q, K, V, mask, bias, seed = map(layer.cache.get, ("Q", "K", "V", "mask", "bias", "seed"))
        self.shape = shape = (*self.Q.shape[:-1], K.shape[-2])
        self.layer, self.place, self.seed, self.dtype, self.tables = layer, place, seed, dtype, {}
        self.shared = (*place[:-1], place[-1] // group_size(self.Q, K)) if place else place
        self.Q, self.K, self.V = self.Q[place], K[self.shared], V[self.shared]
        self.mask = None if mask is None else np.broadcast_to(mask, shape)[place]
        self.bias = None if bias is None else np.broadcast_to(fit("bias", bias, shape), shape)[place]
        self.scale = layer.scale_for(self.Q)

    def blocks(self):
        """(rows, columns, scores, seen) of every block in which something is seen; seen is None where all is."""
        for rows in _slices(len(self.Q), self.layer.query_block):
            queries = self.Q[rows] * self.scale
            for columns in _slices(len(self.K), self.layer.key_block):
                seen = self._seen(rows, columns)
                if seen is not None and not seen.any():
                    continue
                scores = np.matmul(queries, self.K[columns].T, out=self.table("scores", rows, columns))
                if self.bias is not None:
                    scores += self.bias[rows, columns]
                if seen is not None:
                    scores[~seen] = -np.inf
                yield rows, columns, scores, seen

    def table(self, name, rows, columns):
        """Room for a block's numbers, the same memory for every block: fresh memory costs more than the numbers."""
        if name not in self.tables:
            self.tables[name] = np.empty((min(self.layer.query_block, len(self.Q)),
                                          min(self.layer.key_block, len(self.K))), self.dtype)
        return self.tables[name][:rows.stop - rows.start, :columns.stop - columns.start]

    def _seen(self, rows, columns):
        seen = None if self.mask is None else self.mask[rows, columns]
        last = rows.start + (self.layer.offset or 0)            # the last key that the block's first query sees
        if self.layer.causal and columns.stop - 1 > last:
            past = np.arange(columns.start, columns.stop) <= last + np.arange(rows.stop - rows.start)[:, None]
            seen = past if seen is None else past & seen
        return seen

    def add_up(self, dbias, dscores, rows, columns):
        """Add a block's gradient to the bias's, summed over the axes for which the bias stood in."""
        dbias = fit("bias", dbias, self.shape)
        lead = dbias.shape[:-2]
        place = tuple(i if n > 1 else 0 for i, n in zip(self.place[len(self.place) - len(lead):], lead, strict=True))
        if dbias.shape[-2] == 1:
            rows, dscores = slice(0, 1), dscores.sum(axis=0, keepdims=True)
        if dbias.shape[-1] == 1:
            columns, dscores = slice(0, 1), dscores.sum(axis=1, keepdims=True)
        dbias[place][rows, columns] += dscores

    def drop(self, shares, rows, columns):
        """Dropout with holes that depend on the forward and the block alone, so that backward meets the same ones."""
        if self.seed is None:
            return shares
        rng = np.random.default_rng([self.seed, *self.place, rows.start, columns.start])
        return np.where(rng.random(shares.shape) >= self.layer.p, shares / (1 - self.layer.p), 0)


def _slices(length, height):
    return [slice(top, min(top + height, length)) for top in range(0, length, height)]
