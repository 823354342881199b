"""Ink: whether a model of digits was taught light or dark strokes, and where digits lay."""

import torch
from torch import Tensor

from ...model.loaded import ModelCard
from ...model.preprocess import Preprocess
from ...model.untrained import recipe_of

RIM = 1 / 14  # width of the rim of a picture, where its ground is seen, as a share of a side
STROKES = 0.02  # share of the pixels that strokes cover at least
CONTRAST = 0.15  # of strokes and ground at least; 1 is that of black and white
MNIST_SIDE = 20 / 28  # of the picture: the longer side of a digit of MNIST, as its page says
DARK_GROUND = 1 / 3  # mean brightness below which the pictures of a training have a dark ground


def is_dark_on_light(picture: Tensor) -> bool:
    """Whether the darkest pixels are further from the ground than the lightest. uint8 (h, w, 1)

    The ground is the median of the rim. Of the 10,000 test digits of MNIST this finds all that are
    inverted and none that is not; as `train/ink.py` changes them, with faded ink and shadows, 99 %
    of the dark ones and 2 in 10,000 of the others.
    """
    rows, cols = (max(1, round(side * RIM)) for side in picture.shape[:2])
    rim = torch.ones(picture.shape, dtype=torch.bool)
    rim[rows:-rows, cols:-cols] = False
    ground = _level(picture[rim], 0.5)
    darkest, lightest = (_level(picture, share) for share in (STROKES, 1 - STROKES))
    return ground - darkest > max(lightest - ground, 255 * CONTRAST)


def _level(values: Tensor, share: float) -> int:
    """The level from 0 to 255 that this share of the values does not exceed. uint8, any shape"""
    below = values.flatten().bincount(minlength=256).cumsum(0)
    return int((below < share * values.numel()).sum())


def taught_light_ink_only(card: ModelCard, preprocess: Preprocess) -> bool:
    """Whether a model was trained on light strokes on a dark ground, and never on the opposite.

    False if the checkpoint does not hold its recipe.
    """
    recipe = recipe_of(card.details)
    never = bool(recipe) and recipe.get("invert", 0) == 0  # older recipes do not have it
    dark = preprocess.channels == 1 and preprocess.mean[0] < DARK_GROUND
    return card.trained and never and dark


def taught_place(card: ModelCard) -> dict[str, float] | None:
    """Size and place of the digits that a model was trained on, as shares of a picture's side.

    "side": their longer side; "least" and "most": its range, as the training zoomed; "off": largest
    shift of their centre of mass from the middle, where MNIST has it (Y. LeCun, C. Cortes and C.
    Burges). None for models of other data, and if the recipe is not known.
    """
    recipe = recipe_of(card.details)
    if not card.trained or recipe.get("data") != "mnist":
        return None
    settings = [recipe.get(name) for name in ("zoom", "shift", "image_size")]
    numbers = [value for value in settings if isinstance(value, int | float)]
    if len(numbers) < len(settings):
        return None
    zoom, shift, pixels = numbers
    if not (0 <= zoom < 1 and 0 <= shift < pixels):  # NaN too
        return None
    least, most = MNIST_SIDE / (1 + zoom), MNIST_SIDE / (1 - zoom)
    return {"side": MNIST_SIDE, "least": least, "most": min(most, 1.0), "off": shift / pixels}
