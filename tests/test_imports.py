"""Imports run one way: no circle of modules, and every package knows only the packages below it.

All files are read with `ast`, so that an import inside a function counts as much as one at the top. What a file says
about types alone (`if TYPE_CHECKING`) is left out.

    python tests/test_imports.py        prints the floors: who stands on whom
"""
import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "numpy_attention"
NAME = PACKAGE.name

# From the ground up. A package may import packages of lower floors, not those beside it.
FLOORS = (
    {"engine", "words"},
    {"masks"},
    {"layers"},
    {"catalogue", "measures"},
    {"gradcheck"},
    {"walkthrough"},
    {"museum", "plots", "training"},
    {"models"},
    {"bench", "course", "interop"},
    {"commands"},
)
FLOOR = {package: number for number, packages in enumerate(FLOORS) for package in packages}


def modules(package=PACKAGE):
    """{dotted name: file} of every module; a package goes by its own name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package_of(module):
    """The first part below the package; "" for the package's own file."""
    return ([*module.split("."), ""])[1]


def imports(module, path, known):
    """(imported module, line) of every import, at any depth; of the package's own modules only."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = []

    def visit(node):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[:len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.append((whole if whole in known else base, node.lineno))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            name = node.args[0]
            if isinstance(name, ast.Constant):
                found.append((package + name.value if name.value.startswith(".") else name.value, node.lineno))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return [(name, line) for name, line in found if name == NAME or name.startswith(NAME + ".")]


def graph(package=PACKAGE):
    """{module: {imported module: line}}; a package's own file is left out where it only opens its own modules."""
    known = modules(package)
    return {module: {name: line for name, line in imports(module, path, known) if name != module}
            for module, path in known.items()}


def circle(edges):
    """One circle as a list of names, the first again at the end; [] if there is none."""
    done, path = set(), []

    def walk(node):
        if node in path:
            return [*path[path.index(node):], node]
        if node in done:
            return []
        path.append(node)
        for after in edges.get(node, ()):
            if found := walk(after):
                return found
        done.add(path.pop())
        return []

    return next((found for node in edges if (found := walk(node))), [])


def packages(edges):
    """{package: {package: ["module:line", ...]}} without the package's own two files, which know everybody."""
    found = {package_of(module): {} for module in edges if package_of(module) not in ("", "__main__")}
    for module, imported in edges.items():
        for name, line in imported.items():
            here, there = package_of(module), package_of(name)
            if here in found and here != there:
                found[here].setdefault(there, []).append(f"{module}:{line}")
    return found


def floors(edges):
    """{node: how many stand below it on the longest way down}."""
    height = {}

    def of(node):
        if node not in height:
            height[node] = max((of(below) + 1 for below in edges[node] if below in edges), default=0)
        return height[node]

    for node in edges:
        of(node)
    return height


EDGES = graph()


def test_no_circle_of_modules():
    found = circle(EDGES)
    assert not found, "a circle of imports: " + " -> ".join(found)


def test_no_circle_of_packages():
    found = circle(packages(EDGES))
    assert not found, "a circle of packages: " + " -> ".join(found)


def test_every_package_has_its_floor():
    missing = packages(EDGES).keys() - FLOOR.keys()
    assert not missing, f"say in FLOORS where these stand: {missing}"


@pytest.mark.parametrize("package", sorted(packages(EDGES)))
def test_a_package_knows_only_packages_below_it(package):
    wrong = {f"{package} -> {other or 'the package itself'}": where for other, where in packages(EDGES)[package].items()
             if other not in FLOOR or FLOOR[other] >= FLOOR[package]}
    assert not wrong, f"imports run from the top floor to the ground only: {wrong}"


def test_nothing_imports_the_commands_but_main():
    knowing = {module for module, imported in EDGES.items() if any(package_of(name) == "commands" for name in imported)
               and package_of(module) != "commands"}
    assert knowing <= {f"{NAME}.__main__"}


def test_names_are_not_computed_where_they_could_hide_a_circle():
    """import_module with a computed name: only a package that opens its own modules, and the command line."""
    allowed = {f"{NAME}.commands.main", f"{NAME}.course.asking", f"{NAME}.course.desk.planted",
               f"{NAME}.gradcheck.overview"}
    computed = set()
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
                computed |= {module} if not isinstance(node.args[0], ast.Constant) else set()
    assert not {module for module in computed - allowed if modules()[module].name != "__init__.py"}


def test_matplotlib_is_imported_by_those_who_draw():
    drawing = set()
    for module, path in modules().items():
        text = path.read_text(encoding="utf-8")
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
        names = {(n.module or "") if isinstance(n, ast.ImportFrom) else a.name for n in nodes for a in n.names}
        drawing |= {package_of(module)} if any(name.split(".")[0] == "matplotlib" for name in names) else set()
    assert drawing <= {"plots", "course"}


@pytest.mark.parametrize(("files", "expected"), [
    ({"a.py": "from . import b", "b.py": "def f():\n    from .a import x"}, ["a", "b", "a"]),
    ({"a.py": "from .b.c import x", "b/__init__.py": "", "b/c.py": "def f():\n    import numpy_attention.a"},
     ["a", "b.c", "a"]),
    ({"a.py": "from importlib import import_module\nimport_module('.b', __package__)", "b.py": "from .a import y"},
     ["a", "b", "a"]),
    ({"a.py": "from .b import x", "b.py": "if TYPE_CHECKING:\n    from .a import y"}, []),
    ({"a.py": "from .b import x", "b.py": "import numpy"}, []),
])
def test_a_circle_is_found_however_deep(tmp_path, files, expected):
    package = tmp_path / NAME
    for name, text in {"__init__.py": "", **files}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert [name.removeprefix(NAME + ".") for name in circle(graph(package))] == expected


def report():
    """The floors of the packages, and of the modules how many stand on each."""
    edges = packages(EDGES)
    if found := circle(EDGES) or circle(edges):
        return "no floors, but a circle: " + " -> ".join(found)
    height = floors(edges)
    lines = ["packages:"]
    for number in range(max(height.values()) + 1):
        for package in sorted(package for package, floor in height.items() if floor == number):
            lines.append(f"  {number}  {package:<12} -> {', '.join(sorted(edges[package])) or '(nobody)'}")
    own = {module: imported for module, imported in EDGES.items() if package_of(module) not in ("", "__main__")}
    height = floors(own)
    lines += ["", f"modules: {len(own)}, imports: {sum(map(len, own.values()))}, no circle; modules by floor:",
              "  " + ", ".join(f"{number}: {list(height.values()).count(number)}"
                               for number in range(max(height.values()) + 1))]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
