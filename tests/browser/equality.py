"""The page against Python: random edits of many kinds of run, every tensor and every sentence.

    python -m tests.browser.equality [EDITS]      200 edits unless given; a table of the worst differences

Each edit goes into the page and into the layer itself, which runs again; a run with dropout keeps its holes by
executing its formulas. Tensors must agree to 1e-12 of the largest number, sentences word for word.
"""
import inspect
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

import numpy_attention as na
from numpy_attention.walkthrough.made import execute, made
from numpy_attention.walkthrough.reading import read_trace
from numpy_attention.walkthrough.why import why

from ..standard import EXAMPLES, draw, randomise

# Runs that are shown step by step, because nothing in them can be followed or they are too long for a bench.
NO_BENCH = ("BlockedAttention", "RelativePositionBias", "TransformerEncoder,", "TransformerDecoder,")
KINDS = tuple(name for name in EXAMPLES if not name.startswith(NO_BENCH))


def run(name):
    example = EXAMPLES[name]
    layer = randomise(example.make(), seed=3)
    out = layer(*example.inputs, **example.options)
    layer.backward(draw(*out.shape, seed=4) if np.ndim(out) else None)
    return layer, read_trace(layer)


def again(trace, values, count, options):
    """The trace of the layer's own run on other numbers; with dropout, the formulas on them."""
    if any(name.endswith("keep") for name in (*trace.run.constants, *(step.name for step in trace))):
        return execute(trace, values)
    layer, run = trace.run.layer, trace.run
    slots = {}

    def find(inner, prefix=""):
        slots.update({prefix + name: (inner.params, name) for name in inner.params})
        for name, one in inner.sublayers().items():
            find(one, f"{prefix}{name}.")

    find(layer)
    for name, dotted in run.learned.items():
        params, key = slots[dotted]
        params[key] = np.array(values.get(name, run.constants[name]))
    given = dict(run.arguments)
    for name, value in values.items():
        for role in ([name] if name in given else []) + run.roles.get(name, []):
            given[role] = value
    inputs = [given[name] for name in list(inspect.signature(layer.forward).parameters)[:count]]
    layer(*inputs, **{name: given.get(name, value) for name, value in options.items()})
    upstream = next(step for step in trace.backward if step.formula == "upstream gradient")
    layer.backward(values.get(upstream.name, upstream.value))
    return read_trace(layer)


def compare(browser, name, edits, folder, rng):
    """The worst difference after random edits of one kind of run, relative; how many sentences were compared.

    None where the layer draws holes: Python then has no second run whose sentences could be asked for.
    """
    _, trace = run(name)
    browser.get("about:blank")
    browser.get(trace.save_html(Path(folder) / f"{re.sub('[^a-z]', '', name.lower())}.html", lang="en").as_uri())
    assert browser.execute_script("return bench.run.live"), f"{name}: the page computes other numbers"
    editable = browser.execute_script("return [...bench.run.editable]")
    values = {key: np.array(trace[key].value if key in trace else trace.run.constants[key], float) for key in editable}
    worst, sentences = 0.0, 0
    for _ in range(edits):
        key = editable[rng.integers(len(editable))]
        at, value = int(rng.integers(values[key].size)), float(np.round(rng.normal(), 3))
        values[key].reshape(-1)[at] = value
        browser.execute_script("bench.set(arguments[0], arguments[1], arguments[2])", key, at, value)
    after = again(trace, values, len(EXAMPLES[name].inputs), EXAMPLES[name].options)
    page = browser.execute_script("return Object.fromEntries(Object.entries(bench.run.tensors)"
                                  ".map(([name, value]) => [name, [...value.data]]))")
    unknown = browser.execute_script("return [...bench.run.unknown]")
    for step in trace:
        if step.name in unknown:
            continue
        found = np.array(page[step.name], float).reshape(step.shape)
        wanted = after[step.name] if isinstance(after, dict) else after[step.name].value
        worst = max(worst, np.abs(found - wanted).max(initial=0) / max(1, np.abs(wanted).max(initial=0)))
    if not isinstance(after, dict):
        for step in [step for step in trace if made(trace, step.name) is not None and step.name not in unknown]:
            index = tuple(int(rng.integers(size)) for size in step.shape)
            said = browser.execute_script("return bench.why(arguments[0], arguments[1])", step.name, list(index))
            wanted = why(after, step.name, index, lang="en", columns=None)
            said, wanted = (re.sub(r"-?\d\.\d+e-1[3-9]", "0", text) for text in (said, wanted))     # 0 but for rounding
            assert said == wanted, f"{name}: {step.name}{index}\npage   {said}\nPython {wanted}"
            sentences += 1
    return worst, None if isinstance(after, dict) else sentences


def timed(browser, folder):
    """Seconds to load, and milliseconds for an edit, of a page with 8 heads and 16 tokens: medians."""
    layer = na.MultiHeadAttention(32, 8, rng=0)
    x = np.random.default_rng(0).standard_normal((1, 16, 32))
    layer.backward(layer(x) * 0 + x)
    address, loads = na.trace(layer).save_html(Path(folder) / "large.html", lang="en").as_uri(), []
    for _ in range(7):
        browser.get("about:blank")
        browser.get(address)
        loads.append(browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"))
    edits = browser.execute_script("""const took = [];
        for (let k = 0; k < 9; k++) {
            const start = performance.now();
            bench.set("x", k, 0.5 + k);
            document.body.offsetHeight;
            took.push(performance.now() - start);
        }
        return took""")
    return float(np.median(loads)), float(np.median(edits))


def main(edits=200):
    from .conftest import open_browser
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        browser = open_browser(Path(folder) / "profile")
        try:
            print(f"{'run':<40} {'edits':>6} {'worst':>9} {'sentences':>10}")
            for kind, name in enumerate(KINDS):
                count = edits // len(KINDS) + (kind < edits % len(KINDS))
                worst, sentences = compare(browser, name, count, folder, rng)
                print(f"{name:<40} {count:>6} {worst:>9.1e} {'-' if sentences is None else sentences:>10}", flush=True)
                assert worst < 1e-12, name
            load, edit = timed(browser, folder)
            print(f"8 heads of 16 tokens: loaded in {load:.2f} s, an edit in {edit:.0f} ms")
        finally:
            browser.quit()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
