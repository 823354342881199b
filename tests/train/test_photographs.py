"""Photographs as people bring them: how they are read, and a threshold that is lowered for them."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import tiny
from tests.running import save_tiny
from vitviz import analyze, load
from vitviz.model.checkpoints import TESTS_SUFFIX
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.model.tensor_file import read_tensors
from vitviz.train.command import main
from vitviz.train.dataset import Pictures
from vitviz.train.errors import TrainError
from vitviz.train.others import threshold
from vitviz.train.photographs import in_words, lowered, on_photographs, read_photographs

KNOWN, STRANGERS = 24, 5


def test_one_more_known_picture_reaches_the_threshold_as_often_as_promised():
    """Of all ways to leave one of n + 1 scores out, it falls below in k = floor(.05 (n + 1))."""
    generator = torch.Generator().manual_seed(0)
    for n, below in ((18, 1), (19, 1), (38, 1), (39, 2), (52, 2), (980, 49)):
        scores = torch.randn(n + 1, generator=generator)
        every = torch.arange(n + 1)
        lost = sum(bool(scores[i] < threshold(scores[every != i])) for i in every)
        assert lost == below, n
        assert n < 19 or lost / (n + 1) <= 0.05


def logits(scores: torch.Tensor) -> torch.Tensor:
    """Logits of two classes with these log-sum-exps; the first class has nearly all."""
    return torch.stack([scores, scores - 50], dim=1)


def test_what_a_threshold_does_with_photographs():
    known, strangers = torch.arange(40).float(), torch.tensor([-1.0, 0.5, 1.5, 39.5])
    assert lowered(5.0, known) == 1  # the second smallest of 40
    assert lowered(-3.0, known) == -3
    targets = torch.zeros(40, dtype=torch.long)
    targets[:10] = 1
    found = on_photographs(logits(known), logits(strangers), targets, 1.0, 5.0)
    pairs = (0 + 1 + 2 + 40) / (4 * 40)  # known photographs below each stranger
    assert found == {
        "known": 40,
        "strangers": 4,
        "top1": 0.75,
        "top5": 1.0,
        "auroc": pytest.approx(1 - pairs),
        "kept": 39 / 40,
        # The second smallest of the 39 others is 2 for the photographs 0 and 1, which are lost.
        "left_out": 38 / 40,
        "refused": 0.5,
    }
    strict = on_photographs(logits(known), logits(strangers), targets, 5.0, 5.0)
    assert (strict["kept"], strict["left_out"]) == (35 / 40, 38 / 40)
    told = in_words(found)
    assert "keeps 97.5% of 40 of its classes (95.0%, if each has no part" in told
    assert "refuses 50.0% of 4 of other things" in told
    alone = on_photographs(logits(known[:1]), logits(strangers), targets[:1], 1.0, 1.0)
    assert "left_out" not in alone
    assert "each" not in in_words(alone)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Large photographs: noise, of other sizes and shapes than the model sees."""
    folder = tmp_path / "brought"
    folder.mkdir()
    random, rows = np.random.default_rng(0), []
    for number in range(KNOWN + STRANGERS):
        size = (60 + number, 90, 3) if number % 2 else (110, 70, 3)
        name = f"{number}.png"
        Image.fromarray(random.integers(0, 255, size, np.uint8)).save(folder / name)
        rows.append({"file": name, "index": number % 7 if number < KNOWN else None})
    (folder / "photographs.json").write_text(json.dumps(rows))
    return folder


