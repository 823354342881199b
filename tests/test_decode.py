"""Decoding in another process: the same photo, or the same refusal, and an end in time."""

import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from tests.running import at_once
from vitviz.errors import ImageError
from vitviz.model import decode as decoding
from vitviz.model.decode import TooSlowError, decode
from vitviz.model.photo import open_photo
from vitviz.web.compute import opening
from vitviz.web.compute.opening import open_upload
from vitviz.web.host import limits


def encoded(form="JPEG", size=(40, 30), mode="RGB", **options):
    noise = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).convert(mode).save(file, form, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("form", "mode", "options"),
    [
        ("JPEG", "RGB", {}),
        ("PNG", "RGBA", {}),
        ("PNG", "L", {}),
        ("GIF", "RGB", {}),
        ("PNG", "I;16", {}),
    ],
)
def test_another_process_gives_the_same_photo(form, mode, options):
    data = encoded(form, mode=mode, **options)
    ours, theirs = open_photo(data, "한 장\x00.png"), decode(data, "한 장\x00.png", 60)
    assert (theirs.image.mode, theirs.image.size) == (ours.image.mode, ours.image.size)
    assert theirs.image.tobytes() == ours.image.tobytes()
    assert (theirs.name, theirs.notes) == (ours.name, ours.notes)
    assert [getattr(note, "key", None) for note in theirs.notes] == [
        note.key for note in ours.notes
    ]


def test_another_process_refuses_with_the_same_sentence():
    with pytest.raises(ImageError) as ours:
        open_photo(b"hello", "a.png")
    with pytest.raises(ImageError) as theirs:
        decode(b"hello", "a.png", 60)
    assert theirs.value.message == ours.value.message
    assert theirs.value.message.key == ours.value.message.key


def test_it_runs_from_any_folder_and_brings_no_torch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert decode(encoded(), "a.jpg", 60).image.size == (40, 30)
    asked = "import sys, vitviz.model.decode; print('torch' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(decoding.HOUSE)}
    assert subprocess.check_output([sys.executable, "-c", asked], env=env, text=True) == "False\n"


def test_a_process_that_takes_too_long_is_killed():
    with pytest.raises(TooSlowError):
        decode(encoded(), "a.jpg", 0.001)


@pytest.mark.parametrize("more", [0, 2**24])  # more than a pipe holds
def test_a_process_that_breaks_is_a_photo_that_cannot_be_decoded(monkeypatch, tmp_path, more):
    monkeypatch.setattr(decoding, "HOUSE", "nowhere")  # where there is no such module
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImageError, match="cannot be decoded here"):
        decode(encoded() + bytes(more), "a.jpg", 60)


def test_pixels_are_taken_over_in_bands_so_that_other_threads_run(monkeypatch):
    monkeypatch.setattr(decoding, "BAND_BYTES", 7 * 40 * 3)  # 7 of 30 rows
    data = encoded("PNG")
    assert decode(data, "a.png", 60).image.tobytes() == open_photo(data, "a.png").image.tobytes()


def test_a_process_that_ends_in_its_answer_is_a_photo_that_cannot_be_decoded(monkeypatch):
    about = {"refused": False, "texts": [], "messages": {}, "mode": "RGB", "size": [40, 30]}
    script = f"print({json.dumps(json.dumps(about))}, flush=True); print('abc', end='')"
    monkeypatch.setattr(decoding, "COMMAND", (sys.executable, "-c", script))
    with pytest.raises(ImageError, match="cannot be decoded here"):
        decode(encoded(), "a.jpg", 60)


def test_a_large_upload_is_opened_elsewhere_and_a_small_one_at_once(monkeypatch):
    elsewhere = []
    monkeypatch.setattr(opening, "decode", lambda data, name, *_: elsewhere.append(name))
    open_upload(encoded(), "small.jpg")
    monkeypatch.setattr(limits, "LARGE_PHOTO_MEGAPIXELS", 0.001)
    open_upload(encoded(), "large.jpg")
    assert elsewhere == ["large.jpg"]


def test_what_is_not_as_programs_write_it_is_opened_elsewhere(monkeypatch):
    elsewhere = []
    monkeypatch.setattr(opening, "decode", lambda data, name, *_: elsewhere.append(name))
    exif = b"\xff\xe1\x00\x08Exif\x00\x00" * 200
    for name, data in (
        ("plain.jpg", encoded()),
        ("plain.png", encoded("PNG")),
        ("plain.webp", encoded("WEBP")),
        ("progressive.jpg", encoded(progressive=True)),
        ("segments.jpg", b"\xff\xd8" + exif + encoded()[2:]),
        ("plain.gif", encoded("GIF")),
        ("lossless.webp", encoded("WEBP", lossless=True)),
    ):
        open_upload(data, name)
    assert elsewhere == ["segments.jpg", "plain.gif", "lossless.webp"]


def test_an_upload_of_many_bytes_is_opened_elsewhere_and_not_even_searched(monkeypatch):
    """One of 64 x 64 pixels and 32 MB kept all other threads waiting while it was searched."""
    elsewhere = []
    monkeypatch.setattr(opening, "decode", lambda data, name, *_: elsewhere.append(name))
    monkeypatch.setattr(opening, "outline_of", None)
    open_upload(encoded() + bytes(limits.LARGE_PHOTO_BYTES), "large.jpg")
    assert elsewhere == ["large.jpg"]


def test_an_upload_that_takes_too_long_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(limits, "LARGE_PHOTO_MEGAPIXELS", 0.001)
    monkeypatch.setattr(limits, "OPENING_SECONDS", 0.001)
    with pytest.raises(ImageError, match=r"'a\.jpg' takes too long to open here"):
        open_upload(encoded(), "a.jpg")


def test_a_small_upload_does_not_wait_for_large_ones(monkeypatch):
    begun, done = threading.Event(), threading.Event()

    def slowly(data, name, seconds, stretch):
        begun.set()
        assert done.wait(60)

    monkeypatch.setattr(opening, "decode", slowly)
    monkeypatch.setattr(limits, "LARGE_PHOTO_MEGAPIXELS", 0.01)

    def other():
        assert begun.wait(60)
        assert open_upload(encoded(), "small.jpg").name == "small.jpg"
        done.set()

    large = encoded(size=(200, 200))
    at_once(lambda: open_upload(large, "a"), lambda: open_upload(large, "b"), other)
