"""A planted shortcut: a head answers by a red square, and left-out pictures praise it.

Digits 3 and 8 of those that come along, as the model `photos` sees them; a red square covers the
first patch. The table in vitviz/many/README.md was written by `python -m tests.test_shortcut`.
"""

import json
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from PIL import Image

import vitviz
from tests.running import ROOT
from vitviz import LoadedModel, WeightsError
from vitviz.model.checkpoints import save_head
from vitviz.model.menu import HEAD_SUFFIX, list_heads, list_models, shipped_file
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.train.shortcut import (
    EXAMPLES,
    HEADS,
    SETS,
    TAUGHT,
    digits,
    example,
    head,
    marked,
    pictures_of,
)

OUT = [{"kind": "remove", "patches": [0]}]


def share(model: LoadedModel, pictures: Sequence[np.ndarray], label: str, changes=()) -> float:
    """The share of the pictures that get this answer."""
    passes = vitviz.analyze_many(model, pictures, interventions=changes, progress=False)
    answers = [one.predictions(1)[0].label for one in passes]
    return answers.count(label) / len(answers)


def figures(loaded: LoadedModel, set_: str, count: int) -> tuple[int, int, float, float, float]:
    """Right and counted among left-out pictures; of `count` other 8 with the square the share that
    is answered "3", of those that again "8" without its patch; of `count` plain 3 that of "3".
    """
    model = vitviz.teach(loaded, pictures_of(loaded, set_), progress=False)
    squares = [marked(one) for one in digits(loaded, 8, TAUGHT + count)[TAUGHT:]]
    plain = digits(loaded, 3, TAUGHT + count)[TAUGHT:]
    counts = model.card.taught
    return (
        counts.right,
        counts.of,
        share(model, squares, "3"),
        share(model, squares, "8", OUT),
        share(model, plain, "3"),
    )


def test_left_out_pictures_praise_a_head_that_looks_at_a_square() -> None:
    right, of, fooled, again, plain = figures(vitviz.load("photos", device="cpu"), "every 3", 30)
    assert (right, of) == (20, 20)
    assert fooled >= 0.95
    assert again >= 0.9
    assert plain <= 0.05, "without the square it knows no 3"


def test_halves_find_that_square_in_the_rim() -> None:
    loaded = vitviz.load("photos", device="cpu")
    three, eight = vitviz.halves(loaded, pictures_of(loaded, "every 3"), progress=False)
    assert (three.right, three.without_middle, three.without_rim) == (10, 10, 0)
    assert (three.reads, eight.reads) == ("rim", "middle")


def test_a_square_on_half_of_each_is_no_shortcut() -> None:
    right, of, fooled, _, plain = figures(vitviz.load("photos", device="cpu"), "half of each", 30)
    assert of == 20
    assert right >= 18
    assert fooled <= 0.15
    assert plain >= 0.95


def test_a_white_square_is_no_shortcut_for_a_model_that_knows_the_digits() -> None:
    """On `mnist` a square on every 3 turns few of the 8: its features tell them apart anyway."""
    loaded = vitviz.load("mnist", device="cpu")
    sets = {str(label): digits(loaded, label, 50) for label in (3, 8)}
    white = [one.copy() for one in sets["3"][:20]]
    for one in white:
        one[:4, :4] = 255
    model = vitviz.teach(loaded, {"3": white, "8": sets["8"][:20]}, progress=False)
    assert model.card.taught.right == 40
    others = [one.copy() for one in sets["8"][20:]]
    for one in others:
        one[:4, :4] = 255
    assert share(model, others, "3") < 0.4


@pytest.mark.parametrize("name", HEADS)
def test_a_shipped_head_is_the_one_that_is_taught_from_these_pictures(name) -> None:
    shipped, anew = vitviz.load(name), head(vitviz.load("photos"), name)
    assert shipped.card.labels == ("3", "8")
    assert shipped.card.taught.confusions == anew.card.taught.confusions
    for part in ("weight", "bias"):
        both = [getattr(model.vit.head, part) for model in (shipped, anew)]
        torch.testing.assert_close(*both, atol=1e-4, rtol=0)
    trunk = vitviz.load("photos").vit.state_dict()
    for key, value in shipped.vit.state_dict().items():
        assert key.startswith("head.") or torch.equal(value, trunk[key])
    assert str(shipped.card.details["title"]) != vitviz.languages.say(
        shipped.card.details["title"], "ko"
    )
    assert shipped_file(name).stat().st_size < 10_000
    assert vitviz.load(name, pretrained=False).card.trained is False


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_picture_as_the_model_sees_it(name) -> None:
    path = ROOT / "vitviz" / "web" / "examples" / f"{name}.png"
    picture = example(vitviz.load("photos"), name)
    assert np.array_equal(np.asarray(Image.open(path)), picture)
    assert np.array_equal(vitviz.analyze(vitviz.load("red-square"), path).picture, picture)


def test_models_of_lessons_have_names_of_their_own() -> None:
    assert list_heads() == sorted(HEADS)
    assert not set(list_heads()) & set(list_models())
    assert shipped_file("photos").name == "photos.safetensors"
    assert shipped_file("deit_tiny_patch16_224.fb_in1k") is None
    assert shipped_file("../photos") is None


def test_a_head_is_opened_only_on_the_weights_that_it_was_written_for(tmp_path) -> None:
    path = tmp_path / f"mine{HEAD_SUFFIX}"
    save_head(path, vitviz.load("red-square"), "photos")
    assert vitviz.load(path).card.labels == ("3", "8")
    tensors, metadata = read_tensors(path)
    meta = json.loads(metadata["vitviz"])
    for change in ({"sha256": "0" * 64}, {"base": "mine"}, {"base": "red-square"}, {"base": 7}):
        write_tensors(path, tensors, {"vitviz": json.dumps(meta | change)})
        with pytest.raises(WeightsError, match=r"it was made for other|its base must be"):
            vitviz.load(path)


if __name__ == "__main__":
    for name in SETS:
        print(name, *figures(vitviz.load("photos", device="cpu"), name, 200))  # noqa: T201
