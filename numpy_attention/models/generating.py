"""Writing on: choose a word, put it behind the text, and ask again.

A language model only ever answers one question: which word comes next? Asked again and again, each time with its own
last answer at the end of the text, it writes. With a KV cache a step computes the new word only; models without one
(the small ones of the lessons) read the whole text again, and the answer is the same.
"""
import numpy as np

from ..engine.arguments import count, generator, listed, size
from ..engine.layer import known_layer
from ..masks import padding_mask
from .apart import apart
from .decoding import Decoding
from .question import id_rows
from .sampling import choose, sampling_settings


def generate(model, prompt, n, *, temperature=0.0, top_k=None, top_p=None, seed=None, stop=None, each=None):
    """The prompt and at most n more tokens, chosen one by one.

    Args:
        model: a LanguageModel, or any model that turns ids (N, L) into logits (N, L, V) and sees the past only.
        prompt: a text (where model.tokens is there); ids (L,); or several, (N, L) or a list of lists of ids, which may
            differ in length.
        temperature, top_k, top_p: see choose; the likeliest word unless given. seed: of the draws.
        stop: ids or texts that end it; those of the model's config unless given. each: a function called with every
            new piece as it comes: a text for a text, else ids (N,).

    Returns: a text for a text, ids (L + new,) for ids, a list of them for several.
    Raises: ValueError for an empty prompt, a text without tokens, or more tokens than the model has places for.

    >>> from numpy_attention.models import generate
    >>> model = na.training.ToyModel(10, 12, causal=True, rng=0)
    >>> generate(model, [1, 2, 3], 4).shape
    (7,)
    """
    n, tokens = size("n", n), getattr(known_layer(model, "model"), "tokens", None)
    text = isinstance(prompt, str)
    if text and tokens is None:
        raise ValueError("this model came without a tokenizer: give the prompt as ids")
    if each is not None and not callable(each):
        raise TypeError(f"each must be a function that takes a new piece; got {each!r}")
    given = [tokens.encode(prompt)] if text else listed("prompt", prompt, "ids, or a text")
    several = not text and np.ndim(given[0] if len(given) else 0) > 0
    rows = id_rows("prompt", given if several or text else [given])
    if not rows or not all(rows):
        raise ValueError("the prompt is empty: give at least one token")
    settings = dict(zip(("temperature", "top_k", "top_p"), sampling_settings(temperature, top_k, top_p), strict=True))
    stop = getattr(getattr(model, "architecture", None), "ends", ()) if stop is None else stop
    stop = [stop] if isinstance(stop, (str, int, np.integer)) else listed("stop", stop, "ids or texts")
    ends, words = {count("stop", s) for s in stop if not isinstance(s, str)}, [s for s in stop if isinstance(s, str)]
    if words and tokens is None:
        raise ValueError("a text as stop needs a tokenizer: give ids")
    if "" in words:
        raise ValueError("a text as stop must not be empty: every text contains it")
    rng, new, done, shown = generator(seed, "seed"), [[] for _ in rows], [False] * len(rows), ""
    reading = _with_cache(model, rows, n) if hasattr(model, "architecture") else _without_cache(model, rows)
    logits = next(reading)
    for step in range(n):
        chosen = choose(logits, **settings, rng=rng)
        for i, word in enumerate(map(int, chosen)):
            if not done[i]:
                new[i].append(word)
                done[i] = word in ends or any(s in tokens.decode(new[i]) for s in words)
        if each is not None and not text:
            each(chosen)
        elif each is not None and not (so_far := tokens.decode(new[0])).endswith("\ufffd"):     # half a letter waits
            each(so_far[len(shown):])
            shown = so_far
        if all(done) or step + 1 == n:
            break
        logits = reading.send(chosen)
    whole = [np.array(row + more) for row, more in zip(rows, new, strict=True)]
    return prompt + tokens.decode(new[0]) if text else whole if several else whole[0]


def _with_cache(model, rows, n):
    """Yields the logits of the last places, (N, V); takes the next ids, (N,), by send."""
    longest = max(map(len, rows))
    if model.architecture.rope is None and longest + n - 1 > model.architecture.places:     # the last is not read
        raise ValueError(f"{longest} tokens and {n} more do not fit: this model's table of positions has "
                         f"{model.architecture.places} rows")
    decoding = Decoding(model, longest + n, batch=len(rows))
    before = np.array([longest - len(row) for row in rows])                 # padding on the left of each
    ids = np.array([[0] * (longest - len(row)) + row for row in rows])
    real, padded = np.arange(longest + n) >= before[:, None], before.any()
    start = 0
    while True:
        stop = start + ids.shape[1]
        options = {}
        if padded:                                                          # rotary layers see distances only
            options["mask"] = padding_mask(real[:, :stop], stop)
            if model.architecture.rope is None:
                options["positions"] = np.maximum(np.arange(start, stop) - before[:, None], 0)
        chosen = yield decoding.step(ids, last=True, **options)[:, -1]
        ids, start = chosen[:, None], stop


def _without_cache(model, rows):
    """The same for a model that reads the whole text each time."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("this model takes no padding: give prompts of one length")
    ids = np.array(rows)
    while True:
        ids = np.concatenate([ids, (yield apart(model).eval()(ids)[:, -1])[:, None]], axis=1)
