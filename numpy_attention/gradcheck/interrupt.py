"""An exception in the middle of forward: what a full memory or a wrong shape may do to a layer at any time.

Python tells a trace function about every line that it is about to execute. Ours raises at the first line of forward,
in the next run at the second one, and so on, so that each line gets its turn to be the one that fails.
"""
import inspect
import sys

from .callee import Finding


class Stop(Exception):
    """Raised in place of forward's next line."""


def interrupted(callee, arguments, keywords):
    """Run forward once for each of its lines, stopping before it; yield after every stop."""
    code = getattr(inspect.unwrap(callee.functions[0]), "__code__", None)
    line = 0
    while code is not None:
        line += 1
        if not _stopped(callee, arguments, keywords, code, line):
            return
        yield line


def _stopped(callee, arguments, keywords, code, line):
    """Run forward, stopping when it comes to its `line`th different line; False if it ends earlier."""
    seen = set()

    def trace(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
            if len(seen) == line:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        callee.forward(*arguments, **keywords)
    except Finding as error:
        return isinstance(error.__cause__, Stop)
    finally:
        sys.settrace(before)
    return False
