"""What reads the words off the stream: at the end, every row is compared with a column for each word.

Most models take the embedding's own table for that, transposed: the row that a word brings in is also the direction in
which it is read off. Such a table is no parameter of the head but something that it is handed, like the rows, and on
the way back it gets a gradient of its own.
"""
from ..engine.layer import Layer
from ..layers.linear import Linear
from .parts import ACTIVATIONS, make_norm


class LogitsHead(Layer):
    """hidden W_U + b_U, where W_U is the head's own, or the transpose of a table that is handed in.

    Args: a: the Architecture. rng, dtype: of the parameters. bias: whether there is b_U.

    head(hidden, table=None) -> logits; backward returns dhidden, or (dhidden, dtable).

    Shapes: hidden (..., D), table (V, D), logits (..., V). Params: W (D, V) unless tied, b (V,) if there is a bias.
    Source: Press and Wolf 2017, "Using the Output Embedding to Improve Language Models".
    """

    FORWARD = (
        ("logits", "hidden W_U + b_U, W_U = tableᵀ where it is tied", "... V",
         "Compare each row with every word's column.", "把每一行和每个词的那一列比较。"),
    )
    BACKWARD = (
        ("dtable", "dlogitsᵀ hidden", "V D",
         "A word hears from every row that it was compared with.", "每个词收到和它比较过的每一行的梯度。"),
        ("dW", "hiddenᵀ dlogits", "D V",
         "The same, for a table of the head's own.", "输出头有自己的表时也一样。"),
        ("db", "Σ dlogits over all rows", "V",
         "It was added to every row.", "它加到了每一行。"),
        ("dhidden", "dlogits W_Uᵀ", "... D",
         "The words' columns, weighted by their gradients.", "各个词的列按梯度加权相加。"),
    )

    def __init__(self, a, rng, dtype, *, bias=False):
        super().__init__()
        words = Linear(a.width, a.vocab, bias=bias, rng=rng, dtype=dtype)
        self.params = {name: array for name, array in words.params.items() if not (a.tied and name == "W")}

    def forward(self, hidden, table=None):
        logits = self.compare(hidden, table)
        self.keep(hidden=hidden, table=table, logits=logits)
        return logits

    def backward(self, dlogits):
        return self.compare_backward(dlogits, "hidden")

    def compare(self, rows, table):
        """rows W_U + b_U, (..., D) -> (..., V)."""
        W = self.params["W"] if table is None else table.T
        flat = rows.reshape(-1, len(W)) @ W                                 # a single large product is fastest
        return (flat + self.params["b"] if "b" in self.params else flat).reshape(*rows.shape[:-1], -1)

    def compare_backward(self, dlogits, name):
        """The gradient of the rows of that name, and of a table that was handed in."""
        rows, table = self.cache[name], self.cache.get("table")
        flat, dflat = rows.reshape(-1, rows.shape[-1]), dlogits.reshape(-1, dlogits.shape[-1])
        drows = (dflat @ (self.params["W"].T if table is None else table)).reshape(rows.shape)  # (..., D)
        self.grads = {"logits": dlogits, name: drows}
        if "b" in self.params:
            self.grads["b"] = dflat.sum(axis=0)                             # (V,)
        if table is None:
            self.grads["W"] = flat.T @ dflat                                # (D, V)
            return drows
        self.grads["table"] = dtable = dflat.T @ flat                       # (V, D)
        return drows, dtable


class MaskedWordHead(LogitsHead):
    """norm(activation(hidden W + b)) W_U + b_U: BERT's head, which names the word behind a mask.

    Args, shapes: as LogitsHead, with a bias always; turned (..., D).
    Source: Devlin et al. 2018, section 3.1; the layer before the words is in the code that came with it.
    """

    FORWARD = (
        ("turned", "norm(activation(hidden W + b))", "... D",
         "Turn what was understood into what a word looks like.", "把理解到的内容变成词的样子。"),
        *LogitsHead.FORWARD,
    )
    BACKWARD = (
        *LogitsHead.BACKWARD[:3],
        ("dturned", "dlogits W_Uᵀ", "... D",
         "Back through the table of words.", "经过词表传回去。"),
        ("dhidden", "back through norm, activation and W", "... D",
         "And through the layer before it.", "再经过前面那一层。"),
    )

    def __init__(self, a, rng, dtype):
        super().__init__(a, rng, dtype, bias=True)
        self.dense = Linear(a.width, a.width, rng=rng, dtype=dtype)
        self.activation, self.norm = ACTIVATIONS[a.activation](), make_norm(a, dtype)

    def forward(self, hidden, table=None):
        turned = self.norm(self.activation(self.dense(hidden)))             # (..., D)
        logits = self.compare(turned, table)                                # (..., D) -> (..., V)
        self.keep(hidden=hidden, table=table, turned=turned, logits=logits)
        return logits

    def backward(self, dlogits):
        found = self.compare_backward(dlogits, "turned")                    # (..., V) -> (..., D)
        dturned, *dtable = found if isinstance(found, tuple) else (found,)
        dhidden = self.dense.backward(self.activation.backward(self.norm.backward(dturned)))
        self.grads["hidden"] = dhidden
        return (dhidden, *dtable) if dtable else dhidden


def make_head(a, rng, dtype):
    """The head of an architecture, or None for a model that ends with its hidden states."""
    kinds = {"none": lambda *_: None, "logits": LogitsHead, "masked": MaskedWordHead}
    return kinds[a.head](a, rng, dtype)
