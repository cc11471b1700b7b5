"""The desk at work: run the cells, take the answer, then call it for whatever inputs the examiner sends.

    python -m numpy_attention.course.desk.serving       started by the examiner, with the channel as stdin and stdout

The examiner may hand functions over as inputs (a function to derive, a model to probe). They stay with the examiner;
the desk gets a stand-in that asks for each value.
"""
import ast
import contextlib
import io
import os
import pickle
import shutil
import sys
import warnings

import numpy as np

from ..calling import same_array, where_it_broke
from . import asked, jupyter, limits
from .channel import Broken, Channel, packed

MOST_PRINTED = 20_000


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self):
        self.text = ""

    def writable(self):
        return True

    def write(self, text):
        if len(self.text) < MOST_PRINTED:
            self.text += text[:MOST_PRINTED - len(self.text)]
        return len(text)

    def taken(self):
        """What was printed since the last time."""
        text, self.text = self.text, ""
        return text


class FromExaminer(pickle.Unpickler):
    """Reads inputs; a function is a stand-in that asks the examiner."""

    def __init__(self, content, channel):
        super().__init__(io.BytesIO(content))
        self.channel = channel

    def persistent_load(self, number):
        def distant(*inputs, **options):
            self.channel.send(packed(("ask", number, inputs, options)))
            kind, value = pickle.loads(self.channel.receive())
            if kind == "error":
                raise value
            return value
        return distant


def main():
    """Set the limits, open the channel, run, answer until nobody asks any more."""
    channel = _channel()
    job = pickle.loads(channel.receive())
    limits.die_with_parent()
    limits.set_limits(job["seconds"], job["megabytes"], job["file_bytes"])
    contained = limits.stay_alone()
    _settle(job)
    screen = Printed()
    sys.stdout = sys.stderr = screen
    try:
        answer, errors = _answer(job, channel)
        if "error" in errors:
            channel.send(packed(("failed", errors, sorted(asked.library), screen.taken(), contained)))
            return
        kind = ("function", getattr(answer, "__name__", "your function")) if callable(answer) else ("value", answer)
        channel.send(packed(("answer", *kind, errors, sorted(asked.library), screen.taken(), contained)))
        while True:
            _serve(answer, channel, screen)
    except Broken:
        pass
    finally:
        os._exit(0)             # whatever threads and exit handlers a notebook left behind


def _channel():
    """stdin and stdout under other numbers; what is printed goes where errors go."""
    read, write = os.dup(0), os.dup(1)
    if os.name == "nt":         # bytes as they are
        import msvcrt
        for each in (read, write):
            msvcrt.setmode(each, os.O_BINARY)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return Channel(read, write, os.read(read, 16))


def _settle(job):
    """Go to the folder of the notebook, a copy; its files can be read and imported, but come last."""
    sys.path[:] = [place for place in sys.path if place]
    os.makedirs(job["folder"], exist_ok=True)
    os.chdir(job["folder"])
    for name, content in job["files"].items():
        with open(name, "wb") as file:
            file.write(content)
    sys.path.append(job["folder"])
    if job["fonts"] and os.path.isdir(job["fonts"]):    # matplotlib would search all fonts again
        shutil.copytree(job["fonts"], os.environ["MPLCONFIGDIR"], dirs_exist_ok=True)
    sys.meta_path.insert(0, _NoSolutions())


class _NoSolutions:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("numpy_attention.course.exercises"):
            raise ImportError(asked.HIDDEN)


def _answer(job, channel):
    """The answer, and {"cells": [...]} of those that failed, with "error" if there is no answer."""
    space, errors = jupyter.namespace(), {"cells": []}
    warnings.simplefilter("ignore")
    for number, text, chosen in job["cells"]:
        channel.send(packed(("cell", number)))
        try:
            jupyter.run_cell(text, number, space, chosen, asked.LibraryUsed)
        except BaseException as error:          # a learner's exit(), too
            errors["cells"].append([number, _said(error), type(error).__name__])
    channel.send(packed(("cell", 0)))
    if job["whole"] and job["name"] in asked.answers:
        return asked.answers[job["name"]], errors
    try:
        return eval(compile(ast.parse(job["answer"], mode="eval"), "<answer>", "eval"), space), errors
    except BaseException as error:
        return None, {**errors, "error": [_said(error), type(error).__name__]}


def _said(error):
    try:
        said = str(error)
    except BaseException:
        said = ""
    return f"{type(error).__name__}: {said}"[:500].rstrip(": ")


def _serve(answer, channel, screen):
    inputs = FromExaminer(channel.receive(), channel).load()
    before = [x.copy() if isinstance(x, np.ndarray) else None for x in inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.errstate(all="ignore"):
                value = answer(*inputs)
    except Broken:
        raise
    except BaseException as error:
        arguments = [each if isinstance(each, str | int | float) else str(each)[:200] for each in error.args[:3]]
        reply = "raised", type(error).__name__, arguments, _said(error), where_it_broke(error, answer)
    else:
        changed = [after if was is not None and not same_array(was, after) else None
                   for was, after in zip(before, inputs, strict=True)]
        reply = "gave", value, changed
    try:
        content = packed((reply, sorted(asked.library), screen.taken()))
    except BaseException as error:
        content = packed((("raised", type(error).__name__, [], _said(error), ""), sorted(asked.library), ""))
    channel.send(content)


if __name__ == "__main__":
    with contextlib.suppress(Broken):
        main()
