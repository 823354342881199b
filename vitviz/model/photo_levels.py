"""Levels of a picture: 16-bit, 32-bit and float values as 8 bits, and dark pictures stretched."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from ..errors import ImageError, SelectionError
from ..languages import Message

DARK = 0.5  # a picture is dark if its highest level is below this share of the file's range
DARK_NOTE = "photo.dark"
STRETCHED_NOTE = "photo.levels_stretched"
# Turns levels of 8 bits into those of a file: low * unit[0], high * unit[0] + unit[1].
Unit = tuple[int, int]
BAND_VALUES = 2**18  # values that are floats at a time
BITS_PER_SAMPLE = 258  # a tag of TIFF


class Look(NamedTuple):
    """How the levels of a photo are read; the names are those of the parameters of a link.

    invert   light and dark are exchanged
    stretch  the lowest level becomes black and the highest white, before light and dark are
             exchanged
    """

    invert: bool = False
    stretch: bool = False

    @classmethod
    def of_link(cls, link: Mapping[str, str]) -> "Look":
        """The look in the parameters of a link: `invert=1`, `stretch=1`."""
        return cls(*(link.get(name) == "1" for name in cls._fields))

    @classmethod
    def of_page(cls, sent: Mapping[str, Any]) -> "Look":
        """The look of a photo that a page sent, {"inverted", "stretched"}."""
        return cls(sent.get("inverted") is True, sent.get("stretched") is True)

    def link(self) -> dict[str, str]:
        """Parameters of a link."""
        return {name: "1" for name, on in self._asdict().items() if on}


def look_of(invert: bool, stretch: bool, normalised: bool) -> Look | None:
    """How photos are read; None: the pictures are normalised pixels. Raises `SelectionError`."""
    if normalised and (invert or stretch):
        raise SelectionError("invert and stretch are for photos, not for normalised pixels")
    return None if normalised else Look(invert, stretch)


AS_IT_IS = Look()


def unit_of(image: Image.Image, data: bytes) -> Unit:
    """The `Unit` of an open file. Pillow reduces colours of 16 bits to 8: it keeps the upper 8
    bits, or, in a PPM, rounds.
    """
    deep, rounded = (256, 255), (257, 0)
    if image.format == "PNG" and image.mode in ("RGB", "RGBA", "LA"):
        return deep if data[24:25] == b"\x10" else (1, 0)  # bit depth, in the first chunk
    bits = getattr(image, "tag_v2", {}).get(BITS_PER_SAMPLE, ())
    if image.format == "TIFF" and image.mode in ("RGB", "RGBA"):
        return deep if 16 in (bits if isinstance(bits, tuple) else (bits,)) else (1, 0)
    is_deep = image.format == "PPM" and image.mode == "RGB" and _has_deep_header(data)
    return rounded if is_deep else (1, 0)


def _has_deep_header(data: bytes) -> bool:
    """Whether the header of a PPM says a highest value above 255."""
    words = [word for line in data[:200].split(b"\n") for word in line.split(b"#")[0].split()]
    return len(words) > 3 and words[3].isdigit() and int(words[3]) > 255


def note_levels(image: Image.Image, unit: Unit, notes: list[str]) -> None:
    """Note the highest level of a decoded picture, RGB or L, if it is dark."""
    low, high = levels_of(image)
    note_dark(unit[0] * low, unit[0] * high + unit[1], 65535 if unit[0] > 1 else 255, notes)


def note_dark(low: float, high: float, top: int, notes: list[str]) -> None:
    """Note the highest level of a picture that stays below `DARK` of its range, unless the picture
    has one level only.
    """
    if low < high < DARK * top:
        notes.append(Message("photo.dark", high=f"{high:g}", top=top))


def has_note(notes: Iterable[str], *keys: str) -> bool:
    """Whether one of the notes on a photo is a text of these keys."""
    return any(isinstance(note, Message) and note.key in keys for note in notes)


def without_dark(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes without the one that the photo is dark to the model."""
    return tuple(note for note in notes if not has_note([note], DARK_NOTE))


def levels_of(image: Image.Image) -> tuple[int, int]:
    """The lowest and the highest level in any channel, 0 to 255."""
    found: Any = image.getextrema()
    channels = [found] if image.mode == "L" else found
    return min(low for low, _ in channels), max(high for _, high in channels)


