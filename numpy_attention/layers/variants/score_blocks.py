"""Score blocks: the scores of one head, a block of queries and keys at a time.

Whoever needs them, forward or backward, asks for the blocks in turn; each is computed when it comes and forgotten
afterwards. Blocks in which nothing is seen are left out.
"""
import numpy as np

from ...engine.mask_and_bias import fit, gather
from .repeat_heads import group_size


class ScoreBlocks:
    """One head of one sequence: its rows of Q, K and V, and its scores, block by block."""

    def __init__(self, layer, given, place, dtype):
        Q, K, V, mask, bias, self.seed, self.offset = map(given.get, ("Q", "K", "V", "mask", "bias", "seed", "offset"))
        self.layer, self.place, self.dtype, self.tables = layer, place, dtype, {}
        self.shape = shape = (*Q.shape[:-1], K.shape[-2])
        self.shared = (*place[:-1], place[-1] // group_size(Q, K)) if place else place
        self.Q, self.K, self.V = Q[place], K[self.shared], V[self.shared]
        self.mask = None if mask is None else np.broadcast_to(mask, shape)[place]
        self.bias = None if bias is None else np.broadcast_to(fit("bias", bias, shape), shape)[place]
        self.scale = layer.scale_for(Q)
        self.scores_are_small = bias is None and are_small(self.Q, self.K, self.scale)

    def query_blocks(self):
        """The rows of each block."""
        return _slices(0, len(self.Q), self.layer.query_block)

    def queries(self, rows):
        """These rows of Q, scaled."""
        return self.Q[rows] * self.scale

    def values(self, columns):
        """[V | 1]: these rows of V, a 1 beside each, which takes up what stands beside its partner in a product."""
        return beside(self.V[columns], 1)

    def blocks(self, rows, less=None):
        """(columns, scores, seen) of every block in which these rows see something; seen is None where they see all.

        less: (rows, 1), subtracted from the scores. If they are small, this is done within their product, [Q | −less]
        [K | 1]ᵀ = Q Kᵀ − less; large ones must be, to the last digit, those that less was made from.
        """
        queries, folded = self.queries(rows), less is not None and self.scores_are_small
        if folded:
            queries = beside(queries, -less)
        for columns in self._key_blocks(rows):
            seen = self._seen(rows, columns)
            if seen is not None and not seen.any():
                continue
            keys = beside(self.K[columns], 1) if folded else self.K[columns]
            scores = np.matmul(queries, keys.T, out=self.table("scores", rows, columns))
            if self.bias is not None:
                scores += self.bias[rows, columns]
            if seen is not None:
                np.copyto(scores, -np.inf, where=~seen)
            if less is not None and not folded:
                scores -= less
            yield columns, scores, seen

    def mix(self, shares, rows, columns, seen):
        """shares [V | 1]: the values mixed in these shares, with the sum of the shares beside them."""
        mixed = gather(self.drop(shares, rows, columns), self.values(columns), seen)
        if self.seed is not None:                               # what falls out still counts in the sum
            mixed[:, -1] = shares.sum(axis=-1)
        return mixed

    def table(self, name, rows, columns):
        """Room for a block's numbers, the same memory for every block: fresh memory costs more than the numbers."""
        if name not in self.tables:
            self.tables[name] = np.empty((min(self.layer.query_block, len(self.Q)),
                                          min(self.layer.key_block, len(self.K))), self.dtype)
        return self.tables[name][:rows.stop - rows.start, :columns.stop - columns.start]

    def _key_blocks(self, rows):
        """The columns of each block; if causal, first the keys that all of these rows see, then those that some see."""
        S, height = len(self.K), self.layer.key_block
        if not self.layer.causal:
            return _slices(0, S, height)
        first, last = (min(max(row + self.offset, 0), S) for row in (rows.start, rows.stop))
        return _slices(0, first, height) + _slices(first, last, height)

    def _seen(self, rows, columns):
        seen = None if self.mask is None else self.mask[rows, columns]
        shift = self.offset
        if self.layer.causal and columns.stop - 1 > rows.start + shift:         # the first query does not see it all
            past = np.arange(columns.start, columns.stop) <= np.arange(rows.start, rows.stop)[:, None] + shift
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


def _slices(start, stop, height):
    return [slice(top, min(top + height, stop)) for top in range(start, stop, height)]


def beside(table, column):
    """[table | column]: one more column, so that one more term enters each product."""
    wider = np.empty((len(table), table.shape[1] + 1), table.dtype)
    wider[:, :-1], wider[:, -1:] = table, column
    return wider


def are_small(Q, K, scale):
    """Is every exp(q · k · scale) far from overflow and underflow? |q · k| is at most the product of the lengths."""
    if Q.dtype.kind == "c" or K.dtype.kind == "c":
        return False
    longest = [np.sqrt(np.einsum("nd,nd->n", rows, rows).max(initial=0)) for rows in (Q, K)]
    return bool(abs(scale) * longest[0] * longest[1] <= np.log(np.finfo(Q.dtype).max) / 3)      # not so for NaN
