"""Any upload becomes one upright RGB or grey picture, or one sentence that says why not.

Bad input is normal input here: files come from strangers. Sizes and parts are checked before a
pixel is decoded, only formats on a short list are tried, and everything a decoder may raise on
damaged bytes ends as an `ImageError`.
"""

import os
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
from PIL import Image, ImageOps

from ..errors import ImageError
from ..languages import Message
from .photo_kinds import looks_like
from .photo_levels import (
    STRETCHED_NOTE,
    Unit,
    deep_grey,
    has_16_bits,
    has_note,
    levels_of,
    note_levels,
    stretched,
    stretched_array,
    to_8_bits,
    unit_of,
    without_dark,
)
from .photo_parts import check_parts

if TYPE_CHECKING:
    from torch import Tensor

# The limits of an upload, all of them. 64 million pixels hold a 50-megapixel phone photo and take
# 0.5 GB to decode.
MAX_BYTES = 32_000_000
MAX_PIXELS = 64_000_000

# Formats that are tried. Not on the list on purpose: EPS (runs Ghostscript), ICO (holds pictures
# larger than its header says), and rare ones whose decoders are little tested.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")
ALLOWED = Message("photo.allowed", megabytes=MAX_BYTES // 10**6, megapixels=MAX_PIXELS // 10**6)

# Suffixes of files in a folder that are opened as pictures. A file that is named itself is opened
# whatever its suffix.
ENDINGS = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".pjpeg", ".pjp", ".png", ".apng", ".webp", ".gif"),
    *(".bmp", ".tif", ".tiff", ".avif", ".jp2", ".j2k", ".jpf", ".ppm", ".pgm", ".pbm", ".pnm"),
)

# Exceptions of decoders for bytes that do not match their header, found by flipping and cutting
# bytes.
DECODER_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    struct.error,
    zlib.error,
)

# EXIF orientation 2 to 8 -> how to turn the picture upright.
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
EXIF_ORIENTATION = 0x0112
XMP = {"xmp", "XML:com.adobe.xmp"}  # keys of Pillow
DNG_VERSION = 50706  # a tag of TIFF that raw photos have
COLOURFUL = 40  # levels between the strongest and the weakest channel of a pixel
COLOURED = 0.05  # least share of colourful pixels in a picture that counts as coloured


class _Quiet(threading.local):
    """A module pattern for `warnings.filters` that matches only while its thread opens a picture.

    It hides Pillow's warnings about large or odd files, whatever other filters there are, without
    hiding the warnings of other threads.
    """

    opening = False

    def match(self, _module: str) -> bool:
        return self.opening

    @contextmanager
    def __call__(self) -> Iterator[None]:
        filters = cast("list[object]", warnings.filters)
        if filters[:1] != [IGNORED]:  # the first match decides, and filters may have been added
            filters[:] = [IGNORED, *(entry for entry in filters if entry != IGNORED)]
        before, self.opening = self.opening, True
        try:
            yield
        finally:
            self.opening = before


_quiet = _Quiet()
IGNORED = ("ignore", None, Warning, _quiet, 0)


@dataclass(frozen=True, eq=False)
class Photo:
    """One picture as a person would see it, without metadata.

    image: mode RGB or L, upright, never mutated. name: shown to people, never used as a path.
    notes: what was done to the file that its owner may not expect, e.g. "first of 12 frames".
    inverted: whether light and dark are exchanged.
    """

    image: Image.Image
    name: str
    notes: tuple[str, ...] = ()
    inverted: bool = False

    def in_channels(self, channels: int) -> Image.Image:
        """The image with 1 channel (grey) or 3 (RGB); not a copy, so it must not be changed."""
        mode = "L" if channels == 1 else "RGB"
        return self.image if self.image.mode == mode else self.image.convert(mode)

    def has_colours(self) -> bool:
        """Whether enough pixels (`COLOURED`) have a colour, not only a tint (`COLOURFUL`)."""
        if self.image.mode != "RGB":
            return False
        some = np.asarray(self.image.resize((64, 64), Image.Resampling.NEAREST), dtype=np.int16)
        return bool((np.ptp(some, axis=2) > COLOURFUL).mean() > COLOURED)

    @property
    def stretched(self) -> bool:
        """Whether its levels were stretched over the whole range."""
        return has_note(self.notes, STRETCHED_NOTE)

    def invert(self) -> "Photo":
        """The same picture with every value v from 0 to 255 replaced by 255 - v."""
        image, notes = ImageOps.invert(self.image), without_dark(self.notes)
        return replace(self, image=image, notes=notes, inverted=not self.inverted)

    def stretch(self, unit: Unit = (1, 0)) -> "Photo":
        """The same picture with its lowest level in any channel at 0 and its highest at 255, all
        between them in proportion, rounded. `notes` say so, in the unit of its file. A picture of
        one level, or with both 0 and 255, is returned unchanged.
        """
        image = stretched(self.image)
        if image is self.image:
            return self
        low, high = levels_of(self.image)
        lowest, highest = f"{unit[0] * low}", f"{unit[0] * high + unit[1]}"
        note = Message("photo.levels_stretched", low=lowest, high=highest)
        return replace(self, image=image, notes=(*without_dark(self.notes), note))


