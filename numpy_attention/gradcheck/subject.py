"""What is checked: numbers that can be nudged, a forward, a backward.

A gradient check asks one question of every number that goes into a layer: if I nudge this number, does the output
move as backward says? A `Subject` is a layer seen that way: `variables` (its inputs and parameters), `forward()` at
their present values, and `backward(dout)`, which hands out one gradient for each variable. It works on deep copies;
the caller's layer and arrays are never touched.
"""
import numpy as np

from . import parameters
from .callee import Finding, positional
from .frozen import Frozen, FrozenGlobals
from .returned import Returned
from .trial import Trial, as_output, copied, starts_itself
from .variables import Variable, variables


class Subject:
    """A layer with its inputs, on copies in the precision `dtype` (None: as they are)."""

    def __init__(self, callee, inputs, keywords, *, dtype=np.float64, params=None, frozen_globals=None):
        self.callee, self.name, self.dtype, self.params = callee.copy(), callee.name, dtype, params
        self.globals = frozen_globals or FrozenGlobals()
        self.names, inputs, keywords = positional(callee, inputs, keywords)
        lists = {id(a): _rectangular(a) for a in inputs if isinstance(a, list)}
        self.given = [lists.get(id(a), a) for a in inputs]
        self.converted = set()                      # precisions that were changed to dtype
        self.arguments = [self._taken(a) for a in self.given]
        self.keywords = {name: self._taken(a) for name, a in keywords.items()}
        for p in parameters.find(self.callee.layer, params):
            parameters.put(self.callee.layer, p.path, self._taken(parameters.follow(self.callee.layer, p.path)))
        self.pristine = self.callee.copy()
        self._first_run()

    def _taken(self, given):
        """Lists of numbers become arrays, floats get the precision asked for; all else stays."""
        array = _rectangular(given) if isinstance(given, np.ndarray | list | float) else None
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fciub":
            return given
        if array.dtype.kind == "c":
            raise ValueError("an input is complex; gradients are checked with respect to real numbers: give its real "
                             "and imaginary parts as two inputs")
        if array.dtype.kind != "f" or self.dtype is None or array.dtype == self.dtype:
            return np.asarray(array)
        self.converted.add(str(array.dtype))
        return array.astype(self.dtype)

    def is_all(self, dtype):
        """Is every float array that goes in of this precision already?"""
        arrays = [*self.arguments, *self.keywords.values(),
                  *(parameters.follow(self.pristine.layer, p.path)
                    for p in self.returned.arrays if _is_parameter(p))]
        return all(a.dtype == dtype for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind == "f")

    def _first_run(self):
        """See what comes out, which gradients come back, and so what the variables are."""
        trial = self.trial()
        self.out, self.drawn_from = trial.out, trial.frozen.moved() + self.globals.moved()
        self.returned = Returned(trial, self.names, self.given, self.params)
        if self.returned.doubtful:
            self._try_as_floats(self.returned.doubtful)
        inputs = {where: pair for where, pair in self.returned.arrays.items() if not _is_parameter(where)}
        memory = {where: self.given[where] if isinstance(where, int) else pair[1] for where, pair in inputs.items()}
        found = variables(inputs, memory)
        for p in filter(_is_parameter, self.returned.arrays):
            array = parameters.follow(self.callee.layer, p.path)
            found.append(Variable(p.name, "parameter", array, array.shape, [(p, None)]))
        self.variables = {}
        for variable in found:
            variable.name += "'" * (variable.name in self.variables)    # an input and a parameter of one name
            self.variables[variable.name] = variable
        if not self.variables:
            raise Finding(f"there is nothing to check: {self.name} has no parameters and no input with a gradient")
        self.is_loss = starts_itself(self.callee, self.out)
        self.frozen = Frozen(self.callee.layer)
        self.use(None)

    def _try_as_floats(self, doubtful):
        """Whole numbers that got a gradient are floats in disguise, unless the layer cannot do without whole ones."""
        kept = list(self.arguments)
        for i in doubtful:
            self.arguments[i] = self.arguments[i].astype(self.dtype or np.float64)
        try:
            self.returned = Returned(self.trial(), self.names, self.given, self.params)
        except Finding:
            self.arguments = kept
            for i in doubtful:
                del self.returned.arrays[i]

    def array_of(self, where):
        """The array of an argument, keyword or Parameter, as it was before any run."""
        if _is_parameter(where):
            return parameters.follow(self.pristine.layer, where.path)
        return self.arguments[where] if isinstance(where, int) else self.keywords[where]

    def trial(self):
        """A fresh copy, run forward once."""
        return Trial(self.pristine, self.arguments, self.keywords, self.globals)

    def backward(self, dout):
        """{name: gradient} of Σ dout ∘ out, from a fresh copy."""
        return self.totals(self.returned.gradients(self.trial(), dout))

    def totals(self, gradients):
        """{variable: gradient} from {where: gradient}; a gradient of the wrong shape counts as NaN."""
        found = {}
        for name, variable in self.variables.items():
            mine = [(gradients.get(where), places) for where, places in variable.members]
            fits = all(g is None or variable.fits(g, places) for g, places in mine)
            found[name] = variable.total(mine) if fits else np.full(variable.shape, np.nan)
        return found

    def use(self, dtype, only=None):
        """Carry all variables, or the one named, as `dtype` from now on; None for the precision that they came in."""
        self._inputs, self._options = list(self.arguments), dict(self.keywords)
        self._moving, still = [], {*range(len(self._inputs)), *self._options}
        for variable in self.variables.values():
            variable.use(dtype if only in (None, variable.name) else None)
            for where, places in variable.members:
                if _is_parameter(where):
                    parameters.put(self.callee.layer, where.path, variable.array())
                else:
                    self._moving.append((self._target(where), where, variable, places))
                    still.remove(where)
        self._still = [(self._target(where), where, self._target(where)[where]) for where in still
                       if copied(self._target(where)[where]) is not self._target(where)[where]]

    def _target(self, where):
        return self._inputs if isinstance(where, int) else self._options

    def forward(self):
        """The output at the variables' present values."""
        return self.run(*self.present())

    def run(self, arguments, options):
        """The output for these arguments, with the random numbers put back to where they were."""
        self.frozen.rewind()
        if self.drawn_from:
            self.globals.rewind()
        return as_output(self.name, self.callee.forward(*arguments, **options))

    def present(self):
        """(arguments, options) at the variables' present values."""
        for target, where, given in self._still:
            target[where] = copied(given)
        made = {}                                       # arrays that are one for the caller stay one for the layer
        for target, where, variable, places in self._moving:
            key = variable.name, id(places)
            if key not in made:
                made[key] = variable.array(places).copy()
            target[where] = made[key]
        return list(self._inputs), dict(self._options)


def _rectangular(given):
    """A list as an array if its rows are equally long; if not, as it is: the layer will say what it thinks of it."""
    try:
        return np.asarray(given)
    except ValueError:
        return given


def _is_parameter(where):
    return isinstance(where, parameters.Parameter)
