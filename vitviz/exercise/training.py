"""Train a ViT of the exercise with the digits that come along, and open it before and after."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import VitvizError
from ..model.checkpoints import save
from ..model.loaded import LoadedModel
from ..train.dataset import Pictures, read
from ..train.recipes import RECIPES
from ..web.store.examples import FOLDER
from .checking import CAUGHT, in_one_line, vit_of
from .opening import open_vit

DIGIT = FOLDER / "digit.png"  # drawn for vitviz: in none of the data sets
SIZES = {
    "image_size": 28,
    "patch_size": 7,
    "channels": 1,
    "classes": 10,
    "dim": 48,
    "depth": 2,
    "heads": 4,
}


class Trained(NamedTuple):
    """A ViT before and after its training."""

    before: LoadedModel
    after: LoadedModel


def train_with_digits(
    vit: Callable[..., nn.Module], train: Callable[..., Any], seed: int = 0
) -> Trained:
    """Train a ViT of the exercise with 4,000 digits, in about half a minute on one core.

    vit    the class, filled in
    train  the exercise's function: called with the model, pixels (4000, 1, 28, 28) from 0 to 1 and
           labels (4000,)
    seed   of the first weights and the order of the digits

    Prints how many of 1,000 other digits are right before and after. Raises `VitvizError` if the
    student's code stops, `WeightsError` if `open_vit` does.
    """
    cut = RECIPES["playground"].cut()
    taught, others = read("digits", "train", cut), read("digits", "test", cut)
    torch.manual_seed(seed)
    names = [str(digit) for digit in range(10)]
    try:
        model = vit(**SIZES)
        before = open_vit(model, names, name="my_vit_untrained")
        print(f"untrained: {_right(model, others)} of {len(others)} digits right")
        train(model, _pixels(taught), taught.targets)
        print(f"trained: {_right(model, others)} of {len(others)} digits right")
    except VitvizError:
        raise
    except CAUGHT as error:
        raise VitvizError(f"the training stops with {in_one_line(error)}") from error
    return Trained(before, open_vit(model, names))


def train_file(path: Path, names: Mapping[str, Any]) -> list[Path]:
    """Train the ViT of a file with its function `train`, and write both models beside the file.

    names  those that `run_file` returned for the file, which is not run again

    Returns the paths of the trained and of the untrained one; files of these names are replaced.
    Raises `VitvizError` if the file has no class `ViT` or no function `train`, or its code stops.
    """
    vit, train = vit_of(names, path), names.get("train")
    if not callable(train):
        raise VitvizError(f"{path} has no train")
    trained = train_with_digits(vit, train)
    files = {path.with_suffix(".safetensors"): trained.after}
    files[path.with_name(f"{path.stem}_untrained.safetensors")] = trained.before
    for file, model in files.items():
        save(model, file)
    return list(files)


def _pixels(pictures: Pictures) -> Tensor:
    """uint8 from 0 to 255 -> float32 from 0 to 1. (n, 1, 28, 28)"""
    return pictures.images.float() / 255


@torch.inference_mode()
def _right(model: nn.Module, pictures: Pictures) -> int:
    training = model.training
    answers = model.eval()(_pixels(pictures)).argmax(-1)
    model.train(training)
    return int((answers == pictures.targets).sum())
