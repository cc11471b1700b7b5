"""The trace in a notebook: the page in a frame, and its table for viewers that show no frames."""
from html import escape

from .text import summary_rows


def frame(trace, *, start=1, lang="both", puzzle=None):
    """The page in a sandboxed frame: its script runs, and can reach neither the notebook nor the network."""
    from .page import page
    source = escape(page(trace, lang=lang, start=start, puzzle=puzzle))
    return (f'<iframe sandbox="allow-scripts" title="{escape(trace.title)}" style="width:100%;height:760px;border:0" '
            f'srcdoc="{source}"></iframe><details><summary>{escape(trace.title)}: {len(trace)} steps</summary>'
            f"{summary_html(trace)}</details>")


def summary_html(trace):
    """The summary table as HTML; names and tokens are escaped, so that they are shown and never run."""
    heading, *rows = summary_rows(trace)
    cell = "style='text-align:left;padding:2px 10px'"
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    head = "".join(f"<th {cell}>{escape(text)}</th>" for text in heading)
    return (f"<table><caption>{escape(trace.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>")
