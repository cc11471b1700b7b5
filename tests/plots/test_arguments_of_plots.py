"""What is no language, token list, size or number is refused by name, before anything is drawn."""
import numpy as np
import pytest

import numpy_attention as na

WRONG = {
    "lang": [["en"], {}, "de", None, 1], "query_tokens": [5, True, {0: 1}, "我爱AI"],
    "vmax": ["3", True, 0, -1, np.nan, [1]], "size": [True, "poster", 0, np.array([1, 2]), np.nan],
}


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name in WRONG for each in WRONG[name]], ids=repr)
def test_refused_by_name(name, wrong):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
        na.plot_heads(np.eye(5), **{name: wrong})


@pytest.mark.parametrize("wrong", ["x", None, [1], True, np.nan])
def test_a_threshold(wrong):
    with pytest.raises(ValueError, match="^threshold must"):
        na.plot_lines(np.eye(3), threshold=wrong)
