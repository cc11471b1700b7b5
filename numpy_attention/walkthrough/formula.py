"""A formula, read once: "Q Kᵀ / √d_k" becomes a tree that can be computed, written out cell by cell, and said in code.

A layer states each step as a line of mathematics. The signs are those of the lecture: a blank between two names is a
matrix product, ∘ a product number by number, ᵀ swaps the last two axes, Σ adds up a row (Σ … over …: whatever the
result does not have). `f(x)` is a function, or a layer inside the layer; W[ids] looks rows up. A tree is a nested
tuple, the sign first: ("over", ("matmul", ("name", "Q"), ("transposed", ("name", "K"))), ("root", ("name", "d_k"))).
"""
import functools
import re

FUNCTIONS = ("exp", "log", "tanh", "softmax", "max", "mean", "Φ", "φ", "σ", "split", "merge", "onehot", "pass_where",
             "turn", "join", "first", "behind", "repeat", "scatter")
TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|Σ(?P<sum>_\w+)?"
                   r"|(?P<name>[A-Za-zΑ-ω][A-Za-zΑ-ω0-9_]*(?:\.backward2?)?)|(?P<sign>[()\[\],+−∘/·√ᵀ²-]))")
# Longer sayings of the layers, and the same in signs.
SAYINGS = (
    (r"transpose\(reshape\((\w+), L × H × d\)\)", r"split(\1)"),
    (r"reshape\(transpose\((\w+)\), L × H·d\)", r"merge(\1)"),
    (r"(.*)\.backward(\(.*\)), second part", r"\1.backward2\2"),
    (r"(.*), first part", r"\1"),
    (r"(\w+) where (\w+) > 0, else 0", r"pass_where(\1, \2)"),
    (r"(\w+), a random part 0, the rest / \(1 − p\)", r"keep ∘ \1 / (1 − p)"),
    (r"Σ (\w+) over the places of each id", r"scatter(\1, ids, W)"),
    (r"(\w+), in the rows that were looked up", r"scatter(\1, rows, W)"),
    (r"layersₙ\(… layers₁\((.*?)\)(?:, memory)?\)", r"layers(\1)"),
    (r"layers₁\.backward\(… layersₙ\.backward\((\w+)\)\)", r"layers.backward(\1)"),
    (r"each pair of (\w+) turned by .*", r"turn(\1, cos, sin)"),
    (r"each pair of (\w+) turned back", r"turn(\1, cos, −sin)"),
    (r"(\w+), then the extra (key|value)s", r"join(\1, extra_\2)"),
    (r"d(\w)_more, the first S rows", r"first(d\1_more, \1)"),
    (r"Σ_N d(\w)_more, the row behind", r"behind(d\1_more, \1)"),
    (r"each head of (\w+), times in a row", r"repeat(\1)"),
    (r"(\w+)\[(?:None|0)\]", r"\1"),                # an axis of one sequence comes or goes
)


class NotAFormula(ValueError):
    """The text is a sentence, or has a sign that is not known here."""


@functools.lru_cache(maxsize=1000)
def parse(text):
    """The tree of a formula. Raises NotAFormula for a text that cannot be read as one.

    >>> parse("x W + b")
    ('plus', ('matmul', ('name', 'x'), ('name', 'W')), ('name', 'b'))
    >>> parse("exp(x − max) / Σ exp(x − max)")
    ('softmax', ('name', 'x'))
    """
    for saying, signs in SAYINGS:
        text = re.sub(f"^{saying}$", signs, text)
    over = re.fullmatch(r"Σ (.*) over .*", text)
    reader = _Signs(over.group(1) if over else text)
    tree = reader.sum()
    if reader.tokens:
        raise NotAFormula(f"{text!r} cannot be read from {reader.tokens[0].group().strip()!r} on")
    return ("gather", tree) if over else _shorter(tree)