def test_photographs_are_cut_as_uploads_are(folder: Path):
    loaded = tiny("cls")
    read = read_photographs(folder, loaded.preprocess, loaded.card.labels)
    assert (len(read.known), len(read.strangers)) == (KNOWN, STRANGERS)
    assert read.known.targets.tolist() == [number % 7 for number in range(KNOWN)]
    for image, name in ((read.known.images[1], "1.png"), (read.strangers[-1], "28.png")):
        seen = analyze(loaded, folder / name).picture
        assert torch.equal(image.permute(1, 2, 0), seen)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (None, "needs photographs.json"),
        ([{"file": "0.png"}], "needs photographs.json"),
        ({}, "got 0 and 0"),
        ([{"file": "0.png", "index": 1}], "got 1 and 0"),
        ([{"file": "0.png", "index": 7}], "0.png in .* has index 7; there are 7 classes"),
        ([{"file": "0.png", "index": True}], "index True"),
        ([{"file": "no.png", "index": 1}, {"file": "0.png", "index": None}], "no.png.* no file"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(folder: Path, rows: object, sentence: str):
    (folder / "photographs.json").unlink()
    if rows is not None:
        (folder / "photographs.json").write_text(json.dumps(rows))
    loaded = tiny("cls")
    with pytest.raises(TrainError, match=sentence):
        read_photographs(folder, loaded.preprocess, loaded.card.labels)


def noise(seed: int, labels: tuple[str, ...], n: int = 28) -> Pictures:
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(0, 255, (n, 3, 32, 32), dtype=torch.uint8, generator=generator)
    return Pictures("noise", images, torch.arange(n) % len(labels), labels)


def test_the_command_lowers_the_threshold_of_a_checkpoint(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    others = {"data": "noise", "taught": ["a"], "unseen": ["b", "c"]}
    others |= {"score": KNOWN_OR_NOT, "threshold": 90.0}
    path = save_tiny(tmp_path, "cls", others=json.dumps(others), temperature="1.5")
    labels = load(path).card.labels
    monkeypatch.setattr(
        "vitviz.train.measure.read",
        lambda data, *_, **__: noise(1, labels) if data == "own" else noise(2, ("a", "b", "c")),
    )
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    measure = ["--evaluate", str(path), "--data", "own", "--photographs", str(folder)]
    both = [*measure, "--others", "theirs"]
    table = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "table": {}}
    beside = path.with_name(path.stem + TESTS_SUFFIX)
    beside.write_text(json.dumps(table))
    tensors = read_tensors(path)[0]
    assert main([*both, "--json", str(before)]) == 0
    assert load(path).card.threshold == 90
    strict = json.loads(before.read_text())["photographs"]
    assert (strict["kept"], strict["refused"]) == (0, 1)
    assert main([*both, "--calibrate"]) == 0
    assert "photographs as people bring them: it keeps 100.0% of 24" in capsys.readouterr().out
    loaded = load(path)
    brought = [analyze(loaded, folder / f"{number}.png") for number in range(KNOWN)]
    scores = torch.tensor([one.known_or_not().score for one in brought])
    assert loaded.card.threshold == pytest.approx(scores.min().item(), abs=1e-5)
    assert json.loads(loaded.card.details["others"]) == others | {
        "held back": 90.0,
        "threshold": loaded.card.threshold,
    }
    told = json.loads(loaded.card.details["evaluation"])
    assert told["photographs"]["kept"] == 1
    assert told["photographs"]["left_out"] == pytest.approx(23 / 24, rel=1e-4)
    assert told["others"]["chosen"]["threshold"] == pytest.approx(loaded.card.threshold, rel=1e-4)
    # The weights are the same, and so are the fair tests of them.
    changed = read_tensors(path)[0]
    assert changed.keys() == tensors.keys()
    assert all(torch.equal(changed[name], tensors[name]) for name in tensors)
    assert json.loads(loaded.card.details["explainers"])["table"] == {}
    # Another time nothing changes, and measuring alone finds what the file says.
    content = path.read_bytes()
    assert main([*both, "--calibrate"]) == 0
    assert path.read_bytes() == content
    assert main([*both, "--json", str(after)]) == 0
    assert json.loads(after.read_text())["photographs"] == told["photographs"]


def test_what_calibrating_needs_is_said(folder: Path, tmp_path: Path, monkeypatch, capsys):
    plain = save_tiny(tmp_path, "cls")
    labels = load(plain).card.labels
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: noise(1, labels))
    measure = ["--evaluate", str(plain), "--data", "own"]
    assert main([*measure, "--calibrate"]) == 1
    assert "--calibrate needs --photographs" in capsys.readouterr().err
    assert main([*measure, "--photographs", str(folder)]) == 1
    assert "has no threshold: it was not trained with --others" in capsys.readouterr().err
    told = save_tiny(tmp_path, "cls", others=json.dumps({"score": KNOWN_OR_NOT, "threshold": 1}))
    words = ["--evaluate", str(told), "--data", "own", "--photographs", str(folder)]
    assert main([*words, "--calibrate"]) == 1
    assert "--calibrate needs --others" in capsys.readouterr().err
