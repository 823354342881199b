"""Picture set: pictures of one's own things in one file, as the page saves them to go on with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import VitvizError
from ..model.json_values import is_whole, parse
from ..model.taught import LONGEST_TEXT, WRITTEN
from ..model.tensor_file import read_tensors, write_tensors
from ..whole import at_home
from .pictures import Label, Picture

FORMAT = "vitviz_set"  # key of the description in the metadata; viewer/play/ownfile.js has it too
VERSION = 1
LONGEST = 40  # letters of a name
MOST_GROUP = 10**9


@dataclass(frozen=True, eq=False, slots=True)
class PictureSet:
    """Things with their pictures as a model sees them.

    names     of the things
    groups    of the pictures of each thing: those of one group, such as one go of the camera, are
              left out together
    pictures  uint8 (n, h, w, channels), the pictures of the first thing first
    card      what their author wrote, by `model.taught.WRITTEN`
    """

    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    pictures: Tensor
    card: Mapping[str, str] = field(default_factory=dict)

    def classes(self) -> dict[str, list[Picture]]:
        """The pictures of each thing, by its name; things without pictures are left out."""
        found, left = {}, iter(self.pictures)
        for name, groups in zip(self.names, self.groups, strict=True):
            if groups:
                found[name] = [
                    Picture(f"{name} {at}", partial(_of, next(left).numpy()), group=group)
                    for at, group in enumerate(groups, 1)
                ]
        return found


def _of(picture: Any) -> tuple[Any, Label]:
    return picture, None


def is_set(source: object) -> bool:
    """Whether the argument is the path of a .safetensors file."""
    return isinstance(source, str | Path) and str(source).endswith(".safetensors")


def read_set(path: str | Path) -> PictureSet:
    """Read a set that the page or `write_set` wrote. Raises `VitvizError` for any other file."""
    file = at_home(path)
    try:
        if not file.is_file():
            raise VitvizError(f"there is no file {file} with a set of pictures")
        tensors, metadata = read_tensors(file)
    except (OSError, ValueError) as error:
        raise VitvizError(f"{file.name} is not a whole .safetensors file: {error}") from error
    if FORMAT not in metadata:
        raise VitvizError(f"{file.name} is not a set of pictures that the page saved")
    try:
        return _checked(tensors.get("pictures"), parse(metadata[FORMAT]), file.name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VitvizError(f"{file.name} is a set of pictures, but it is damaged") from error


def _checked(pictures: Tensor | None, told: Any, file: str) -> PictureSet:
    """Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` for a description that does
    not fit.
    """
    names = tuple(each["name"] for each in told["things"])
    groups = tuple(tuple(each["groups"]) for each in told["things"])
    if told["version"] != VERSION or not all(isinstance(name, str) for name in names):
        raise ValueError("of another version, or without names")
    if not all(is_whole(each) and 0 <= each <= MOST_GROUP for some in groups for each in some):
        raise ValueError("a group must be a whole number")
    sound = pictures is not None and pictures.dtype == torch.uint8 and pictures.ndim == 4
    if pictures is None or not sound or len(pictures) != sum(map(len, groups)):
        raise ValueError("its pictures do not fit")
    card = {name: text.strip() for name, text in told.get("card", {}).items() if text.strip()}
    if not card.keys() <= {*WRITTEN} or any(len(text) > LONGEST_TEXT for text in card.values()):
        raise ValueError("its card has other texts")
    for name in names:
        if not name.strip() or len(name) > LONGEST or not name.isprintable():
            raise VitvizError(
                f"a name in {file} is empty, longer than {LONGEST} letters, or has characters that "
                f"cannot be seen: {name[:LONGEST]!r}"
            )
    if len(set(names)) < len(names):
        raise VitvizError(f"two things in {file} have the same name")
    return PictureSet(names, groups, pictures, card)


def write_set(path: str | Path, some: PictureSet) -> None:
    """Write a set that the page opens, and `read_set`. Raises `OSError` if that fails."""
    things = [
        {"name": name, "groups": groups}
        for name, groups in zip(some.names, some.groups, strict=True)
    ]
    told = json.dumps({"version": VERSION, "things": things, "card": dict(some.card)})
    write_tensors(path, {"pictures": some.pictures}, {FORMAT: told})
