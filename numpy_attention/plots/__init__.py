"""Pictures of attention. Only this part of the package needs matplotlib; it is imported when a plot is first asked for."""
try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("the plots need matplotlib: pip install matplotlib") from error

from .figure import Picture, save
from .heads import plot_heads

__all__ = ["Picture", "plot_heads", "save"]
