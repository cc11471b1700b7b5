"""The report for machines (dictionaries) and for notebooks (HTML)."""
import html
import math

from .row import COLUMNS

CELL = "padding:2px 8px;text-align:{};font-variant-numeric:tabular-nums"


def as_dictionary(report):
    """Everything in the report but the gradients themselves, in types that JSON knows; NaN becomes the word."""
    return {
        "layer": report.layer, "ok": report.ok, "problem": report.problem, "elements": report.elements,
        "largest": _number(report.largest), "seconds": report.seconds,
        "method": report.method, "reason": report.reason,
        "settings": {name: _number(value) for name, value in report.settings.items()},
        "rows": [_row(row) for row in report.rows],
        "lines": [line._asdict() for line in report.lines],
        "warnings": list(report.warnings), "diagnosis": list(report.diagnosis),
    }


def as_html(report):
    """A small table without scripts or outside styles; what failed is bold and marked by a word as well as a colour."""
    sides = ["right" if head.startswith(">") else "left" for head in COLUMNS]

    def row(cells, tag, failed=False):
        style = "background:#fbe3d6;color:#000;font-weight:bold" if failed else ""
        inside = [f'<{tag} style="{CELL.format(side)}">{html.escape(str(cell))}</{tag}>'
                  for cell, side in zip(cells, sides, strict=True)]
        return f'<tr style="{style}">{"".join(inside)}</tr>'

    parts = [f"<p><b>{html.escape(report.headline())}</b><br>{'<br>'.join(map(html.escape, report.details()))}</p>"]
    if report.rows:
        parts.append("<table><thead>" + row([head.lstrip(">") for head in COLUMNS], "th") + "</thead><tbody>"
                     + "".join(row(r.cells(), "td", not r.ok) for r in report.rows) + "</tbody></table>")
    for title, lines in report.sections():
        if lines:
            items = "".join(f"<li>{html.escape(line.removeprefix('- '))}</li>" for line in lines)
            parts.append(f"<p>{title}</p><ul>{items}</ul>")
    return f'<div class="gradient-report">{"".join(parts)}</div>'


def _row(row):
    analytic, numeric, difference, ratio = map(_number, row.at_worst)
    return {"name": row.name, "kind": row.kind, "shape": [int(n) for n in row.shape], "worst": list(row.worst),
            "analytic": analytic, "numeric": numeric, "difference": difference, "ratio": ratio,
            "largest": _number(row.largest), "skipped": int(row.skipped.sum()), "verdict": row.verdict, "ok": row.ok}


def _number(value):
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
