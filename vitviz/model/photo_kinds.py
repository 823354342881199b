"""Name the kind of a file that is no picture by its first bytes.

Pages name it by the same tables (`vitviz/payload/tables.py` writes them for `photofile.js`).
"""

import codecs
from pathlib import Path

from ..languages import Message

HEAD = 512  # bytes of a file that are looked at
# Place in the file, or from its end; bytes there, and the end of the text's key.
PLACED = (
    (128, b"DICM", "dicom"),
    (344, b"n+1\0", "nifti"),
    (344, b"ni1\0", "nifti"),
    (0, b"\xff\x0a", "jpeg_xl"),
    (0, b"\0\0\0\x0cJXL ", "jpeg_xl"),
    (0, b"\x93NUMPY", "array"),
    (0, b"v/1\x01", "exr"),
    (0, b"#?RADIANCE", "exr"),
    (0, b"\x89HDF\r\n", "hdf"),
    (0, b"FUJIFILMCCD-RAW", "raw"),
    (-18, b"TRUEVISION-XFILE", "tga"),
    (5, b'\0\0\0{"', "weights"),  # safetensors
)
# Anywhere in the head, in lower case.
WITHIN = ((b"<svg", "svg"), (b"/data.pkl", "weights"))  # torch.save
# Brands of a file with "ftyp" at its fifth byte; one of any other brand is a video.
HEIC = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
# Beginnings in lower case, behind spaces and a byte order mark.
BEGINNINGS = (
    (b"<!doctype html", "web_page"),
    (b"<html", "web_page"),
    (b"%pdf", "pdf"),
    (b"%!ps", "postscript"),
    (b"pk\x03\x04", "zip"),
    (b"\x1f\x8b", "archive"),
    (b"8bps", "photoshop"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"riff", "riff"),
)
# The texts of these tables, by the ends of their keys.
KINDS = {
    "dicom": Message("photo.is_dicom"),
    "nifti": Message("photo.is_nifti"),
    "jpeg_xl": Message("photo.is_jpeg_xl"),
    "array": Message("photo.is_array"),
    "exr": Message("photo.is_exr"),
    "hdf": Message("photo.is_hdf"),
    "raw": Message("photo.is_raw"),
    "tga": Message("photo.is_tga"),
    "weights": Message("photo.is_weights"),
    "svg": Message("photo.is_svg"),
    "web_page": Message("photo.is_web_page"),
    "pdf": Message("photo.is_pdf"),
    "postscript": Message("photo.is_postscript"),
    "zip": Message("photo.is_zip"),
    "archive": Message("photo.is_archive"),
    "photoshop": Message("photo.is_photoshop"),
    "icon": Message("photo.is_icon"),
    "riff": Message("photo.is_riff"),
}
DAMAGED = ((b"\xff\xd8\xff", "JPEG"), (b"\x89png", "PNG"), (b"gif8", "GIF"))


def looks_like(data: bytes) -> str:
    """A guess, from its first bytes, at the kind of a file that is no picture."""
    for at, start, what in PLACED:
        if data[at : at + len(start)] == start:
            return KINDS[what]
    if data[4:8] == b"ftyp":
        return Message("photo.is_heic") if data[8:12] in HEIC else Message("photo.is_video")
    head = data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for piece, what in WITHIN:
        if piece in head:
            return KINDS[what]
    for start, what in BEGINNINGS:
        if head.startswith(start):
            return KINDS[what]
    for start, name in DAMAGED:
        if head.startswith(start):
            return Message("photo.is_damaged", format=name)
    if not head or any((byte < 32 and byte not in b"\t\r\n\f\x1b") or byte == 127 for byte in head):
        return Message("photo.is_unknown")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:HEAD], final=len(data) <= HEAD)
    except UnicodeDecodeError:
        return Message("photo.is_unknown")
    return Message("photo.is_text")


def kind_of(path: Path) -> str:
    """The kind of a file that is no picture. Raises `OSError` if it cannot be read."""
    with path.open("rb") as file:
        return looks_like(file.read(HEAD))
