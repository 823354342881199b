"""Files of tensors: they are read as they were written, and a failed write leaves no file."""

import errno
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import safetensors.torch
import torch

from vitviz.model.tensor_file import (
    read_metadata,
    read_tensors,
    tensors_from_bytes,
    tensors_to_bytes,
    write_tensors,
)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path, turned = tmp_path / "x.safetensors", torch.arange(6).reshape(2, 3).T
    write_tensors(path, {"a": turned}, {"key": "text"})
    tensors, metadata = read_tensors(path)
    assert torch.equal(tensors["a"], turned)
    assert metadata == read_metadata(path) == {"key": "text"}
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_stays_one_and_gets_the_bytes(tmp_path: Path) -> None:
    """safetensors put a file in its place: as root, of /dev/null as well."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_tensors(pipe, {"a": torch.arange(6)}, {"key": "text"})
    assert pipe.is_fifo()
    assert os.read(reader, 9999) == tensors_to_bytes({"a": torch.arange(6)}, {"key": "text"})
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    path, turned = tmp_path / "x.safetensors", torch.arange(6).reshape(2, 3).T
    for metadata in ({"key": "text"}, {}):
        write_tensors(path, {"a": turned}, metadata)
        data = tensors_to_bytes({"a": turned}, metadata)
        assert data == path.read_bytes()
        tensors, told = tensors_from_bytes(data)
        assert torch.equal(tensors["a"], turned)
        assert told == metadata
    for damaged in (b"", data[:-1], data[8:], b"\xff" * 64, with_type("X64"), with_type("F6_E2M3")):
        with pytest.raises(ValueError, match=r"header|metadata|variant|F6"):
            tensors_from_bytes(damaged)


def with_type(name: str) -> bytes:
    """A file of four numbers of any dtype; the format has more dtypes than torch."""
    header = json.dumps({"a": {"dtype": name, "shape": [4], "data_offsets": [0, 3]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"abc"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_who_may_read_a_file_is_what_the_umask_says(tmp_path: Path, umask, mode) -> None:
    """Only the owner could read checkpoints, films and saved analyses."""
    path = tmp_path / "x.safetensors"
    before = os.umask(umask)
    try:
        write_tensors(path, {"a": torch.zeros(2)}, {})
        assert path.stat().st_mode & 0o777 == mode
        path.chmod(0o600)
        write_tensors(path, {"a": torch.ones(2)}, {})
        assert path.stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.zeros(2)}, {})
    before = path.read_bytes()

    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise safetensors.SafetensorError("no space left")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="no space left") as caught:
        write_tensors(path, {"a": torch.ones(2)}, {})
    assert caught.value.errno == errno.EIO
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_file_that_the_system_refuses_raises_its_error(tmp_path: Path) -> None:
    """The error had no errno: a full disk looked like any other error, and its text was None."""
    import resource

    path = tmp_path / "x.safetensors"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            write_tensors(path, {"a": torch.ones(2)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    error = caught.value
    assert (error.errno, error.strerror) == (errno.EFBIG, os.strerror(errno.EFBIG))
    assert error.filename == str(path)
    assert not [*tmp_path.iterdir()]


def test_several_write_the_same_file_and_each_writes_it_whole(tmp_path: Path) -> None:
    """One took the temporary file of another away, which had the same name."""
    path = tmp_path / "x.safetensors"
    files = [{"a": torch.full((10_000,), float(value))} for value in range(4)]

    def write(tensors):
        for _ in range(25):
            write_tensors(path, tensors, {})
            assert len(read_tensors(path)[0]["a"].unique()) == 1

    with ThreadPoolExecutor(len(files)) as pool:
        for written in [pool.submit(write, one) for one in files]:
            written.result()
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot be asked which process runs")
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = (f"x.pt.{ended.pid}.a", f"xy.pt.{ended.pid}.a", f"x.pt.{os.getpid()}.a", "x.pt.old")
    for name in names:
        (tmp_path / f".{name}.partial").mkdir()
        (tmp_path / f".{name}.partial" / "x.pt").touch()
    write_tensors(tmp_path / "x.pt", {"a": torch.zeros(2)}, {})
    left = {f".{name}.partial" for name in names[1:]}
    assert {file.name for file in tmp_path.iterdir()} == {"x.pt", *left}


def test_a_file_that_is_missing_or_damaged_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"not safetensors at all")
    for read in (read_tensors, read_metadata):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none.safetensors")
        with pytest.raises(ValueError, match="header"):
            read(tmp_path / "bad.safetensors")
