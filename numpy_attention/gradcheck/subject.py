"""What is checked: numbers that can be nudged, a forward, a backward.

A gradient check asks one question of every number that goes into a layer: if I nudge this number, does the output move
as backward says? A `Subject` is a layer seen that way. It hands out `Copy`s, each as untouched as the caller's layer:
nothing that a layer keeps for itself (gradients that add up, a counter, running averages) travels from one to another.
"""
import copy
from dataclasses import replace

import numpy as np

from .copies import MOST, Held, duplicate, follow, is_numbers, special, walk
from .gradients import candidates, match, plain_numbers, slots, variables
from .layer_under_test import Finding, positional


class Subject:
    """A layer with its inputs, in the precision `dtype` (None: as they are)."""

    def __init__(self, under_test, inputs, keywords, *, dtype=np.float64, params=None):
        self.under_test, self.name, self.dtype, self.params = under_test, under_test.name, dtype, params
        self.names, inputs, keywords = positional(under_test, inputs, keywords)
        made = {id(a): _taken(a) for a in [*inputs, *keywords.values()]}
        self.arguments, self.keywords = [made[id(a)] for a in inputs], {k: made[id(a)] for k, a in keywords.items()}
        self.layer, self.outputs, self.bundled = under_test.things, 1, False
        self.writes, self.drawn_from, self.variables, self.moved = False, ["?"], {}, []
        self._look_inside()
        self._first_run()

    def _look_inside(self):
        seen = {}
        given = list(walk([self.arguments, self.keywords], seen))
        self.inner = list(walk(self.layer, seen))
        self.found = [*self.inner, *given]
        self.cut = len(seen) > MOST                 # more than walk goes through
        self.special, self.held = special(self.found), Held.now(self.found)
        if self.under_test.held is None:
            self.under_test.held = self.held
        self.converted = {str(f.thing.dtype) for f in self._floats() if self.dtype and f.thing.dtype != self.dtype}

    def _floats(self):
        """All that holds floats and is copied."""
        return (f for f in self.found if f.copied and is_numbers(f.thing) and f.thing.dtype.kind == "f")

    def copy(self, complex_variables=False):
        """A fresh Copy; in one for the complex step all variables are complex."""
        kind, nudged = self.dtype, set()
        if complex_variables:
            nudged = {id(m.array) for v in self.variables.values() for m, _ in v.members}

        def dtype_of(array):
            dtype = array.dtype if array.dtype.kind != "f" or kind is None else np.dtype(kind)
            return np.result_type(dtype, np.complex64) if id(array) in nudged else dtype
        try:
            made = Copy(self, *duplicate((self.layer, self.arguments, self.keywords), self.special, dtype_of))
        except Exception as error:
            raise TypeError(f"{self.name} cannot be copied ({error}), and a check never works on your own: "
                            "keep what cannot be copied out of the layer") from None
        for v in self.moved:
            made.put(v, v.values)
        return made

    def _first_run(self):
        """See what comes out, which gradients come back, and so what the variables are."""
        trial = self.copy()
        trial.held.rewind()
        trial.forward()
        self.writes = trial.written()
        self.written_names = []
        self.drawn_from = trial.held.moved()
        shared = {id(f.thing): f.thing for f in self.inner if not f.copied}         # seen already, and no copy's own
        made = {id(f.thing) for f in walk(trial.layer, {**shared}) if isinstance(f.thing, np.ndarray)}
        trial.forward()
        self._see_outputs(trial)
        trial.forward()
        self.outs, self.shapes = trial.outs, [o.shape for o in trial.outs]
        if any(o.dtype.kind == "c" for o in self.outs):
            raise Finding(f"{self.name} returns complex numbers, but a gradient is one of real outputs: let forward "
                          "return the real and the imaginary part as two outputs")
        self.is_loss = len(self.shapes) == 1 and self.shapes[0] == () and not self.under_test.upstreams_wanted()
        stays = [f for f in walk(trial.layer, {**shared}) if isinstance(f.thing, np.ndarray) and id(f.thing) in made]
        raw = self._first_backward(trial)
        twins = {id(trial.memo[id(f.thing)]): f.thing for f in self.inner if id(f.thing) in trial.memo and f.copied
                 and isinstance(f.thing, np.ndarray)}
        late = [f for f in stays if f.copied and id(f.thing) not in twins]
        if any(p.gradient(None, trial.layer) is not None for p in candidates(late)) and self.params is None:
            built = self.copy()                     # weights made at first use: from now on they are there
            built.forward()
            self.layer = built.layer
            self._look_inside()
            return self._first_run()
        self.late = [f for f in late if f.thing.dtype.kind == "f" and f.thing.size]
        here = {id(f.thing) for f in stays}
        kept = [f for f in self.inner if not isinstance(f.thing, np.ndarray) or not f.copied
                or id(trial.memo.get(id(f.thing))) in here]
        self._sort(trial, raw, candidates(kept, self.params))

    def _see_outputs(self, trial):
        """One output or several? backward's places say how many it is asked about."""
        floats = sum(isinstance(o, np.ndarray) and o.dtype.kind == "f" for o in trial.all_outs)
        wanted = self.under_test.upstreams_wanted()
        if floats > 1 and wanted > 1:
            self.outputs = min(floats, wanted)
        elif trial.keys or (floats > 1 and self.under_test.takes_cache):
            self.outputs, self.bundled = floats, True
        self.ignored = [f"output {i} of {len(trial.all_outs)} outputs" for i, o in enumerate(trial.all_outs, 1)
                        if i > self.outputs and np.ndim(o) and np.asarray(o).dtype.kind == "f"]

    def _first_backward(self, trial):
        """What backward hands out for zeros: for all outputs together, if it takes that; else for the first alone."""
        self.into = slots(self.arguments, self.keywords, self.names)
        if self.ignored:
            alone = self.outputs, self.bundled, self.ignored
            self.outputs, self.bundled, self.ignored = 1 + len(self.ignored), True, []
            try:
                raw = self._of_zeros(trial)
                given = [(s.array, s.gradient(raw, trial.layer)) for s in self.into]
                if all(gradient is None or np.shape(gradient) == array.shape for array, gradient in given):
                    return raw
            except (Finding, ValueError):
                pass                                # it does not take all of them together
            self.outputs, self.bundled, self.ignored = alone
        return self._of_zeros(trial)

    def _of_zeros(self, trial):
        trial.forward()
        self.outs, self.shapes = trial.outs, [o.shape for o in trial.outs]
        return trial.returned([np.zeros(o.shape, _real(o.dtype)) for o in trial.outs])

    def random_upstreams(self, rng):
        """A random upstream gradient for each output, in its precision; of a loss it is 1."""
        draw = np.ones if self.is_loss else rng.standard_normal
        return [draw(o.shape).astype(_real(o.dtype)) for o in self.outs]

    def converted_by(self, dtype):
        """Would this precision change anything?"""
        return any(f.thing.dtype != dtype for f in self._floats())

    def elsewhere(self, factor, learned=1.0):
        """The same at other inputs, masks and the like, too, and with parameters so many times as large."""
        there = copy.copy(self)
        there.variables, there.others = ({name: v.elsewhere(factor, learned) for name, v in some.items()}
                                           for some in (self.variables, self.others))
        there.moved = [*there.variables.values(), *there.others.values()]
        return there

    def _sort(self, trial, raw, possible):
        """Into variables, and what is not checked."""
        titles = {s: trial.title(s) for s in self.into if not s.path and isinstance(s.argument, int)}
        into = [replace(s, name=titles.get(s, s.name)) for s in self.into]
        gradients = {m: m.gradient(raw, trial.layer) for m in (*into, *possible)}
        numbers = [s for s in into if s.array.dtype.kind == "f"]
        got = [s for s in numbers if gradients[s] is not None]
        got += [s for s in numbers if s not in got and any(_same_place(s.array, g.array) for g in got)]
        whole = [s for s in into if s.array.dtype.kind in "iu" and isinstance(s.argument, int) and not s.path
                 and gradients[s] is not None and np.shape(gradients[s]) == s.array.shape
                 and s.name not in (follow(self.layer, ("integer_inputs",)) or ())]
        if whole and self._as_floats(whole):
            return
        mine = {id(s.array) for s in into}
        learned = [p for p in possible if gradients[p] is not None]
        floats = [p for p in learned if p.array.dtype.kind == "f" and id(p.array) not in mine]
        self.variables = variables([*got, *floats], self.dtype)
        self.odd = [f"{p.name} ({'structured' if p.array.dtype.kind == 'V' else p.array.dtype} numbers)"
                    for p in learned if p.array.dtype.kind != "f"]
        self.odd += plain_numbers(self.inner, trial.layer)
        if not self.variables:
            raise Finding(f"there is nothing to check: {self.name} has no parameters and no input with a gradient")
        copy = self.copy()
        copy.forward()
        self.written_names = copy.changed()
        checked = {id(m.array) for v in self.variables.values() for m, _ in v.members}
        self.others = variables([s for s in into if id(s.array) not in checked])
        self.unnamed = [f for f in self.found if isinstance(f.thing, np.ndarray) and f.thing.dtype.kind in "fc"
                        and id(f.thing) not in checked and f.thing.size and id(f.thing) not in mine]

    def _as_floats(self, whole):
        """Whole numbers that got a gradient are floats in disguise, unless the layer cannot do without whole ones."""
        kept = self.arguments
        self.arguments = [a.astype(self.dtype or np.float64) if any(s.argument == i for s in whole) else a
                          for i, a in enumerate(kept)]
        self._look_inside()
        try:
            self._first_run()
            return True
        except Finding:
            self.arguments = kept
            self._look_inside()
            return False


