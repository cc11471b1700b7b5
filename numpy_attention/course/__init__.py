"""The course: checks for the exercises of the notebooks.

    from numpy_attention import course

    course.check("softmax-backward", my_function)       what failed, at which cell, and a hint
    course.hint("softmax-backward")                     a hint; called again, the next one
    course.predict("how many?", guess, measured)        your guess beside what was measured
    course.puzzle(6)                                     the page below the cell: change numbers to reach its goal
    course.sheet(7, "李雷")                              attention by hand, with numbers of this student's own
    course.language("zh")                               in Chinese only, or "en", or "both"

On the command line, `python -m numpy_attention course` lists the notebooks, starts a copy of your own, and grades it.
"""
from .asking import check, exercises, hint
from .check_result import CheckResult
from .predicting import predict
from .speech import language

__all__ = ["CheckResult", "check", "coloured", "curves", "exercises", "four_ways", "hint", "language", "predict",
           "puzzle", "sheet", "table"]


def __getattr__(name):
    if name == "sheet":                                         # it needs the layers, which answers must do without
        from .sheets import sheet_for
        return sheet_for
    if name == "puzzle":                                        # as does the page
        from .puzzles import puzzle
        return puzzle
    if name in ("coloured", "curves", "four_ways", "table"):     # they need matplotlib: only when asked for
        from . import pictures
        return getattr(pictures, name)
    raise AttributeError(f"module 'numpy_attention.course' has no attribute {name!r}")