def open_photo(
    source: "str | Path | bytes | BinaryIO | Image.Image | np.ndarray | Tensor | Photo",
    name: str | None = None,
    *,
    stretch: bool = False,
) -> Photo:
    """The picture in a file, bytes, a Pillow image, an array (height, width[, channels]), or a
    tensor ([channels,] height, width).

    Their values are uint8 (or whole numbers 0 to 255), uint16 (0 to 65535), bool, or float from 0
    to 1; channels 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 (RGB and alpha). Of an animation the
    first frame is taken, transparent parts are shown on white, EXIF rotation is applied; `notes`
    say so. `stretch`: the lowest level of the picture becomes black and its highest white, as for
    an X-ray of 12 bits in a file of 16. Raises `ImageError` with a sentence for anything else.
    """
    if isinstance(source, Photo):
        photo = source if name is None else replace(source, name=_clean(name))
        return photo.stretch() if stretch else photo
    if isinstance(source, Mapping) and source:
        key = "image" if "image" in source else next(iter(source))
        raise ImageError(f"A picture was expected, and a dictionary came: take [{key!r}] of it.")
    if hasattr(source, "movedim"):  # a tensor: torch takes seconds to import
        source = _channels_last(cast("Tensor", source))
    name = _clean(name if name is not None else _name_of(source))
    if isinstance(source, np.ndarray):
        array, notes = stretched_array(source) if stretch else (source, ())
        photo = _from_image(_from_array(array, name), name)
        return replace(photo, notes=(*photo.notes, *notes))
    if isinstance(source, Image.Image):
        return _from_image(source, name, stretch)
    data = _read(source, name)
    if not data:
        raise ImageError(Message("photo.empty", name=repr(name), allowed=ALLOWED))
    if len(data) > MAX_BYTES:
        most = MAX_BYTES // 10**6
        raise ImageError(
            Message("photo.too_long", name=repr(name), megabytes=most, allowed=ALLOWED)
        )
    return _from_bytes(data, name, stretch)


def picture_files(folder: Path) -> list[Path]:
    """The picture files (`ENDINGS`) in a folder and all its subfolders, sorted.

    Hidden files and folders are left out: macOS writes ._cat.jpg beside cat.jpg. Folders behind
    links are entered, unless they lie inside this one.
    """
    return [path for path in _files_in(folder)[0] if path.suffix.lower() in ENDINGS]


def passed_over(folder: Path) -> list[Path]:
    """The other files in a folder and all its subfolders, sorted, hidden ones left out; and the
    subfolders that cannot be read.
    """
    files, closed = _files_in(folder)
    return sorted([*(path for path in files if path.suffix.lower() not in ENDINGS), *closed])


def _files_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files in a folder and all its subfolders, sorted, and the subfolders that cannot be read.

    No folder is entered twice, by whatever link.
    """
    files: list[Path] = []
    closed: set[Path] = set()
    inside, entered = folder.resolve(), set[tuple[int, int]]()

    def is_new(path: Path) -> bool:
        if path.is_symlink() and path.resolve().is_relative_to(inside):
            return False
        try:
            status = path.stat()
        except OSError:  # the walk says why
            return True
        place = (status.st_dev, status.st_ino)
        new = place not in entered
        entered.add(place)
        return new

    def left_out(error: OSError) -> None:
        closed.add(Path(error.filename))

    is_new(folder)
    for top, folders, names in os.walk(folder, onerror=left_out, followlinks=True):
        shown = (name for name in sorted(folders) if not name.startswith("."))
        folders[:] = [name for name in shown if is_new(Path(top, name))]
        for path in (Path(top, name) for name in names if not name.startswith(".")):
            try:
                if path.is_file():
                    files.append(path)
            except PermissionError:  # the folder can be listed, and not entered
                closed.add(Path(top))
    return sorted(files), sorted(closed)


def _name_of(source: object) -> str:
    """A display name from the source's path, `filename` or `name`."""
    if isinstance(source, str | Path):
        return Path(source).name
    if isinstance(source, np.ndarray):
        return "array"
    for attribute in ("filename", "name"):  # Pillow images, open files
        if isinstance(value := getattr(source, attribute, None), str | Path) and str(value):
            return Path(value).name
    return "photo"


def _clean(name: str) -> str:
    """Turn a stranger's file name into one printable line of at most 80 characters."""
    name = "".join(c if c.isprintable() else " " for c in str(name)).strip()
    return (name if len(name) <= 80 else f"{name[:60]}...{name[-17:]}") or "photo"


