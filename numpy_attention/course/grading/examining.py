"""The examiner: gets the answers of one notebook from a desk, tests them with other numbers for each student, says why.

    python -m numpy_attention.course.grading.examining < JOB > RESULT        one process for one notebook

It runs none of the student's code. An answer that is a function is called over the channel; what comes back is compared
here, where nothing of the student's is. A check that was passed with the numbers of the notebook is repeated with
numbers that nobody has seen.
"""
import builtins
import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

from ...engine.layer import Layer
from ...words.languages import Words
from .. import speech
from ..asking import exercises
from ..comparing import BLANK
from ..desk import limits
from ..desk.channel import Broken, Channel, TooLate, unpacked
from ..desk.planted import by_code
from ..drawing import numbers_of
from ..remark import Remark, Trouble
from . import containing, editions
from .needed import code_cells, plan, source_of
from .python_of import python_of
from .similar import shape_of
from .teachers import read_exercises

FILE_BYTES, PRINTED_BYTES = 20 * 2**20, 20_000
MOST_SAID, MOST_NAMED = 500, 20                 # letters of what the desk says in one go, names in a list of its
MOST_ASKED = 64         # a callback may be asked for so many times as much as the largest input
SEEN_BEFORE = Words("只对笔记本里的数才对：换一组数就错了。",
                    "Right for the numbers of the notebook only; with other numbers it is wrong.")
NO_ANSWER = Words("没有交给 check 的答案：这道题没有做，或者那一格被删掉了。",
                  "No answer was handed to its check: not done, or the cell was deleted.")
REFUSED = "直接用了现成的：{0}。这里要自己写。", "It calls what is there ready-made: {0}. Write it yourself."
ALLOWED = "用了现成的：{0}。", "It uses what is there ready-made: {0}."


class Ended(Trouble):
    """The student's process is gone."""


class Desk:
    """One process in which the student's code runs, until it is closed."""

    def __init__(self, job, edition):
        self.printed = tempfile.TemporaryFile()     # noqa: SIM115  (close closes it)
        self.room = tempfile.mkdtemp(prefix="room_", dir=os.path.dirname(edition))      # goes with the editions
        self.until, self.cell, self.library = time.monotonic() + job["seconds"], 0, set()
        walls = job["walls"]
        folder = "/tmp/work" if walls != "none" else os.path.join(self.room, "work")
        where = "/edition" if walls != "none" else edition
        self.process = subprocess.Popen(
            containing.command_for(walls, edition, self.room, hide=job.pop("hide")),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.printed,
            cwd="/" if os.name == "posix" else self.room, bufsize=0,
            env=containing.environment(walls, edition, self.room))
        token = os.urandom(16)
        self.channel = Channel(self.process.stdout.fileno(), self.process.stdin.fileno(), token)
        try:
            os.write(self.channel.write, token)
            self.channel.send(pickle.dumps({**job, "folder": folder, "fonts": f"{where}/fonts",
                                            "file_bytes": FILE_BYTES}))
        except (OSError, Broken):
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def close(self):
        """End the process with all that belongs to it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        self.printed.close()
        editions.delete(self.room)

    def hear(self, until=None):
        """The next message. Raises Ended with a sentence if none comes."""
        until = min(self.until, until or self.until)
        try:
            return unpacked(self.channel.receive(until))
        except TooLate:
            raise self._late() from None
        except Broken as error:
            raise self._ended(str(error)) from None

    def first_word(self):
        """("answer", ...) or ("failed", ...), when the cells have run."""
        while True:
            message = self.hear()
            if message[0] == "cell":
                self.cell = int(message[1])
            elif message[0] in ("answer", "failed"):
                return message
            else:
                raise self._ended("something else wrote into the channel of the answers")

    def _where(self):
        return (f"第 {self.cell} 格", f"cell {self.cell}") if self.cell else ("答案", "the answer")

    def _late(self):
        zh, en = self._where()
        return Ended(f"{zh}运行太久，已停止。", f"stopped: {en} was still running when the time was up.",
                     Words("有没有一个循环永远不结束？", "Is there a loop that never ends?"))

    def _ended(self, why):
        zh, en = self._where()
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            code = None
        self.printed.seek(0)
        last = self.printed.read(PRINTED_BYTES).decode("utf-8", "replace").strip().splitlines()[-1:]
        more = f" ({last[0][:200]})" if last and code not in (0, None) else ""
        if "channel" in why or "answer" in why or "message" in why:
            return Ended(f"{zh}的结果无法读取：{why}。", f"{en} gave nothing that can be read: {why}.")
        return Ended(f"运行{zh}时进程结束了（退出、内存不足或被停止）{more}。",
                     f"the process ended in {en}: it left, was stopped, or ran out of memory{more}.")


class Distant:
    """A student's function: called here, it runs at the desk."""

    def __init__(self, desk, name):
        self.desk, self.__name__ = desk, str(name)[:80]

    def __call__(self, *inputs):
        largest = max((x.size for x in inputs if isinstance(x, np.ndarray)), default=1)
        content, functions = outward(inputs)
        try:
            self.desk.channel.send(content)
        except Broken as error:
            raise self.desk._ended(str(error)) from None
        while True:
            message = self.desk.hear()
            if message[0] != "ask":
                break
            self.desk.channel.send(pickle.dumps(asked(functions, message, 1000 + MOST_ASKED * largest)))
        reply, library, printed = message
        self.desk.library |= names(library)
        print(printed[:PRINTED_BYTES], end="")
        if reply[0] == "raised":
            raise raised(*reply[1:])
        for given, after in zip(inputs, reply[2], strict=True):
            if isinstance(after, np.ndarray) and isinstance(given, np.ndarray) and after.shape == given.shape:
                given[...] = after
            elif after is not None:
                raise Trouble("你的函数改动了输入的形状。", "Your function changed the shape of an input.")
        return reply[1]


