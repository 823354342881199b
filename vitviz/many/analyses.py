"""analyze_many: the analyses of many pictures, one after another, whose passes go in batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..errors import CaptureError, VitvizError
from ..model.loaded import LoadedModel, check_runs
from ..model.photo import Photo
from ..model.photo_levels import Look, look_of
from ..probe.analysis import Analysis, seen, seen_pixels
from ..probe.capture.selection import count_of
from ..probe.explain.case import TOGETHER
from ..probe.forward import forwards, sound
from ..probe.intervene.intervention import Intervention
from ..probe.intervene.intervention import read as read_interventions
from ..probe.intervene.surgery import Surgery
from .pictures import BrokenPicture, Label, Picture, note_others, pictures_of, watched

Made = TypeVar("Made")

ON_A_GPU = 8  # times as many tokens together: there, caches are no limit


def analyze_many(
    loaded: LoadedModel,
    pictures: Any,
    *,
    batch_size: int | None = None,
    invert: bool = False,
    stretch: bool = False,
    normalised: bool = False,
    values: bool = False,
    interventions: Sequence[Intervention | Mapping[str, Any]] = (),
    progress: bool = True,
) -> Iterator[Analysis | BrokenPicture]:
    """The analysis of each picture in turn, equal to that of `analyze` up to float rounding.

    pictures      a folder, paths, Pillow images, arrays, a tensor or a data set: `pictures_of`
    batch_size    pictures in one pass of the model; None: a size that suits the processor
    progress      whether to show a bar, if stderr is a terminal, and to name there the files that
                  are passed over in folders

    The other parameters are those of `analyze`. For a picture that gives no analysis, a
    `BrokenPicture` with a sentence stands in its place. Only the pictures and passes of one batch
    are held in memory, and an analysis shares no memory with the others.

    Raises `SelectionError` as `analyze` does, and `VitvizError` if there are no pictures, both
    before the first picture is opened.
    """
    look = look_of(invert, stretch, normalised)
    check_runs(loaded)
    surgery = Surgery(read_interventions(interventions, card=loaded.card), loaded.card.config)
    found = watched(pictures_of(pictures), progress)
    note_others(pictures, progress)
    batches = in_batches(found, size_of(batch_size, loaded))
    return (analysis for analysis, _ in labelled(loaded, batches, surgery, look, values))


def size_of(batch_size: int | None, loaded: LoadedModel) -> int:
    """Number of pictures in one pass of the model. Raises `SelectionError` for less than 1."""
    if batch_size is not None:
        return count_of(batch_size, "batch_size")
    tokens = TOGETHER if loaded.device.type == "cpu" else ON_A_GPU * TOGETHER
    return max(1, tokens // loaded.card.config.num_tokens)


def in_batches(pictures: Iterable[Picture], size: int) -> Iterator[list[Picture]]:
    """Lists of `size` pictures; the last can be shorter."""
    left = iter(pictures)
    while batch := list(islice(left, size)):
        yield batch


def made_of(
    batch: Sequence[Picture], look: Look, make: Callable[[Photo], Made]
) -> list[tuple[Made, Label] | BrokenPicture]:
    """Apply `make` to each photo: (result, class if known), or the reason why that failed."""

    def of_photo(picture: Picture) -> tuple[Made, Label]:
        photo, label = picture.open(look.stretch)
        return make(photo.invert() if look.invert else photo), label

    return each_of(batch, of_photo)


def each_of(
    batch: Sequence[Picture], make: Callable[[Picture], tuple[Made, Label]]
) -> list[tuple[Made, Label] | BrokenPicture]:
    """Apply `make` to each picture: its result, or the reason why it failed."""
    made: list[tuple[Made, Label] | BrokenPicture] = []
    for picture in batch:
        try:
            made.append(make(picture))
        except VitvizError as error:
            made.append(BrokenPicture(picture.name, str(error)))
    return made


@torch.inference_mode(False)  # as `analyze`
def labelled(
    loaded: LoadedModel,
    batches: Iterable[list[Picture]],
    surgery: Surgery,
    look: Look | None,
    values: bool = False,
) -> Iterator[tuple[Analysis | BrokenPicture, Label]]:
    """The analysis of each picture, and its class if that is known. `look` None: see `look_of`."""

    def as_given(picture: Picture) -> tuple[tuple[dict[str, Any], Tensor, Tensor], Label]:
        given, label = picture.given()
        return seen_pixels(loaded, given, surgery, picture.name), label

    for batch in batches:
        opened: Sequence[Any] = (
            each_of(batch, as_given)
            if look is None
            else made_of(batch, look, lambda photo: seen(loaded, photo, surgery))
        )
        whole = [each[0] for each in opened if not isinstance(each, BrokenPicture)]
        pixels = [one for _, _, one in whole] if look is None else None
        shown = [each[1] for each in whole]
        passes = (
            forwards(loaded, shown, surgery, values=values, pixels=pixels) if whole else iter(())
        )
        for picture, each in zip(batch, opened, strict=True):
            if isinstance(each, BrokenPicture):
                yield each, None
                continue
            (around, *_), label = each
            try:
                yield Analysis(**around, pass_=sound(next(passes), loaded)), label
            except CaptureError as error:
                yield BrokenPicture(picture.name, str(error)), None
