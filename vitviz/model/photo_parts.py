"""Count the parts of a picture file before it is decoded: a small file can cost hours of work."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..errors import ImageError
from ..languages import Message

# Each scan of a JPEG goes over all of the picture; programs write about ten. libtiff reads as many.
MOST_SCANS = 100
# Segments of a JPEG, chunks of a PNG: Pillow takes a moment for each, and adds up what some hold.
MOST_PARTS = 1000
PIXEL_CHUNKS = 100  # of a PNG that count as one part; programs write them as short as 4 kB
# Programs write fewer parts, and no more EXIF data than fits into one segment of a JPEG.
USUAL_PARTS, USUAL_EXIF = 100, 2**16

# Kinds of WebP chunks that hold lossless data. Its decoder makes tables of codes for each 4 x 4
# pixels that want their own: 0.4 GB and 4 seconds for 8 megapixels, in a file of 1 MB.
LOSSLESS = {b"VP8L", b"ALPH", b"ANMF"}
SEARCHED_BYTES = 2**16  # at a time: no other thread runs while a regular expression is searched

_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])")  # the others stand among coefficients
_FILL = b"\xff" * 1000  # padding before a marker; the decoder rescans it for each piece of input
_ALONE = {0x01, 0xD8}  # markers without a length
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}  # those that name a size
_SCAN, _END, _EXIF = 0xDA, 0xD9, 0xE1


@dataclass(frozen=True)
class Outline:
    """Facts about a JPEG, PNG or WebP file, read before it is decoded.

    pixels  pixels of the picture by its header; the largest number if it names several
    parts   number of segments or chunks, counted up to a bound; includes scans
    usual   whether programs write such files: time and memory then depend on pixels and bytes only
    """

    pixels: int
    parts: int
    scans: int = 0
    usual: bool = True


def outline_of(data: bytes) -> Outline | None:
    """The outline of a file; None if it is no JPEG, PNG or WebP, or breaks off in its header."""
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return _png(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except struct.error:
        pass
    return None


def check_parts(data: bytes, name: str) -> None:
    """Raise `ImageError` for a file of so many parts that to open it takes far longer than its
    pixels do.
    """
    outline = outline_of(data)
    if outline is None:
        return
    if outline.scans > MOST_SCANS:
        raise ImageError(Message("photo.many_scans", name=repr(name), most=MOST_SCANS))
    if outline.parts > MOST_PARTS:
        raise ImageError(Message("photo.many_parts", name=repr(name), most=MOST_PARTS))


def _jpeg(data: bytes) -> Outline:
    pixels = parts = scans = exif = 0
    for marker, start, end in islice(_segments(data), MOST_PARTS + 1):
        parts += 1
        scans += marker == _SCAN
        if marker == _EXIF:
            exif += end - start
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, start + 1)
            pixels = max(pixels, height * width)
    usual = parts <= USUAL_PARTS and exif <= USUAL_EXIF and _FILL not in data
    return Outline(pixels, parts, scans, usual)


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Each marker up to the end of the picture, with the start and end of its content."""
    at = 2
    while at + 1 < len(data):
        found = _MARKER.search(data, at, at + SEARCHED_BYTES)
        if found is None:
            at += SEARCHED_BYTES - 1  # a marker has two bytes
            continue
        marker, at = found[1][0], found.end()
        if marker == _END:
            return
        end = at if marker in _ALONE else at + int.from_bytes(data[at : at + 2])
        yield marker, at + 2, end
        at = end


def _png(data: bytes) -> Outline:
    pixels = parts = chunks = exif = 0
    for kind, start, end in islice(_chunks(data), (MOST_PARTS + 1) * PIXEL_CHUNKS):
        if kind in (b"IDAT", b"fdAT", b"fcTL"):
            chunks += 1
        else:
            parts += 1
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", data, start)
            pixels = max(pixels, width * height)
        if kind == b"eXIf":
            exif += end - start
        elif data.startswith(b"Raw profile type", start):  # EXIF data as a text, compressed
            exif += USUAL_EXIF
        if parts > MOST_PARTS:
            break
    parts += chunks // PIXEL_CHUNKS
    return Outline(pixels, parts, usual=parts <= USUAL_PARTS and exif < USUAL_EXIF)


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Each chunk of a PNG, with the start and end of its content."""
    at = 8
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, at + 8, at + 8 + length
        at += 12 + length


def _webp(data: bytes) -> Outline:
    pixels = exif = 0
    usual, parts, at = True, 0, 12
    while at + 8 <= len(data) and parts <= USUAL_PARTS:
        kind, length = struct.unpack_from("<4sI", data, at)
        parts += 1
        usual &= kind not in LOSSLESS
        if kind == b"EXIF":
            exif += length
        pixels = max(pixels, _webp_pixels(kind, data, at + 8))
        at += 8 + length + length % 2
    # All of them are counted as few: Pillow reads no frame of an animation but the first.
    usual &= parts <= USUAL_PARTS and exif <= USUAL_EXIF
    return Outline(pixels, 1, usual=usual)


def _webp_pixels(kind: bytes, data: bytes, at: int) -> int:
    """Pixels of the picture by one of the three headers that can say so (RFC 9649); else 0."""
    match kind:
        case b"VP8X":
            width, height = (int.from_bytes(data[at + i : at + i + 3], "little") for i in (4, 7))
            return (width + 1) * (height + 1)
        case b"VP8L":
            bits = int.from_bytes(data[at + 1 : at + 5], "little")
            return ((bits & 0x3FFF) + 1) * ((bits >> 14 & 0x3FFF) + 1)
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, at + 6)
            return (width & 0x3FFF) * (height & 0x3FFF)
    return 0
