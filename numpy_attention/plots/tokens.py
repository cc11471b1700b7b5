"""Token labels: checked against the axis they name, made visible, thinned out and shortened to the room there is."""

import math

from ..engine.arguments import listed
from ..words.labels import visible
from ..words.terminal import shorten, width


def read_tokens(tokens, count, name, axis):
    """``tokens`` as a list of ``count`` strings, or positions "0", "1", ... when there are none.

    >>> read_tokens(["我"], 2, "query_tokens", "L = 2 queries (rows)")
    Traceback (most recent call last):
    ValueError: query_tokens has 1 token, but there are L = 2 queries (rows)
    """
    if tokens is None:
        return [str(position) for position in range(count)]
    if isinstance(tokens, (str, bytes)):
        raise TypeError(f"{name} must be a list of tokens, not one string: use list({name}) or {name}.split()")
    tokens = listed(name, tokens, "tokens")
    if len(tokens) != count:
        raise ValueError(f"{name} has {len(tokens)} token{'s' * (len(tokens) != 1)}, but there are {axis}")
    return [visible(token) for token in tokens]


def read_both(query_tokens, key_tokens, L, S):
    """Row and column labels of an (L, S) map. One list serves both axes only when L equals S."""
    given = query_tokens if query_tokens is not None else key_tokens
    only_keys = query_tokens is None
    if L == S and given is not None:
        query_tokens = given if query_tokens is None else query_tokens
        key_tokens = given if key_tokens is None else key_tokens
    rows = read_tokens(query_tokens, L, "key_tokens" if only_keys else "query_tokens", f"L = {L} queries (rows)")
    columns = read_tokens(key_tokens, S, "key_tokens", f"S = {S} keys (columns)")
    if given is not None and (query_tokens is None or key_tokens is None):
        missing = "key_tokens" if key_tokens is None else "query_tokens"
        raise ValueError(
            f"{missing} is missing: with L = {L} queries and S = {S} keys the two axes have tokens of their own, "
            "give both query_tokens and key_tokens"
        )
    return rows, columns


def are_positions(tokens):
    """Whether the labels are bare positions, 0, 1, 2, ..."""
    return bool(tokens) and tokens[0] == "0" and tokens[-1] == str(len(tokens) - 1)


def step_of(tokens, least):
    """Every how many labels one is written, at least ``least``; bare positions get round numbers.

    >>> step_of([str(i) for i in range(2048)], 100), step_of([str(i) for i in range(300)], 30), step_of(["a"] * 9, 3)
    (128, 50, 3)
    """
    if least <= 1 or not are_positions(tokens):
        return max(1, least)
    if len(tokens) % 64 == 0:
        return 2 ** math.ceil(math.log2(least))
    power = 10 ** math.floor(math.log10(least))
    return next(step for part in (1, 2, 5, 10) if (step := part * power) >= least)


def label_rows(axes, tokens, pitch, *, size=9, limit=10, places=None):
    """Write tokens beside the rows, ``pitch`` inches apart; where they would touch, only every second, third, ..."""
    step = step_of(tokens, math.ceil(size * 1.25 / 72 / pitch)) if tokens else 1
    places = range(len(tokens)) if places is None else places
    axes.set_yticks(places[::step], [shorten(token, limit) for token in tokens[::step]], fontsize=size)
    axes.tick_params(axis="y", which="major", length=0 if step == 1 else 2, left=step > 1, labelleft=True, pad=2.5)


def slanted(tokens, pitch, size, limit=10):
    """Whether column labels are too wide to stand side by side; of bare positions fewer are written instead."""
    if are_positions(tokens):
        return False
    # A column of text is about 0.62 of the font size wide.
    return max((width(shorten(token, limit)) for token in tokens), default=0) * size * 0.62 / 72 > pitch * 0.95


def column_room(tokens, pitch, *, size=9, limit=10):
    """Inches that column labels take."""
    longest = min(limit, max(map(width, tokens), default=0))
    return 0.1 + size / 72 + (longest * size * 0.45 / 72 if slanted(tokens, pitch, size, limit) else 0)


def row_room(tokens, *, size=9, limit=10):
    """Inches that row labels take."""
    return 0.1 + min(limit, max(map(width, tokens), default=0)) * size * 0.66 / 72


def label_columns(axes, tokens, pitch, *, size=9, limit=10, top=True):
    """Write tokens above (or below) the columns; slanted when they are too wide to stand side by side."""
    labels = [shorten(token, limit) for token in tokens]
    slant = slanted(tokens, pitch, size, limit)
    step = step_of(tokens, math.ceil(size * 1.6 / 72 / pitch)) if slant else 1
    if are_positions(tokens):
        step = step_of(tokens, math.ceil(len(tokens[-1]) * size * 0.7 / 72 / pitch))
    axes.set_xticks(
        range(0, len(tokens), step), labels[::step], fontsize=size, rotation=45 if slant else 0,
        rotation_mode="anchor", ha="center" if not slant else "left" if top else "right",
        va="center" if slant and not top else "bottom" if top else "top",
    )
    axes.tick_params(axis="x", which="major", length=0 if step == 1 else 2, top=top and step > 1,
                     bottom=not top and step > 1, labeltop=top, labelbottom=not top, pad=2.5)
