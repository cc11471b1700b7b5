"""Pictures of attention. Only this part needs matplotlib; it is imported when a plot is first asked for."""
try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("the plots need matplotlib: pip install matplotlib") from error

from .figure import Picture, save
from .heads import plot_heads
from .mnemonic import plot_mnemonic
from .walkthrough import plot_walkthrough

__all__ = ["Picture", "plot_heads", "plot_mnemonic", "plot_walkthrough", "save"]
