"""Colour bars: one per scale, with the mark of a query that has no preference."""

from .colours import GREY
from .words import say


def weight_bar(figure, axes, scale, S, lang):
    """The bar of attention weights, 0 to 1; ◂ marks 1/S, what each key gets from a query without preference."""
    from matplotlib.cm import ScalarMappable

    bar = figure.colorbar(ScalarMappable(scale[1], scale[0]), cax=axes, ticks=(0, 0.25, 0.5, 0.75, 1))
    bar.set_label(say(lang, "attention weight", "注意力权重"), fontsize=8)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set(color=GREY, linewidth=0.6)
    if S > 1:
        axes.plot([0, 1], [1 / S, 1 / S], color="white", linewidth=1)
        axes.text(-0.25, 1 / S, f"1/{S} ▸", ha="right", va="center", fontsize=7, color=GREY)
    return bar


def small_bar(figure, axes, scale, label):
    """A small horizontal bar that says where a scale begins and ends, and where zero is."""
    from matplotlib.cm import ScalarMappable

    low, high = scale[1].vmin, scale[1].vmax
    bar = figure.colorbar(ScalarMappable(scale[1], scale[0]), cax=axes, orientation="horizontal")
    ticks = [low, high] if low >= 0 else [low, 0, high]
    bar.set_ticks(ticks, labels=[f"{tick:.3g}".replace("-", "−") for tick in ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=8, length=2)
    bar.ax.set_title(label, fontsize=8, pad=3)
    bar.outline.set(color=GREY, linewidth=0.6)
    return bar
