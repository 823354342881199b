"""Bad input is normal input: every file is the right picture, or one sentence."""

import io
import random
import re
import struct
import threading
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
import torch
from PIL import Image

from vitviz.errors import ImageError
from vitviz.model.photo import MAX_BYTES, MAX_PIXELS, open_photo


def encode(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    image.save(buffer := io.BytesIO(), kind, **options)
    return buffer.getvalue()


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds almost nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + chunk(b"IDAT", zlib.compress(b"\0" * 99))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM", "WEBP"])
def test_lossless_formats_keep_every_value(kind):
    array = noise(5, 7, 3)
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    got = open_photo(encode(Image.fromarray(array), kind, **options), "a")
    assert got.image.mode == "RGB"
    assert got.notes == ()
    assert np.array_equal(np.asarray(got.image), array)


@pytest.mark.parametrize("kind", ["JPEG", "AVIF", "JPEG2000", "GIF"])
def test_other_formats_open(kind):
    got = open_photo(encode(Image.new("RGB", (9, 6), (200, 30, 30)), kind))
    assert (got.image.size, got.image.mode, got.notes) == ((9, 6), "RGB", ())
    assert np.abs(np.asarray(got.image).astype(int) - (200, 30, 30)).max() < 12


def test_sources_agree(tmp_path):
    data = encode(Image.fromarray(noise(4, 6, 3)))
    path = tmp_path / "a cat.png"
    path.write_bytes(data)
    with path.open("rb") as file:
        photos = [
            open_photo(s) for s in (path, str(path), data, file, Image.open(path), noise(4, 6, 3))
        ]
    assert [p.name for p in photos] == ["a cat.png"] * 2 + ["photo"] + ["a cat.png"] * 2 + ["array"]
    assert all(np.array_equal(np.asarray(p.image), noise(4, 6, 3)) for p in photos)
    assert open_photo(photos[0]) is photos[0]
    assert open_photo(photos[0], "other").name == "other"


SVG = b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"hello, this is text", "it is text"),
        ("안녕하세요".encode(), "it is text"),
        (SVG, "SVG"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "video"),
        (b"%PDF-1.7", "PDF"),
        (b"<!DOCTYPE html><p>", "web page"),
        (b"PK\x03\x04aaaa", "ZIP"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
        (b"\x00\x01\x02\x03\x04", "format is unknown"),
        (b"\xff\xd8\xff", "begins like a JPEG"),
        (b"\x89PNG\r\n\x1a\n", "begins like a PNG"),
        (b"RIFF\0\0\0\0WAVE", "holds no picture"),
    ],
)
def test_files_that_are_no_picture_are_named(data, says, tmp_path):
    (path := tmp_path / "renamed.jpg").write_bytes(data)
    with pytest.raises(ImageError, match=says) as caught:
        open_photo(path)
    assert "'renamed.jpg'" in str(caught.value)
    assert "Allowed are JPEG" in str(caught.value)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "AVIF", "JPEG2000", "BMP"])
def test_cut_off_files_are_refused(kind):
    data = encode(Image.fromarray(noise(64, 64, 3)), kind)
    with pytest.raises(ImageError, match=r"cut off or damaged|Allowed are"):
        open_photo(data[: len(data) // 2])


def test_flipped_bytes_never_end_in_another_error():
    rng = random.Random(0)
    files = [
        encode(Image.fromarray(noise(24, 24, 3)), kind)
        for kind in ("JPEG", "PNG", "GIF", "WEBP", "AVIF", "BMP")
    ]
    files += [
        encode(Image.fromarray(noise(24, 24)), "TIFF", compression=c)
        for c in ("raw", "tiff_lzw", "jpeg")
    ]
    files += [
        encode(Image.fromarray(noise(9, 9)), "PPM"),
        encode(Image.fromarray(noise(24, 24, 3)), "JPEG2000"),
    ]
    opened = refused = 0
    for data in files:
        for _ in range(60):
            broken = bytearray(data)
            for _ in range(rng.choice((1, 4, 30))):
                broken[rng.randrange(min(len(broken), rng.choice((40, 10**9))))] = rng.randrange(
                    256
                )
            try:
                assert open_photo(bytes(broken)).image.mode in ("RGB", "L")
                opened += 1
            except ImageError:
                refused += 1
    assert opened > 50
    assert refused > 50


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 10_000), (10_000, 1)])
def test_thin_pictures_open(width, height):
    assert open_photo(encode(Image.new("RGB", (width, height)))).image.size == (width, height)


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ((20_000, 20_000), "400 megapixels"),
        ((10_000, 9_000), "10,000 x 9,000"),
        ((8001, 8000), "8,001 x 8,000"),
    ],
)
def test_too_many_pixels_are_refused_by_the_header_alone(size, says, recwarn):
    with pytest.raises(ImageError, match=says) as caught:
        open_photo(png_header(*size), "huge.png")
    assert "64 megapixels" in str(caught.value)
    assert not recwarn.list


