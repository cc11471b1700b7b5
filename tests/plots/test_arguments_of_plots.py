"""What is no language, title, token list, size or number is refused by name, before anything is drawn."""
import inspect

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import plots
from numpy_attention.plots.options import CHECKS

SQUARE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
WRONG = {
    "lang": [["en"], {}, "de", None, 1], "query_tokens": [5, True, {0: 1}, "我爱AI"],
    "vmax": ["3", True, 0, -1, np.nan, [1]], "size": [True, "poster", 0, np.array([1, 2]), np.nan],
    "title": [5, ["a"], b"a", True], "numbers": ["yes", 1, [True], np.nan], "bar": [1, "no"], "averaged": [None, 0],
    "batch": [None, 0.0, "0", True, [0]], "layers": ["0", 1.5, [], [0, 0], True, {0: 1}],
    "heads": [[0.0], "all", [True]], "scale": [None, "log", 1, ["weight"]], "cmap": [5, "nobody", [], False],
    "norm": [5, "log"], "key_tokens": [5, "我爱AI"],
}


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name in WRONG for each in WRONG[name]], ids=repr)
def test_refused_by_name(name, wrong):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
        na.plot_heads(np.eye(5), **{name: wrong})


@pytest.mark.parametrize("wrong", ["x", None, [1], True, np.nan])
def test_a_threshold(wrong):
    with pytest.raises(ValueError, match="^threshold must"):
        na.plot_lines(np.eye(3), threshold=wrong)


PUBLIC = {name: getattr(plots, name) for name in plots.__all__ if name.startswith(("plot_", "save_"))}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_plot_checks_the_options_that_plots_share(name):
    # Whatever else is handed in: what an option may be is looked at first.
    signature = inspect.signature(PUBLIC[name])
    needed = [None for each in signature.parameters.values()
              if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty]
    shared = [option.name for option in signature.parameters.values()
              if option.kind is option.KEYWORD_ONLY and option.name in CHECKS]
    assert {"title", "lang"} <= set(shared)
    for option in shared:
        with pytest.raises((TypeError, ValueError), match=f"^{option} must"):
            PUBLIC[name](*needed, **{option: object()})


def test_numbers_of_numpy_count_as_numbers(layer):
    assert na.plot_heads(layer, batch=np.int64(1), heads=np.array([0, 2]), numbers=np.bool_(True)).axes[0].images
    assert na.plot_heads(layer, heads=-1).axes[0].get_label() == "0.2"


def test_an_empty_title_is_none(layer):
    figure = na.plot_heads(SQUARE, title="")
    assert not [text for text in figure.texts if "look" in text.get_text()]
    assert "looks mostly" in figure.alt_text            # the finding stays in the words
    assert figure.get_size_inches()[1] < na.plot_heads(SQUARE).get_size_inches()[1]


@pytest.mark.parametrize("plot", [na.plot_walkthrough, na.plot_mnemonic])
def test_a_layer_will_do_for_a_trace(plot, layer):
    assert "looks" in plot(layer).alt_text
    with pytest.raises(TypeError, match="trace must be a trace"):
        plot(5)


@pytest.mark.parametrize(("options", "says"), [
    ({"steps": [0.5, 1]}, "steps must be"), ({"steps": 3}, "steps must be"), ({"curve": "ab"}, "curve must hold"),
    ({"curve_steps": [[0, 1]]}, "curve must be"), ({"curve": []}, "at least one"),
])
def test_steps_and_curves(options, says):
    given = {"snapshots": [SQUARE, SQUARE], "steps": [0, 1], "curve": [2, 1], **options}
    with pytest.raises((TypeError, ValueError), match=says):
        na.plot_film(**given)


@pytest.mark.parametrize("plot", [na.plot_query_key, na.plot_mixing, na.plot_gradients])
def test_what_a_layer_holds_is_not_given_again(plot, layer):
    with pytest.raises(TypeError, match="must be left away where .* is a layer"):
        plot(layer, SQUARE)


@pytest.mark.parametrize(
    "plot", [na.plot_heads, na.plot_lines, na.plot_cross_attention, na.plot_mnemonic, na.plot_mixing])
def test_there_is_no_second_item_where_there_is_no_batch(plot, by_hand):
    with pytest.raises(ValueError, match="batch=1 is out of range"):
        plot(by_hand, batch=1)


@pytest.mark.parametrize("save", [lambda path: plots.save(na.plot_heads(SQUARE), path),
                                  lambda path: plots.save_film([SQUARE], [0], path),
                                  lambda path: plots.save_overview([SQUARE[None]], path)])
def test_paths(save):
    for wrong in (None, 5, b"a.html", ""):
        with pytest.raises(TypeError, match="path must"):
            save(wrong)


@pytest.mark.parametrize("gold", [5, "abc", [0.0, 1, 2], [True, 1, 2]])
def test_gold(gold):
    with pytest.raises(TypeError, match="^gold must"):
        na.plot_cross_attention(SQUARE, gold=gold)
