"""Photographs as people bring them: shares of known ones and strangers that a model keeps."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import ImageError
from ..model.json_values import is_whole
from ..model.photo import Photo, open_photo
from ..model.preprocess import Preprocess
from ..probe.measure.predictions import known_or_not
from .dataset import Pictures, stack
from .errors import TrainError
from .others import auroc, threshold
from .scores import score

LIST = "photographs.json"


@dataclass(frozen=True, eq=False)
class Photographs:
    """Large photographs, cut as an upload is: those of a model's classes, and strangers."""

    known: Pictures
    strangers: Tensor  # uint8 (m, C, h, w)


def read_photographs(folder: Path, cut: Preprocess, labels: tuple[str, ...]) -> Photographs:
    """The photographs that FOLDER/photographs.json lists, [{"file", "index"}]: the number of its
    class among the labels, or null for a stranger.

    Raises `TrainError` if it lists no known ones or no strangers, or cannot be read.
    """
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        rows = [(str(row["file"]), row["index"]) for row in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainError(f"{folder} needs {LIST}, a list of file and index: {error!r}") from error
    for name, index in rows:
        if index is not None and not (is_whole(index) and 0 <= index < len(labels)):
            raise TrainError(
                f"{name} in {folder} has index {index!r}; there are {len(labels)} classes, from 0"
            )
    known = [(name, index) for name, index in rows if index is not None]
    strangers = [name for name, index in rows if index is None]
    if not known or not strangers:
        raise TrainError(
            f"{folder} needs photographs of the classes and of other things, "
            f"got {len(known)} and {len(strangers)}"
        )

    def cut_out(names: list[str]) -> Tensor:
        photos = [open_one(folder / name) for name in names]
        return stack(photos, cut, folder.name, len(photos))

    targets = torch.tensor([index for _, index in known])
    pictures = Pictures(folder.name, cut_out([name for name, _ in known]), targets, labels)
    return Photographs(pictures, cut_out(strangers))


def open_one(path: Path) -> Photo:
    """`open_photo`, with the path in the message about a file that is no picture."""
    try:
        return open_photo(path)
    except ImageError as error:
        raise TrainError(f"{path}: {error}") from error


def lowered(held_back: float, known: Tensor) -> float:
    """The threshold that keeps its share of the pictures held back, and of known photographs as
    well: the lower one of the two. A number, scores (n,) -> a number
    """
    return min(held_back, threshold(known))


def on_photographs(
    known: Tensor, strangers: Tensor, targets: Tensor, limit: float, held_back: float
) -> dict[str, Any]:
    """Effect of a threshold on photographs. Logits (n, K), (m, K), classes (n,) -> {"known",
    "strangers", "top1", "top5", "auroc", "kept", "left_out", "refused"}

    known and strangers are counts, the rest lies in [0, 1]. kept is the share of the known that
    reach `limit`, refused that of the strangers that do not. left_out is the share that is kept if
    the threshold is `lowered` without the photograph in question: kept says too much where the
    same photographs set the threshold. `held_back` is the threshold before it was lowered.
    """
    ours, theirs = known_or_not(known), known_or_not(strangers)
    every = torch.arange(len(ours))
    fair = [ours[i] >= lowered(held_back, ours[every != i]) for i in every if len(ours) > 1]
    right = score(known, targets)
    return {
        "known": len(known),
        "strangers": len(strangers),
        "top1": right["top1"],
        "top5": right["top5"],
        "auroc": auroc(ours, theirs),
        "kept": (ours >= limit).double().mean().item(),
        **({"left_out": torch.stack(fair).double().mean().item()} if fair else {}),
        "refused": (theirs < limit).double().mean().item(),
    }


def in_words(found: dict[str, Any]) -> str:
    """The part "photographs" of a report, in a sentence."""
    left_out = ""
    if "left_out" in found:
        left_out = f" ({found['left_out']:.1%}, if each has no part in the threshold)"
    return (
        f"photographs as people bring them: it keeps {found['kept']:.1%} of {found['known']} of "
        f"its classes{left_out} and refuses {found['refused']:.1%} of {found['strangers']} of "
        f"other things; AUROC {found['auroc']:.3f}, top-1 {found['top1']:.1%}, "
        f"top-5 {found['top5']:.1%}"
    )