class _Kept:
    """In place of a function that stays with the examiner."""

    def __init__(self, number):
        self.number = number


class ToDesk(pickle.Pickler):
    """Inputs for the desk. Classes that were made on the way, as bugs are planted, go as the code of their methods."""

    def persistent_id(self, thing):
        return thing.number if isinstance(thing, _Kept) else None

    def reducer_override(self, thing):
        if isinstance(thing, type) and getattr(sys.modules.get(thing.__module__), thing.__name__, None) is not thing:
            return by_code(thing)
        return NotImplemented


def outward(inputs):
    """Inputs as bytes, and the functions among them, which stay."""
    file, functions, sent = io.BytesIO(), [], []
    for each in inputs:
        if callable(each) and not isinstance(each, Layer):
            functions.append(each)
            each = _Kept(len(functions) - 1)
        sent.append(each)
    ToDesk(file, protocol=4).dump(sent)
    return file.getvalue(), functions


def asked(functions, message, most):
    """What a function that stayed here says to the inputs of the desk: ("told", value) or ("error", exception)."""
    try:
        _, number, inputs, options = message
        if any(isinstance(x, np.ndarray) and x.size > most for x in inputs):
            raise ValueError("that is far more than the function was made for")
        with np.errstate(all="ignore"):
            value = functions[number](*inputs, **options)
        return "told", value
    except MemoryError:
        return "error", MemoryError("too large")
    except Exception as error:
        kind = type(error) if type(error).__module__ == "builtins" else RuntimeError
        return "error", kind(str(error)[:500])


