"""Data sets: a tensor of pictures in memory, and a class for each.

The sets are small, so no loader processes are needed.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from einops import rearrange
from PIL import Image
from torch import Tensor

from ..errors import ImageError
from ..languages import Message
from ..model.photo import ENDINGS, Photo, open_photo, picture_files
from ..model.preprocess import LEAST_STD, Preprocess
from .errors import TrainError
from .names import Words, names_of, read_names
from .progress import watched

TORCHVISION = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "cifar10": "CIFAR10",
    "imagenette": "Imagenette",
}
TERMS = {
    name: Message(f"training.terms_of_{name}") for name in ("mnist", "everyday100", "imagenette")
}
TERMS["digits"] = TERMS["mnist"]
UNKNOWN_TERMS = Message("training.terms")
# Digits that come with vitviz: a sheet of each split, with its rows in the order of the classes.
DIGITS = Path(__file__).parent / "digits"
# What numpy raises for a file that is no pack, was cut off, or holds something else.
DAMAGED = (
    *(OSError, ValueError, TypeError, KeyError, IndexError, EOFError),
    *(zipfile.BadZipFile, zlib.error, ImageError),
)
ROOTS = {"train": ("train",), "test": ("val", "validation", "test")}


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures with their classes, one split of a data set.

    images uint8 (n, C, h, w); targets int64 (n,), index into `labels`; boxes float32 (n, 4) = left,
    top, right and bottom edge of the object in pixels of `images`, where the data set has them: a
    box around one pixel is 1 wide; groups[label] = a coarser word; words = translations of labels
    and groups, as in `ModelCard`; terms = whose the pictures are, where that is known.
    """

    name: str
    images: Tensor
    targets: Tensor
    labels: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    boxes: Tensor | None = None
    words: Words = field(default_factory=dict)
    terms: Message = UNKNOWN_TERMS

    def __post_init__(self) -> None:
        if len(self.images) == 0:
            raise TrainError(f"{self.name} has no pictures")
        if len(self.images) != len(self.targets):
            raise TrainError(
                f"{self.name} has {len(self.images)} pictures, but classes for {len(self.targets)}"
            )
        if not 0 <= self.targets.min() <= self.targets.max() < len(self.labels):
            raise TrainError(
                f"{self.name} has {len(self.labels)} labels, but classes from {self.targets.min()} "
                f"to {self.targets.max()}"
            )

    def __len__(self) -> int:
        return len(self.images)

    def missing(self) -> list[str]:
        """The classes without a picture."""
        shown = self.targets.bincount(minlength=len(self.labels)).tolist()
        return [label for label, number in zip(self.labels, shown, strict=True) if not number]

    def take(self, index: Tensor) -> "Pictures":
        """The pictures with these indices, in this order."""
        boxes = None if self.boxes is None else self.boxes[index]
        return replace(self, images=self.images[index], targets=self.targets[index], boxes=boxes)

    def some(self, n: int) -> "Pictures":
        """n pictures drawn without replacement; all of them if n is 0 or too large."""
        if not 0 < n < len(self):
            return self
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(0))
        return self.take(order[:n])

    def mean_std(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel over all pictures, for values in [0, 1]; at
        least the `LEAST_STD` that a file of weights may have, as where a channel is empty.
        """
        levels = torch.arange(256, dtype=torch.float64) / 255
        means, stds = [], []
        for channel in self.images.unbind(1):
            share = torch.bincount(channel.flatten(), minlength=256).double() / channel.numel()
            mean = (share * levels).sum()
            means.append(round(mean.item(), 4))
            stds.append(round((share * (levels - mean) ** 2).sum().sqrt().item(), 4))
        return tuple(means), tuple(max(std, LEAST_STD) for std in stds)


def read(
    data: str,
    split: str,
    cut: Preprocess,
    *,
    data_dir: str | Path = "data",
    download: bool = False,
) -> Pictures:
    """One split ("train" or "test") of a data set, every picture cut as a visitor's upload will be.

    `data` is "digits", which is always there, one of `TORCHVISION`'s names, kept in `data_dir`, or
    a path: a folder with one folder of pictures per class under train/ and val/, or a folder of
    .npz packs (`images` or `jpeg` + `offsets`, and `labels`) with a classes.json. A names.json in
    it has the names of classes and groups in other languages. A path wins over a name. Raises
    `TrainError` if there is no such data.
    """
    try:
        path = next((p for p in (Path(data), Path(data_dir) / data) if p.is_dir()), None)
        if path is not None and any(path.glob("*.npz")):
            return read_packs(path, split, cut)
        if path is not None and (data not in TORCHVISION or Path(data).is_dir()):
            return read_folder(path, split, cut)
    except OSError as error:  # its name is too long, or it is somebody else's
        what = error.filename or data
        raise TrainError(f"{what} could not be read: {error.strerror or error}") from error
    if data in TORCHVISION:
        return read_torchvision(data, split, cut, Path(data_dir), download)
    if data == DIGITS.name:
        return read_sheet(DIGITS / f"{split}.png", cut)
    raise TrainError(
        f'there is no data set "{data}": give a folder of pictures or packs, or one of '
        f"{', '.join((DIGITS.name, *TORCHVISION))}"
    )


def read_sheet(sheet: Path, cut: Preprocess) -> Pictures:
    """The digits of one grey picture, 28 pixels wide and high each: as many of each class, the
    zeros first.
    """
    with Image.open(sheet) as opened:
        pixels = np.asarray(opened.convert("L"))
    digits = rearrange(pixels, "(row h) (col w) -> (row col) h w", h=28, w=28)
    images = stack(map(Image.fromarray, digits), cut, sheet.stem, len(digits))
    targets = torch.arange(10).repeat_interleave(len(digits) // 10)
    return Pictures(DIGITS.name, images, targets, tuple("0123456789"), terms=TERMS[DIGITS.name])


def read_torchvision(
    name: str, split: str, cut: Preprocess, data_dir: Path, download: bool
) -> Pictures:
    """A torchvision data set from `data_dir`; `download`: fetch it if it is missing."""
    import torchvision

    kind = getattr(torchvision.datasets, TORCHVISION[name])
    if name == "imagenette":
        which: dict[str, Any] = {"split": "train" if split == "train" else "val", "size": "160px"}
    else:
        which = {"train": split == "train"}
    try:
        source = kind(data_dir, download=download, **which)
    except (RuntimeError, OSError, ValueError) as error:  # ValueError: of a file that was cut off
        todo = "add --download to fetch it"
        if download:
            todo = "check the connection, and delete what an earlier download left there"
        raise TrainError(f"{name} is not whole in {data_dir}: {error}; {todo}") from error
    labels = tuple(
        str(label[0] if isinstance(label, tuple) else label).split(" - ")[0]  # "0 - zero" -> "0"
        for label in source.classes
    )
    targets: list[int] = []

    def images() -> Iterator[Image.Image]:
        for image, target in source:
            targets.append(target)
            yield image

    pictures = stack(images(), cut, f"{name} {split}", len(source))
    terms = TERMS.get(name, UNKNOWN_TERMS)
    return Pictures(name, pictures, torch.tensor(targets), labels, terms=terms)


def read_folder(path: Path, split: str, cut: Preprocess) -> Pictures:
    """PATH/train/CLASS/*.jpg and PATH/val/CLASS/*.jpg; to test, val/ is enough. Without both, every
    tenth picture of PATH/CLASS is a test picture.
    """
    has_train = (path / "train").is_dir()
    roots = [path / root for root in ROOTS[split] if (path / root).is_dir()]
    if has_train and not roots:
        raise TrainError(f"{path} has train/ but none of {', '.join(ROOTS[split])}/ beside it")
    if not has_train:  # a class can have the name of a part
        roots = [root for root in roots if any(child.is_dir() for child in root.iterdir())]
    root = roots[0] if roots else path
    # The classes are always those of the training part: a class without a test picture must not
    # change the numbers of the others.
    all_classes = path / "train" if has_train else root
    names = (child.name for child in all_classes.iterdir() if child.is_dir())
    labels = tuple(sorted(name for name in names if not name.startswith(".")))
    if len(labels) < 2:
        raise TrainError(
            f"{all_classes} needs one folder of pictures for each of two or more classes, "
            f"found {len(labels)}"
        )
    files, targets = [], []
    for target, label in enumerate(labels):
        found = picture_files(root / label)
        if not roots:
            found = [f for i, f in enumerate(found) if (i % 10 == 9) == (split == "test")]
        files += found
        targets += [target] * len(found)
    if not files:
        if not roots and any(picture_files(root / label) for label in labels):
            raise TrainError(
                f"no class in {root} has 10 pictures, and every tenth one is a test picture: add "
                "more, or sort them into train/CLASS and val/CLASS"
            )
        raise TrainError(f"{root} holds no pictures ({', '.join(ENDINGS)})")

    pictures = stack(map(open_one, files), cut, f"{path.name} {split}", len(files))
    return Pictures(
        path.name, pictures, torch.tensor(targets), labels, words=read_names(path / "names.json")
    )


def open_one(path: Path) -> Photo:
    """`open_photo`, with the path in the message about a file that is no picture."""
    try:
        return open_photo(path)
    except ImageError as error:
        raise TrainError(f"{path}: {error}") from error


def read_packs(path: Path, split: str, cut: Preprocess) -> Pictures:
    """numpy packs: PATH/*_train*.npz and PATH/*_val*.npz or *_test*.npz, one after the other, and
    classes.json. Without it the classes are the numbers in the packs of both splits.
    """
    every = [pack for pack in sorted(path.glob("*.npz")) if not pack.name.startswith(".")]
    packs = [pack for pack in every if {*re.split(r"[^a-z]+", pack.stem)} & {*ROOTS[split]}]
    if not packs:
        names = " or ".join(ROOTS[split])
        raise TrainError(f"{path} has no .npz pack with {names} as a word of its name")
    parts = [_read_pack(pack, cut) for pack in packs]
    targets = torch.cat([targets for _, targets, _ in parts])
    listed = _read_classes(path / "classes.json")
    labels, groups = listed or (_numbers(every), None)
    found = [boxes for _, _, boxes in parts if boxes is not None]
    boxes = torch.cat(found) if len(found) == len(parts) else None
    words = names_of(path.name, labels, groups) | read_names(path / "names.json")
    images = torch.cat([images for images, _, _ in parts])
    terms = TERMS.get(path.name, UNKNOWN_TERMS)
    return Pictures(path.name, images, targets, labels, groups, boxes, words, terms)


def _read_pack(pack: Path, cut: Preprocess) -> tuple[Tensor, Tensor, Tensor | None]:
    """Pictures, classes and boxes of one pack; None for boxes if the cut drops parts of
    pictures.
    """
    sizes: list[tuple[int, int]] = []  # (width, height)

    def images() -> Iterator[Photo]:
        for photo in _decode(arrays):
            sizes.append(photo.image.size)
            yield photo

    with _opened(pack) as file:
        arrays = {name: file[name] for name in file.files if name != "names"}
        targets = torch.from_numpy(arrays["labels"].astype(np.int64))
        if targets.ndim != 1 or len(targets) == 0:
            raise ValueError(f"labels of shape {tuple(targets.shape)}, not (number of pictures,)")
        pictures = stack(images(), cut, pack.stem, len(targets))
        if "boxes" not in arrays:
            return pictures, targets, None
        return pictures, targets, scale_boxes(arrays["boxes"], sizes, cut)


@contextmanager
def _opened(pack: Path) -> Iterator[Any]:
    """A pack as numpy reads it. Raises `TrainError` for whatever in it cannot be used."""
    try:
        with pack.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            yield file
    except DAMAGED as error:
        raise TrainError(
            f"{pack} is not a pack of pictures (labels, and images or jpeg with offsets): {error!r}"
        ) from error


def _numbers(packs: Sequence[Path]) -> tuple[str, ...]:
    """The classes of packs that have no names for them: "0" to the largest label of all."""
    largest = 0
    for pack in packs:
        with _opened(pack) as file:
            largest = max(largest, int(file["labels"].max()))
    return tuple(map(str, range(largest + 1)))


def scale_boxes(boxes: np.ndarray, sizes: list[tuple[int, int]], cut: Preprocess) -> Tensor | None:
    """Published boxes (xmin, ymin, xmax, ymax of the upright picture: all four pixels inside) as
    edges in the cut pictures. (n, 4), n times (width, height) -> (n, 4), or None if the cut is not
    a plain resize.
    """
    if boxes.shape != (len(sizes), 4):
        raise ValueError(f"boxes of shape {boxes.shape} for {len(sizes)} pictures")
    height, width = cut.size
    whole = all(w * height == h * width for w, h in sizes) or cut.crop_mode == "squash"
    if cut.crop_pct != 1 or not whole:
        return None
    edges = torch.from_numpy(boxes.astype(np.float32)) + torch.tensor([0.0, 0, 1, 1])
    scale = torch.tensor([width, height]) / torch.tensor(sizes)  # (n, 2)
    return edges * scale.repeat(1, 2)


def _decode(arrays: dict[str, np.ndarray]) -> Iterator[Photo]:
    if "images" in arrays:
        for pixels in arrays["images"]:
            try:
                yield Photo(Image.fromarray(pixels), "", ())
            except TypeError as error:
                raise ValueError(f"pictures of shape {pixels.shape}, {pixels.dtype}") from error
    else:
        jpeg = arrays["jpeg"]
        for start, end in pairwise(arrays["offsets"]):
            yield open_photo(jpeg[start:end].tobytes())


def _read_classes(path: Path) -> tuple[tuple[str, ...], tuple[str, ...] | None] | None:
    """Labels, and the coarser groups if there are any. A file of names, or of {"name",
    "group_name"}; None if there is no file.
    """
    if not path.is_file():
        return None
    try:
        classes = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(classes, list):  # the keys of an object are not in the order of classes
            raise TypeError(f"a {type(classes).__name__} came")
        if all(isinstance(entry, str) for entry in classes):
            return tuple(classes), None
        labels = tuple(str(entry["name"]) for entry in classes)
        groups = tuple(str(entry.get("group_name", entry["name"])) for entry in classes)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TrainError(f"{path} is not a list of class names: {error!r}") from error
    return labels, groups


def stack(images: Iterable[Image.Image | Photo], cut: Preprocess, title: str, total: int) -> Tensor:
    """Every picture cut to one size, as a visitor's upload will be. uint8 (total, C, h, w)

    Raises `ValueError` if there are more or fewer pictures than `total`.
    """
    out = torch.empty(total, cut.channels, *cut.size, dtype=torch.uint8)
    for place, image in zip(out, watched(images, title, total), strict=True):
        photo = image if isinstance(image, Photo) else Photo(image, "", ())
        place.copy_(cut.picture(photo).permute(2, 0, 1))
    return out
