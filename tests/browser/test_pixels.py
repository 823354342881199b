"""Decoding in the browser: pixels of a photo, and what is wrong with a file, as Python has them."""

import base64
import struct

import numpy as np
import pytest
from PIL import Image

from tests.models import photo as tiny_photo
from tests.test_photo import encode, noise, png_header
from vitviz.errors import ImageError
from vitviz.languages import Message
from vitviz.model.photo import open_photo
from vitviz.payload.bundle import VIEWER, join
from vitviz.web.store.examples import EXAMPLES

DECODE = """async ([name, text]) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    try {
        const found = await decoding.decoded(new Blob([bytes]), name);
        if (!found) return null;
        const { bitmap, bitmap: { width, height } } = found;
        const preprocess = { size: [height, width], channels: 3, mean: [0, 0, 0], std: [1, 1, 1],
            crop_pct: 1, crop_mode: "squash", interpolation: "bicubic" };
        const made = await window.preprocess.seenOf({ bitmap, preprocess, inverted: false });
        let rgb = "";
        for (const byte of made.seen.data) rgb += String.fromCharCode(byte);
        const notes = found.notes(made).map(({ key }) => key);
        return { rgb: btoa(rgb), size: [width, height], notes };
    } catch (error) {
        if (!error.told) throw error;
        return { told: error.told };
    }
}"""


@pytest.fixture
def decode(open_page):
    tab = open_page("<!doctype html><meta charset=utf-8><title>decoding</title>")
    for name, room in (("decoding", "data"), ("preprocess", "engine")):
        tab.evaluate(f"window.{name} = {join(VIEWER / room / (name + '.js'), name + '.js')}; 0")

    def decoded(data: bytes, name: str = "a.png"):
        found = tab.evaluate(DECODE, [name, base64.b64encode(data).decode()])
        if found and "rgb" in found:
            width, height = found["size"]
            found["rgb"] = np.frombuffer(base64.b64decode(found["rgb"]), np.uint8)
            found["rgb"] = found["rgb"].reshape(height, width, 3)
        return found

    decoded.tab = tab
    return decoded


def keys(notes: tuple[str, ...]) -> list[str]:
    return [note.key.removeprefix("photo.") for note in notes]


def test_pixels_and_what_is_wrong_with_a_file_are_those_of_python(decode) -> None:
    shot = Image.fromarray(noise(23, 31, 3))
    files = {example.path: example.read() for example in EXAMPLES}
    files |= turned(shot, {"JPEG": {"quality": 90}, "PNG": {}, "WEBP": {"lossless": True}})
    files["grey"] = encode(shot.convert("L"), "JPEG")
    files["progressive"] = encode(shot, "JPEG", progressive=True, quality=70)
    files["webp"] = encode(shot, "WEBP", lossless=True)
    files["palette"] = encode(shot.quantize(16), "PNG")
    files["bmp"] = encode(shot, "BMP")
    for name, data in files.items():
        found, ours = decode(data, name), open_photo(data, name)
        assert (found["rgb"] == np.asarray(ours.image.convert("RGB"))).all(), name
        assert found["notes"] == keys(ours.notes), name
    # Transparency is told, and read as it is. A canvas multiplies colours with alpha: exact where
    # a pixel is opaque or gone.
    rgba = noise(9, 11, 4)
    rgba[..., 3] = np.where(rgba[..., 3] > 127, 255, 0)
    found = decode(encode(Image.fromarray(rgba)))
    assert found["notes"] == ["on_white"] == keys(open_photo(encode(Image.fromarray(rgba))).notes)
    opaque = rgba[..., 3] == 255
    assert (found["rgb"][opaque] == rgba[opaque][:, :3]).all()
    assert (found["rgb"][~opaque] == 255).all()
    # The browser's own colours of an AVIF are not those of Pillow to the last bit.
    for name, data in turned(shot, {"AVIF": {"quality": 100}}).items():
        found, ours = decode(data, name), open_photo(data, name)
        assert found["size"] == list(ours.image.size), name
        assert found["notes"] == keys(ours.notes), name
        far = found["rgb"].astype(int) - np.asarray(ours.image.convert("RGB"))
        assert np.abs(far).mean() < 20, name  # of pictures of noise that lie otherwise it is 85
    # What is wrong with a file is said as Python says it.
    for name, data in bad_files().items():
        with pytest.raises(ImageError) as refused:
            open_photo(data, name)
        assert decode(data, name) == {"told": told(refused.value.message)}, name
    # Files that Python alone opens are left to it.
    for kind in ("TIFF", "PPM", "JPEG2000"):
        assert decode(encode(Image.fromarray(noise(5, 7, 3)), kind)) is None
    # A browser that changes pixels is found out.
    picture = encode(Image.fromarray(noise(5, 7, 3)))
    assert decode(picture)["notes"] == []
    decode.tab.evaluate("""() => {
        const { getImageData } = OffscreenCanvasRenderingContext2D.prototype;
        OffscreenCanvasRenderingContext2D.prototype.getImageData = function (...place) {
            const read = getImageData.apply(this, place);
            read.data[40] ^= 1;
            return read;
        };
    }""")
    assert decode(picture)["notes"] == ["noise"]


def turned(shot: Image.Image, formats: dict[str, dict]) -> dict[str, bytes]:
    """The picture in all eight EXIF orientations, in these formats with these options."""
    files = {}
    for kind, options in formats.items():
        for way in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = way
            files[f"{kind} turned {way}"] = encode(shot, kind, exif=exif, **options)
    return files


def test_a_picture_is_upright_in_a_browser_that_turns_none(decode) -> None:
    """Browsers differ in the formats whose EXIF orientation they follow."""
    decode.tab.evaluate("""() => {
        const { createImageBitmap } = window;
        window.createImageBitmap = (source, options) => createImageBitmap(source,
            source instanceof Blob ? { ...options, imageOrientation: "none" } : options);
    }""")
    shot = Image.fromarray(noise(23, 31, 3))
    for name, data in turned(shot, {"PNG": {}, "WEBP": {"lossless": True}}).items():
        found, ours = decode(data, name), open_photo(data, name)
        assert (found["rgb"] == np.asarray(ours.image.convert("RGB"))).all(), name
        assert found["notes"] == keys(ours.notes), name


def bad_files() -> dict[str, bytes]:
    png, jpeg = encode(Image.fromarray(tiny_photo())), encode(Image.fromarray(tiny_photo()), "JPEG")
    frame = jpeg.index(b"\xff\xc0")
    return {
        "empty": b"",
        "text": b"hello",
        "korean": "안녕하세요".encode(),
        "page": b"<!DOCTYPE html><html></html>",
        "svg": b'<?xml version="1.0"?><svg></svg>',
        "pdf": b"%PDF-1.7 ...",
        "zip": b"PK\x03\x04\x00\x00",
        "heic": b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00",
        "video": b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00",
        "icon": b"\x00\x00\x01\x00\x01\x00",
        "noise": bytes(range(256)),
        "large": png_header(9000, 9000),
        "wide": jpeg[: frame + 5] + struct.pack(">HH", 9000, 9000) + jpeg[frame + 9 :],
        "cut": png[: len(png) // 3],
        "cut jpeg": jpeg[: len(jpeg) - 30],
        "stub": jpeg[:40],
    }


def told(found) -> dict:
    return {
        "key": found.key.removeprefix("photo."),
        "values": {k: value(v) for k, v in found.values.items()},
    }


def value(one):
    return told(one) if isinstance(one, Message) else one
