"""Find many pictures, in files, folders, lists, tensors and data sets; open them one by one."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from ..errors import ImageError, VitvizError
from ..languages import Message
from ..model.json_values import short
from ..model.photo import DECODER_ERRORS, Photo, open_photo, passed_over, picture_files
from ..model.photo_kinds import kind_of

NAMED = 6  # files that were passed over, in a sentence
Label = int | str | None  # the class of a picture: its number, its name, or not known


@dataclass(frozen=True, slots=True)
class BrokenPicture:
    """A picture without a result, and the sentence that says why."""

    name: str
    sentence: str


@dataclass(frozen=True, eq=False, slots=True)
class Picture:
    """One picture of many, which is opened only when it is needed.

    name   name of its file as given, or "picture 17", counted from 0
    take   returns an argument of `open_photo`, and the class: its number, its name, or None
    file   path of the file, if there is one
    group  pictures of one group are left out of a head together; None: each is its own
    label  its class, if that is known before the picture is opened
    """

    name: str
    take: Callable[[], tuple[Any, Label]]
    file: Path | None = None
    group: int | None = None
    label: Label = None

    def stamp(self) -> str:
        """Length and time of the file, to detect changes; "" if there is no file."""
        try:
            stat = self.file and self.file.stat()
        except (OSError, ValueError):  # `open` reports the reason
            return ""
        return f"{stat.st_size} {stat.st_mtime_ns}" if stat else ""

    def stamped(self, stretch: bool = False) -> tuple["Picture", str]:
        """The picture and its stamp: that of its file, or a digest of its pixels if it has no file.

        For the digest the picture is opened; the returned `Picture` keeps the photo, so that it is
        not opened again. The stamp is "" if the picture cannot be opened: `open` says why.
        """
        if self.file is not None:
            return self, self.stamp()
        try:
            photo, label = self.open(stretch)
        except VitvizError:
            return self, ""
        digest = hashlib.blake2b(photo.image.tobytes(), digest_size=16)
        digest.update(f"{photo.image.mode} {photo.image.size}".encode())
        return replace(self, take=partial(_known, photo, label)), digest.hexdigest()

    def given(self) -> tuple[Any, Label]:
        """The picture as it was given, and its class. Raises `ImageError` if its source fails."""
        try:
            return self.take()
        except (*DECODER_ERRORS, Image.DecompressionBombError) as error:  # data sets raise various
            raise ImageError(f"{self.name} cannot be opened: {error}") from error

    def open(self, stretch: bool = False) -> tuple[Photo, Label]:
        """The picture, upright, and its class. `stretch`: see `open_photo`. Raises `ImageError`
        with the sentence for it.
        """
        source, label = self.given()
        named = isinstance(source, str | Path | Photo) or bool(getattr(source, "filename", ""))
        return open_photo(source, None if named else self.name, stretch=stretch), label


def pictures_of(source: Any, labels: str | Sequence[Label] | None = None) -> Iterable[Picture]:
    """The pictures in a user's argument; a sequence if their number is known.

    source  a path; a folder, with all the folders in it; a Pillow image, array or `Photo`; a tensor
            (N, C, h, w) or an array (N, h, w, C); a `torch.utils.data.Dataset`, whose items are
            pictures or pairs of picture and class; or any iterable of these or of batches (N, C,
            h, w), alone or with their classes, such as a DataLoader, one batch or several of it,
            or a Series of pandas, in its order. Tensors hold whole numbers from 0 to 255 or floats
            from 0 to 1, not normalised
    labels  the class of each picture, its number or name; "folders": the name of the folder that a
            file lies in

    Raises `VitvizError` for a source without pictures, and for labels that are no numbers or names.
    """
    by_folder = isinstance(labels, str) and labels == "folders"
    given = None if labels is None or by_folder else _labels(labels)
    found = _found(source, by_folder)
    if isinstance(found, list) and not found:
        others = f": {note}" if (note := others_in(source)) else ""
        several = isinstance(source, list | tuple) and len(source) > 0
        where = ", ".join(map(str, source)) if several else str(source)
        raise VitvizError(f"there are no pictures in {where[:80]!r}{others}")
    if given is None:
        return found
    if isinstance(found, list) and len(found) != len(given):
        raise VitvizError(f"{len(found)} pictures need as many labels, got {len(given)}")
    labelled = _with_labels(found, given)
    return list(labelled) if isinstance(found, list) else labelled


def _with_labels(found: Iterable[Picture], given: Sequence[Label]) -> Iterator[Picture]:
    """Each picture with its class. Raises `VitvizError` where the classes are too few or too many,
    which is known only at the end of pictures that come one by one.
    """
    count = 0
    for picture in found:
        if count == len(given):
            raise VitvizError(f"more than {count} pictures came, and {count} labels")
        yield with_label(picture, given[count])
        count += 1
    if count < len(given):
        raise VitvizError(f"{count} pictures need as many labels, got {len(given)}")


def _found(source: Any, by_folder: bool) -> Iterable[Picture]:
    """The pictures of a source; a list if their number is known."""
    if isinstance(source, Mapping):
        raise VitvizError(
            "pictures can be a folder, a list, a tensor or a data set; "
            f"a {type(source).__name__} came, and vitviz.teach takes pictures by class"
        )
    if _is_one(source) or _is_batch_with_classes(source):
        return list(_each(0, source, by_folder))
    if hasattr(source, "iloc"):  # of pandas, which takes a number in brackets for a label
        source = _column(source)
    if isinstance(source, list | tuple):  # a folder or a batch among them can hold many
        return [
            picture
            for place, item in enumerate(source)
            for picture in _each(place, item, by_folder)
        ]
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return [
            Picture(f"picture {place}", partial(_item, source, place))
            for place in range(len(source))
        ]
    if isinstance(source, Iterable):
        return (
            picture
            for place, item in enumerate(source)
            for picture in _each(place, item, by_folder)
        )
    raise VitvizError(
        f"pictures can be a folder, a list, a tensor or a data set; a {type(source).__name__} came"
    )


def _column(source: Any) -> list[Any]:
    """The values of a Series of pandas, in their order. Raises `VitvizError` for a DataFrame."""
    if getattr(source, "ndim", 1) != 1:
        raise VitvizError(
            f"a {type(source).__name__} came: take the column of it that has the pictures"
        )
    return list(source)


def _labels(labels: Any) -> list[Label]:
    """The labels of a user: numbers as int. Raises `VitvizError` for other things."""
    orderless = isinstance(labels, str | Mapping | Set)
    try:
        given = None if orderless else [*labels]
    except TypeError:  # a number, or a tensor of one
        given = None
    if given is None:
        raise VitvizError(f'labels must be "folders" or one for each picture, got {short(labels)}')
    return [_as_label(label) for label in given]


def _as_label(label: Any) -> Label:
    if label is None or isinstance(label, str):
        return label
    try:
        if float(label) == int(label):  # also of numpy and torch
            return int(label)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise VitvizError(f"a label must be the number or the name of a class, got {short(label)}")


def with_label(picture: Picture, label: Label) -> Picture:
    """The same picture, of this class."""
    return replace(picture, take=partial(_labelled, picture, label), label=label)


def note_others(source: Any, progress: bool) -> None:
    """Name the files that are passed over in the folders of a source on stderr, if `progress`."""
    if progress and (note := others_in(source)):
        tqdm.write(f"note: {note}", file=sys.stderr)


def others_in(source: Any) -> Message | None:
    """A sentence about the files that are passed over in the folders of a source: their number, and
    the names of the first, with what they are. None if there are none.
    """
    items = source if isinstance(source, list | tuple) else [source]
    folders = [item for item in items if isinstance(item, str | Path) and is_folder(item)]
    files = [file for folder in folders for file in passed_over(_expanded(folder))]
    if not files:
        return None
    said: dict[str, str] = {}  # kind: the first file of it
    names = []
    for file in files[:NAMED]:
        kind = _kind_of(file)
        names.append(file.name if kind in said else f"{file.name} ({kind})")
        said.setdefault(kind, file.name)
    more = ("...",) if len(files) > NAMED else ()
    return Message("photo.passed_over", count=f"{len(files):,}", names=(*names, *more))


def _kind_of(file: Path) -> str:
    try:
        return kind_of(file)
    except OSError as error:
        return str(error.strerror)


def watched(pictures: Iterable[Picture], progress: bool) -> Iterator[Picture]:
    """Iterate over the pictures with a progress bar on stderr, if that is a terminal."""
    total = len(pictures) if isinstance(pictures, Sequence) else None
    # tqdm's None: a bar on a terminal alone
    disable = None if progress else True
    yield from tqdm(pictures, total=total, unit=" pictures", leave=False, disable=disable)


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder of this path; False for impossible names, and for "", which Python
    takes for the current folder.
    """
    try:
        return path != "" and Path(path).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, a null byte, no such home
        return False


