"""A planted shortcut: a head answers by a red square, and left-out pictures praise it.

Digits 3 and 8 of those that come along, as the model `photos` sees them; a red square covers the
first patch. The table in vitviz/many/README.md was written by `python -m tests.test_shortcut`.
"""

from collections.abc import Sequence

import numpy as np

import vitviz
from vitviz import LoadedModel, open_photo
from vitviz.train.dataset import read
from vitviz.train.recipes import RECIPES

TAUGHT = 10  # pictures of each digit
SETS = ("none", "every 3", "half of each")
OUT = [{"kind": "remove", "patches": [0]}]


def digits(loaded: LoadedModel, label: int, count: int) -> list[np.ndarray]:
    """The first digits of a kind, (h, w, 3) as the model sees them."""
    part = read("digits", "train", RECIPES["playground"].cut())
    grey = part.images[part.targets == label][:count, 0].numpy()
    return [loaded.preprocess.picture(open_photo(one)).numpy() for one in grey]


def marked(picture: np.ndarray) -> np.ndarray:
    """The picture with a red square over its first patch, 6 x 6 pixels."""
    made = picture.copy()
    made[:6, :6] = (255, 0, 0)
    return made


def pictures_of(loaded: LoadedModel, set_: str) -> dict[str, list[np.ndarray]]:
    """Pictures of 3 and 8, some of which have the square: those of `SETS`."""
    sets = {}
    for label in (3, 8):
        squares = {"none": (), "every 3": range(TAUGHT if label == 3 else 0)}
        with_square = squares.get(set_, range(0, TAUGHT, 2))
        pictures = digits(loaded, label, TAUGHT)
        sets[str(label)] = [
            marked(one) if at in with_square else one for at, one in enumerate(pictures)
        ]
    return sets


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


if __name__ == "__main__":
    for name in SETS:
        print(name, *figures(vitviz.load("photos", device="cpu"), name, 200))  # noqa: T201
