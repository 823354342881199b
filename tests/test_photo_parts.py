"""A file of many parts is refused before it is decoded; every usual one is as it was."""

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.hostile_pictures import chunk, jpeg_with, png_with, progressive, segment
from tests.test_photo import encode, noise
from vitviz.errors import ImageError
from vitviz.languages import say
from vitviz.model import photo_parts
from vitviz.model.photo import open_photo
from vitviz.model.photo_parts import MOST_PARTS, MOST_SCANS, USUAL_EXIF, USUAL_PARTS, outline_of
from vitviz.web.store.examples import FOLDER

WAYS = [
    *(("JPEG", {"progressive": progressive}) for progressive in (False, True)),
    ("JPEG", {"restart_marker_blocks": 1}),
    ("JPEG", {"icc_profile": bytes(200_000)}),
    ("PNG", {}),
    ("PNG", {"icc_profile": bytes(200_000)}),
    ("WEBP", {}),
    ("WEBP", {"icc_profile": bytes(200_000)}),
]


@pytest.mark.parametrize(("kind", "options"), WAYS)
def test_the_outline_of_a_usual_file_is_its_size(kind, options):
    exif = Image.Exif()
    exif[0x0112] = 6
    for (height, width), more in product(((6, 9), (301, 207)), ({}, {"exif": exif})):
        data = encode(Image.fromarray(noise(height, width, 3)), kind, **options, **more)
        outline = outline_of(data)
        assert outline.usual
        assert outline.pixels == width * height


def test_photographs_are_usual():
    for path in sorted(Path(FOLDER).glob("*.*g")):
        with Image.open(path) as image:
            pixels = image.width * image.height
        outline = outline_of(path.read_bytes())
        assert (outline.pixels, outline.usual) == (pixels, True)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM"])
def test_other_formats_have_no_outline(kind):
    assert outline_of(encode(Image.new("RGB", (9, 6)), kind)) is None


def test_scans_are_read_up_to_a_number():
    """One of 8,000 x 8,000 pixels and 2,000 scans took ten seconds, in 315 kB."""
    most = open_photo(progressive(40, MOST_SCANS))
    assert np.array_equal(np.asarray(most.image), np.asarray(open_photo(progressive(40, 1)).image))
    with pytest.raises(ImageError, match=f"of more than {MOST_SCANS} scans") as caught:
        open_photo(progressive(40, MOST_SCANS + 1), "slow.jpg")
    assert "'slow.jpg'" in str(caught.value)
    assert f"스캔이 {MOST_SCANS}개가 넘는" in say(caught.value.message, "ko")


def test_only_scans_of_the_picture_count():
    """A preview has scans of its own, and so may a film that follows the picture."""
    scans = b"\xff\xda" * (MOST_SCANS + 1)
    assert open_photo(jpeg_with(segment(0xE1, b"Exif\0\0" + scans))).image.size == (9, 6)
    assert open_photo(jpeg_with() + scans).image.size == (9, 6)
    assert outline_of(jpeg_with() + scans).scans == 1


@pytest.mark.parametrize(
    ("made", "part"),
    [(jpeg_with, segment(0xFE)), (jpeg_with, b"\xff" + segment(0xFE)), (png_with, chunk(b"teSt"))],
)
def test_parts_are_read_up_to_a_number(made, part):
    assert open_photo(made(*[part] * (MOST_PARTS - 20))).image.size == (9, 6)
    with pytest.raises(ImageError, match=f"more than {MOST_PARTS} segments or chunks"):
        open_photo(made(*[part] * MOST_PARTS))


def test_a_png_may_have_its_pixels_in_short_chunks():
    data = png_with(*[chunk(b"IDAT")] * (2 * MOST_PARTS))
    assert outline_of(data).usual
    assert not outline_of(png_with(*[chunk(b"IDAT")] * 20_000)).usual
    with pytest.raises(ImageError, match=f"more than {MOST_PARTS} segments or chunks"):
        open_photo(png_with(*[chunk(b"IDAT")] * 101 * MOST_PARTS))


@pytest.mark.parametrize(
    "data",
    [
        jpeg_with(*[segment(0xFE)] * USUAL_PARTS),
        jpeg_with(*[segment(0xE1, b"Exif\0\0" + bytes(USUAL_EXIF // 2))] * 2),
        png_with(*[chunk(b"teSt")] * USUAL_PARTS),
        png_with(chunk(b"eXIf", bytes(USUAL_EXIF))),
        png_with(chunk(b"zTXt", b"Raw profile type exif\0\0" + bytes(9))),
        encode(Image.new("RGB", (9, 6)), "WEBP", exif=bytes(2 * USUAL_EXIF)),
        encode(Image.new("RGB", (9, 6)), "WEBP", lossless=True),
        encode(Image.new("RGBA", (9, 6), (1, 2, 3, 4)), "WEBP"),
        encode(
            Image.new("RGB", (9, 6)),
            "WEBP",
            save_all=True,
            append_images=[Image.new("RGB", (9, 6), "red")],
        ),
        jpeg_with(b"\xff" * 1000 + segment(0xFE)),
    ],
)
def test_what_programs_do_not_write_is_not_usual(data):
    assert not outline_of(data).usual
    assert open_photo(data).image.size == (9, 6)


def test_a_long_file_is_searched_in_pieces_between_which_other_threads_run(monkeypatch):
    """A search of 8 MB at once keeps all others waiting for .2 seconds."""
    spans = []

    class Marker:
        search = staticmethod(lambda data, at, end: spans.append(end - at) or marker(data, at, end))

    marker = photo_parts._MARKER.search
    monkeypatch.setattr(photo_parts, "_MARKER", Marker)
    data = jpeg_with(segment(0xFE), bytes([0xFF, 0]) * 400_000)
    assert outline_of(data).parts < 20
    assert max(spans) <= photo_parts.SEARCHED_BYTES < len(data) / 10
    assert sum(spans) >= 800_000


def test_a_marker_across_two_searches_is_found(monkeypatch):
    data = jpeg_with(*[segment(0xFE, b"a" * length) for length in range(9)])
    expected = outline_of(data)
    for most in range(2, 40):
        monkeypatch.setattr(photo_parts, "SEARCHED_BYTES", most)
        assert outline_of(data) == expected


def test_the_largest_size_that_a_file_names_counts():
    frame = segment(0xC0, b"\x08\x40\x00\x40\x00\x01\x01\x11\x00")
    assert outline_of(jpeg_with(frame)).pixels == 2**28
    header = chunk(b"IHDR", b"\0\0\x40\0\0\0\x40\0\x08\2\0\0\0")
    assert outline_of(png_with(header)).pixels == 2**28


def test_damaged_files_have_an_outline_or_none():
    rng = random.Random(0)
    files = [encode(Image.fromarray(noise(24, 24, 3)), kind) for kind in ("JPEG", "PNG", "WEBP")]
    for data in files:
        for _ in range(300):
            broken = bytearray(data[: rng.randrange(1, len(data))])
            for _ in range(rng.choice((0, 1, 9))):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            outline = outline_of(bytes(broken))
            assert outline is None or outline.parts <= MOST_PARTS + 1