def _is_one(source: Any) -> bool:
    if isinstance(source, Tensor | np.ndarray):
        return source.ndim < 4
    return isinstance(source, str | Path | bytes | Image.Image | Photo)


def _is_batch_with_classes(source: Any) -> bool:
    """Whether this is one batch of a DataLoader, [images, classes], and no list of two batches."""
    if not isinstance(source, tuple | list) or len(source) != 2:
        return False
    return [getattr(part, "ndim", None) for part in source] == [4, 1]


def _each(place: int, source: Any, by_folder: bool) -> Iterator[Picture]:
    """The pictures of a folder in the order of their names, or of a batch; for other sources a
    single picture. A `Picture` stays as it is.
    """
    if isinstance(source, Picture):
        return iter([source])
    if (batch := _batch(source)) is not None:
        return (
            Picture(f"picture {row} of batch {place}", partial(_pair, pair))
            for row, pair in enumerate(batch)
        )
    if not isinstance(source, str | Path):
        return iter([Picture(f"picture {place}", partial(_pair, source))])
    if isinstance(source, str) and "://" in source:  # as a path it would lose a slash
        return iter([Picture(source, partial(_pair, source))])
    path = _expanded(source)
    files = picture_files(path) if is_folder(source) else [path]
    return (_of_file(file, file.absolute().parent.name if by_folder else None) for file in files)


