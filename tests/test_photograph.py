"""The photograph for the eye: the model's own crop, finer, small, and checked when it is read."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import photo, tiny
from vitviz import Analysis, Preprocess, VitvizError, analyze, load, open_photo
from vitviz.model import photograph as made
from vitviz.model.photograph import Photograph
from vitviz.payload import pack
from vitviz.web.store.examples import EXAMPLES, Example


def smooth(height: int, width: int) -> np.ndarray:
    """Slow waves of colour: a picture that hardly changes when it is resized."""
    rows, cols = np.mgrid[:height, :width] / max(height, width)
    waves = [np.sin(4 * rows), np.cos(5 * cols), np.sin(3 * rows + 4 * cols)]
    return np.uint8(127.5 + 110 * np.stack(waves, axis=-1))


def decoded(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)), dtype=float)


@pytest.mark.parametrize("mode", ["center", "squash", "border"])
@pytest.mark.parametrize("size", [(48, 48), (32, 64)])
@pytest.mark.parametrize("shape", [(300, 300), (240, 500), (640, 260)])
def test_the_crop_shows_just_what_the_model_saw(
    mode: str, size: tuple[int, int], shape: tuple[int, int]
) -> None:
    cut = Preprocess(size=size, crop_mode=mode, crop_pct=0.9, mean=(0.5,) * 3, std=(0.5,) * 3)
    seen = open_photo(smooth(*shape))
    crop = decoded(Photograph.of(seen, cut, size).crop)
    height, width = crop.shape[:2]
    assert max(height, width) <= made.LONGEST
    assert height / width == pytest.approx(size[0] / size[1], rel=0.03)
    small = Image.fromarray(np.uint8(crop)).resize((size[1], size[0]), Image.Resampling.BOX)
    far = np.abs(np.asarray(small, dtype=float) - cut.picture(seen).numpy())
    # Not the lines between photo and margin, which resizing blurs.
    assert np.median(far) < 3
    assert np.quantile(far, 0.9) < 10


def test_the_frame_is_where_the_photo_was_cut() -> None:
    cut = Preprocess(size=(48, 48))
    found = Photograph.of(open_photo(smooth(200, 400)), cut, (48, 48))
    assert found.frame == pytest.approx((0, 0.25, 1, 0.5))
    whole = decoded(found.whole)
    assert whole.shape == (96, 192, 3)
    # A patch size that does not divide the picture leaves its right and lower edge out.
    part = Photograph.of(open_photo(smooth(480, 480)), cut, (40, 40))
    assert part.frame == pytest.approx((0, 0, 40 / 48, 40 / 48))
    assert Photograph.of(open_photo(smooth(480, 480)), cut, (48, 48)).whole is None


def test_a_photo_without_finer_pixels_has_no_photograph() -> None:
    cut = Preprocess(size=(48, 48))
    assert Photograph.of(open_photo(smooth(50, 50)), cut, (48, 48)) is None
    strip = Photograph.of(open_photo(smooth(40, 200)), cut, (48, 48))
    assert strip.crop is None
    assert strip.whole is not None
    for shape in ((1, 1), (1, 4000), (4000, 1), (2, 3)):
        Photograph.of(open_photo(smooth(*shape)), cut, (48, 48))


def test_a_grey_model_has_a_grey_photograph() -> None:
    cut = Preprocess(size=(28, 28), channels=1, mean=(0.1,), std=(0.3,))
    assert decoded(Photograph.of(open_photo(smooth(200, 260)), cut, (28, 28)).crop).ndim == 2


def test_it_is_small_even_for_noise() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 1200, 3), dtype=np.uint8)
    found = Photograph.of(open_photo(noise), Preprocess(size=(72, 72)), (72, 72))
    assert len(found.crop) + len(found.whole) <= 60_000


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one.shown], ids=lambda one: one.name
)
def test_the_examples_grow_by_at_most_60_kilobytes(example: Example) -> None:
    analysis = analyze(load("photos"), Path(example.path))
    sent = pack(analysis)
    new = {name: len(data) for name, data in sent.files.items() if name.endswith(".jpg")}
    assert 0 < sum(new.values()) <= 60_000
    assert "photograph.jpg" in new


def test_an_analysis_keeps_it_and_the_payload_sends_it() -> None:
    analysis = analyze(tiny("cls"), smooth(200, 300))
    again = Analysis.from_bytes(analysis.to_bytes())
    for name in ("crop", "whole", "frame"):
        assert getattr(again.photograph, name) == getattr(analysis.photograph, name)
    payload = pack(again)
    files = payload.manifest["files"]
    assert payload.files[files["photograph"]["path"]] == analysis.photograph.crop
    assert payload.files[files["whole"]["path"]] == analysis.photograph.whole
    assert payload.manifest["photo"]["frame"] == pytest.approx([0, 1 / 6, 1, 2 / 3], abs=1e-4)


def test_an_older_analysis_has_none() -> None:
    analysis = replace(analyze(tiny("cls"), smooth(200, 300)), photograph=None)
    again = Analysis.from_bytes(analysis.to_bytes())
    assert again.photograph is None
    payload = pack(again)
    assert {"photograph", "whole"}.isdisjoint(payload.manifest["files"])
    assert payload.manifest["photo"]["frame"] is None


def jpeg(side: int) -> bytes:
    Image.fromarray(photo(side, side)).save(buffer := io.BytesIO(), "JPEG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("crop", "frame", "match"),
    [
        (b"<svg onload=alert(1)>", [0, 0, 1, 1], "cannot be decoded"),
        (jpeg(64)[:300], [0, 0, 1, 1], "cannot be decoded"),
        (jpeg(600), [0, 0, 1, 1], "600 x 600"),
        (jpeg(64), [0, 0, 1], "frame"),
        (jpeg(64), [0, 0, 1, 2], "frame"),
        (jpeg(64), "whole", "frame"),
        (jpeg(64), None, "frame"),
    ],
)
def test_a_damaged_one_is_refused(crop: bytes, frame: object, match: str) -> None:
    with pytest.raises(VitvizError, match=match):
        Photograph.read(crop, None, frame)


def test_it_is_part_of_no_number() -> None:
    analysis = analyze(tiny("cls"), smooth(200, 300))
    bare = replace(analysis, photograph=None)
    one, other = (pack(each, whole=False) for each in (analysis, bare))
    same = {name for name in one.files if not name.endswith(".jpg")}
    assert same == set(other.files)
    assert all(one.files[name] == other.files[name] for name in same)
    assert torch.equal(analysis.pixels, bare.pixels)


def test_qualities_that_would_not_fit_are_not_tried(monkeypatch):
    """Encoding is a sixth of what a small model takes for its whole pass."""
    tried, save = [], Image.Image.save

    def counting(image, file, form, **options):
        save(image, file, form, **options)
        tried.append((options["quality"], file.tell()))

    monkeypatch.setattr(Image.Image, "save", counting)
    seen = Photograph.of(open_photo(photo(480, 640)), Preprocess(size=(72, 72)), (72, 72))
    crops = [(quality, size) for quality, size in tried if size > made.WHOLE_MOST_BYTES]
    assert [quality for quality, _ in crops] == [82, 64]
    assert crops[0][1] > made.MOST_BYTES >= crops[1][1] == len(seen.crop)
