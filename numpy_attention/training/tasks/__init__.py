"""The toy tasks, one family a file; `task(name, **settings)` makes one, TASKS lists them all."""
from .counting import Counting
from .facts import Facts, Recall
from .places import Offsets, Reverse, Shift
from .recipe import Batch, Task
from .repeats import Induction, Jumps
from .sorting import Sorting
from .text import Text

TASKS = {kind.name: kind
         for kind in (Reverse, Shift, Offsets, Induction, Jumps, Recall, Facts, Sorting, Counting, Text)}

__all__ = ["TASKS", "Batch", "Counting", "Facts", "Induction", "Jumps", "Offsets", "Recall", "Reverse", "Shift",
           "Sorting", "Task", "Text", "task"]


def task(name, **settings):
    """The toy task of that name; a Task is handed back as it is.

    Args: name: one of TASKS. settings: the sizes that this task lets you choose; see its class.
    Raises: ValueError for an unknown name or setting, naming those there are, and for sizes that cannot be.

    >>> na.training.task("shift", L=6, by=2)
    Shift(V=10, L=6, by=2, ring=True)
    """
    if isinstance(name, Task):
        if settings:
            raise ValueError(f"{name!r} has its settings already; got {', '.join(settings)} too")
        return name
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(f"there is no task {name!r}; there are: {', '.join(TASKS)}")
    kind = TASKS[name]
    unknown = settings.keys() - kind.default_settings().keys()
    if unknown:
        raise ValueError(f"{name} has no setting {', '.join(sorted(unknown))}; "
                         f"it has: {', '.join(kind.default_settings())}")
    return kind(**settings)
