"""Decoding: files that take long are told before, and large ones are opened in another process."""

import io
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from PIL import Image

from tests.running import at_once
from vitviz.errors import ImageError, VitvizError
from vitviz.model import decode as decoding
from vitviz.model import photo
from vitviz.model.decode import TooSlowError, decode
from vitviz.model.photo import MAX_SCANS, open_photo, scans_of, work_of
from vitviz.web.compute import opening
from vitviz.web.compute.opening import open_upload
from vitviz.web.host import limits


def encoded(form="JPEG", size=(40, 30), mode="RGB", **options):
    noise = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).convert(mode).save(file, form, **options)
    return file.getvalue()


def with_scans(count):
    """A progressive JPEG that has its last scan again and again: a few bytes for a whole pass."""
    data = encoded(progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * (1 + count - scans_of(data)) + b"\xff\xd9"


def test_the_scans_of_a_jpeg_are_counted_in_the_picture_alone():
    plain, progressive = encoded(), encoded(progressive=True)
    assert scans_of(plain) == 1
    assert scans_of(progressive) == progressive.count(b"\xff\xda") > 5
    inside = Image.Exif()
    inside[0x9286] = b"\xff\xda" * 200  # a comment that looks like scans
    assert scans_of(encoded(exif=inside.tobytes())) == 1
    assert scans_of(plain + progressive) == 1  # the preview behind a picture
    assert scans_of(encoded("PNG")) == scans_of(b"") == 0
    assert scans_of(b"\xff\xd8" + b"\xff\xda\x00\x02" * 7) == 7
    for cut in range(0, len(progressive), 41):
        assert 0 <= scans_of(progressive[:cut]) <= scans_of(progressive)


def test_a_jpeg_of_many_scans_is_refused_before_it_is_decoded():
    assert open_photo(with_scans(MAX_SCANS)).image.size == (40, 30)
    with pytest.raises(ImageError, match=f"{MAX_SCANS + 1} scans.*at most {MAX_SCANS}"):
        open_photo(with_scans(MAX_SCANS + 1), "slow.jpg")


def test_the_work_of_a_file_is_told_by_its_head():
    assert work_of(encoded("PNG", (1000, 500))) == pytest.approx(0.5)
    assert work_of(encoded(size=(1000, 500))) == pytest.approx(0.5)
    assert work_of(with_scans(50)) == pytest.approx(40 * 30 / 1e6 * 5)
    assert work_of(b"no picture") == work_of(b"") == 0


def test_photos_of_several_threads_are_decoded_at_once(monkeypatch):
    """One that takes long, as it did behind a lock of the process, keeps no other waiting."""
    begun, done = threading.Event(), threading.Event()
    finish = photo._finish

    def slowly(image, name, notes):
        if name == "slow":
            begun.set()
            assert done.wait(60)
        return finish(image, name, notes)

    monkeypatch.setattr(photo, "_finish", slowly)

    def other():
        assert begun.wait(60)
        assert open_photo(encoded(), "fast").name == "fast"
        done.set()

    before = list(warnings.filters)
    at_once(lambda: open_photo(encoded(), "slow"), other)
    assert warnings.filters == before
    assert photo._decoding == 0


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


def test_a_process_that_breaks_is_a_photo_that_cannot_be_decoded(monkeypatch, tmp_path):
    monkeypatch.setattr(decoding, "HOUSE", "nowhere")  # where there is no such module
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImageError, match="cannot be decoded here"):
        decode(encoded(), "a.jpg", 60)


def test_a_large_upload_is_opened_elsewhere_and_a_small_one_at_once(monkeypatch):
    elsewhere = []
    monkeypatch.setattr(opening, "decode", lambda data, name, _: elsewhere.append(name))
    open_upload(encoded(), "small.jpg")
    monkeypatch.setattr(limits, "LARGE_PHOTO_MEGAPIXELS", 0.001)
    open_upload(encoded(), "large.jpg")
    assert elsewhere == ["large.jpg"]


def test_an_upload_that_takes_too_long_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(limits, "LARGE_PHOTO_MEGAPIXELS", 0.001)
    monkeypatch.setattr(limits, "OPENING_SECONDS", 0.001)
    with pytest.raises(VitvizError, match=r"'a\.jpg' takes too long to open here"):
        open_upload(encoded(), "a.jpg")


def test_a_small_upload_does_not_wait_for_large_ones(monkeypatch):
    begun, done = threading.Event(), threading.Event()

    def slowly(data, name, seconds):
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
