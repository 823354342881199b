"""The photograph behind the pixels of a model: the same crop, sharper, for the eye alone.

A model sees few pixels, in which people hardly know a face again. The crop shows the very same
part of the photo in the photo's own resolution, so that a patch lies over what it was cut from; the
whole shows what was cut away. No number is computed from either.
"""

import io
from dataclasses import dataclass
from typing import Any

from PIL import Image

from ..errors import VitvizError
from .json_values import is_number, short
from .photo import DECODER_ERRORS, Photo
from .preprocess import Preprocess

LONGEST = 512  # pixels: the longest side of the crop
WHOLE_LONGEST = 192  # and of the whole photo, on which only the place of the crop is shown
MOST_BYTES = 49_152  # of the crop
WHOLE_MOST_BYTES = 8_192
# Qualities of JPEG, and about how many bytes they leave of the first (photos of 300 to 512 pixels).
# The best one that should fit is tried next.
QUALITIES = {82: 1.0, 74: 0.75, 64: 0.62, 52: 0.52, 40: 0.43, 28: 0.35}
FINER = 1.2  # how many times finer than the model's pixels a crop must be, to show anything new
SEEN = 0.995  # a model that sees this share of both sides sees the whole photo

Frame = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class Photograph:
    """The part of a photo that a model saw, and the whole photo, as small JPEG files.

    crop   the part of the photo that the model saw, at most 512 pixels long; None if the photo has
           no finer pixels than the model saw
    whole  the whole photo, at most 192 pixels long; None if the model saw all of it
    frame  top, left, height and width of the crop as shares of the whole photo, in [0, 1]
    """

    crop: bytes | None
    whole: bytes | None
    frame: Frame

    @classmethod
    def of(cls, photo: Photo, preprocess: Preprocess, size: tuple[int, int]) -> "Photograph | None":
        """The photograph of a photo for a model that sees `size` pixels, (height, width).

        None if it would show nothing more than the model's own pixels.
        """
        image = photo.in_channels(preprocess.channels)
        box = preprocess.framing(photo, size)
        crop = _crop(image, box, size, preprocess)
        frame = _frame(image, box)
        cut = min(frame[2:]) < SEEN
        whole = _jpeg(_reduced(image, WHOLE_LONGEST), WHOLE_MOST_BYTES) if cut else None
        return cls(crop=crop, whole=whole, frame=frame) if crop or whole else None

    @classmethod
    def read(cls, crop: bytes | None, whole: bytes | None, frame: Any) -> "Photograph":
        """Make a photograph from the unchecked parts of a file. Raises `VitvizError` for parts that
        `of` could not have made.
        """
        if not (isinstance(frame, list) and len(frame) == 4):
            raise VitvizError(f"the frame of its photograph is {short(frame)}")
        if not all(is_number(share, 0, 1) for share in frame):
            raise VitvizError(f"the frame of its photograph is {short(frame)}")
        for data, longest in ((crop, LONGEST), (whole, WHOLE_LONGEST)):
            if data is not None:
                _check(data, longest)
        top, left, height, width = map(float, frame)
        return cls(crop=crop, whole=whole, frame=(top, left, height, width))


def _frame(image: Image.Image, box: Frame) -> Frame:
    """The box as shares of the photo, clipped to the photo."""
    top, left, bottom, right = (
        min(max(edge / side, 0.0), 1.0)
        for edge, side in zip(box, (image.height, image.width) * 2, strict=True)
    )
    return top, left, bottom - top, right - left


def _crop(
    image: Image.Image, box: Frame, size: tuple[int, int], preprocess: Preprocess
) -> bytes | None:
    """The part of the photo inside the box, in the shape of the model's picture.

    None if the photo is not finer.
    """
    top, left, bottom, right = box
    finest = max((bottom - top) / size[0], (right - left) / size[1])
    scale = min(LONGEST / max(size), finest)
    if scale < FINER:
        return None
    height, width = (round(side * scale) for side in size)
    # Where the model sees a margin around the photo, the box is larger than the photo.
    y, x = max(top, 0.0), max(left, 0.0)
    down, across = min(bottom, float(image.height)), min(right, float(image.width))
    first_row, first_col = (
        round((inner - outer) / (end - outer) * side)
        for inner, outer, end, side in ((y, top, bottom, height), (x, left, right, width))
    )
    rows = max(1, round((down - top) / (bottom - top) * height) - first_row)
    cols = max(1, round((across - left) / (right - left) * width) - first_col)
    if max(abs(across - x - cols), abs(down - y - rows)) < 1:
        # Already of that size: whole pixels are taken, at most half a pixel from the box.
        x, y = min(round(x), image.width - cols), min(round(y), image.height - rows)
        part = image.crop((x, y, x + cols, y + rows))
    else:
        part = image.resize(
            (cols, rows), Image.Resampling.BICUBIC, box=(x, y, across, down), reducing_gap=2.0
        )
    seen = Image.new(image.mode, (width, height), preprocess.margin)
    seen.paste(part, (first_col, first_row))
    return _jpeg(seen, MOST_BYTES)


def _reduced(image: Image.Image, longest: int) -> Image.Image:
    """The image, made smaller if its longest side has more than `longest` pixels."""
    scale = min(1.0, longest / max(image.size))
    width, height = (max(1, round(side * scale)) for side in image.size)
    # Averaging whole pixels first takes a quarter of the time of an exact resize; at this small
    # size nobody sees the difference.
    return image.resize((width, height), Image.Resampling.HAMMING, reducing_gap=1.0)


def _jpeg(image: Image.Image, most: int) -> bytes:
    """A JPEG of at most `most` bytes; if the lowest quality is too large, with fewer pixels."""
    while True:
        left = 1.0  # how much smaller than at the first quality it has to be
        for quality, size in QUALITIES.items():
            if size > left and quality != min(QUALITIES):
                continue
            image.save(buffer := io.BytesIO(), "JPEG", quality=quality)
            if buffer.tell() <= most:
                return buffer.getvalue()
            left = size * most / buffer.tell()
        image = _reduced(image, max(image.size) * 3 // 4)


def _check(data: bytes, longest: int) -> None:
    """Raise `VitvizError` for bytes that are no JPEG with sides of at most `longest` pixels."""
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
            size = image.size
            if max(size) <= longest:
                image.load()
    except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
        raise VitvizError("its photograph cannot be decoded") from error
    if max(size) > longest:
        raise VitvizError(f"its photograph has {size[1]} x {size[0]} pixels")
