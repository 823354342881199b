"""Files in the cache: written atomically, shared if equal, under paths that nobody can guess."""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.running import at_once
from vitviz.web.store.files import file_name, place_of, save_atomic


def save(data, name, folder):
    path = place_of(data, name, folder)
    save_atomic(data, path)
    return path


def test_equal_bytes_share_a_file_and_renew_its_age(tmp_path):
    path = save(b"abc", "layer-00.safetensors", tmp_path)
    os.utime(path, (0, 0))
    assert not save_atomic(b"abc", path)
    assert abs(path.stat().st_mtime - time.time()) < 60
    assert save(b"abd", "layer-00.safetensors", tmp_path) != path
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == [
        "layer-00.safetensors",
        "layer-00.safetensors",
    ]


def test_a_cut_off_file_is_written_again(tmp_path):
    path = save(b"abcdef", "x", tmp_path)
    path.write_bytes(b"abc")
    assert save_atomic(b"abcdef", path)
    assert path.read_bytes() == b"abcdef"


def test_the_name_does_not_follow_from_the_contents(tmp_path):
    folder = save(b"abc", "x", tmp_path).parent.name
    assert len(folder) == 64
    for guess in (hashlib.blake2b(b"abc", digest_size=32), hashlib.sha256(b"abc")):
        assert folder != guess.hexdigest()


def test_a_reader_never_sees_a_part(tmp_path):
    data = os.urandom(4_000_000)
    path, done, seen = save(data, "x", tmp_path), threading.Event(), set()

    def read():
        while not done.is_set():
            with contextlib.suppress(FileNotFoundError):
                seen.add(len(path.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        path.unlink()
        at_once(*[partial(save_atomic, data, path)] * 2)
    done.set()
    reader.join()
    assert seen == {len(data)}


def test_a_folder_that_is_swept_while_a_file_is_put_there_is_made_again(tmp_path, monkeypatch):
    """A sweep deletes folders without files, such as one in which a file is about to be written."""
    path, made = place_of(b"abc", "x", tmp_path), tempfile.mkstemp

    def swept(dir):
        monkeypatch.setattr(tempfile, "mkstemp", made)
        path.parent.rmdir()
        return made(dir=dir)

    monkeypatch.setattr(tempfile, "mkstemp", swept)
    assert save_atomic(b"abc", path)
    assert path.read_bytes() == b"abc"


def test_nothing_is_left_of_a_failed_write(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(b"abc", "x", tmp_path)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


NAMES = json.loads((Path(__file__).parents[1] / "file_names.json").read_text("utf-8"))["cases"]


def test_file_names_are_those_of_the_viewer():
    assert NAMES
    found = [f"{parts}: {file_name(*parts)}" for parts, name in NAMES if file_name(*parts) != name]
    assert not found, "\n".join(found)
    # Here folders are taken off before, and what has no name at all is an analysis.
    assert file_name("../../etc/passwd", "photos") == "passwd-photos"
    assert file_name("...", "") == "analysis"


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\ud55c", "\U0001d4b3"])
def test_a_file_name_fits_on_any_disk(tmp_path, letter):
    name = file_name(*[f"{letter * 60}.jpg"] * 4)
    path = save(b"abc", f"{name}.safetensors", tmp_path)
    assert path.read_bytes() == b"abc"
    assert len(path.name.encode()) <= 255
    assert set(name) == {letter, "-"}