class Copy:
    """One copy of the layer and its inputs: `forward()` at its present numbers, `backward(upstreams)`."""

    def __init__(self, subject, things, memo):
        self.subject, self.memo = subject, memo
        self.layer, self.arguments, self.keywords = things
        self.held = subject.held.of(memo)
        self.moved, self.outs, self.cache = {}, [], None
        self.plain = all(type(a) is np.ndarray or isinstance(a, int | float | str | None)
                          for a in [*self.arguments, *self.keywords.values()])

    def put(self, variable, row):
        """Set all places of a variable to these numbers."""
        self.moved[variable.name] = variable, row
        for member, places in variable.members:
            self.memo[id(member.array)][...] = row.reshape(member.array.shape) if places is None else row[places]

    def restore(self):
        """Undo what forward has written to the layer's own arrays."""
        for f, way in self.subject.special:
            twin = self.memo.get(id(f.thing))
            if f.copied and way == "array" and twin.flags.writeable:
                twin[...] = f.thing
        for variable, row in list(self.moved.values()):
            self.put(variable, row)

    def forward(self, restore=True):
        """The output, flat, for fresh copies of the inputs; of several outputs those that backward is asked about."""
        if restore and self.subject.writes:
            self.restore()
        if self.subject.drawn_from:
            self.held.rewind()
        self.given, self.options = self._fresh()
        return self.run(self.given, self.options)

    def run(self, arguments, keywords):
        """The flat output for these arguments."""
        subject = self.subject
        out, self.cache = subject.under_test.forward(self.layer, arguments, keywords)
        self.keys = list(out) if isinstance(out, dict) else []
        self.all_outs = list(out.values()) if self.keys else list(out) if isinstance(out, tuple) and out else [out]
        self.outs = [_as_array(subject.name, o) for o in self.all_outs[:subject.outputs]]
        return self.outs[0].reshape(-1) if len(self.outs) == 1 else np.concatenate([o.reshape(-1) for o in self.outs])

    def _fresh(self):
        if not self.plain:
            return copy.deepcopy((self.arguments, self.keywords))
        made = {id(a): a.copy(order="K") if type(a) is np.ndarray else a
                for a in [*self.arguments, *self.keywords.values()]}
        return [made[id(a)] for a in self.arguments], {name: made[id(a)] for name, a in self.keywords.items()}

    def changed(self):
        """The names of the inputs and parameters that the last forward has written to."""
        names = self.subject.names
        found = [a.name for a, b in zip(slots(self.arguments, self.keywords, names),
                                        slots(self.given, self.options, names), strict=False)
                 if not same_bits(a.array, b.array)]
        for variable in self.subject.variables.values():
            found += [m.name for m, _ in variable.members if variable.kind == "parameter"
                      and not same_bits(m.array.astype(self.memo[id(m.array)].dtype), self.memo[id(m.array)])]
        return found

    def written(self):
        """Has forward written to anything that was there before?"""
        return bool(self.changed()) or any(
            f.copied and is_numbers(f.thing) and id(f.thing) in self.memo
            and not same_bits(f.thing.astype(self.memo[id(f.thing)].dtype), self.memo[id(f.thing)])
            for f in self.subject.inner)

    def backward(self, upstreams):
        """{variable: gradient}."""
        raw = self.returned(upstreams)
        return {name: v.total([self._gradient(m, raw) for m, _ in v.members])
                for name, v in self.subject.variables.items()}

    def each(self, upstreams):
        """[(member, gradient)] of all variables, in their own precision; copies: a layer may write to old arrays."""
        raw = self.returned(upstreams)
        return [(m, np.array(g)) for v in self.subject.variables.values() for m, _ in v.members
                for g in [self._gradient(m, raw)] if g is not None]

    def _gradient(self, member, raw):
        found = member.gradient(raw, self.layer)
        return None if found is None else _as_numbers(found)

    def returned(self, upstreams):
        """What backward hands out, by argument."""
        subject, under_test = self.subject, self.subject.under_test
        under_test.forget(self.layer)
        douts = [] if subject.is_loss else upstreams
        if subject.bundled:
            douts = [dict(zip(self.keys, upstreams, strict=False)) if self.keys else tuple(upstreams)]
        returned = under_test.backward(self.layer, douts, self.cache)
        if returned is None or (isinstance(returned, list | tuple | dict) and not len(returned)):
            grads = follow(self.layer, ("grads",))
            named = {name: follow(self.layer, (f"d{name}",)) for name in subject.names}
            named = {name: gradient for name, gradient in named.items() if gradient is not None}
            returned = (dict(grads) if isinstance(grads, dict) and subject.into else None) or named or returned
        return match(under_test.backward_name, returned, subject.into, subject.names, len(subject.arguments),
                     subject.shapes == [()])

    def title(self, slot):
        """The name that the layer's cache gives the argument first: the query of mha(x) is x, the key of two memory."""
        cache, names = follow(self.layer, ("cache",)), self.subject.names
        if not isinstance(cache, dict) or slot.name not in cache:
            return slot.name
        return next(other for other, array in cache.items() if array is cache[slot.name] and (
            other == slot.name or other not in names))


