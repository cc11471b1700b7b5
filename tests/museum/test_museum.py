"""Every specimen is caught by the detector that its card names, and no correct layer raises an alarm."""
import argparse
import copy
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import museum
from numpy_attention.commands.museum import configure
from numpy_attention.museum import collection
from numpy_attention.museum.detectors import DETECTORS, alarm
from numpy_attention.museum.rooms import ROOMS, random_parameters
from numpy_attention.words.terminal import width


@pytest.fixture(scope="module")
def matrix():
    return museum.matrix()


@pytest.mark.parametrize("name", museum.names())
def test_the_detectors_of_the_card_catch_it_and_no_others(matrix, name):
    card = museum.card(name)
    caught = {detector for detector in DETECTORS if matrix.caught(name, detector)}
    assert card.caught_by in caught, matrix.alarms[name]
    assert caught == {card.caught_by, *filter(None, card.also.split(", "))}, matrix.alarms[name]


def test_correct_layers_raise_no_alarm():
    for room, alarms in museum.false_alarms().items():
        assert not any(alarms.values()), (room, alarms)


def test_other_correct_layers_raise_no_alarm_either():
    room = ROOMS["attention"]
    layer = random_parameters(room.make(), seed=7)
    assert not any(alarm(detector, layer, room) for detector in DETECTORS)


def test_there_are_enough_of_them_and_every_detector_has_its_own(matrix):
    assert len(matrix.specimens) >= 25
    assert not matrix.survivors()
    for detector in ("golden numbers", "row sums", "gradient check"):
        assert any(matrix.to_dict()[name] == {d: d == detector for d in DETECTORS} for name in matrix.specimens)


@pytest.mark.parametrize("name", museum.names())
def test_cards_are_complete_in_both_languages(name):
    card = museum.card(name)
    assert card.caught_by in DETECTORS
    for text in (card.what, card.why, card.seen):
        assert len(text) > 10
        assert not any("\u4e00" <= c <= "\u9fff" for c in text)
    for text in (card.what_zh, card.why_zh):
        assert any("\u4e00" <= c <= "\u9fff" for c in text)
    assert name in str(card)
    assert max(map(width, str(card).splitlines())) <= 80


def test_text_fits_and_has_glyphs(matrix):
    lines = str(matrix).splitlines()
    assert max(map(width, lines)) <= 80
    assert sum(name in str(matrix) for name in matrix.specimens) == len(matrix.specimens)
    assert "●" in str(matrix)
    assert "○" in str(matrix)
    assert "<table>" in matrix._repr_html_()


@pytest.mark.parametrize(("name", "words"), [
    ("softmax-diagonal", "only the diagonal of the softmax's Jacobian"),
    ("scale-missing-backward", "the scale 1/√d_k is missing"),
    ("values-untransposed", "weights dheads instead of weightsᵀ dheads"),
    ("keys-untransposed", "dscores Q instead of dscoresᵀ Q"),
    ("key-path-forgotten", "the path through key is missing"),
    ("residual-dropped", "the path through summed is missing"),
    ("bias-averaged", "a mean where a sum belongs"),
    ("gradients-pile-up", "backward twice: gives twice as much"),
    ("dropout-unscaled", "1 − p (p = 0.4)"),
    ("norm-without-its-means", "the term that takes the mean out is missing"),
    ("split-backward-by-reshape", "dQ: reshaped straight into rows"),
    ("mask-minus-ten-thousand", "correct except at queries that may see no key"),
])
def test_the_gradient_check_says_what_is_wrong(name, words):
    assert words in " ".join(museum.diagnosis(name))


def test_an_exercise_does_not_tell():
    for name in museum.names():
        layer, right = museum.exercise(name), ROOMS[museum.card(name).room].make()
        assert repr(layer) == repr(right)
        assert type(layer).__name__ == type(right).__name__
        assert copy.deepcopy(layer) is not layer


def test_planting_one_bug_leaves_other_layers_alone():
    museum.exercise("scale-missing")
    museum.exercise("softmax-diagonal")
    x = np.random.default_rng(0).standard_normal((2, 3, 8))
    na.check_gradients(na.MultiHeadAttention(8, 2, rng=0), x).assert_ok()


def test_unknown_specimens_are_answered_with_their_neighbours():
    with pytest.raises(KeyError, match="did you mean softmax-diagonal"):
        museum.exercise("softmax-diagnal")


def test_grade_counts_kills_and_false_alarms():
    x = np.random.default_rng(0).standard_normal((2, 5, 8))

    def leaks(mha):
        changed = x.copy()
        changed[:, -1] += 1
        mask = na.causal_mask(5)
        assert np.allclose(mha(x, mask=mask)[:, :-1], mha(changed, mask=mask)[:, :-1])

    grade = museum.grade(leaks)
    assert not grade.false_alarms
    assert {"causal-off-by-one", "mask-inverted", "mask-ignored", "merge-without-transpose"} <= set(grade.kills)
    assert "softmax-diagonal" in grade.survivors
    assert grade.score == len(grade.kills)
    assert sorted(grade.kills + grade.survivors) == sorted(museum.names("attention"))
    assert "Still alive" in str(grade)


def test_a_test_that_cries_wolf_scores_nothing():
    grade = museum.grade(lambda layer: False, room="embedding")
    assert grade.kills == ["repeated-ids-overwritten"]
    assert len(grade.false_alarms) == 2
    assert grade.score == 0
    assert museum.grade(lambda layer: None, room="norm").score == 0


def test_grade_says_what_it_wants():
    with pytest.raises(ValueError, match="room must be one of attention, grouped"):
        museum.grade(print, room="attic")
    with pytest.raises(TypeError, match="a test is a function that takes a layer"):
        museum.grade("assert True")


def test_command(capsys):
    parser = argparse.ArgumentParser()
    configure(parser)

    def run(*words):
        arguments = parser.parse_args(words)
        return arguments.run(arguments), capsys.readouterr()
    status, said = run("key-path-forgotten")
    assert status == 0
    assert "x: the path through key is missing" in said.out
    status, said = run("key-path")
    assert status == 2
    assert "did you mean key-path-forgotten" in said.err
    assert len(run("--cards")[1].out) > 10_000


def test_the_figure_has_its_words():
    found = museum.matrix(["norm-without-its-means", "scale-missing"])
    figure = found.plot(lang="both")
    assert "golden numbers 1" in figure.alt_text
    assert "scale-missing           ● ○ ○ ○ ○" in figure.plain_text


def test_every_file_of_bugs_is_in_the_collection():
    files = {f"{museum.__name__}.{path.stem}" for path in Path(museum.__file__).parent.glob("bugs_*.py")}
    assert files == set(collection.ORDER), "museum/collection.py: import it, and put it into ORDER"