def test_the_largest_allowed_size_passes_the_header_check():
    with pytest.raises(
        ImageError, match="cut off or damaged"
    ):  # the claim is allowed, the pixels are missing
        open_photo(png_header(8000, 8000))
    assert MAX_PIXELS == 8000 * 8000


def test_too_many_bytes_are_refused(tmp_path):
    (path := tmp_path / "big.png").write_bytes(bytes(MAX_BYTES + 1))
    for source in (path, path.read_bytes(), io.BytesIO(bytes(MAX_BYTES + 1))):
        with pytest.raises(ImageError, match="larger than 32 MB"):
            open_photo(source)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("no such file.png", "There is no file at"),
        ("/dev/zero", "There is no file at"),
        ("/", "There is a folder at"),
        ("a\0b.png", "There is no file|cannot be read"),
        ("https://example.org/a.png", "is an address, not a file"),
    ],
)
def test_paths_that_are_no_file_are_refused(source, says):
    with pytest.raises(ImageError, match=says):
        open_photo(source)


def test_other_types_are_refused():
    with pytest.raises(ImageError, match="a list came"):
        open_photo([1, 2])
    with pytest.raises(ImageError, match=re.escape("one of shape (20, 30, 5) came")):
        open_photo(torch.zeros(5, 20, 30))
    with pytest.raises(ImageError, match="opened as text"):
        open_photo(io.StringIO("x"))


def test_names_become_one_short_printable_line():
    data = encode(Image.new("L", (2, 2)))
    assert open_photo(data, "a\nb\x00\u202e.png").name == "a b  .png"
    assert len(open_photo(data, "x" * 500).name) == 80
    assert open_photo(data, "").name == "photo"


def test_exif_orientations(subtests):
    for orientation, kind in product(range(1, 9), ["JPEG", "PNG", "WEBP", "TIFF"]):
        with subtests.test(orientation=orientation, kind=kind):
            turn_upright(orientation, kind)


def test_the_orientation_of_xmp_is_passed_over_as_in_browsers(subtests) -> None:
    """A server turned such a file, and the page did not."""
    xmp = b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/>'
    turned = Image.Exif()
    turned[0x0112] = 6
    picture = Image.new("RGB", (40, 20))
    for kind, exif in product(["JPEG", "WEBP"], [Image.Exif(), turned]):
        with subtests.test(kind=kind, exif=exif):
            file = io.BytesIO()
            picture.save(file, kind, xmp=xmp, exif=exif)
            assert b"tiff:Orientation" in file.getvalue()
            expected = (20, 40) if exif else (40, 20)
            assert open_photo(file.getvalue()).image.size == expected
    with Image.open(io.BytesIO(file.getvalue())) as opened:  # a caller's own
        assert open_photo(opened).image.size == (20, 40)


def turn_upright(orientation: int, kind: str) -> None:
    upright = np.repeat(np.repeat(np.array([[250, 128, 0], [60, 200, 20]], np.uint8), 16, 0), 16, 1)
    stored = {  # the EXIF table: where row 0 and column 0 of the file lie in the scene
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.T,
        6: np.rot90(upright),
        7: np.rot90(upright, 2).T,
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 100} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}
    image = Image.fromarray(np.ascontiguousarray(stored)).convert("RGB")
    got = open_photo(encode(image, kind, exif=exif, **options))
    assert np.abs(np.asarray(got.image)[..., 0].astype(int) - upright).max() < 6
    if kind != "TIFF":  # Pillow itself rotates a TIFF
        assert got.notes == (("turned upright as its EXIF data says",) if orientation > 1 else ())


def test_broken_exif_and_metadata_do_not_matter():
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a place"
    data = encode(Image.new("RGB", (8, 4)), "JPEG", exif=exif)
    good = open_photo(data)
    assert good.image.size == (4, 8)
    assert not good.image.info
    assert not good.image.getexif()
    broken = data.replace(b"Exif\0\0MM", b"Exif\0\0ZZ")
    assert broken != data
    assert open_photo(broken).image.size == (8, 4)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "AVIF"])
def test_the_first_frame_of_an_animation(kind):
    frames = [Image.new("RGB", (16, 16), color) for color in ("red", "lime", "blue")]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=50)
    got = open_photo(data)
    assert got.notes == ("first of 3 frames",)
    assert np.abs(np.asarray(got.image).astype(int) - (255, 0, 0)).max() < 8


