"""Levels, orientation and kinds of picture files: what is said of them, and what can be done."""

import io
import struct
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from tests.models import tiny
from vitviz import (
    Analysis,
    ImageError,
    VitvizError,
    ablate,
    analyze,
    analyze_many,
    cli,
    draw,
    from_timm,
    open_photo,
    survey,
)
from vitviz.many.pictures import others_in
from vitviz.model.key import ModelKey
from vitviz.model.photo_levels import BAND_VALUES, Look, to_8_bits
from vitviz.payload import pack
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import Job, Selection

LEVELS = np.linspace(0, 4095, 200)[None].repeat(150, 0).astype(np.uint16)  # 12 bits
DARK = "its highest level is 4095 of 65535: it is dark to the model"


def deep_png(values: np.ndarray) -> bytes:
    """A PNG of 16 bits, grey or RGB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        end = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + end

    height, width = values.shape[:2]
    kind = 2 if values.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    image.save(buffer := io.BytesIO(), kind, **options)
    return buffer.getvalue()


def deep_ppm(values: np.ndarray) -> bytes:
    height, width = values.shape[:2]
    return f"P6 {width} {height} 65535\n".encode() + values.astype(">u2").tobytes()


DEEP = {
    "grey PNG": lambda: deep_png(LEVELS),
    "RGB PNG": lambda: deep_png(np.dstack([LEVELS] * 3)),
    "grey TIFF": lambda: encoded(Image.fromarray(LEVELS), "TIFF"),
    "RGB PPM": lambda: deep_ppm(np.dstack([LEVELS] * 3)),
}


@pytest.mark.parametrize("name", DEEP)
def test_a_dark_file_of_16_bits_says_its_highest_level(name: str) -> None:
    data = DEEP[name]()
    plain = open_photo(data)
    dark = DARK.replace("4095", "4112") if name == "RGB PPM" else DARK  # 16 of 255
    assert [*plain.notes] == ["16-bit values scaled to 8 bits", dark]
    assert np.asarray(plain.image).max() < 17
    bright = np.asarray(open_photo(data, stretch=True).image)
    assert (bright.min(), bright.max()) == (0, 255)
    last = open_photo(data, stretch=True).notes[-1]
    assert "stretched over the whole range" in last


def test_a_float_file_of_netpbm_is_not_read_as_16_bits() -> None:
    values = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    photo = open_photo(encoded(Image.fromarray(values), "PPM"))
    assert np.array_equal(np.asarray(photo.image), np.arange(0, 256, 51).reshape(2, 3))
    assert [note.key for note in photo.notes] == ["photo.from_32_bits"]


def test_levels_are_those_of_16_bits_in_either_order_of_bytes() -> None:
    array = np.dstack([LEVELS, LEVELS * 4]).astype(np.uint16)
    photos = [open_photo(array.astype(kind), stretch=True) for kind in ("<u2", ">u2")]
    assert np.array_equal(*(np.asarray(photo.image) for photo in photos))
    assert photos[0].notes == photos[1].notes
    assert len(photos[0].notes) == 2


def test_a_bright_file_of_16_bits_has_no_such_note() -> None:
    assert open_photo(deep_png(LEVELS * 16)).notes == ("16-bit values scaled to 8 bits",)


def test_stretching_a_deep_file_keeps_its_fine_levels() -> None:
    """Stretching keeps 200 different levels apart; scaling leaves 17 of them."""
    bright = np.asarray(open_photo(deep_png(LEVELS), stretch=True).image)
    assert len(np.unique(bright)) == 200
    assert np.array_equal(bright[0], np.rint(LEVELS[0] / 4095 * 255))


@pytest.mark.parametrize(
    "source",
    [
        np.linspace(-1000, 2000, 30)[None].repeat(20, 0),  # such as a CT, in Hounsfield units
        np.linspace(3, 90, 30)[None].repeat(20, 0).astype(np.uint8),
        torch.linspace(0, 0.1, 30)[None].repeat(20, 1),
    ],
    ids=["float", "uint8", "tensor"],
)
def test_arrays_of_any_range_can_be_stretched(source) -> None:
    photo = open_photo(source, stretch=True)
    levels = np.asarray(photo.image)[0]
    assert (levels[0], levels[-1], np.all(np.diff(levels.astype(int)) >= 0)) == (0, 255, True)
    assert photo.notes[-1].startswith("levels from ")


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64, np.float32])
@pytest.mark.parametrize("channels", [2, 4])
def test_alpha_is_no_level(kind: type, channels: int) -> None:
    """The highest number was that of alpha, and nothing was stretched."""
    top = {np.uint16: 65535, np.float32: 1}.get(kind, 255)
    levels = np.linspace(0.1, 0.4, 30)[None, :, None].repeat(20, 0).repeat(channels, 2) * top
    levels[..., -1] = top
    array = levels.astype(kind)
    without = array[..., 0] if channels == 2 else array[..., :3]
    ours, plain = (open_photo(each, stretch=True) for each in (array, without))
    assert np.array_equal(np.asarray(ours.image), np.asarray(plain.image))
    assert ours.notes == plain.notes
    assert ours.image.getextrema()[0] in (0, (0, 255))


def test_transparent_parts_of_an_array_are_white_before_it_is_stretched_as_those_of_a_file() -> (
    None
):
    array = np.random.default_rng(0).integers(90, 120, (20, 30, 4), np.uint8)
    array[..., 3] = np.linspace(0, 255, 30).astype(np.uint8)
    file = open_photo(encoded(Image.fromarray(array), "PNG"), stretch=True)
    alike = (array, array.astype(np.float32) / 255, array.astype(np.uint16) * 257)
    for one in (*alike, torch.from_numpy(array).movedim(-1, 0)):
        found = open_photo(one, stretch=True)
        apart = np.asarray(found.image).astype(int) - np.asarray(file.image)
        assert abs(apart).max() <= 2  # a file is rounded to 255 levels before it is stretched
        assert found.notes[0] == file.notes[0] == "transparent parts shown on white"
        assert found.stretched
    beyond = np.full((4, 4, 4), 300.0, np.float32)  # an alpha of which nobody knows the range
    beyond[0] = 0
    with pytest.raises(ImageError, match="must hold values from 0 to 1"):
        open_photo(beyond, stretch=True)


def test_stretching_keeps_hue_and_leaves_a_flat_picture() -> None:
    colours = np.array([[[10, 20, 30], [70, 70, 110]]], dtype=np.uint8)
    bright = np.asarray(open_photo(colours).stretch().image).astype(int)
    assert bright.tolist() == [[[0, 26, 51], [153, 153, 255]]]  # 255 (v - 10) / 100, rounded
    flat = open_photo(np.full((4, 4, 3), 7, dtype=np.uint8))
    assert flat.stretch() is flat
    given = Image.fromarray(colours)
    open_photo(given, stretch=True)
    assert given.getpixel((0, 0)) == (10, 20, 30)


def test_an_analysis_of_a_stretched_picture_says_so(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.png").write_bytes(deep_png(LEVELS))
    loaded = tiny("cls")
    dark = analyze(loaded, tmp_path / "in" / "a.png")
    bright = analyze(loaded, tmp_path / "in" / "a.png", stretch=True)
    assert dark.picture.max() < 17
    assert bright.picture.max() > 200
    many = [*analyze_many(loaded, tmp_path / "in", stretch=True, progress=False)]
    assert torch.equal(many[0].picture, bright.picture)
    assert many[1].notes == bright.notes
    monkeypatch.chdir(tmp_path)
    assert cli.main(["look", "in/a.png", "--no-figures", "--stretch", "--model", "mnist"]) == 0
    said = capsys.readouterr().out
    assert "note: levels from 0 to 4095 stretched" in said
    assert "vitviz-a-mnist-stretched/" in said


DIM = Image.fromarray(np.linspace(20, 68, 40)[None].repeat(30, 0).astype(np.uint8))


def test_any_dark_picture_says_its_highest_level_and_one_of_one_level_does_not() -> None:
    photo = open_photo(DIM)
    assert photo.notes == ("its highest level is 68 of 255: it is dark to the model",)
    bright = photo.stretch()
    assert bright.notes == ("levels from 20 to 68 stretched over the whole range, 0 to 255",)
    assert (photo.stretched, bright.stretched, bright.stretch() is bright) == (False, True, True)
    assert photo.invert().notes == ()  # it is bright then
    for level in (0, 90, 255):
        assert open_photo(Image.new("RGB", (4, 4), (level,) * 3)).notes == ()
    half = np.array([[0, 127], [0, 128]], dtype=np.uint8)
    assert [len(open_photo(row[None]).notes) for row in half] == [1, 0]


def test_colours_of_16_bits_are_stretched_in_the_levels_of_their_file() -> None:
    photo = open_photo(deep_png(np.dstack([LEVELS] * 3)), stretch=True)
    assert photo.notes[-1] == "levels from 0 to 4095 stretched over the whole range, 0 to 255"


def test_an_analysis_knows_its_look_also_as_a_file_and_in_words(tmp_path: Path) -> None:
    loaded = tiny("cls")
    dim, bright = analyze(loaded, DIM), analyze(loaded, DIM, stretch=True, invert=True)
    assert (dim.is_dark(), dim.stretched) == (True, False)
    for one in (bright, Analysis.from_bytes(bright.to_bytes())):
        assert (one.is_dark(), one.stretched, one.inverted) == (False, True, True)
        assert "stretched inverted, " in repr(one)
        assert "(stretched, inverted)" in draw.predictions(one).get_supxlabel().replace("\n", " ")
    levels = {name: bright.summary()["photo"][name] for name in ("dark", "stretched", "inverted")}
    assert levels == {"dark": False, "stretched": True, "inverted": True}
    assert pack(dim, whole=False).manifest["photo"]["levels_note"] == 0


def test_surveys_and_ablations_stretch_too(tmp_path: Path) -> None:
    loaded, off = tiny("cls"), [{"kind": "head", "layer": 0, "head": 0, "by": "zero"}]
    answers, falls = (
        [make(loaded, [DIM], stretch=stretch) for stretch in (False, True)]
        for make in (
            lambda *given, **how: survey(*given, progress=False, **how).pictures[0],
            lambda *given, **how: ablate(*given, off, progress=False, **how).logits,
        )
    )
    expected = analyze(loaded, DIM, stretch=True).answer()
    assert answers[1].probability == pytest.approx(expected.probability, abs=1e-5)
    assert answers[0] != answers[1]
    assert not torch.equal(*falls)
    survey(loaded, [DIM], file=tmp_path / "a.jsonl", progress=False)
    with pytest.raises(VitvizError, match="no survey of this model with these measures"):
        survey(loaded, [DIM], file=tmp_path / "a.jsonl", stretch=True, progress=False)


def test_a_visitor_and_a_program_stretch_by_the_same_way() -> None:
    for look in (Look(), Look(invert=True), Look(stretch=True), Look(invert=True, stretch=True)):
        assert Look.of_link(look.link()) == look
        assert Look.of_page({"inverted": look.invert, "stretched": look.stretch}) == look
    assert Look.of_link({"stretch": "yes"}) == Look.of_page({"stretched": 1}) == Look()
    DIM.save(buffer := io.BytesIO(), "PNG")
    job = Job(photo=buffer.getvalue(), name="dim.png", model=ModelKey("tiny"))
    job = replace(job, look=Look(stretch=True), selection=Selection())
    result = execute(job, SimpleNamespace(get=lambda _: tiny("cls")))
    assert result.summary["photo"]["stretched"] is True
    assert result.saved_name.startswith("dim-")
    assert result.saved_name.endswith("-stretched.safetensors")


def test_a_tilde_is_home_wherever_a_file_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    analysis = analyze(tiny("cls"), DIM)
    analysis.save("~/a.safetensors")
    assert Analysis.load("~/a.safetensors").photo_name == analysis.photo_name
    draw.save(draw.predictions(analysis), "~/a.svg")
    survey(tiny("cls"), [DIM], file="~/a.jsonl", progress=False)
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == ["a.jsonl", "a.safetensors", "a.svg"]


def test_bands_of_a_satellite_are_told_which_to_choose() -> None:
    for shape in ((8, 9, 13), (8, 9, 5)):
        with pytest.raises(ImageError, match=rf"its {shape[2]} channels.*\[3, 2, 1\]\]"):
            open_photo(np.zeros(shape))
    model = timm.create_model("test_vit", num_classes=3, in_chans=2)
    with pytest.raises(
        VitvizError, match=r"2 channels.*With one of them.*\[:, \[0\]\].*in_chans=1"
    ):
        from_timm(model)


def turned(kind: str) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.fromarray(np.dstack([np.tri(6, 9, dtype=np.uint8) * 200] * 3))
    return encoded(image, kind, exif=exif)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", "AVIF", "JPEG"])
def test_every_format_is_turned_upright_and_says_so(kind: str) -> None:
    photo = open_photo(turned(kind))
    assert photo.image.size == (6, 9)
    assert photo.notes == ("turned upright as its EXIF data says",)


def test_an_animated_png_shows_the_first_picture_of_its_animation() -> None:
    """Its default picture, for programs without animations, need not be a part of it."""
    red, green, blue = (Image.new("RGB", (4, 4), name) for name in ("red", "#008000", "blue"))
    for first, alone in ((red, True), (red, False)):
        data = encoded(
            first, "PNG", save_all=True, append_images=[green, blue], default_image=alone
        )
        photo = open_photo(data)
        assert photo.image.getpixel((1, 1)) == ((0, 128, 0) if alone else (255, 0, 0))
        assert photo.notes == (f"first of {2 if alone else 3} frames",)


def test_a_preview_of_a_raw_photo_is_said_to_be_one() -> None:
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    tags = ImageFileDirectory_v2()
    tags[50706] = b"\1\4\0\0"
    tags.tagtype[50706] = 1
    data = encoded(Image.new("RGB", (4, 4)), "TIFF", tiffinfo=tags)
    assert open_photo(data).notes == ("the preview inside a raw photo, not the raw photo itself",)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (bytes(128) + b"DICM" + bytes(9), "DICOM"),
        (bytes(344) + b"n+1\0" + bytes(9), "NIfTI"),
        (b"\xff\x0a" + bytes(60), "JPEG XL"),
        (b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(60), "JPEG XL"),
        (b"\x93NUMPY\x01\0" + bytes(60), "array of numpy"),
        (bytes(60) + b"TRUEVISION-XFILE.\0", "Targa"),
        (b"v/1\x01" + bytes(60), "high dynamic range"),
    ],
)
def test_formats_of_science_and_cameras_are_called_by_name(data: bytes, what: str) -> None:
    with pytest.raises(ImageError, match=f"is not a picture we can read: it is an? .*{what}"):
        open_photo(data)


def test_one_of_a_batch_and_an_item_of_a_data_set_say_what_to_take() -> None:
    loaded = tiny("cls")
    with pytest.raises(ImageError, match=r"not 1 pictures at once .* take \[0\] of it"):
        analyze(loaded, torch.zeros(1, 3, 32, 32))
    with pytest.raises(ImageError, match=r"dictionary came: take \['image'\] of it"):
        analyze(loaded, {"image": np.zeros((4, 4, 3), np.uint8), "label": 3})


HEIC = b"\0\0\0\x18ftypheic" + bytes(200)


def test_files_that_are_passed_over_are_counted_and_named(tmp_path: Path, capsys) -> None:
    image = Image.new("RGB", (40, 40), "white")
    (tmp_path / "more").mkdir()
    for name in ("a.jfif", "b.JPG", "more/c.pjpeg", ".hidden.jpg"):
        (tmp_path / name).write_bytes(encoded(image, "JPEG"))
    assert others_in(tmp_path) is None
    for place in range(7):
        (tmp_path / f"IMG_{place}.HEIC").write_bytes(HEIC)
    (tmp_path / "more" / "d.jxl").write_bytes(b"\xff\x0a" + bytes(60))
    (tmp_path / "more" / ".DS_Store").write_bytes(b"x")
    loaded = tiny("cls")
    said = str(others_in([tmp_path, "no folder"]))
    assert said.startswith("8 other files were passed over: IMG_0.HEIC (it is a HEIC photo, as iPh")
    assert said.endswith("export it as JPEG), IMG_1.HEIC, IMG_2.HEIC, IMG_3.HEIC, IMG_4.HEIC, "
                         "IMG_5.HEIC, ...")  # fmt: skip
    assert len([*analyze_many(loaded, tmp_path)]) == 3
    assert f"note: {said}" in capsys.readouterr().err
    assert len(survey(loaded, tmp_path, progress=False).pictures) == 3
    assert "HEIC" not in capsys.readouterr().err
    survey(loaded, tmp_path)
    assert f"note: {said}" in capsys.readouterr().err


def test_a_folder_of_other_files_alone_says_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "IMG_1.HEIC").write_bytes(HEIC)
    sentence = r"no pictures in .*: 1 other files were passed over: IMG_1\.HEIC \(it is a HEIC"
    with pytest.raises(VitvizError, match=sentence):
        [*analyze_many(tiny("cls"), tmp_path)]


@pytest.mark.parametrize("shape", [(0, 3), (5, 7), (3, BAND_VALUES - 1), (2 * BAND_VALUES + 5, 2)])
def test_levels_are_scaled_by_bands_as_if_at_once(shape) -> None:
    values = np.random.default_rng(1).uniform(-3, 9, shape).astype(np.float32)[..., ::-1]
    at_once = np.rint((values.astype(np.float64) + 3) * (255 / 12)).astype(np.uint8)
    assert np.array_equal(to_8_bits(values, 9, -3), at_once)


def test_scaling_levels_takes_little_more_memory_than_its_result() -> None:
    """A float TIFF of 371 kB took 1.5 GB."""
    values = np.zeros((16, BAND_VALUES), np.uint16)
    tracemalloc.start()
    to_8_bits(values, 65535)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * values.size
