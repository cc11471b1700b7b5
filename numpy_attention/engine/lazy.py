"""Tensors by name, some of them only on demand.

For a long sequence a table of (N, H, L, S) numbers costs more to keep than to compute again. Such a tensor is put into
a Tensors as a `Later`: it is computed when somebody asks for it by name, and then kept like any other.
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
        return self[name] if name in self else default      # noqa: SIM401  (dict.get would show the Later)

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


def like(source, tensors):
    """`tensors`, made in part from `source`: on demand wherever the source is."""
    return Tensors(tensors) if type(source) is Tensors else tensors
