"""Whatever a model is asked about and is not there (a text, place, word, head or measure) is refused by its name."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import models
from numpy_attention.models import Decoding, choose, generate

from .test_model import IDS, small

TEXT = [3, 1, 4]
TOY = na.training.ToyModel(7, 9, layers=2, heads=2, causal=True, rng=0)
DIFFERENCE = models.logit_difference(4, 2)
LOOKS = {
    "head_scores": lambda model, ids: models.head_scores(model, ids),
    "logit_lens": lambda model, ids, **o: models.logit_lens(model, ids, **o),
    "rollout": lambda model, ids: models.rollout(model, ids),
    "token_losses": lambda model, ids: models.token_losses(model, ids),
    "saliency": lambda model, ids, word=4, **o: models.saliency(model, ids, word, **o),
    "gradient_attention": lambda model, ids, word=4, **o: models.gradient_attention(model, ids, word, **o),
    "direct_logits": lambda model, ids, word=4, **o: models.direct_logits(model, ids, word, **o),
    "head_effects": lambda model, ids, measure=DIFFERENCE: models.head_effects(model, ids, measure),
    "ablate": lambda model, ids, heads=((0, 0),), measure=DIFFERENCE, **o: models.ablate(model, ids, heads, measure,
                                                                                       controls=1, **o),
    "patch": lambda model, ids, measure=DIFFERENCE: models.patch(model, ids, [3, 2, 4], measure),
}
WRONG = {
    "place": [3, -4, 1.5, "x", None, True, [0]],
    "word": [7, -1, 1.5, "cat", None, True, (), (1, 2, 3), (1, 7)],
    "measure": [None, "x", lambda logits: logits, lambda logits: "x", lambda logits: [1, 2, 3]],
    "heads": [[(0, 2)], [(2, 0)], [(-1, 0)], [(0.5, 0)], [0, 1], [([0], 0)], [(True, 0)], None, "00"],
}
TAKES = {"place": ["logit_lens", "saliency", "gradient_attention", "direct_logits"],
         "word": ["saliency", "gradient_attention", "direct_logits"],
         "measure": ["head_effects", "ablate", "patch"], "heads": ["ablate"]}
CASES = [(look, name, wrong) for name, looks in TAKES.items() for look in looks for wrong in WRONG[name]]


@pytest.mark.parametrize(("look", "name", "wrong"), CASES)
def test_what_is_not_there(look, name, wrong):
    for model in (small("gpt2"), TOY):
        with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
            LOOKS[look](model, [TEXT], **{name: wrong})


@pytest.mark.parametrize("ids", [None, "abc", [[1], [2, 3]], [[0.5]], [], [[]], 3, [[[1]]],
                                 np.ma.array([[1]], mask=[[True]])], ids=repr)
@pytest.mark.parametrize("look", LOOKS)
def test_no_text(look, ids):
    with pytest.raises((TypeError, ValueError), match="^(ids|clean) (must|is a masked array)"):
        LOOKS[look](TOY, ids)


def test_one_text_is_not_two():
    for look in ("head_effects", "direct_logits", "patch"):
        with pytest.raises(ValueError, match="must be one text"):
            LOOKS[look](TOY, [TEXT, TEXT])


def test_a_pair_of_one_word_is_no_difference():
    assert np.abs(models.saliency(small("gpt2"), [TEXT], (4, 4))).max() == 0


def test_a_head_named_twice_is_one():
    once, twice = (models.ablate(TOY, [TEXT], heads, DIFFERENCE, controls=3) for heads in ([(0, 0)], [(0, 0)] * 2))
    assert once == twice


def test_a_place_counts_from_the_end_too():
    for look in TAKES["place"]:
        first, second = (LOOKS[look](small("gpt2"), [TEXT], place=place) for place in (1, -2))
        assert all(np.array_equal(first[name], second[name]) for name in first) if look == "direct_logits" else \
            np.array_equal(first, second)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
@pytest.mark.parametrize(("mask", "error"), [
    (np.ones(4, bool), ValueError), (np.ones((2, 4), bool), ValueError), (np.ones((5, 5), bool), ValueError),
    (np.ones((4, 4)), TypeError), (np.ones((4, 4), int), TypeError), ("x", TypeError), ([[True], [1, 2]], ValueError),
    (np.ones((1, 1, 1, 4, 4), bool), ValueError), (np.ma.ones((4, 4), bool), TypeError)],
    ids=lambda value: str(value)[:40])
def test_masks_that_do_not_fit(kind, mask, error):
    with pytest.raises(error, match="^mask "):
        small(kind)(IDS, mask=mask)
    if kind != "bert":
        decoding = Decoding(small(kind), 4, batch=2)
        with pytest.raises(error, match="^mask "):
            decoding.step(IDS, mask=mask)
        assert len(decoding) == 0


@pytest.mark.parametrize("types", [[0, 1], np.zeros((3, 4), int), np.zeros((2, 1), int)], ids=str)
def test_types_that_do_not_fit(types):
    with pytest.raises(ValueError, match=r"types must have shape \(N, L\) = \(2, 4\) or \(L,\)"):
        small("bert")(IDS, types)


@pytest.mark.parametrize("ids", [[], [[]], np.zeros((2, 0), int), 3, [[[1]]], [[1], [2, 3]]], ids=str)
def test_a_model_wants_texts(ids):
    with pytest.raises(ValueError, match="^ids must"):
        small("llama")(ids)


def test_the_callers_ids_stay_the_callers():
    ids, types = IDS.copy(), np.zeros((2, 4), int)
    small("bert")(ids, types)
    Decoding(small("gpt2"), 4, batch=2).step(ids)
    assert ids.flags.writeable and types.flags.writeable


@pytest.mark.parametrize("logits", [[[0.5, 1.0]], [[1e308, -1e308]], [[-np.inf, 2.0]]], ids=str)
@pytest.mark.parametrize("temperature", [1e-5, 1e-300, 1e-320, 5e-324])
def test_hardly_any_temperature_is_none(logits, temperature):
    assert choose(logits, temperature=temperature, rng=0) == np.argmax(logits)
    assert choose(logits, temperature=temperature, top_k=1, top_p=0.5, rng=0) == np.argmax(logits)


@pytest.mark.parametrize("logits", [[[np.inf, 0.0]], [[np.nan, 0.0]], [[-np.inf, -np.inf]]], ids=str)
def test_logits_that_leave_no_choice(logits):
    for temperature in (0, 1):
        with pytest.raises(ValueError, match="^logits must be"):
            choose(logits, temperature=temperature)


def test_a_prompt_may_fill_the_table_of_positions():
    model = small("gpt2")                                       # 32 places
    full = [1] * 32
    assert generate(model, full, 1, stop=()).tolist() == [*full, int(model([full])[0, -1].argmax())]
    with pytest.raises(ValueError, match="32 tokens and 2 more do not fit"):
        generate(model, full, 2)


@pytest.mark.parametrize(("call", "says"), [
    (lambda: generate(TOY, [[1], 2], 1), "prompt must be a list of ids"),
    (lambda: models.repeated_tokens(0, 2), "vocab must be at least 1"),
    (lambda: models.repeated_tokens(3, 0), "length must be at least 1"),
    (lambda: models.repeated_tokens(3, 2, avoid=[0, 1, 2]), "avoid must leave some of the 3 tokens"),
    (lambda: models.sentence_embeddings(small("bert"), ["hello"]), "without a tokenizer: give the sentences as ids"),
    (lambda: models.sentence_embeddings(small("bert"), "hello"), "sentences must be a list of texts"),
    (lambda: models.sentence_embeddings(small("bert"), [[0.5]]), "an id of the sentences must be a whole number"),
    (lambda: LOOKS["ablate"](TOY, [TEXT], rng="x"), "rng must be a seed"),
    (lambda: small("gpt2")(IDS, last="yes"), "last must be True or False"),
])
def test_the_rest(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()


def test_texts_that_are_none():
    library = pytest.importorskip("tokenizers")
    model = small("gpt2")
    model.tokens = models.Tokens(lambda _: library.Tokenizer(library.models.BPE({"a": 0, "b": 1}, [])))
    for text, says in (("\ud800", "text must be whole"), ("a\udc80", "must be whole"), ("", "the prompt is empty")):
        with pytest.raises(ValueError, match=says):
            generate(model, text, 1)
    for call, says in ((lambda: model.tokens.encode(None), "text must be a text"),
                       (lambda: model.tokens.decode([-1]), "an id must not be negative"),
                       (lambda: model.tokens.decode("ab"), "an id must be a whole number"),
                       (lambda: generate(model, "ab", 1, stop=""), "a text as stop must not be empty"),
                       (lambda: models.sentence_embeddings(model, ["a", "\ud800"]), "text must be whole")):
        with pytest.raises((TypeError, ValueError), match=says):
            call()


@pytest.mark.parametrize("wrong", [None, 3, "", b"x", "a\0b", "\ud800"], ids=repr)
def test_no_folder_is_called_that(wrong):
    with pytest.raises((TypeError, ValueError), match="^folder must be the path of a file"):
        models.open_model(wrong)


@pytest.mark.parametrize("wrong", [None, "gpt2", {}, na.training.ToyModel], ids=str)
def test_what_is_no_model(wrong, tmp_path):
    for call in (lambda: generate(wrong, [1], 1), lambda: models.rollout(wrong, [TEXT]),
                 lambda: models.arrays_of(wrong), lambda: models.to_huggingface(wrong, tmp_path / "x")):
        with pytest.raises(TypeError, match="^model must be a (layer|LanguageModel)"):
            call()
    with pytest.raises(TypeError, match="^model must be a LanguageModel"):
        models.to_huggingface(TOY, tmp_path / "x")