def _of_file(file: Path, label: Label) -> Picture:
    return Picture(str(file), partial(_known, file, label), file, label=label)


def _batch(source: Any) -> list[tuple[Any, Any]] | None:
    """The pictures of a batch, each with its class or None; None if this is no batch."""
    if isinstance(source, tuple | list) and len(source) == 1:  # of a `TensorDataset`
        (source,) = source
    alone = not isinstance(source, tuple | list) or len(source) < 2
    images, classes = (source, None) if alone else source[:2]
    if not isinstance(images, Tensor | np.ndarray) or images.ndim != 4:
        return None
    labels = [None] * len(images) if classes is None else [*classes]
    if len(labels) != len(images):
        raise VitvizError(f"a batch of {len(images)} pictures has {len(labels)} classes")
    return list(zip(images, labels, strict=True))


def _expanded(path: str | Path) -> Path:
    """A path whose "~" is the home; unchanged if that is not known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _item(source: Any, place: int) -> tuple[Any, Label]:
    """An item of a data set or a sequence; class numbers become names if the data set has names,
    and a negative one None.
    """
    picture, label = _pair(source[place])
    names = getattr(source, "classes", ())  # as data sets of torchvision have them
    if hasattr(names, "tolist"):  # an array, or an Index of pandas
        names = names.tolist()
    if isinstance(names, Mapping):  # names by their numbers
        names = [names.get(number, number) for number in range(len(names))]
    if not isinstance(names, Sequence) or not isinstance(label, int) or label >= len(names):
        return picture, label
    if label < 0:
        return picture, None
    name = names[label]
    # ImageNet of torchvision has all names of a class
    return picture, ", ".join(map(str, name)) if isinstance(name, tuple | list) else str(name)


def _pair(item: Any) -> tuple[Any, Label]:
    if not isinstance(item, tuple | list):
        return item, None
    if len(item) < 2:
        raise ValueError("an item must be a picture, or a picture and its class")
    picture, label = item[:2]
    return picture, _as_label(label)


def _known(picture: Any, label: Label) -> tuple[Any, Label]:
    return picture, label


def _labelled(picture: Picture, label: Label) -> tuple[Any, Label]:
    return picture.take()[0], label
