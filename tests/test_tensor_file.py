"""Files of tensors: they come back as they were, and a file that fails half-way leaves nothing."""

from pathlib import Path

import pytest
import safetensors.torch
import torch

from vitviz.model.tensor_file import read_metadata, read_tensors, write_tensors


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path, turned = tmp_path / "x.safetensors", torch.arange(6).reshape(2, 3).T
    write_tensors(path, {"a": turned}, {"key": "text"})
    tensors, metadata = read_tensors(path)
    assert torch.equal(tensors["a"], turned)
    assert metadata == read_metadata(path) == {"key": "text"}
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.zeros(2)}, {})
    before = path.read_bytes()

    def full(tensors, path, metadata):
        path.write_bytes(b"half")
        raise safetensors.SafetensorError("no space left")

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(OSError, match="no space left"):
        write_tensors(path, {"a": torch.ones(2)}, {})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


def test_a_file_that_is_missing_or_damaged_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"not safetensors at all")
    for read in (read_tensors, read_metadata):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none.safetensors")
        with pytest.raises(ValueError, match="header"):
            read(tmp_path / "bad.safetensors")
