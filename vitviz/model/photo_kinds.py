"""Name the kind of a file that is no picture by its first bytes."""

from pathlib import Path

from ..languages import Message

HEAD = 512  # bytes of a file that are looked at
# Place in the file, bytes there, and the end of the text's key.
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
)


def looks_like(data: bytes) -> str:
    """A guess, from its first bytes, at the kind of a file that is no picture."""
    head = data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    lower = head.lower()
    for at, start, what in PLACED:
        if data[at : at + len(start)] == start:
            return Message(f"photo.is_{what}")
    if data[4:8] == b"ftyp":
        if data[8:12] in (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"):
            return Message("photo.is_heic")
        return Message("photo.is_video")
    if b"<svg" in lower:
        return Message("photo.is_svg")
    for start, what in (
        (b"<!doctype html", Message("photo.is_web_page")),
        (b"<html", Message("photo.is_web_page")),
        (b"%pdf", Message("photo.is_pdf")),
        (b"%!ps", Message("photo.is_postscript")),
        (b"pk\x03\x04", Message("photo.is_zip")),
        (b"\x1f\x8b", Message("photo.is_archive")),
        (b"8bps", Message("photo.is_photoshop")),
        (b"\x00\x00\x01\x00", Message("photo.is_icon")),
        (b"\xff\xd8\xff", Message("photo.is_damaged", format="JPEG")),
        (b"\x89png", Message("photo.is_damaged", format="PNG")),
        (b"gif8", Message("photo.is_damaged", format="GIF")),
        (b"riff", Message("photo.is_riff")),
    ):
        if lower.startswith(start):
            return what
    if data[-18:-2] == b"TRUEVISION-XFILE":
        return Message("photo.is_tga")
    if head and all(byte in b"\t\r\n\f\x1b" or 32 <= byte < 127 or byte >= 128 for byte in head):
        try:
            data[:HEAD].decode("utf-8", errors="strict" if len(data) <= HEAD else "ignore")
        except UnicodeDecodeError:
            return Message("photo.is_unknown")
        return Message("photo.is_text")
    return Message("photo.is_unknown")


def kind_of(path: Path) -> str:
    """The kind of a file that is no picture. Raises `OSError` if it cannot be read."""
    with path.open("rb") as file:
        return looks_like(file.read(HEAD))