def test_the_first_page_of_a_tiff():
    pages = [Image.new("RGB", (4, 4), color) for color in ("red", "lime")]
    got = open_photo(encode(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    assert got.notes == ("first page of several",)
    assert got.image.getpixel((0, 0)) == (255, 0, 0)


def test_frames_of_a_hostile_gif_are_not_counted(monkeypatch):
    frames = [Image.new("L", (1, 1), value) for value in (1, 9)]
    data = encode(frames[0], "GIF", save_all=True, append_images=frames[1:]) + b"," * 100_001
    assert open_photo(data).notes == ("first frame of an animation",)


def test_alpha_is_shown_on_white():
    array = np.zeros((1, 3, 4), np.uint8)
    array[0, :, 3] = (0, 128, 255)  # black: transparent, half, opaque
    for source in (array, Image.fromarray(array), encode(Image.fromarray(array))):
        got = open_photo(source)
        assert got.notes == ("transparent parts shown on white",)
        assert np.array_equal(np.asarray(got.image)[0, :, 0], (255, 127, 0))


def test_opaque_alpha_is_not_mentioned():
    got = open_photo(np.dstack([noise(3, 3, 3), np.full((3, 3), 255, np.uint8)]))
    assert got.notes == ()
    assert np.array_equal(np.asarray(got.image), noise(3, 3, 3))


def test_palettes_grey_alpha_and_colour_keys():
    palette = Image.new("P", (2, 1))
    palette.putpalette([255, 0, 0, 0, 0, 255])
    palette.putpixel((1, 0), 1)
    assert list(np.asarray(open_photo(encode(palette)).image)[0, :, 0]) == [255, 0]
    keyed = open_photo(encode(palette, transparency=0))
    assert np.array_equal(np.asarray(keyed.image)[0], [(255, 255, 255), (0, 0, 255)])
    assert keyed.notes == ("transparent parts shown on white",)
    grey = open_photo(encode(Image.fromarray(np.array([[[0, 0], [7, 255]]], np.uint8), "LA")))
    assert grey.image.mode == "L"
    assert list(np.asarray(grey.image)[0]) == [255, 7]
    assert list(
        np.asarray(open_photo(encode(Image.new("L", (1, 1), 9), transparency=9)).image)[0]
    ) == [255]
    assert open_photo(Image.new("La", (1, 1), (0, 0))).image.getpixel((0, 0)) == 255


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk(kind):
    got = open_photo(encode(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), kind))
    assert np.abs(np.asarray(got.image).astype(int) - (255, 0, 0)).max() < 5
    assert "CMYK" in got.notes[0]


@pytest.mark.parametrize("mode", ["1", "L", "P", "YCbCr", "HSV", "RGBX", "RGBa", "PA", "LAB"])
def test_every_other_mode_of_a_pillow_image(mode):
    assert open_photo(Image.new(mode, (3, 2))).image.mode == ("L" if mode in "1L" else "RGB")


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_16_bit_grey_is_scaled_not_clipped(kind):
    array = np.array([[0, 257, 32768, 65535]], np.uint16)
    got = open_photo(encode(Image.fromarray(array), kind))
    assert list(np.asarray(got.image)[0]) == [0, 1, 128, 255]
    assert got.image.mode == "L"
    assert got.notes == ("16-bit values scaled to 8 bits",)


@pytest.mark.parametrize(
    ("values", "dtype", "want", "note"),
    [
        ([0, 0.5, 1], np.float32, [0, 128, 255], "from 0 to 1 "),
        ([0, 100, 255], np.float32, [0, 100, 255], "from 0 to 255"),
        ([-1, 0, 3], np.float32, [0, 64, 255], "from -1 to 3 stretched"),
        ([0, 1, 255], np.int32, [0, 1, 255], "from 0 to 255"),
        ([0, 32768, 65535], np.int32, [0, 128, 255], "from 0 to 65535"),
        ([0, 50_000, 100_000], np.int32, [0, 128, 255], "stretched"),
        ([-7, -7, -7], np.int32, [0, 0, 0], "stretched"),
    ],
)
def test_32_bit_grey(values, dtype, want, note):
    for source in (
        Image.fromarray(np.array([values], dtype)),
        encode(Image.fromarray(np.array([values], dtype)), "TIFF"),
    ):
        got = open_photo(source)
        assert list(np.asarray(got.image)[0]) == want
        assert note in got.notes[0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_is_refused(bad):
    array = np.array([[0, bad]], np.float32)
    for source in (array, Image.fromarray(array), encode(Image.fromarray(array), "TIFF")):
        with pytest.raises(ImageError, match="NaN or infinite"):
            open_photo(source)


@pytest.mark.parametrize(
    ("array", "want"),
    [
        (noise(2, 3, 3).astype(np.int64), noise(2, 3, 3)),
        (noise(2, 3, 3) / 255, noise(2, 3, 3)),
        (noise(2, 3, 3).astype(np.float16) / 255, noise(2, 3, 3)),
        (noise(2, 3, 1), noise(2, 3, 1)[..., 0]),
        (noise(2, 3), noise(2, 3)),
        (noise(2, 3) > 100, (noise(2, 3) > 100) * 255),
        (noise(2, 3).astype(np.uint16) * 257, noise(2, 3)),
        ((noise(2, 3).astype(np.uint16) * 257).astype(">u2"), noise(2, 3)),
        (noise(4, 6, 3)[::2, ::-2], noise(4, 6, 3)[::2, ::-2]),
    ],
)
def test_arrays(array, want):
    before = array.copy()
    assert np.array_equal(np.asarray(open_photo(array).image), want)
    assert np.array_equal(array, before)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.full((2, 2), 300), "from 300 to 300"),
        (np.full((2, 2), -0.5), "from -0.5"),
        (np.full((2, 2), 255.0), "from 0 to 1"),
        (np.zeros((3, 8, 8), np.uint8), "not channels first"),
        (np.zeros((0, 8, 3), np.uint8), r"shape \(0, 8, 3\)"),
        (np.zeros(5, np.uint8), r"shape \(5,\)"),
        (np.zeros((2, 2), complex), "complex128"),
        (np.zeros((2, 2), object), "object"),
        (np.broadcast_to(np.uint8(0), (8001, 8000)), "8,000 x 8,001"),
    ],
)
def test_arrays_that_are_no_picture(array, says):
    with pytest.raises(ImageError, match=says):
        open_photo(array)


