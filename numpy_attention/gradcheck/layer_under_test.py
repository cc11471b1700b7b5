"""The ways in which people write a layer, seen as one.

* An object with `forward(*inputs)` and `backward(dout)`.
* A pair of functions, `out, cache = forward(x, w, b)` and `dx, dw, db = backward(dout, cache)`, as courses have it.

Whatever their code does (raises, ends the program, never returns) becomes a `Finding`, a sentence for the report.
"""
import contextlib
import ctypes
import inspect
import signal
import threading
import time

import numpy as np

from ..words.labels import safe
from .copies import follow


class Finding(Exception):
    """Something about the layer that ends the check; the report says it instead of a traceback."""


class TimeIsUp(BaseException):
    """Planted into code that runs too long; not an Exception, so that `except Exception` does not swallow it."""


class Clock:
    """A time limit for every single call of the layer's code, and now and then a word of progress."""

    def __init__(self, seconds, progress):
        self.seconds, self.progress, self.call, self.name = seconds, progress, None, ""
        self.begun = self.told = time.perf_counter()

    def tick(self):
        """Is the present call late? Looked at twice a second."""
        now, call = time.perf_counter(), self.call
        if self.progress and now - self.told > 5:
            self.told = now
            self.progress(f"{now - self.begun:.0f} s, in {self.name} ...")
        return call is not None and now - call > self.seconds

    @contextlib.contextmanager
    def running(self):
        """Watch: by a signal, which wakes even what sleeps, in the main thread; elsewhere by a second thread."""
        own = threading.current_thread() is threading.main_thread()
        if own and hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            def ring(*_):
                if self.tick():
                    self.call = None
                    raise TimeIsUp
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
        else:
            over, me = threading.Event(), ctypes.c_ulong(threading.get_ident())

            def watch():
                while not over.wait(0.5):
                    if self.tick():
                        self.call = None
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(TimeIsUp))
            with contextlib.suppress(RuntimeError):         # a browser's Python has no threads: no limit there
                threading.Thread(target=watch, daemon=True).start()
            try:
                yield
            finally:
                over.set()


class LayerUnderTest:
    """An object with forward and backward. `run(way, name, ...)` is the only place that calls somebody's code."""

    forward_name, takes_cache = "forward", False
    held = None                 # the generators in reach, as they were before anything ran

    def __init__(self, layer, clock=None):
        self.things, self.clock = layer, clock or Clock(60, None)
        self.name = safe(type(layer).__name__)
        self.forward_name = "forward" if callable(follow(layer, ("forward",))) else "__call__"

    def functions(self, layer):
        """forward and backward of this layer or of a copy."""
        return getattr(layer, self.forward_name), layer.backward

    def run(self, title, function, *inputs, **keywords):
        """What the function returns.

        Raises: Finding for whatever it does instead.
        """
        self.clock.name, self.clock.call = title, time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                return function(*inputs, **keywords)
        except Finding:
            raise
        except TimeIsUp as late:
            raise Finding(f"{title} was stopped after {self.clock.seconds:g} s: an endless loop? (seconds=... allows "
                          "more)") from late
        except SystemExit as error:
            raise Finding(f"{title} ended the program (SystemExit: {error}) instead of returning") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:              # some stop a program by exceptions of a kind of their own
            raise Finding(safe(f"{title} raised {type(error).__name__}: {error}", keep="\n")) from error
        finally:
            self.clock.call = None

    def forward(self, layer, inputs, keywords):
        """(what forward returned as the output, the cache of a pair)."""
        return self.run(f"{self.name}.forward", self.functions(layer)[0], *inputs, **keywords), None

    def backward(self, layer, douts, cache):
        """What backward returns for these upstream gradients."""
        more = (cache,) if self.takes_cache else ()
        return self.run(self.backward_name, self.functions(layer)[1], *douts, *more)

    @property
    def backward_name(self):
        return f"{self.name}.backward"

    def upstreams_wanted(self):
        """How many upstream gradients backward cannot do without; 0 for a loss that starts by itself."""
        try:
            places = inspect.signature(self.functions(self.things)[1]).parameters.values()
        except (TypeError, ValueError):
            return 1
        needed = [p for p in places if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        open_ended = any(p.kind is p.VAR_POSITIONAL for p in places)
        return max(len(needed) - self.takes_cache, int(open_ended))

    def forget(self, layer):
        """Gradients that are added up start from 0 again, if the layer offers that."""
        zero_grad = follow(layer, ("zero_grad",))
        if callable(zero_grad):
            self.run(f"{self.name}.zero_grad", zero_grad)


class PairUnderTest(LayerUnderTest):
    """Two functions; the cache travels from one to the other."""

    takes_cache = True

    def __init__(self, forward, backward, clock=None):
        self.things, self.clock = (forward, backward), clock or Clock(60, None)
        self.name = safe(getattr(forward, "__name__", "forward"))
        self._backward = safe(getattr(backward, "__name__", "backward"))

    def functions(self, layer):
        return layer

    @property
    def backward_name(self):
        return self._backward

    def forward(self, layer, inputs, keywords):
        returned = self.run(self.name, layer[0], *inputs, **keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise Finding(f"{self.name} must return two things, out and cache; it returned "
                          f"{len(returned) if isinstance(returned, tuple) else type(returned).__name__}")
        return returned

    def forget(self, layer):
        pass


def layer_under_test(thing, clock=None):
    """What is to be checked, as a LayerUnderTest; anything else is refused with what is missing."""
    if isinstance(thing, tuple | list):
        if len(thing) == 2 and all(map(callable, thing)):
            return PairUnderTest(*thing, clock)
        raise TypeError(f"a pair of functions is (forward, backward); got {len(thing)} things in a "
                        f"{type(thing).__name__}")
    if isinstance(thing, type):
        raise TypeError(f"{thing.__name__} is a class: make a layer of it first, {thing.__name__}(...)")
    if inspect.isroutine(thing):
        raise TypeError(f"a function alone has no backward: give the pair ({thing.__name__}, its backward)")
    kind = safe(type(thing).__name__)
    has = {}
    for name in ("forward", "backward"):
        try:
            has[name] = callable(getattr(thing, name, None))
        except Exception as error:
            raise TypeError(f"{kind}.{name} cannot be read: {type(error).__name__}: {error}") from None
    if not has["forward"] and not callable(thing):
        raise TypeError(f"{kind} is no layer: it has no forward(*inputs)")
    if not has["backward"]:
        raise TypeError(f"{kind} has no backward(dout), so there is nothing to compare: "
                        "it should return the gradient of each input")
    return LayerUnderTest(thing, clock)


def positional(under_test, inputs, keywords):
    """(names, inputs, keywords), where what was given by name but has a place among the arguments is put there."""
    try:
        known = list(inspect.signature(under_test.functions(under_test.things)[0]).parameters.values())
    except (TypeError, ValueError):
        known = []
    known = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    inputs, keywords = list(inputs), dict(keywords)
    while len(inputs) < len(known) and known[len(inputs)] in keywords:
        inputs.append(keywords.pop(known[len(inputs)]))
    return [*known[:len(inputs)], *(f"input {i}" for i in range(len(known), len(inputs)))], inputs, keywords
