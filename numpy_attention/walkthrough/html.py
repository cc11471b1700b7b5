"""The trace's table for notebooks."""
from html import escape

from .text import summary_rows


def summary_html(trace):
    """The summary table as HTML; names and tokens are escaped, so that they are shown and never run."""
    heading, *rows = summary_rows(trace)
    cell = "style='text-align:left;padding:2px 10px'"
    body = "".join("<tr>" + "".join(f"<td {cell}>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    head = "".join(f"<th {cell}>{escape(text)}</th>" for text in heading)
    return (f"<table><caption>{escape(trace.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>")


def frame(trace, **options):
    return summary_html(trace)
