"""Files that a command writes: one stopped in the middle of any leaves all that were there."""

import os
from pathlib import Path

import pytest
import safetensors.torch
from matplotlib.figure import Figure
from PIL import Image

from tests.models import photo
from tests.running import save_tiny
from vitviz import cli
from vitviz.whole import write_text


def stopped_half(real):
    """What writes a file gets most of it onto the disk, and then Ctrl-C."""

    def half(*given, **options):
        path = next(one for one in given if isinstance(one, Path))
        real(*given, **options)
        path.write_bytes(path.read_bytes()[:-9])
        raise KeyboardInterrupt

    return half


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    (tmp_path / "photos").mkdir()
    for number in range(2):
        Image.fromarray(photo(60 + number)).save(tmp_path / "photos" / f"{number}.png")
    return ["--model", str(save_tiny(tmp_path, "cls")), "--out", str(tmp_path / "out")]


@pytest.mark.parametrize(
    ("where", "writes"),
    [(Path, "write_text"), (Figure, "savefig"), (safetensors.torch, "save_file")],
)
def test_look_that_is_stopped_while_it_writes_leaves_every_file_whole(
    words, tmp_path, monkeypatch, where, writes
) -> None:
    """A second look at a photo left half a summary or figure where whole ones had been."""
    asked = ["look", str(tmp_path / "photos/0.png"), "--only", "patches", *words]
    assert cli.main(asked) == 0
    before = files(tmp_path / "out")
    monkeypatch.setattr(where, writes, stopped_half(getattr(where, writes)))
    assert cli.main(asked) == 130
    assert files(tmp_path / "out") == before


def test_look_that_was_stopped_goes_on_in_its_folder(words, tmp_path, monkeypatch) -> None:
    """The next look was refused: the folder held no analysis that could be read."""
    asked = ["look", str(tmp_path / "photos/0.png"), "--no-figures", *words]
    monkeypatch.setattr(Path, "write_text", stopped_half(Path.write_text))
    assert cli.main(asked) == 130
    monkeypatch.undo()
    assert cli.main(asked) == 0
    assert {*files(tmp_path / "out")} == {"summary.json", "analysis.safetensors"}


@pytest.mark.parametrize(("where", "writes"), [(Path, "write_text"), (Figure, "savefig")])
def test_survey_that_is_stopped_while_it_writes_leaves_every_file_whole(
    words, tmp_path, monkeypatch, where, writes
) -> None:
    asked = ["survey", str(tmp_path / "photos"), *words]
    assert cli.main(asked) == 0
    before = files(tmp_path / "out")
    monkeypatch.setattr(where, writes, stopped_half(getattr(where, writes)))
    assert cli.main(asked) == 130
    assert files(tmp_path / "out") == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_is_written_as_it_is(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "facts")
    assert os.read(reader, 99) == b"facts"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
