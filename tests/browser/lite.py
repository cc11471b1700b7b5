"""Notebooks of a built site in Chromium: open one, answer its exercises, run all cells, read what they show.

    python -m tests.browser.lite SITE [NUMBER ...]      a line for each notebook, and seconds and bytes of a first visit

SITE is a folder written by `course site SITE --pyodide DIR`. It is served below /school/, as a hosting service would
do it, and Chromium finds no other host.
"""
import functools
import http.server
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

NAMESPACE = "school"
OPENED = "return (window.jupyterapp?.shell?.currentWidget?.content?.model?.cells?.length || 0) > 3"
READY = """const session = window.jupyterapp.shell.currentWidget.sessionContext.session;
    return session?.kernel?.status === 'idle' && session.kernel.connectionStatus === 'connected'"""
ANSWER = """const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
    for (let i = 0; i < cells.length; i++) {
        const cell = cells.get(i), found = arguments[0].find(each => cell.sharedModel.getSource() === each[0]);
        if (found) cell.sharedModel.setSource(found[1]);
    }"""
RUN = """window.finished = null;
    window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => window.finished = true)"""
RUN_TO = """window.finished = null;
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.widgets.forEach((widget, i) => {
        if (widget.model.sharedModel.getSource() === arguments[0]) notebook.activeCellIndex = i + 1; });
    window.jupyterapp.commands.execute('notebook:run-all-above').then(() => window.finished = true)"""
CELLS = """const cells = window.jupyterapp.shell.currentWidget.content.model.cells, found = [];
    for (let i = 0; i < cells.length; i++) {
        const cell = cells.get(i);
        if (cell.type === 'code') found.push({source: cell.sharedModel.getSource(), count: cell.executionCount,
                                              outputs: cell.outputs.toJSON()});
    }
    return JSON.stringify(found)"""


class Counting(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below one name, and adds up what it sends."""

    sent, refused = 0, set()

    def translate_path(self, path):
        first, _, rest = path.lstrip("/").partition("/")
        return super().translate_path("/" + rest) if first == NAMESPACE else str(Path(self.directory, "no such file"))

    def copyfile(self, source, outputfile):
        type(self).sent += Path(source.name).stat().st_size if hasattr(source, "name") else 0
        super().copyfile(source, outputfile)

    def send_error(self, code, message=None, explain=None):
        type(self).refused.add(self.path)
        super().send_error(code, message, explain)

    def log_message(self, *words):
        pass


class Site:
    """A served site and a Chromium that sees nothing else."""

    def __init__(self, folder, driver):
        self.handler = type("Handler", (Counting,), {"sent": 0, "refused": set()})
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(self.handler, directory=str(folder)))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address, self.driver = f"http://127.0.0.1:{self.server.server_port}/{NAMESPACE}/", driver

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def wait(self, script, seconds):
        end = time.monotonic() + seconds
        while not self.driver.execute_script(script):
            if time.monotonic() > end:
                raise TimeoutError(f"{seconds} s and not yet: {script}")
            time.sleep(0.2)

    def open(self, name, seconds=240):
        """Open a notebook and wait for its Python."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}lite/lab/index.html?path={name}")
        self.wait(OPENED, seconds)
        self.wait(READY, seconds)

    def answer(self, answers):
        """Put code in place of cells: [(source, code), ...]."""
        self.driver.execute_script(ANSWER, answers)

    def run(self, seconds=600, to=None):
        """Run all cells, or those down to the one whose source is `to`; returns the code cells with their outputs."""
        self.driver.execute_script(RUN_TO if to else RUN, to)
        self.wait("return window.finished", seconds)
        self.wait(READY, seconds)
        return json.loads(self.driver.execute_script(CELLS))


def errors(cells):
    """What the cells of a run raised: "ZeroDivisionError: division by zero", by the number of the cell."""
    return [f"[{cell['count']}] {out['ename']}: {out['evalue']}" for cell in cells for out in cell["outputs"]
            if out["output_type"] == "error"]


def checks(cells):
    """The first line of what each course.check said."""
    said = [out["data"].get("text/plain", "") for cell in cells if "course.check(" in cell["source"]
            for out in cell["outputs"] if "data" in out]
    return ["".join(text).splitlines()[0] for text in said]


def main(folder, *numbers):
    from numpy_attention.course import lessons

    from ..course.test_course_command import solution_cells
    from .conftest import open_browser
    with tempfile.TemporaryDirectory() as profile:
        driver = open_browser(profile, hosts=False)
        site = Site(folder, driver)
        try:
            for lesson in lessons.lessons():
                if numbers and lesson.number not in numbers:
                    continue
                start, before = time.monotonic(), site.handler.sent
                site.open(lesson.path.name)
                up = time.monotonic() - start
                solutions = dict(solution_cells(lessons.read(lesson.path)))
                cells = site.run()
                print(f"{lesson.number}  Python after {up:.1f} s, all cells after {time.monotonic() - start:.1f} s, "
                      f"{(site.handler.sent - before) / 1e6:.1f} MB; {len(cells)} cells, "
                      f"{sum(cell['count'] is not None for cell in cells)} run, "
                      f"{sum('image/png' in out.get('data', {}) for c in cells for out in c['outputs'])} pictures, "
                      f"{len(checks(cells))} of {len(solutions)} checks, errors {errors(cells)}", flush=True)
            print("not found:", sorted(site.handler.refused))
        finally:
            site.close()
            driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
