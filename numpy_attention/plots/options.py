"""What the options may be that plots share: stated once, and refused by name before anything is drawn."""

import functools
import inspect

from ..engine.arguments import a_text, count, finite, listed, one_of, switch, whole
from ..words.languages import languages


def chosen(name, value):
    """A number of a layer or head, or several: a list of whole numbers, none of them twice."""
    if not hasattr(value, "__iter__") and not isinstance(value, bool):
        return [whole(name, value)]
    found = [whole(name, each) for each in listed(name, value, "whole numbers")]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{name} must name at least one, and none twice; got {value!r}")
    return found


def language(name, value):
    """One of the languages, or an error; the name is always lang."""
    languages(value)
    return value


SCALES = ("weight", "uniform")
CHECKS = {
    "lang": language, "title": a_text, "name": a_text, "curve_label": a_text,
    "numbers": switch, "bar": switch, "averaged": switch, "same_scale": switch,
    "head": whole, "batch": whole, "layer": whole, "query": whole, "key": whole, "digits": count,
    "layers": chosen, "heads": chosen, "threshold": finite, "tolerance": functools.partial(finite, above=0),
    "scale": functools.partial(one_of, allowed=SCALES),
}


def checked(plot):
    """A plot whose options are what they should be; None is one where it is what an option is unless given."""
    usual = {name: option.default for name, option in inspect.signature(plot).parameters.items()
             if option.kind is option.KEYWORD_ONLY and name in CHECKS}

    @functools.wraps(plot)
    def draw(*args, **options):
        for name in filter(options.__contains__, usual):
            if options[name] is not usual[name]:
                options[name] = CHECKS[name](name, options[name])
        return plot(*args, **options)
    return draw