def raised(kind, arguments, said, where):
    """The exception of the desk once more, as one that can be raised here."""
    found = getattr(builtins, str(kind), None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        found = type(str(kind)[:60], (Exception,), {})
        arguments = [str(said).partition(": ")[2]]
    try:
        error = found(*(each[:MOST_SAID] if isinstance(each, str) else each for each in arguments))
    except Exception:
        error = RuntimeError(str(said)[:MOST_SAID])
    error.where_it_broke = str(where)[:MOST_SAID]
    return error


def names(said):
    """The names that the desk gives, as a set: not many and not long, whatever it says."""
    return {str(name)[:80] for name in list(said)[:MOST_NAMED]}


def failures(errors):
    """[(number of the cell, what went wrong, kind of error), ...] as the desk tells it, of no great length."""
    return [(int(number), str(said)[:MOST_SAID], str(kind)[:80]) for number, said, kind in errors["cells"][:MOST_NAMED]]


def examine(job):
    """All wanted exercises of one notebook: a list of dicts, one for each (see `verdict`)."""
    known = {**exercises(), **read_exercises(job["own"], job["own_text"])}
    cells = code_cells(job["cells"], python_of)
    found = []
    for name in job["names"]:
        start = time.monotonic()
        try:
            usual = job["usual"].get(name)
            each = _nothing(job["trouble"]) if job["trouble"] else verdict(known[name], cells, job, usual)
        except Exception as error:          # a fault of ours must not cost a student the other exercises
            last = traceback.extract_tb(error.__traceback__)[-1]
            each = _nothing(Words(f"没法批改：{type(error).__name__}: {error}",
                                  f"This could not be marked: {type(error).__name__}: {error} ({last.name})"))
        found.append({"exercise": name, **each, "seconds": round(time.monotonic() - start, 2)})
    return found


def verdict(exercise, cells, job, usual):
    """One exercise: {"state", "reason", "text", "passed", "stages", "library", "printed", "shape"}.

    First with what the answer needs, without the package's layers; then, where that was not enough, with the whole
    notebook, and with the layers.
    """
    first = plan(cells, exercise.name, usual)
    if first is None:
        broken = [cell for cell in cells if cell.error]
        if broken:
            return _nothing(Words(f"第 {broken[0].number} 格不是 Python：{broken[0].error}",
                                  f"cell {broken[0].number} is not Python: {broken[0].error}"))
        return _nothing(NO_ANSWER)
    shape = shape_of(source_of(first))
    bare = exercise.library != "everything"
    plans = [first] if first.whole else [first, plan(cells, exercise.name, usual, whole=True)]
    result = None
    for each in plans:
        result, again = _attempt(exercise, each, job, exercise.library)
        if result["state"] != "right" and result["library"] and bare:
            used = sorted(result["library"])
            result, again = _attempt(exercise, each, job, "everything")
            result["library"] = used if result["state"] == "right" else []
            if result["library"] and job["library"] != "allow":
                texts = REFUSED if job["library"] == "refuse" else ALLOWED
                result["reason"] = [text.format(", ".join(used)) for text in texts]
                result["state"] = "wrong" if job["library"] == "refuse" else "right"
                result["text"] = result["text"] if result["state"] == "right" else None
        elif bare:
            result["library"] = []
        if not again:
            break
    return {**result, "shape": shape}


def _attempt(exercise, plan, job, edition):
    """(result, whether the whole notebook should be tried): a name was missing, so a statement was left out wrongly."""
    wanted = {"name": exercise.name, "cells": plan.cells, "answer": plan.answer, "whole": plan.whole,
              "hide": [*job["hide"], *(containing.elsewhere() if edition != "everything" else ())],
              **{key: job[key] for key in ("walls", "seconds", "megabytes", "files")}}
    with Desk(wanted, os.path.join(job["editions"], edition)) as desk:
        try:
            message = desk.first_word()
        except Ended as ended:
            return _nothing(_together(ended.remark), library=desk.library), False
        if message[0] == "failed":
            _, errors, library, printed, _ = message
            said, kind = (str(each)[:MOST_SAID] for each in errors["error"])
            broken = failures(errors)
            first = next(iter(broken), None)
            where = Words(f"第 {first[0]} 格", f"cell {first[0]}") if first else Words("答案", "the answer")
            what = Words(f"{where.zh}出错：{first[1] if first else said}",
                         f"{where.en} failed: {first[1] if first else said}")
            again = not plan.whole and "NameError" in (kind, *(each[2] for each in broken))
            return _nothing(what, library=names(library), printed=printed), again
        _, kind, value, errors, library, printed, _ = message
        desk.library |= names(library)
        answer = Distant(desk, value) if kind == "function" else value
        told = _checked(exercise, answer, job["student"])
        again = not plan.whole and any("NameError" in remark.what.en for _, remark in told.results if remark)
        result = _result(told, desk.library, printed)
        broken = [each for each in failures(errors) if each[2] != "LibraryUsed"]
        if broken and result["state"] != "right":
            number, said, _ = broken[0]
            result["reason"] = [f"第 {number} 格出错：{said}。{result['reason'][0]}",
                                f"cell {number} failed: {said}. {result['reason'][1]}"]
        return result, again


def _checked(exercise, answer, student):
    """The CheckResult with the notebook's numbers; where it is right, that with this student's."""
    told = exercise.check(answer)
    if told.ok:
        with numbers_of(student):
            other = exercise.check(answer)
        if not other.ok:
            title, remark = other.results[-1]
            both = Words(f"{SEEN_BEFORE.zh}{remark.what.zh}", f"{SEEN_BEFORE.en} {remark.what.en}")
            other.results[-1] = title, Remark(both, remark.hint)
            return other
    return told


def _result(told, library, printed):
    first = next((remark for _, remark in told.results if remark), None)
    state = "right" if told.ok else "not tried" if first and first.what is BLANK else "wrong"
    text = {}
    for lang in ("zh", "en", "both"):
        before = speech.language()
        speech.language(lang)
        text[lang] = str(told)
        speech.language(before)
    return {"state": state, "reason": list(_together(first)) if first else ["", ""], "text": text,
            "passed": told.passed, "stages": told.stages, "library": library, "printed": printed[:2000]}


def _together(remark):
    hint = remark.hint or Words("", "")
    return Words((remark.what.zh + hint.zh).strip(), f"{remark.what.en} {hint.en}".strip())


def _nothing(words, library=(), printed=""):
    return {"state": "not tried", "reason": list(words), "text": None, "passed": 0, "stages": 0,
            "library": set(library), "printed": printed[:2000], "shape": None}


def main():
    """Read the job, examine, write the result; the limits hold for the examiner, too, since it computes for others."""
    job = pickle.loads(sys.stdin.buffer.read())
    out = os.dup(1)
    os.dup2(2, 1)
    limits.die_with_parent()
    limits.set_limits(10 * job["seconds"] * max(1, len(job["names"])), 2 * job["megabytes"] + 2000, 200 * 2**20)
    if job["walls"] is None:
        job["walls"] = containing.best_walls()
    found = examine(job)
    for each in found:
        each["library"] = sorted(each["library"])
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"walls": job["walls"], "exercises": found}, file)


if __name__ == "__main__":
    main()