def _read(source: object, name: str) -> bytes:
    """The bytes of a file, at most one more than `MAX_BYTES`."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    try:
        if isinstance(source, str | Path):
            if str(source).lower().startswith(("http://", "https://", "data:")):
                raise ImageError(f"{name!r} is an address, not a file: download the picture first.")
            path = Path(source).expanduser()
            if not path.is_file():  # also keeps devices and pipes out, which may never end
                came = "a folder" if path.is_dir() else "no file"
                raise ImageError(
                    f"There is {came} at {_clean(str(source))!r}; a picture file is expected."
                )
            with path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        if callable(read := getattr(source, "read", None)):
            if isinstance(data := read(MAX_BYTES + 1), bytes):
                return data
            raise ImageError(f"{name!r} was opened as text; open it with mode 'rb'.")
    except (OSError, ValueError, RuntimeError) as error:  # a null byte in a path, no such home
        raise ImageError(Message("photo.unreadable", name=repr(name), reason=str(error))) from error
    raise ImageError(
        f"A picture can be a path, bytes, an open file, a Pillow image, a numpy array or a"
        f" tensor; a {type(source).__name__} came."
    )


def _from_bytes(data: bytes, name: str, stretch: bool) -> Photo:
    check_parts(data, name)
    with _quiet():
        try:
            image = Image.open(BytesIO(data), formats=FORMATS)
        except Image.DecompressionBombError as error:
            pixels = re.search(r"\d+", str(error))
            raise _too_large(
                name, int(pixels[0]) if pixels else 2 * (Image.MAX_IMAGE_PIXELS or 0)
            ) from error
        except DECODER_ERRORS as error:
            raise ImageError(
                Message("photo.no_picture", name=repr(name), what=looks_like(data), allowed=ALLOWED)
            ) from error
        _check_size(image, name)
        try:
            notes = _first_frame(image, data)
            unit, orientation = unit_of(image, data), _orientation(image)
            image.load()  # which turns a TIFF upright by itself
        except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
            raise ImageError(
                Message("photo.cut_off", name=repr(name), format=image.format)
            ) from error
        _check_size(image, name)
        if unit[0] > 1:
            notes.append(Message("photo.from_16_bits"))
        if image.format == "TIFF" and orientation in UPRIGHT:
            notes.append(Message("photo.upright"))
        return _finish(image, name, notes, stretch, unit)


def _from_image(image: Image.Image, name: str, stretch: bool = False) -> Photo:
    _check_size(image, name)
    with _quiet():
        try:
            image.load()
        except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
            raise ImageError(
                f"The Pillow image {name!r} cannot be decoded: {_clean(str(error))}."
            ) from error
        return _finish(image, name, [], stretch)


def _channels_last(tensor: "Tensor") -> np.ndarray:
    array = tensor.detach().cpu()
    if array.is_floating_point() and array.itemsize < 4:  # numpy has no bfloat16
        array = array.float()
    return (array.movedim(0, -1) if array.ndim == 3 else array).numpy()


def _from_array(array: np.ndarray, name: str) -> Image.Image:
    """(height, width) or (height, width, 1 to 4) -> L, LA, RGB or RGBA."""
    shape = array.shape
    if array.ndim not in (2, 3) or (array.ndim == 3 and shape[2] not in (1, 2, 3, 4)) or 0 in shape:
        hint = ", not channels first" if array.ndim == 3 and shape[0] in (1, 3, 4) else ""
        if array.ndim == 4:
            one = "; take [0] of it" if shape[0] == 1 else ""
            hint = f", not {shape[0]} pictures at once (analyze_many takes them){one},"
        end = "."
        if array.ndim == 3 and not hint and shape[2] > 4:  # such as the bands of a satellite
            end = f": choose 1 or 3 of its {shape[2]} channels, such as array[..., [3, 2, 1]]."
        raise ImageError(
            f"An array of shape (height, width) or (height, width, 1 to 4 channels){hint}"
            f" is expected; one of shape {shape} came{end}"
        )
    if shape[0] * shape[1] > MAX_PIXELS:
        raise _too_large(name, shape[0] * shape[1], (shape[1], shape[0]))
    if array.dtype == np.bool_:
        values = array.astype(np.uint8) * 255
    elif has_16_bits(array):
        values = to_8_bits(array, 65535)
    elif array.dtype.kind in "iu":
        _check_range(array, 255, "whole numbers from 0 to 255")
        values = array.astype(np.uint8)
    elif array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ImageError(
                "The array holds NaN or infinite values; float arrays must hold values from 0 to 1."
            )
        _check_range(array, 1, "values from 0 to 1 (or uint8 from 0 to 255)")
        values = to_8_bits(array, 1)
    else:
        raise ImageError(
            f"An array of uint8 or float values is expected; dtype {array.dtype} came."
        )
    return Image.fromarray(
        np.ascontiguousarray(values[..., 0] if values.shape[2:] == (1,) else values)
    )


def _check_range(array: np.ndarray, highest: int, expected: str) -> None:
    low, high = array.min(), array.max()
    if low < 0 or high > highest:
        raise ImageError(
            f"An array of {array.dtype} must hold {expected}; values from {low} to {high} came."
        )


def _check_size(image: Image.Image, name: str) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise ImageError(
            Message("photo.nothing_to_see", name=repr(name), width=width, height=height)
        )
    if width * height > MAX_PIXELS:
        raise _too_large(name, width * height, image.size)


def _too_large(name: str, pixels: int, size: tuple[int, int] | None = None) -> ImageError:
    size_text = Message("photo.pixels", count=f"{pixels:,}")
    if size:
        size_text = Message("photo.size", width=f"{size[0]:,}", height=f"{size[1]:,}")
    return ImageError(
        Message(
            "photo.too_large",
            name=repr(name),
            size=size_text,
            megapixels=f"{pixels / 1e6:.0f}",
            most=MAX_PIXELS // 10**6,
        )
    )


def _first_frame(image: Image.Image, data: bytes) -> list[str]:
    """The note that only the first picture of an animation or of several pages is shown, if so.

    Counting is bounded: pages of a TIFF are not counted (Pillow needs quadratic time for hostile
    files), and frames of a GIF only if it has at most 100,000 bytes that could open a frame.
    """
    if image.format == "TIFF":
        if DNG_VERSION in getattr(image, "tag_v2", {}):
            return [Message("photo.raw_preview")]
        return [Message("photo.first_page")] if getattr(image, "is_animated", False) else []
    if image.format not in ("GIF", "PNG", "WEBP", "AVIF") or not getattr(
        image, "is_animated", False
    ):
        return []  # the second picture in an MPO is a preview or a depth map: nobody misses it
    if image.format == "GIF" and data.count(b",") > 100_000:  # the byte that opens each frame
        return [Message("photo.first_frame")]
    count = getattr(image, "n_frames", 1)
    if getattr(image, "default_image", False):  # an APNG begins with a picture for old programs
        image.seek(1)
        count -= 1
    return [Message("photo.first_of", count=count)] if count > 1 else []


def _finish(
    image: Image.Image, name: str, notes: list[str], stretch: bool, unit: Unit = (1, 0)
) -> Photo:
    """Decoded picture of any mode -> RGB or L, upright, no metadata."""
    notes = list(notes)
    orientation = _orientation(image)
    try:
        deep = image.mode.startswith("I") or image.mode == "F"
        image = _to_rgb_or_grey(image, name, notes, stretch)
    except (ValueError, OSError, MemoryError) as error:
        raise ImageError(
            Message("photo.colours", name=repr(name), mode=image.mode, allowed=ALLOWED)
        ) from error
    if orientation in UPRIGHT:
        image = image.transpose(UPRIGHT[orientation])
        notes.append(Message("photo.upright"))
    image.info = {}  # where the photo was taken is nobody's business
    if not deep:  # `deep_grey` has noted the levels of a deep picture
        note_levels(image, unit, notes)
    photo = Photo(image, name, tuple(notes))
    return photo.stretch(unit) if stretch and not deep else photo


def _orientation(image: Image.Image) -> object:
    """The EXIF orientation; 1 if it is missing or damaged, since the picture is still good.

    Without EXIF Pillow takes the orientation of XMP, which browsers pass over: one file would be
    turned on a server, and in the page not.
    """
    try:
        # A TIFF has EXIF as tags of its own.
        if hasattr(image, "tag_v2") or XMP.isdisjoint(image.info):
            exif = image.getexif()
        else:
            exif = Image.Exif()
            exif.load(image.info.get("exif", b""))
        return exif.get(EXIF_ORIENTATION, 1)
    except DECODER_ERRORS:
        return 1


def _to_rgb_or_grey(image: Image.Image, name: str, notes: list[str], stretch: bool) -> Image.Image:
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(deep_grey(image, name, notes, stretch))
    if (
        image.mode == "La"
    ):  # grey with premultiplied alpha, reachable from a caller's Pillow image only
        image = image.convert("LA")
    grey = image.mode in ("1", "L", "LA")
    if image.has_transparency_data:
        layers = image.convert("RGBA")
        if layers.getchannel("A").getextrema() != (255, 255):
            white = Image.new("RGBA", layers.size, "white")
            image = Image.alpha_composite(white, layers)
            notes.append(Message("photo.on_white"))
        else:
            image = layers
    elif image.mode == "CMYK":
        notes.append(Message("photo.from_cmyk"))
    return image.convert("L" if grey else "RGB")