def stretched(image: Image.Image) -> Image.Image:
    """A picture whose lowest level becomes 0 and its highest 255, all channels alike, so that
    colours keep their hue. RGB or L; the same object if it has one level, or the whole range.
    """
    low, high = levels_of(image)
    if high <= low or (low, high) == (0, 255):
        return image
    table = to_8_bits(np.clip(np.arange(256), low, high), high, low).tolist()
    return image.point(table * len(image.getbands()))


def stretched_array(array: np.ndarray) -> tuple[np.ndarray, tuple[Message, ...]]:
    """An array of numbers of any range as uint8, its lowest number 0 and its highest 255, and the
    notes about it. Transparent parts are shown on white first, as those of files are; alpha itself
    is no level. Arrays without two different, finite numbers, or with an alpha out of range, are
    returned unchanged.
    """
    if array.dtype.kind not in "iuf" or not array.size:
        return array, ()
    has_alpha = array.ndim == 3 and array.shape[2] in (2, 4)
    made = _on_white(array) if has_alpha else (array, ())
    if made is None:
        return array, ()
    shown, notes = made
    low, high = float(shown.min()), float(shown.max())
    if not high > low or not np.isfinite([low, high]).all():
        return array, ()
    note = Message("photo.levels_stretched", low=f"{low:g}", high=f"{high:g}")
    return to_8_bits(shown, high, low), (*notes, note)


def _on_white(array: np.ndarray) -> tuple[np.ndarray, tuple[Message, ...]] | None:
    """The colours of (h, w, 2 or 4) on white where they are transparent, and the note about that;
    None if alpha is out of range. Alpha is from 0 to the highest value of its type (1 for floats),
    and white is that value, or a higher one among the colours.
    """
    top = 1 if array.dtype.kind == "f" else 65535 if has_16_bits(array) else 255
    colours, alpha = array[..., :-1], array[..., -1:]
    least, most = float(alpha.min()), float(alpha.max())
    if not 0 <= least <= most <= top:
        return None
    if least == top:
        return colours, ()
    white, shown = max(float(top), float(colours.max())), np.empty_like(colours)
    for row, (some, own) in enumerate(zip(colours, alpha, strict=True)):  # floats take much memory
        share = own.astype(np.float64) / top
        on_white = some * share + white * (1 - share)
        shown[row] = on_white if array.dtype.kind == "f" else np.rint(on_white)
    return shown, (Message("photo.on_white"),)


def has_16_bits(array: np.ndarray) -> bool:
    """Whether values are from 0 to 65535, in either order of bytes."""
    return array.dtype.kind == "u" and array.dtype.itemsize == 2


def to_8_bits(values: np.ndarray, highest: float, lowest: float = 0.0) -> np.ndarray:
    """Scale `lowest`..`highest` to 0..255, rounded. uint8

    A band at a time: as floats, 64 megapixels would take up to 1.5 GB.
    """
    scale, flat = 255.0 / (highest - lowest), values.reshape(-1)
    levels = np.empty(flat.shape, np.uint8)
    for start in range(0, flat.size, BAND_VALUES):
        band = flat[start : start + BAND_VALUES].astype(np.float64)
        levels[start : start + BAND_VALUES] = np.rint((band - lowest) * scale)
    return levels.reshape(values.shape)


def deep_grey(image: Image.Image, name: str, notes: list[str], stretch: bool = False) -> np.ndarray:
    """16-bit, 32-bit and float grey -> (height, width) uint8, scaled, never clipped.

    16 bits run from 0 to 65535. The range of 32-bit values is not written in the file: values
    within 0..1 (float), 0..255 or 0..65535 are taken to use that range, others are stretched from
    their smallest to their largest. `stretch`: so are all.
    """
    values = np.asarray(image)
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ImageError(Message("photo.not_finite", name=repr(name)))
    if stretch and high > low:
        notes.append(Message("photo.levels_stretched", low=f"{low:g}", high=f"{high:g}"))
        return to_8_bits(values, high, low)
    is_float = image.mode == "F"
    if image.mode.startswith("I;16") or (image.format == "PPM" and not is_float):
        notes.append(Message("photo.from_16_bits"))
        note_dark(low, high, 65535, notes)
        return to_8_bits(values, 65535)
    tops = (1, 255, 65535) if is_float else (255, 65535)
    for top in tops:
        if low >= 0 and high <= top:
            notes.append(Message("photo.from_32_bits", top=top))
            note_dark(low, high, top, notes)
            return to_8_bits(values, top)
    notes.append(Message("photo.stretched", low=f"{low:g}", high=f"{high:g}"))
    return to_8_bits(values, high if high > low else low + 1, low)
