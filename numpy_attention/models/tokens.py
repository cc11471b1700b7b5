"""Tokens: a text as ids, and ids as a text.

Models do not read letters but pieces of words, and every model has its own list of pieces. That list comes with it, as
tokenizer.json or inside a GGUF file, and the `tokenizers` package cuts texts by it. Without that package a model still
takes ids.
"""
from pathlib import Path

from ..engine.arguments import a_text, count

# How texts are cut before the pieces are looked up, for GGUF files, which name the way but do not describe it.
LETTERS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLIT = {"llama-bpe": rf"{LETTERS}|\p{{N}}{{1,3}}|{REST}", "qwen2": rf"{LETTERS}|\p{{N}}|{REST}"}
CONTROL = 3                         # the kind of a GGUF token that stands for no text


class Tokens:
    """The tokenizer that came with a model.

    tokens.encode(text) -> list of ids; tokens.decode(ids) -> text; tokens.pieces(ids) -> the text of each, for labels.

    Raises: ImportError with what to install, when it is first used without the `tokenizers` package.
    """

    def __init__(self, make):
        self._make, self._made = make, None

    @classmethod
    def from_file(cls, path):
        """From a tokenizer.json; it is read when it is first needed."""
        return cls(lambda library: library.Tokenizer.from_str(Path(path).read_text(encoding="utf-8")))

    @classmethod
    def from_gguf(cls, values):
        """From the tables of a GGUF file; None if it has none, or of a kind that is not known here."""
        way = values.get("tokenizer.ggml.pre", "gpt-2")
        if values.get("tokenizer.ggml.model") != "gpt2" or way not in ("gpt-2", "default", "smollm", *SPLIT):
            return None
        return cls(lambda library: _from_tables(library, values, way))

    @property
    def tokenizer(self):
        """The `tokenizers` object itself."""
        if self._made is None:
            try:
                import tokenizers
            except ImportError:
                raise ImportError("to turn texts into tokens: pip install 'numpy_attention[models]'; a model takes ids "
                                  "without it") from None
            try:
                self._made = self._make(tokenizers)
            except OSError:
                raise
            except Exception as error:          # that library raises nearly anything for a damaged file
                raise ValueError(f"the model's tokenizer cannot be read: {error}") from error
            self._made.no_padding()
            self._made.no_truncation()
        return self._made

    def encode(self, text):
        """The text's ids; BERT's mark of the beginning and end included."""
        if half := next((letter for letter in a_text("text", text) if "\ud800" <= letter <= "\udfff"), None):
            raise ValueError(f"text must be whole: it holds half a letter, {half!r}, as when bytes were read "
                             "wrongly")
        return self.tokenizer.encode(text).ids

    def decode(self, ids):
        """The ids' text."""
        return self.tokenizer.decode([count("an id", i) for i in ids], skip_special_tokens=True)

    def pieces(self, ids):
        """The text of each id, blanks included; a piece that is only a part of a letter is shown as its id."""
        found = []
        for i in map(int, ids):
            text = self.tokenizer.decode([i], skip_special_tokens=False)
            name = self.tokenizer.id_to_token(i)
            found.append(name.removeprefix("##") if name and name.startswith("##") else
                         f"<{i}>" if "\ufffd" in text or not text else text)
        return found


def _from_tables(library, values, way):
    """A byte-level BPE tokenizer from a GGUF file's tables."""
    texts, kinds = values["tokenizer.ggml.tokens"], values.get("tokenizer.ggml.token_type", [])
    merges = [tuple(merge.split(" ", 1)) for merge in values["tokenizer.ggml.merges"]]
    made = library.Tokenizer(library.models.BPE({text: i for i, text in enumerate(texts)}, merges))
    first = ([library.pre_tokenizers.Digits(individual_digits=True)] if way == "smollm" else
             [library.pre_tokenizers.Split(library.Regex(SPLIT[way]), "isolated")] if way in SPLIT else [])
    made.pre_tokenizer = library.pre_tokenizers.Sequence(
        [*first, library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=way not in SPLIT)])
    made.decoder = library.decoders.ByteLevel()
    made.add_special_tokens([text for text, kind in zip(texts, kinds, strict=False) if kind == CONTROL])
    return made
