"""All specimens, in the order of the files bugs_*.py; importing them fills the collection."""
import difflib

from . import bugs_backward, bugs_elsewhere, bugs_heads, bugs_masks, bugs_softmax
from .rooms import ROOMS
from .specimen import SPECIMENS

FAMILIES = {"bugs_softmax": ("softmax", "softmax"), "bugs_heads": ("头", "heads"), "bugs_masks": ("掩码", "masks"),
            "bugs_backward": ("反向", "the way back"), "bugs_elsewhere": ("其他", "elsewhere")}
ORDER = [file.__name__ for file in (bugs_softmax, bugs_heads, bugs_masks, bugs_backward, bugs_elsewhere)]


def names(room=None):
    """The specimens' names, of all rooms or of one."""
    return sorted((name for name, specimen in SPECIMENS.items() if room in (None, specimen.room)),
                  key=lambda name: ORDER.index(SPECIMENS[name].plant.__module__))


def diagnosis(name):
    """What the gradient check says about a specimen, as a list of sentences; empty if it cannot see it.

    >>> from numpy_attention import museum
    >>> museum.diagnosis("key-path-forgotten")
    ['x: the path through key is missing: add its gradient']
    """
    from .detectors import diagnosis
    return diagnosis(card(name).layer(), ROOMS[card(name).room])


def card(name):
    """The Specimen of that name; print it to read its card.

    Raises: KeyError with the nearest names if there is none.

    >>> from numpy_attention import museum
    >>> museum.card("softmax-diagonal").caught_by
    'gradient check'
    """
    if name not in SPECIMENS:
        near = difflib.get_close_matches(str(name), SPECIMENS, n=3, cutoff=0.3)
        raise KeyError(f"there is no specimen {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ";")
                       + " museum.names() lists all")
    return SPECIMENS[name]
