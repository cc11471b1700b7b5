"""Calling a learner's function: whatever it does, the notebook goes on and there is a sentence about it.

The function runs in a thread of its own. When its time is up, an exception is planted in that thread, which ends a
loop of Python code; the thread would not keep a notebook from closing either. This works in notebooks, in scripts and
on every system, where a signal would not. What the function prints is kept apart, and its inputs are copies, so that
one that writes to them can be told so.
"""
import contextlib
import contextvars
import copy
import io
import threading
import traceback
import warnings

import numpy as np

from ..words.languages import Words
from .endless import endless_loop
from .remark import Trouble

SECONDS = 5.0


class _TimeIsUp(BaseException):
    """Planted in a thread that takes too long; not an Exception, so that `except Exception` does not swallow it."""


class Learner:
    """A learner's function: call it as often as needed.

    `.printed` holds what it wrote to the screen, `.calls` the inputs of every call with its answer or kind of error.
    """

    def __init__(self, function, arguments="", seconds=SECONDS):
        self.function, self.arguments, self.seconds = function, arguments, seconds
        self.name = getattr(function, "__name__", "your function")
        self.printed, self.late, self.calls = "", None, []

    def __call__(self, *inputs):
        """The function's answer for copies of `inputs`.

        Raises: Trouble, with a sentence for the learner, if it does not return or does what it should not.
        """
        given = [copy.deepcopy(x) for x in inputs]
        for x in given:
            if isinstance(x, np.ndarray):
                x.flags.writeable = True
        outcome = run(lambda: self.function(*given), self.seconds, looked_at=self.function)
        self.printed += outcome.pop("printed")
        if "endless" in outcome:
            line = outcome["endless"]
            self.late = Trouble(f"第 {line} 行的 while 循环永远不会结束，所以没有运行。",
                                f"The while loop in line {line} of {self.name} would never end, so it was not run.",
                                Words("条件里的数要在循环里改变，或者用 break 离开。",
                                      "Change in the loop what its condition asks about, or leave it by break."))
            raise self.late
        if "late" in outcome:
            self.late = Trouble(f"{self.seconds:g} 秒后还没有返回结果，已停止。",
                                f"{self.name} was still running after {self.seconds:g} s and was stopped.",
                                Words("有没有一个循环永远不结束？", "Is there a loop that never ends?"))
            raise self.late
        self.calls.append((inputs, type(outcome["error"]) if "error" in outcome else outcome["value"]))
        if "error" in outcome:
            raise outcome["error"] if isinstance(outcome["error"], Trouble) else self._raised(outcome["error"], inputs)
        for position, (before, after) in enumerate(zip(inputs, given, strict=True)):
            if isinstance(before, np.ndarray) and not same_array(before, after):
                raise self._changed(position, before, after)
        return outcome["value"]

    def _raised(self, error, inputs):
        where = where_it_broke(error, self.function)
        shapes = ", ".join(str(x.shape) if isinstance(x, np.ndarray) else repr(x)[:40] for x in inputs)
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        return Trouble(f"运行时出错：{said}{where}。输入的形状：{shapes}。",
                       f"{self.name} raised {said}{where}. Shapes of the inputs: {shapes}.", _hint_for(error))

    def _changed(self, position, before, after):
        names = [name.strip() for name in self.arguments.split(",")]
        name = names[position] if position < len(names) and names[position] else f"#{position}"
        place = ""
        if before.shape == after.shape:
            different = np.argwhere(~((before == after) | ((before != before) & (after != after))))
            place = f"[{', '.join(str(int(i)) for i in different[0])}]" if len(different) else ""
        return Trouble(f"你的函数改动了输入 {name}{place}。", f"{self.name} changed its input {name}{place}.",
                       Words("别人还要用这个数组：先 copy()，或写成 x = x + y 而不是 x += y。",
                             "Others still need that array: work on a .copy(), or write x = x + y instead of x += y."))


def run(function, seconds, looked_at=None):
    """Run `function()` in a thread: {"value": ...}, {"error": ...} or {"late": True}, with what it "printed".

    Where there are no threads nothing could stop it: then `looked_at`, the learner's own function, is looked at first,
    and {"endless": line} is the answer where a loop in it cannot end.
    """
    outcome, screen = {}, io.StringIO()

    def work():
        try:
            with np.errstate(all="ignore"):
                outcome["value"] = function()
        except _TimeIsUp:
            pass
        except BaseException as error:      # SystemExit too: a learner's exit() must not end the lesson
            outcome["error"] = error

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), daemon=True)
    with contextlib.redirect_stdout(screen), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            thread.start()
        except RuntimeError:        # a browser's Python has no threads, so no time limit: look before it starts
            line = endless_loop(looked_at)
            if line:
                outcome = {"endless": line}
            else:
                work()
        else:
            thread.join(seconds)
        if thread.is_alive():
            import ctypes

            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_TimeIsUp))
            thread.join(0.5)
            outcome = {"late": True}
    return {**outcome, "printed": screen.getvalue()}


def where_it_broke(error, function):
    """ (line 3 of f: return x @ y)" for an error that came out of a function; "" if that cannot be seen."""
    if hasattr(error, "where_it_broke"):        # it happened in another process
        return error.where_it_broke
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code and f.filename == code.co_filename and f.lineno >= code.co_firstlineno]
    if not own:
        return ""
    line = f": {own[-1].line}" if own[-1].line else ""
    return f" (line {own[-1].lineno - code.co_firstlineno + 1} of {getattr(function, '__name__', 'it')}{line})"


def same_array(before, after):
    """Whether two things are arrays of the same shape, type and numbers."""
    return (isinstance(before, np.ndarray) and isinstance(after, np.ndarray) and before.shape == after.shape
            and before.dtype == after.dtype and np.array_equal(before, after, equal_nan=before.dtype.kind in "fc"))


def _hint_for(error):
    text = str(error)
    if isinstance(error, NameError):
        return Words("这个名字没有定义：拼写对吗？", "That name is not defined: is it spelled right?")
    if isinstance(error, TypeError) and "positional argument" in text:
        return Words("参数的个数要和题目里的一样。", "Keep the arguments that the exercise gave it.")
    if "matmul" in text or "broadcast" in text or "reshape" in text:
        return Words("把每个数组的 shape 写在旁边：哪一个需要转置？",
                     "Write every array's shape next to it: which one needs a transpose?")
    if isinstance(error, NotImplementedError):
        return Words("这里还留着空：把它补上。", "The hole is still there: fill it in.")
    return None
