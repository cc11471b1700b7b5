"""Pictures, asked for from below the package that draws them.

A gradient report, the museum's matrix and a training run can all be plotted, but only plots/ knows matplotlib, and
it lies above them. So they ask here for a plot by its name, and the package says once, when it is imported, where plots
come from. plots/ itself and matplotlib are loaded only when the first picture is drawn.
"""


def draw(name, /, *args, **options):
    """What the plot of that name makes of its arguments: a matplotlib Figure.

    >>> draw("plot_heads", np.array([[1.0, 0.0], [0.5, 0.5]])).alt_text[:31]
    '0 draws 50–100 % of everybody’s'
    """
    return getattr(plots(), name)(*args, **options)


def plots():
    """The package that draws; numpy_attention puts its own in this place."""
    raise ImportError("numpy_attention says where its plots are: import it first")
