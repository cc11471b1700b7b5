"""Direct logit attribution: how much of a logit did each head write?

The stream at the end is a sum: the embedding, what every head added, what every feed-forward layer added, and biases.
The last norm divides the whole row by one number, and the logit of a word is a dot product. With that number held
fixed everything is linear, so the logit splits into parts that add up to it exactly.
"""
import numpy as np

from .edits import head_columns, read
from .question import logit_of, one_text, place_of, words_of


def direct_logits(model, ids, word, place=-1):
    """What each part adds to the logit of `word` at one place: {"heads": (layers, H), "feed_forward": (layers,), ...}.

    Args: ids: one text. word: an id; or a pair of ids, for the difference of their logits.
    Returns: "heads", "feed_forward", "embedding" (with the positions), "biases"; all of them add up to "logit".
    Raises: ValueError for a model that norms behind its sums (BERT): there nothing is a sum of parts.

    What it does not prove: that a head matters. A head that writes nothing here may feed a later one that does, and if
    it were gone, others might do its work.

    >>> from numpy_attention.models import direct_logits
    >>> model = na.training.ToyModel(10, 8, layers=2, heads=2, causal=True, rng=0)
    >>> parts = direct_logits(model, [1, 2, 3], word=4)
    >>> total = sum(np.sum(value) for name, value in parts.items() if name != "logit")
    >>> parts["heads"].shape, bool(np.isclose(total, parts["logit"]))
    ((2, 2), True)

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
    """
    if not getattr(getattr(model, "architecture", None), "norm_first", True):
        raise ValueError("this model norms behind its sums, so its last row is no sum of parts")
    logits, twin = read(model, one_text("ids", ids))
    W = twin.embedding.params["W"].T if getattr(twin, "tied", False) else twin.unembedding.params["W"]
    b = twin.unembedding.params.get("b", np.zeros(W.shape[1]))
    words, signs = map(list, zip(*words_of(word, W.shape[1]), strict=True))
    place = place_of(place, logits.shape[1])
    column, beta = W[:, words] @ signs, 0.0                                 # (D,), the direction that is read
    last = twin.blocks[-1].cache
    row = last["out" if "out" in last else "heard"][0, place].astype(float)
    norm, centred = getattr(twin, "norm", None), False
    if norm is not None:
        centred = "beta" in norm.params
        beta = float(norm.params["beta"] @ column) if centred else 0.0
        spread = row.var() if centred else np.mean(row * row)
        column = column * norm.params["gamma"] / np.sqrt(spread + norm.eps)
    if centred:
        column = column - column.mean()                                     # the mean of each part is taken out

    biases = beta + float(b[words] @ signs)
    heads, thought = [], []
    for block in twin.blocks:
        mha = block.attention
        concat, W_O = mha.cache["concat"][0, place], mha.output_proj.params["W"]
        columns = [head_columns(mha, head) for head in range(mha.split.num_heads)]
        heads.append([float(concat[c] @ W_O[c] @ column) for c in columns])
        biases += float(mha.output_proj.params.get("b", np.zeros(1)) @ column) if "b" in mha.output_proj.params else 0
        added = block.feed_forward.cache["out"][0, place] if block.feed_forward else np.zeros(len(column))
        thought.append(float(added @ column))
    return {"heads": np.array(heads), "feed_forward": np.array(thought),
            "embedding": float(twin.blocks[0].cache["x"][0, place] @ column), "biases": biases,
            "logit": float(logit_of(logits, word, place)[0])}