def test_a_callers_image_is_not_changed():
    image = Image.fromarray(noise(4, 4, 4))
    image.info["comment"] = "mine"
    open_photo(image)
    assert image.mode == "RGBA"
    assert image.info == {"comment": "mine"}
    same = Image.new("RGB", (2, 2))
    assert open_photo(same).image is not same


def odd_files() -> list[bytes]:
    """Files that Pillow warns about: very large, a palette with alpha, an EXIF value cut off."""
    keyed = Image.new("P", (2, 1))
    keyed.putpalette([255, 0, 0, 0, 0, 255])
    exif = Image.Exif()
    exif[0x010E] = "a place"
    cut = bytearray(encode(Image.new("RGB", (8, 4)), "JPEG", exif=exif))
    at = cut.index(b"\x01\x0e\x00\x02") + 4
    cut[at : at + 4] = (60_000).to_bytes(4)
    return [png_header(10_000, 9_000), encode(keyed, transparency=b"\x00\x80"), bytes(cut)]


def opened(data: bytes) -> None:
    with suppress(ImageError):
        open_photo(data)


def test_pillow_warns_about_the_odd_files(recwarn):
    for data in odd_files():
        with suppress(OSError):
            image = Image.open(io.BytesIO(data))
            image.getexif()
            image.convert("RGB")
    assert len(recwarn.list) >= 3


@pytest.mark.parametrize("action", ["error", "always"])
def test_warnings_of_pillow_stay_inside_whatever_filters_there_are(action, recwarn):
    for _ in range(3):
        warnings.simplefilter(action)  # before those that are there
        for data in odd_files():
            opened(data)
        filters = [*warnings.filters]
        opened(png_header(10_000, 9_000))
        assert warnings.filters == filters  # none is added for each picture
    assert not recwarn.list


def test_warnings_of_others_come_through_meanwhile(monkeypatch):
    inside, go_on = threading.Event(), threading.Event()
    opening = Image.open

    def waiting(*args, **kwargs):
        inside.set()
        assert go_on.wait(20)
        return opening(*args, **kwargs)

    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter("always")
        monkeypatch.setattr(Image, "open", waiting)
        picture = pool.submit(open_photo, encode(Image.new("L", (1, 1))))
        assert inside.wait(20)
        with suppress(OSError):
            opening(io.BytesIO(png_header(10_000, 9_000)))  # a user's own, in another thread
        go_on.set()
        assert picture.result().image.size == (1, 1)
    assert [one.category for one in caught] == [Image.DecompressionBombWarning]


def test_two_pictures_open_at_the_same_time(monkeypatch):
    both, opening = threading.Barrier(2), Image.open

    def together(*args, **kwargs):
        both.wait(20)
        return opening(*args, **kwargs)

    monkeypatch.setattr(Image, "open", together)
    data = encode(Image.new("L", (1, 1)))
    with ThreadPoolExecutor(2) as pool:
        assert [one.image.size for one in pool.map(open_photo, [data] * 2)] == [(1, 1)] * 2
