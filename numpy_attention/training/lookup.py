"""A model with a memory: questions look keys up among (key, value) slots, by cross-attention.

The queries come from one sequence, the keys and values from another. That is all there is to cross-attention; on the
way back, the gradients of K and V flow to the memory and that of Q to the questions.
"""
import numpy as np

from ..engine.arguments import generator, size, switch
from ..engine.layer import Layer
from ..layers.embedding import Embedding
from ..layers.linear import Linear
from ..layers.multi_head import MultiHeadAttention
from .model import TiedAttention, start_small
from .positions import attention_for


class LookupModel(Layer):
    """Asked keys and a memory to logits, through one layer of cross-attention.

    Args: vocab: V different keys, and as many values. heads, d_model, kv_heads, d_k, scale, tied, rng, dtype: as for
        ToyModel.

    Shapes: asked (N, L) keys; memory (N, S, 2), a key and a value in each slot; logits (N, L, V).

    >>> model = na.training.LookupModel(16, rng=0)
    >>> model([[3, 5]], [[[3, 0], [5, 1], [7, 2]]]).shape
    (1, 2, 16)

    Source: Vaswani et al. 2017, section 3.2.3, the first item; Miller et al. 2016.
    """

    FORWARD = (
        ("query", "W_asked[asked]", "N L D",
         "A row for each question.", "每个问题一行。"),
        ("memory_rows", "W_key[memory keys] + W_value[memory values]", "N S D",
         "A row for each slot: its key and its value, added.", "每个格子一行：键和值相加。"),
        "attention",
        ("logits", "attention(query, memory_rows) W_U", "N L V",
         "Read the value off what was found.", "从找到的内容里读出值。"),
    )
    BACKWARD = (
        ("dfound", "dlogits W_Uᵀ", "N L D",
         "What should have been found?", "本该找到什么？"),
        "attention",
        ("dquery", "attention's dquery", "N L D",
         "The queries' gradient flows to the questions.", "查询的梯度流向问题。"),
        ("dmemory_rows", "attention's dkey + dvalue", "N S D",
         "Those of keys and values flow to the memory.", "键和值的梯度流向记忆。"),
    )
    integer_inputs = ("asked", "memory")

    def __init__(self, vocab, *, heads=1, d_model=32, kv_heads=None, d_k=None, scale=None, tied=False, rng=None,
                 dtype=np.float32):
        super().__init__()
        rng = generator(rng)
        vocab, heads, d_model = size("vocab", vocab), size("heads", heads), size("d_model", d_model)
        self.asked_embedding, self.key_embedding, self.value_embedding = (
            Embedding(vocab, d_model, rng=rng, dtype=dtype) for _ in range(3))
        start_small(self.asked_embedding, self.key_embedding, self.value_embedding)
        self.attention = (TiedAttention if switch("tied", tied) else MultiHeadAttention)(
            d_model, heads, d_k=d_k, num_kv_heads=kv_heads, bias=False, rng=rng, dtype=dtype,
            attention=attention_for("none", d_k, scale))
        self.unembedding = Linear(d_model, vocab, bias=False, rng=rng, dtype=dtype)

    def attentions(self):
        """Its one attention layer, in a list."""
        return [self.attention]

    def forward(self, asked, memory):
        memory = np.asarray(memory)
        if memory.ndim != 3 or memory.shape[-1] != 2:
            raise ValueError(f"memory must have shape (N, S, 2), a key and a value in each slot; got {memory.shape}")
        # 1. One row for each question, and one for each slot.
        query = self.asked_embedding(asked)                             # (N,L) -> (N,L,D)
        memory_rows = self.key_embedding(memory[..., 0]) + self.value_embedding(memory[..., 1])     # (N,S,D)
        # 2. Look the questions up in the memory.
        found = self.attention(query, memory_rows)                      # (N,L,D) (N,S,D) -> (N,L,D)
        # 3. Read the answers off.
        logits = self.unembedding(found)                                # (N,L,D) -> (N,L,V)
        self.cache = {"asked": asked, "memory": memory, "query": query, "memory_rows": memory_rows, "found": found,
                      "logits": logits}
        return logits

    def backward(self, dlogits):
        # 3. logits = found W_U
        dfound = self.unembedding.backward(dlogits)                     # (N,L,D)
        # 2. found = attention(query, memory_rows)
        dquery, dmemory_rows = self.attention.backward(dfound)          # (N,L,D) (N,S,D)
        # 1. A slot's row was a sum of two, so both tables get its gradient.
        self.value_embedding.backward(dmemory_rows)
        self.key_embedding.backward(dmemory_rows)
        self.asked_embedding.backward(dquery)
        self.grads = {"logits": dlogits, "found": dfound, "memory_rows": dmemory_rows, "query": dquery}
