"""Tensors by name, some of them only on demand.

For a long sequence a table of (N, H, L, S) numbers costs more to keep than to compute again. Such a tensor is put into
the dictionary as a `Later`: it is computed when somebody asks for it by name, and then kept like any other.
"""


class Later:
    """A tensor that is not there yet: `compute` makes it, once."""

    def __init__(self, compute):
        self._compute, self._array = compute, None

    def array(self):
        """The tensor, read-only."""
        if self._array is None:
            self._array, self._compute = self._compute(), None
            self._array.setflags(write=False)
        return self._array


class Tensors(dict):
    """A dictionary of tensors whose Laters show themselves as arrays."""

    def __getitem__(self, name):
        value = super().__getitem__(name)
        return value.array() if isinstance(value, Later) else value

    def get(self, name, default=None):
        """The tensor of that name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default

    def values(self):
        """All tensors, those on demand computed."""
        return [self[name] for name in self]

    def items(self):
        """All names and tensors, those on demand computed."""
        return [(name, self[name]) for name in self]

    def copy(self):
        """An ordinary dictionary of all tensors."""
        return dict(self.items())

    def __reduce__(self):
        return dict, (self.copy(),)


def settled(tensors):
    """`tensors` as it is, or as Tensors if something in it comes later."""
    if type(tensors) is dict and any(type(value) is Later for value in tensors.values()):
        return Tensors(tensors)
    return tensors
