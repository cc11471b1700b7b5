"""Classes made on the way, as the museum plants its bugs, on their journey to the desk: as the code of their methods.

So nothing tells the desk which bug a layer has, not even a name.
"""
import importlib
import marshal
import types


def by_code(kind):
    """What pickle needs to make the class again: (make_class, arguments)."""
    body = {}
    for name, value in vars(kind).items():
        if isinstance(value, types.FunctionType):
            body[name] = _parts(value)
        elif isinstance(value, property):
            body[name] = "property", _parts(value.fget)
        elif name in ("__module__", "__doc__"):
            body[name] = ("as it is", value)
    return make_class, (kind.__name__, kind.__bases__, body)


def _parts(function):
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    cells = [_parts(c) if isinstance(c, types.FunctionType) else ("as it is", c) for c in cells]
    return "function", marshal.dumps(function.__code__), function.__module__, function.__defaults__, \
        function.__kwdefaults__, cells


def make_class(name, bases, body):
    """The class once more."""
    kind = type(name, bases, {})
    for key, value in body.items():
        setattr(kind, key, _whole(value, kind))
    return kind


def _whole(value, kind):
    if value[0] != "function":
        return property(_whole(value[1], kind)) if value[0] == "property" else value[1]
    _, code, module, defaults, keywords, cells = value
    code = marshal.loads(code)
    closure = tuple(types.CellType(_whole(cell, kind)) for cell in cells)
    function = types.FunctionType(code, vars(importlib.import_module(module)), code.co_name, defaults, closure)
    function.__kwdefaults__ = keywords
    return function
