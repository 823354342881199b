"""Levels of a picture: 16-bit, 32-bit and float values as 8 bits, and dark pictures stretched."""

import numpy as np
from PIL import Image

from ..errors import ImageError
from ..languages import Message

DARK = 0.5  # share of the range of a file that its highest level stays below, to be worth a note
BITS_PER_SAMPLE = 258  # a tag of TIFF


def is_16_bits(image: Image.Image, data: bytes) -> bool:
    """Whether the colours of a file have 16 bits, of which Pillow gives the upper 8."""
    if image.format == "PNG" and image.mode in ("RGB", "RGBA", "LA"):
        return data[24:25] == b"\x10"  # bit depth, in the first chunk of every PNG
    bits = getattr(image, "tag_v2", {}).get(BITS_PER_SAMPLE, ())
    if image.format == "TIFF" and image.mode in ("RGB", "RGBA"):
        return 16 in (bits if isinstance(bits, tuple) else (bits,))
    return image.format == "PPM" and image.mode == "RGB" and _has_deep_header(data)


def _has_deep_header(data: bytes) -> bool:
    """Whether the header of a PPM says a highest value above 255."""
    words = [word for line in data[:200].split(b"\n") for word in line.split(b"#")[0].split()]
    return len(words) > 3 and words[3].isdigit() and int(words[3]) > 255


def note_levels(image: Image.Image, notes: list[str]) -> None:
    """Note that 16-bit colours were scaled, with their highest level if the picture is dark."""
    colours = image.convert("RGB") if image.mode != "LA" else image.convert("L")
    top = max(high for _, high in _extrema(colours))
    notes.append(Message("photo.from_16_bits"))
    # Pillow rounds those of a PPM, and cuts the lower 8 bits of others off.
    _note_dark(257 * top if image.format == "PPM" else 256 * top + 255, 65535, notes)


def _note_dark(high: float, top: int, notes: list[str]) -> None:
    if high < DARK * top:
        notes.append(Message("photo.dark", high=f"{high:g}", top=top))


def _extrema(image: Image.Image) -> list[tuple[int, int]]:
    """The lowest and the highest level of each channel."""
    found = image.getextrema()
    return [found] if image.mode == "L" else list(found)  # type: ignore[list-item, arg-type]


def stretched(image: Image.Image) -> tuple[Image.Image, int, int]:
    """A picture whose lowest level becomes 0 and its highest 255, all channels alike, so that
    colours keep their hue; and these two levels. RGB or L, of one level: unchanged.
    """
    both = _extrema(image)
    low, high = min(low for low, _ in both), max(high for _, high in both)
    if high <= low or (low, high) == (0, 255):
        return image, low, high
    table = to_8_bits(np.clip(np.arange(256), low, high), high, low).tolist()
    return image.point(table * len(both)), low, high


def stretched_array(array: np.ndarray) -> tuple[np.ndarray, tuple[Message, ...]]:
    """An array of numbers of any range as uint8, its lowest number 0 and its highest 255, and the
    note about it. Arrays without two different, finite numbers are returned unchanged.
    """
    if array.dtype.kind not in "iuf" or not array.size:
        return array, ()
    low, high = float(array.min()), float(array.max())
    if not high > low or not np.isfinite([low, high]).all():
        return array, ()
    note = Message("photo.levels_stretched", low=f"{low:g}", high=f"{high:g}")
    return to_8_bits(array, high, low), (note,)


def to_8_bits(values: np.ndarray, highest: float, lowest: float = 0.0) -> np.ndarray:
    """Scale `lowest`..`highest` to 0..255, rounded. uint8"""
    scale = 255.0 / (highest - lowest)
    return np.rint((values.astype(np.float64) - lowest) * scale).astype(np.uint8)


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
    if image.mode.startswith("I;16") or image.format == "PPM":
        notes.append(Message("photo.from_16_bits"))
        _note_dark(high, 65535, notes)
        return to_8_bits(values, 65535)
    tops = (1, 255, 65535) if image.mode == "F" else (255, 65535)
    for top in tops:
        if low >= 0 and high <= top:
            notes.append(Message("photo.from_32_bits", top=top))
            _note_dark(high, top, notes)
            return to_8_bits(values, top)
    notes.append(Message("photo.stretched", low=f"{low:g}", high=f"{high:g}"))
    return to_8_bits(values, high if high > low else low + 1, low)
