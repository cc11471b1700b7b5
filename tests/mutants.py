"""Break the layers on purpose, one small change at a time, and see whether the tests notice.

    python tests/mutants.py --count 80 --seed 0                 # prints each change and what became of it
    python tests/mutants.py --count 20 --only layer_norm residual

A change swaps an operator, a comparison, a constant, an axis, a transpose, a sum, or takes a condition away, in a
formula of numpy_attention/layers or masks.py; constructors, errors and statements are left as they are. It is made in
a copy of the whole folder. First the tests that speak of the changed file run, then the rules that all layers keep,
then all of tests/layers and the masks', then golden numbers and the gradient checker. What survives all of them is
either a gap, or a change that changes nothing. This takes minutes, so it is a command of its own and no test.
"""
import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult,
             ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Add}
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
               ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
METHODS = {"sum": "max", "max": "min", "mean": "sum", "where": None, "exp": "expm1", "sqrt": "square", "any": "all",
           "all": "any", "zeros": "ones", "ones": "zeros", "sin": "cos", "cos": "sin"}


def changes_of(source):
    """[(first character, last, new text, line)] of every change that a source allows."""
    tree, starts = ast.parse(source), [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    found = []

    def offer(node, changed):
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        text = ast.unparse(changed)
        found.append((start, end, f"({text})" if isinstance(changed, ast.BinOp | ast.BoolOp | ast.Compare) else text,
                      node.lineno))

    def walk(node):
        skipped = isinstance(node, ast.Raise) or (isinstance(node, ast.FunctionDef) and node.name.startswith(
            ("__init__", "check", "_check", "_explain", "__repr__")))
        stated = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in (
            "FORWARD", "BACKWARD", "PARTS", "STEPS", "SENTENCES")
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if skipped or stated or text or isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            changed = copy.deepcopy(node)
            changed.op = OPERATORS[type(node.op)]()
            offer(node, changed)
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            changed = copy.deepcopy(node)
            changed.ops[0] = COMPARISONS[type(node.ops[0])]()
            offer(node, changed)
        elif isinstance(node, ast.BoolOp):
            changed = copy.deepcopy(node)
            changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            offer(node, changed)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            offer(node, node.operand)
        elif isinstance(node, ast.IfExp):
            offer(node, ast.IfExp(node.test, node.orelse, node.body))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            offer(node, ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1))
        elif isinstance(node, ast.Attribute) and node.attr in ("mT", "T", "real"):
            offer(node, node.value)
        elif isinstance(node, ast.Attribute) and METHODS.get(node.attr):
            offer(node, ast.Attribute(node.value, METHODS[node.attr]))
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(tree)
    return found


def all_changes(only):
    files = [*sorted((ROOT / "numpy_attention/layers").rglob("*.py")), ROOT / "numpy_attention/masks.py"]
    return [(path.relative_to(ROOT), change) for path in files if not only or path.stem in only
            for change in changes_of(path.read_text(encoding="utf-8"))]


def tests_fail(folder, *arguments):
    """Does a run of pytest fail in this copy? A run without tests does not."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments],
                              cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return True                                     # a loop without an end is noticed, too
    return done.returncode not in (0, 5)


def stages(path):
    """{name: arguments of pytest}, from the tests that speak of the file's classes and functions to all of them."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    speak = re.compile(rf"\bna\.({'|'.join(names)})\b")
    files = [*sorted((ROOT / "tests/layers").glob("test_*.py")), ROOT / "tests/test_masks.py"]
    own = [str(file.relative_to(ROOT)) for file in files if file.stem not in ("test_layer", "test_properties")
           and (path.stem in file.stem or speak.search(file.read_text(encoding="utf-8")))]
    rules = ["tests/layers/test_layer.py", "tests/layers/test_statements.py", "-k", " or ".join([path.stem, *names])]
    return {"its own tests": ["-n", "0", *own], "the rules for all layers": ["-n", "0", *rules],
            "all of tests/layers": ["tests/layers", "tests/test_masks.py"],
            "golden numbers, gradient checker": ["tests/golden", "tests/gradcheck"]}


def fate(folder, path, last):
    """The first of the first `last` stages whose tests fail, or None."""
    return next((name for name, arguments in list(stages(path).items())[:last] if tests_fail(folder, *arguments)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="names of files, without .py")
    parser.add_argument("--stages", type=int, default=4, help="2 leaves out the two long ones")
    parser.add_argument("--slice", default="0/1", help="i/n: every n-th change from the i-th on, to share the work")
    options = parser.parse_args()
    chosen = all_changes(options.only)
    random.Random(options.seed).shuffle(chosen)
    first, step = map(int, options.slice.split("/"))
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "copy"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "figures"))
        for path, (start, end, text, line) in chosen[:options.count][first::step]:
            source = (ROOT / path).read_bytes()
            before = source[start:end].decode()
            (folder / path).write_bytes(source[:start] + text.encode() + source[end:])
            killer = fate(folder, path, options.stages)
            (folder / path).write_bytes(source)
            survivors += killer is None
            print(f"{'SURVIVES' if killer is None else 'noticed by ' + killer}: {path}:{line}: {before} -> {text}",
                  flush=True)
    print(f"{survivors} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
