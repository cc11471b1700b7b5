"""Steps as text stay within 80 columns."""
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.text import step_text
from numpy_attention.words.terminal import width


@pytest.mark.parametrize("example", ["by-hand", "cycle", "full-size"])
@pytest.mark.parametrize("precision", [0, 4, 8])
def test_nothing_is_wider_than_a_terminal(example, precision):
    trace = na.worked_example(example).trace()
    texts = [trace.summary(), *(step_text(trace, i, precision=min(precision, 6)) for i in range(len(trace)))]
    assert max(width(line) for text in texts for line in text.split("\n")) <= 80