class _Signs:
    """Reads tokens from the left: a sum of products of factors. A blank binds closer than ∘ and /."""

    def __init__(self, text):
        self.text, self.tokens, place = text, [], 0
        while place < len(text.rstrip()):
            token = TOKEN.match(text, place)
            if token is None:
                raise NotAFormula(f"{text!r}: the sign {text[place:].strip()[0]!r} is not known")
            self.tokens.append(token)
            place = token.end()

    def peek(self):
        return self.tokens[0].group().strip() if self.tokens else ""

    def take(self, *wanted):
        """The next sign, if it is one of those wanted; otherwise nothing is taken and it is ""."""
        return self.tokens.pop(0).group().strip() if self.tokens and self.peek() in wanted else ""

    def need(self, sign):
        if not self.take(sign):
            raise NotAFormula(f"{self.text!r}: {sign!r} is missing")

    def sum(self):
        tree = ("negative", self.product()) if self.take("−", "-") else self.product()
        while sign := self.take("+", "−", "-"):
            right = self.product()
            if right == ("name", "max"):                # the row's largest number
                right = ("max", tree)
            tree = ("plus" if sign == "+" else "minus", tree, right)
        return tree

    def product(self):
        tree = self.chain()
        while sign := self.take("∘", "/", "·"):
            tree = ("over" if sign == "/" else "times", tree, self.chain())
        return tree

    def chain(self):
        tree = self.factor()
        while self.tokens and (self.tokens[0]["name"] or self.tokens[0]["number"] or self.peek() in ("(", "√")
                               or self.peek().startswith("Σ")):
            tree = ("matmul", tree, self.factor())
        return tree

    def factor(self):
        if not self.tokens:
            raise NotAFormula(f"{self.text!r} ends too early")
        token = self.tokens.pop(0)
        text = token.group().strip()
        if text.startswith("Σ"):
            tree = self.chain()                         # Σ takes what is multiplied, and stops before / + −
            while self.take("∘"):
                tree = ("times", tree, self.chain())
            return ("total" if token["sum"] else "sum", tree)
        if text == "√":
            return ("root", self.factor())
        if token["number"]:
            tree = ("number", float(text))
        elif text == "(":
            tree = self.sum()
            self.need(")")
        elif token["name"]:
            tree = self.named(text, token.end())
        else:
            raise NotAFormula(f"{self.text!r}: {text!r} stands where a name or number is wanted")
        while sign := self.take("ᵀ", "²"):
            tree = ("transposed" if sign == "ᵀ" else "squared", tree)
        return tree

    def named(self, name, end):
        touching = self.text[end:end + 1]
        if touching == "(":
            self.need("(")
            arguments = [self.sum()]
            while self.take(","):
                arguments.append(self.sum())
            self.need(")")
            return (name, *arguments) if name in FUNCTIONS else ("layer", name, *arguments)
        if touching == "[":
            self.need("[")
            rows = self.sum()
            self.need("]")
            return ("rows", ("name", name), rows)
        if name in ("exp", "log", "tanh") and self.tokens:
            return (name, self.factor())                # log Σ exp(x)
        return ("name", name)


def _shorter(tree):
    """The same tree, with the long form of softmax as softmax."""
    if tree[0] in ("name", "number"):
        return tree
    tree = tuple(part if isinstance(part, str) else _shorter(part) for part in tree)
    if tree[0] == "over" and tree[2] in (("sum", tree[1]), ("total", tree[1])) and tree[1][0] == "exp":
        inside = tree[1][1]
        if inside == ("minus", inside[1], ("max", inside[1])):
            return ("softmax", inside[1])
    return tree


def names(tree):
    """The names that a tree mentions, in the order of the formula.

    >>> names(parse("weights ∘ (dweights − Σ weights ∘ dweights)"))
    ['weights', 'dweights']
    """
    if tree[0] == "name":
        return [tree[1]]
    found = [name for part in tree[1:] if isinstance(part, tuple) for name in names(part)]
    return list(dict.fromkeys(found))


def replaced(tree, change):
    """The tree with `change` (a function of a tree) applied to every part of it, from the inside out."""
    return change(tuple(replaced(part, change) if isinstance(part, tuple) else part for part in tree))


HIDDEN = ("split", "repeat", "onehot", "turn")           # their last part is a number that only the table needs
SIGNS = {"plus": "+", "minus": "-", "times": "*", "over": "/", "matmul": "@"}
BINDS = {"plus": 1, "minus": 1, "negative": 1, "times": 2, "over": 2, "matmul": 2, "squared": 3}


def code(tree):
    """The tree as a line of NumPy.

    >>> code(parse("dscores K / √d_k")), code(parse("weightsᵀ dheads"))
    ('dscores @ K / sqrt(d_k)', 'weights.mT @ dheads')
    >>> code(parse("weights ∘ (dweights − Σ_S weights ∘ dweights)"))
    'weights * (dweights - (weights * dweights).sum(-1, keepdims=True))'
    """
    def inside(part, least):
        text = code(part)
        return f"({text})" if BINDS.get(part[0], 9) < least else text

    head, *parts = tree
    if head == "name":
        return parts[0].replace(".", "_")
    if head == "number":
        return parts[1] if len(parts) > 1 else f"{parts[0]:g}"
    if head in SIGNS:
        level, sign = BINDS[head], SIGNS[head]
        if head == "matmul" and not names(parts[0]):      # a number times a matrix
            sign = "*"
        right = level + (head not in ("plus", "times") or (head == "times" and parts[1][0] == "matmul"))
        return f"{inside(parts[0], level)} {sign} {inside(parts[1], right)}"
    if head == "negative":
        return f"-{inside(parts[0], 2)}"
    if head == "transposed":
        return f"{inside(parts[0], 9)}.mT"
    if head == "squared":
        return f"{inside(parts[0], 3)} ** 2"
    if head in ("sum", "total", "mean"):
        return f"{inside(parts[0], 9)}.{'mean' if head == 'mean' else 'sum'}(-1, keepdims=True)"
    if head in ("all", "gather"):
        return f"{inside(parts[0], 9)}.sum({'' if head == 'all' else 'axis=…'})"
    if head == "rows":
        return f"{code(parts[0])}[{code(parts[1])}]"
    if head == "max" and len(parts) == 1:
        return f"{inside(parts[0], 9)}.max(-1, keepdims=True)"
    if head == "fit":
        return code(parts[0])
    word = {"root": "sqrt", "max": "maximum"}.get(head, head)
    given = [part for part in parts if isinstance(part, tuple) and not (part[0] == "number" and head in HIDDEN)]
    return f"{word}({', '.join(code(part) for part in given)})"
