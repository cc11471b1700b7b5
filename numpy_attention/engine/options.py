"""What a layer is told beside its arrays: a mask, a bias, where queries and keys stand, an attention that is handed in.

What a layer can take is asked of its forward, not of its class, so that a layer of one's own is as good as ours.
"""
import functools
import inspect
from contextlib import contextmanager

from .layer import Layer, parts


def attention_part(attention, dropout):
    """What a caller wants the heads to do with Q, K, V, or an error that says what such a layer is."""
    if not isinstance(attention, Layer) or not _takes_three(type(attention)):
        raise TypeError("attention must be a layer that is called with Q, K, V, such as "
                        f"na.ScaledDotProductAttention(); got {attention!r}")
    if dropout:
        raise ValueError("give dropout to the attention that you hand in: attention=...(dropout=...)")
    return attention


@functools.cache
def _takes_three(cls):
    """Can a layer of this class be called with three arrays?"""
    try:
        inspect.signature(cls.forward).bind("self", "Q", "K", "V")
    except TypeError:
        return False
    return True


def options_given(layer, **options):
    """Those options that are not None, for a layer that takes them, or an error that says that it does not."""
    given = those_given(**options)
    for name in given:
        if not takes(type(layer), name):
            raise TypeError(f"{type(layer).__name__} takes no {name}: what attends is called as attention(Q, K, V), "
                            f"and with {name}= where one is given")
    return given


@functools.cache
def takes(cls, name):
    """Does the forward of this class take an option of that name, or any?"""
    parameters = inspect.signature(cls.forward).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def those_given(**named):
    """Of what may be left out, that which was not: the names whose value is not None."""
    return {name: value for name, value in named.items() if value is not None}


@contextmanager
def speaking_of(**names):
    """Inside, an error that begins with an argument's name uses the caller's: speaking_of(mask="memory_mask")."""
    try:
        yield
    except (TypeError, ValueError) as error:
        name, space, rest = str(error).partition(" ")
        if name not in names:
            raise
        raise type(error)(f"{names[name]}{space}{rest}") from None


def options_known(layer, **options):
    """Those options that are not None and that the layer takes: what may be told, but need not be understood.

    An error if a part of the layer would understand, and the layer takes nothing to hand on.
    """
    known = {name: value for name, value in those_given(**options).items() if takes(type(layer), name)}
    for name in those_given(**options).keys() - known.keys():
        deaf = next((type(part).__name__ for part in parts(layer) if part.asks_places and takes(type(part), name)),
                    None)
        if deaf:
            raise TypeError(f"{type(layer).__name__} takes no {name}, which the {deaf} inside of it asks for: let its "
                            f"forward take {name}= and hand it on")
    return known


def needs_place(layer):
    """The class of the layer or part of it whose numbers depend on where queries and keys stand, or None."""
    return next((type(part).__name__ for part in parts(layer) if part.asks_places), None)