def same_bits(a, b):
    """Equal bit for bit, as arrays."""
    return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _taken(given):
    """Lists of numbers become arrays; complex numbers are refused; all else stays."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError("an input is a masked array, and its mask would be lost: give .filled(0), say")
    holds_arrays = isinstance(given, list) and any(isinstance(item, np.ndarray) and item.ndim for item in given)
    if not isinstance(given, np.ndarray | list | float) or holds_arrays:
        return given
    try:
        array = np.asarray(given)
    except ValueError:
        return given
    if array.dtype.kind not in "fciub":
        return given
    if array.dtype.kind == "c":
        raise ValueError("an input is complex; gradients are checked with respect to real numbers: give its real "
                         "and imaginary parts as two inputs")
    return array


def _as_array(name, out):
    array = np.array(out) if not isinstance(out, np.ndarray) or out.dtype != object else np.array(out.tolist())
    if array.dtype.kind not in "fciub":
        raise Finding(f"{name}.forward must return an array of numbers; it returned {type(out).__name__}")
    return array


def _as_numbers(gradient):
    """The gradient as an array; NaN if it holds anything else than real numbers."""
    try:
        array = np.asarray(gradient)
    except ValueError:
        return np.array(np.nan)
    return array if array.dtype.kind in "fiub" else np.full(array.shape, np.nan)


def _real(dtype):
    return dtype if dtype.kind == "f" else np.dtype(float)


def _same_place(a, b):
    return a.shape == b.shape and a.strides == b.strides and np.shares_memory(a, b)
