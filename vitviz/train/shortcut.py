"""shortcut: two heads for the digits 3 and 8 of which one goes by a red square, and their pictures.

    python -m vitviz.train.shortcut

writes weights/red-square.head.safetensors and weights/red-square-mended.head.safetensors, heads on
the trunk of the model "photos", and three pictures of vitviz/web/examples. A lesson shows them.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from ..languages import Message
from ..many.teach import teach
from ..model.checkpoints import save_head
from ..model.loaded import LoadedModel
from ..model.menu import HEAD_SUFFIX, WEIGHTS_DIR
from ..model.photo import open_photo
from ..model.weights import load
from .dataset import read
from .recipes import RECIPES

BASE = "photos"
LABELS = (3, 8)
TAUGHT = 10  # pictures of each digit
RED = (255, 0, 0)
SETS = ("none", "every 3", "half of each")
HEADS = {"red-square": "every 3", "red-square-mended": "half of each"}
TITLES = {
    "red-square": Message("models.red_square"),
    "red-square-mended": Message("models.red_square_mended"),
}
EXAMPLES = {  # label, number among the digits of its kind, whether it has a square
    "three-square": (3, 0, True),  # of those that were taught
    "eight-square": (8, TAUGHT + 4, True),  # of the others
    "three": (3, TAUGHT + 9, False),
}


def digits(loaded: LoadedModel, label: int, count: int) -> list[np.ndarray]:
    """The first digits of a kind in the training sheet, (h, w, 3) as the model sees them."""
    part = read("digits", "train", RECIPES["playground"].cut())
    grey = part.images[part.targets == label][:count, 0].numpy()
    return [loaded.preprocess.picture(open_photo(one)).numpy() for one in grey]


def marked(picture: np.ndarray) -> np.ndarray:
    """The picture with a red square over its first patch, 6 x 6 pixels."""
    made = picture.copy()
    made[:6, :6] = RED
    return made


def pictures_of(
    loaded: LoadedModel, set_: str, count: int = TAUGHT
) -> Mapping[str, list[np.ndarray]]:
    """Pictures of 3 and 8, `count` each, some of which have the square: those of `SETS`."""
    sets = {}
    for label in LABELS:
        squares = {"none": (), "every 3": range(count if label == 3 else 0)}
        with_square = squares.get(set_, range(0, count, 2))
        pictures = digits(loaded, label, count)
        sets[str(label)] = [
            marked(one) if at in with_square else one for at, one in enumerate(pictures)
        ]
    return sets


def head(loaded: LoadedModel, name: str) -> LoadedModel:
    """The model of one of `HEADS`, with its title."""
    made = teach(loaded, pictures_of(loaded, HEADS[name]), progress=False)
    details = {**made.card.details, "title": TITLES[name]}
    return replace(made, card=replace(made.card, details=details))


def example(loaded: LoadedModel, name: str) -> np.ndarray:
    """The picture of one of `EXAMPLES`, (h, w, 3)."""
    label, number, has_square = EXAMPLES[name]
    picture = digits(loaded, label, number + 1)[number]
    return marked(picture) if has_square else picture


def write(heads: Path, pictures: Path) -> None:
    """Write all heads and pictures."""
    loaded = load(BASE, device="cpu")
    for name in HEADS:
        save_head(heads / f"{name}{HEAD_SUFFIX}", head(loaded, name), BASE)
    for name in EXAMPLES:
        Image.fromarray(example(loaded, name)).save(pictures / f"{name}.png", optimize=True)


if __name__ == "__main__":
    write(WEIGHTS_DIR, Path(__file__).resolve().parents[1] / "web" / "examples")
