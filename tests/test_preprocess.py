"""The picture a model sees is timm's, bit for bit; a strip of any length stays small in memory."""

import json
import resource
from itertools import product

import numpy as np
import pytest
import torch
from PIL import Image
from timm.data import create_transform

from vitviz.errors import ImageError, VitvizError, WeightsError
from vitviz.model import preprocess as module
from vitviz.model.photo import open_photo
from vitviz.model.preprocess import Preprocess


def photo(width: int, height: int, channels: int = 3, seed: int = 0):
    shape = (height, width) if channels == 1 else (height, width, channels)
    return open_photo(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def timm_transform(p: Preprocess, normalize: bool):
    return create_transform(
        (p.channels, *p.size),
        interpolation=p.interpolation,
        crop_pct=p.crop_pct,
        crop_mode=p.crop_mode,
        mean=p.mean,
        std=p.std,
        normalize=normalize,
    )


def timm_picture(p: Preprocess, image: Image.Image) -> torch.Tensor:
    return timm_transform(p, normalize=False)(
        image.convert("L" if p.channels == 1 else "RGB")
    ).permute(1, 2, 0)


CONFIGS = [
    Preprocess(size=(224, 224), crop_pct=0.9),
    Preprocess(size=(224, 224), crop_pct=0.875, interpolation="bilinear"),
    Preprocess(size=(32, 32)),
    Preprocess(size=(28, 28), channels=1, mean=(0.1307,), std=(0.3081,)),
    Preprocess(size=(48, 96), crop_pct=0.9),
    Preprocess(size=(96, 48), crop_pct=0.95, interpolation="lanczos"),
    Preprocess(size=(64, 64), crop_mode="squash"),
    Preprocess(size=(64, 80), crop_mode="squash", crop_pct=0.9),
    Preprocess(size=(64, 64), crop_mode="border"),
    Preprocess(size=(64, 48), crop_mode="border", crop_pct=0.8),
    Preprocess(size=(28, 28), crop_mode="border", channels=1, mean=(0.4,), std=(0.3,)),
    Preprocess(size=(64, 64), crop_pct=1.15),  # larger than the resized photo: a black margin
    Preprocess(size=(63, 65), crop_pct=0.9, interpolation="nearest"),
    Preprocess(size=(40, 40), interpolation="box"),
    Preprocess(size=(40, 40), interpolation="hamming"),
]
SIZES = [
    (1, 1),
    (64, 64),
    (97, 61),
    (61, 97),
    (300, 200),
    (640, 17),
    (17, 640),
    (3, 900),
    (1000, 2),
]


@pytest.mark.parametrize(
    "p", CONFIGS, ids=lambda p: f"{p.crop_mode}-{p.size}-{p.crop_pct}-{p.interpolation}"
)
def test_picture_and_pixels_equal_timm(p, subtests):
    for size in SIZES:
        with subtests.test(size=size):
            compare_with_timm(p, size)


def compare_with_timm(p, size):
    source = photo(*size)
    try:
        want = timm_picture(p, source.image)
    except ValueError:  # a side rounded to nothing: timm fails
        assert p.crop_mode == "border"
        assert tuple(p.picture(source).shape) == (*p.size, p.channels)
        return
    got = p.picture(source)
    assert got.dtype == torch.uint8
    assert torch.equal(got, want)
    image = source.image.convert("L" if p.channels == 1 else "RGB")
    assert torch.equal(p.pixels(got)[0], timm_transform(p, normalize=True)(image))


def test_grey_photos_in_colour_models_and_back():
    grey = photo(50, 40, channels=1)
    for p in CONFIGS[:4]:
        assert torch.equal(p.picture(grey), timm_picture(p, grey.image))


@pytest.mark.parametrize("crop_mode", module.CROP_MODES)
def test_computing_only_the_crop_gives_the_same_picture(monkeypatch, crop_mode, subtests):
    sizes = [(700, 3), (3, 700), (1, 900), (333, 30)]
    for size, interpolation in product(sizes, ["bicubic", "bilinear"]):
        with subtests.test(size=size, interpolation=interpolation), monkeypatch.context() as patch:
            compare_crop_with_whole(patch, crop_mode, size, interpolation)


def compare_crop_with_whole(monkeypatch, crop_mode, size, interpolation):
    p = Preprocess(size=(64, 48), crop_mode=crop_mode, crop_pct=0.9, interpolation=interpolation)
    source = photo(*size)
    whole = p.picture(source)
    monkeypatch.setattr(module, "MAX_RESIZED_PIXELS", 0)
    difference = (p.picture(source).int() - whole.int()).abs()
    if interpolation == "bilinear":
        assert difference.max() <= 2
    else:  # overshoot is clipped between the two passes, whose order may differ
        assert difference.float().mean() < 1


@pytest.mark.parametrize("size", [(1, 10_000), (10_000, 1), (2, 1_000_000)], ids=str)
@pytest.mark.parametrize(
    "p", [Preprocess(size=(224, 224)), Preprocess(size=(224, 200), crop_mode="border")], ids=str
)
def test_an_endless_strip_stays_small_in_memory(p, size):
    source = photo(*size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    picture = p.picture(source)
    assert tuple(picture.shape) == (*p.size, 3)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # MB
    assert grown < 100


def test_an_endless_strip_shows_its_middle():
    strip = np.repeat(
        (np.arange(10_000) // 100 % 256).astype(np.uint8)[:, None, None], 3, 2
    )  # (10000, 1, 3)
    seen = Preprocess(size=(224, 224)).picture(open_photo(strip))
    # The crop is one source pixel high: rows 4999.5 to 5000.5, where the value steps from 49 to 50.
    assert set(seen.unique().tolist()) <= {49, 50}
    assert seen[0, 0, 0] == 49
    assert seen[-1, -1, 0] == 50


def test_pixels_refuses_another_picture():
    p = Preprocess(size=(8, 8))
    with pytest.raises(ImageError, match=r"\(8, 8, 3\) and uint8"):
        p.pixels(torch.zeros(8, 9, 3, dtype=torch.uint8))
    with pytest.raises(ImageError, match="float32"):
        p.pixels(torch.zeros(8, 8, 3))


def test_nothing_given_is_changed():
    source, p = photo(30, 20), Preprocess(size=(8, 8))
    before = np.array(source.image)
    picture = p.picture(source)
    copy = picture.clone()
    p.pixels(picture)
    assert np.array_equal(before, np.asarray(source.image))
    assert torch.equal(copy, picture)


@pytest.mark.parametrize("p", CONFIGS, ids=str)
def test_to_dict_and_back(p):
    assert Preprocess.from_dict(json.loads(json.dumps(p.to_dict()))) == p


def test_from_timm():
    cfg = {
        "input_size": (3, 224, 192),
        "crop_pct": 0.9,
        "crop_mode": "squash",
        "interpolation": "bilinear",
    }
    got = Preprocess.from_timm(cfg | {"mean": (0.5, 0.4, 0.3), "std": (0.1, 0.2, 0.3)})
    want = {"size": (224, 192), "crop_pct": 0.9, "crop_mode": "squash", "interpolation": "bilinear"}
    assert got == Preprocess(**want, mean=(0.5, 0.4, 0.3), std=(0.1, 0.2, 0.3))
    assert Preprocess.from_timm({"input_size": (3, 32, 32)}).crop_pct == 0.875
    grey = Preprocess.from_timm(
        {"input_size": (1, 28, 28), "mean": (0.3, 0.4, 0.5), "std": (0.1, 0.2, 0.3)}
    )
    assert grey.mean == pytest.approx((0.4,))
    assert grey.std == pytest.approx((0.2,))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"size": (0, 8)}, "size must be"),
        ({"size": 8}, "size must be"),
        ({"size": (8, 8, 8)}, "size must be"),
        ({"size": (10**9, 8)}, "size must be"),
        ({"size": (8.5, 8)}, "size must be"),
        ({"size": (True, 8)}, "size must be"),
        ({"channels": 2}, "channels must be"),
        ({"mean": (0.5,)}, "mean needs one number"),
        ({"mean": "abc"}, "mean must be"),
        ({"std": (0.5, float("nan"), 1)}, "std must be"),
        ({"std": (0.5, 0, 1)}, "std must be positive"),
        ({"crop_pct": 0}, "crop_pct must lie"),
        ({"crop_pct": "1"}, "crop_pct must lie"),
        ({"crop_mode": "random"}, "crop_mode must be one of"),
        ({"interpolation": "random"}, "interpolation must be one of"),
        ({"interpolation": ["bicubic"]}, "interpolation must be one of"),
        ({"extra": 1}, "got also extra"),
    ],
)
def test_values_that_make_no_transform_are_refused(change, says):
    with pytest.raises(WeightsError, match=says):
        Preprocess.from_dict({"size": (8, 8)} | change)


def test_from_dict_needs_a_dictionary_with_a_size():
    with pytest.raises(WeightsError, match="needs a size"):
        Preprocess.from_dict({})
    with pytest.raises(WeightsError, match="must be a dictionary"):
        Preprocess.from_dict([])


def test_other_defaults_of_torch_are_refused() -> None:
    """In bfloat16 the mean was 0.484375, and attention was rounded, without a word."""
    picture = torch.zeros(8, 8, 3, dtype=torch.uint8)
    made = Preprocess(size=(8, 8))
    torch.set_default_dtype(torch.bfloat16)
    try:
        with pytest.raises(VitvizError, match=r"torch\.bfloat16 on cpu"):
            made.pixels(picture)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"), pytest.raises(VitvizError, match="on meta"):
        made.pixels(picture)
    assert made.pixels(picture).shape == (1, 3, 8, 8)
