"""The worked example as a text to read from top to bottom."""
from ..words.terminal import pad, screen_width, width, wrap
from .checking import check
from .text import notes, step_text

HEADINGS = {
    "forward": ("前向：从 Q、K、V 到输出", "Forward: from the inputs to the output"),
    "backward": ("反向：同样的公式，倒着走", "Backward: the same formulas, the other way round"),
    "check": ("检查：每个梯度都用数值方法再算一遍", "The check: every gradient once more, numerically"),
    "corrections": ("例句出自一份面试指南，它印错了什么",
                    "What the interview guide that this example comes from prints wrongly"),
}


def walkthrough(example, lang="both", precision=4, *, backward=True):
    """Yield the parts of the walkthrough, each a text of some lines."""
    trace = example.trace(backward=backward)
    yield wrap(f"{trace.title}: {type(example.layer).__name__}")[0]
    yield _heading("forward", lang)
    for number in range(len(trace.forward)):
        yield step_text(trace, number, lang=lang, precision=precision)
    if backward:
        yield _heading("backward", lang)
        for number in range(len(trace.forward), len(trace)):
            yield step_text(trace, number, lang=lang, precision=precision)
        yield _heading("check", lang)
        yield str(_check(example, trace))
    if example.corrections:
        yield _heading("corrections", lang)
        for correction in example.corrections:
            yield _correction(correction, trace, lang, precision)


def _check(example, trace):
    """The report on all inputs and parameters, in a small example also on every tensor in between."""
    report = example.check(upstream=example.upstream)
    checked = {row.name for row in report.rows}
    between = [step for step in trace.backward[1:] if step.name.removeprefix("d") not in checked]
    if sum(step.value.size for step in between) < 1000:
        for step in between:
            row = check(trace, step.name).rows[0]
            row.name = step.name.removeprefix("d")
            report.rows.append(row)
    return report


def _heading(part, lang):
    titles = {"zh": HEADINGS[part][:1], "en": HEADINGS[part][1:], "both": HEADINGS[part]}[lang]
    titles = [line for title in titles for line in wrap(title)]
    return "\n".join([*titles, "=" * max(map(width, titles))])


def _correction(correction, trace, lang, precision):
    """Printed and right, one under the other, and why."""
    row = trace[correction.step].value[trace.query_tokens.index(correction.token)]
    whole = all(float(x).is_integer() for x in (*row, *correction.printed))
    shown = ["  ".join(f"{x:.{0 if whole else precision}f}" for x in numbers) for numbers in (correction.printed, row)]
    labels = {"zh": ("原文", "正确"), "en": ("printed", "right"), "both": ("原文 printed", "正确 right")}[lang]
    wide = max(map(width, labels))
    lines = [f"{correction.step}, {correction.token}"]
    indent = min(5, screen_width() - wide - 2 - max(map(width, shown)))
    lines += [" " * indent + f"{pad(label, wide)}  {text}" for label, text in zip(labels, shown, strict=True)]
    lines += [line for note in notes(correction, lang) for line in wrap(note, indent=5)]
    return "\n".join(lines)
