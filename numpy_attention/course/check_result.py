"""What a check says: one line a stage, then a hint."""
from ..words.languages import Words
from . import speech

LONGEST_PRINT = 60


class CheckResult:
    """The result of course.check: `.ok`, `.results`, and as text what failed, at which cell, and a hint.

    >>> from numpy_attention import course
    >>> course.check("one-row-by-hand", [0.11, 0.11, 0.79]).ok
    True
    """

    def __init__(self, name, results, stages=None, printed=""):
        self.name = name
        self.results = [(title, remark) for title, remark in results]
        self.stages = stages or len(self.results)
        self.printed = printed

    @property
    def ok(self):
        """True if every stage was passed."""
        return self.passed == self.stages

    @property
    def passed(self):
        """How many stages were passed."""
        return sum(remark is None for _, remark in self.results)

    @property
    def hint(self):
        """The first hint, as Words; None if there is none."""
        return next((remark.hint for _, remark in self.results if remark and remark.hint), None)

    def __bool__(self):
        return self.ok

    def __str__(self):
        state = Words("对了！", "right!") if self.ok else Words("还没对", "not yet")
        lines = [f"{'✓' if self.ok else '✗'} {self.name}: {speech.say(state)} ({self.passed}/{self.stages})"]
        first = next((remark for _, remark in self.results if remark), None)
        for title, remark in self.results:
            lines.append(f"  {'✗' if remark else '✓'} {speech.say(title)}")
            if remark and remark is first:        # the others often follow from it
                lines += [f"      {text}" for text in speech.lines(remark.what)]
        skipped = self.stages - len(self.results)
        if skipped:
            lines.append(f"  · {speech.say(Words(f'后面 {skipped} 项还没有测', f'{skipped} more not tried yet'))}")
        if self.hint:
            lines += [f"  {text}" for text in speech.lines(Words(f"提示：{self.hint.zh}", f"Hint: {self.hint.en}"))]
        if self.printed.strip():
            line, *more = self.printed.strip().splitlines()
            line = line[:LONGEST_PRINT] + ("…" if more or len(line) > LONGEST_PRINT else "")
            said, harm = Words("你的函数打印了", "your function printed"), Words("不影响结果", "this does no harm")
            lines.append(f"  {speech.say(said)}: {line} ({speech.say(harm)})")
        return "\n".join(lines)

    __repr__ = __str__
