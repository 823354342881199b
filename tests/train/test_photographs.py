"""Photographs as people bring them: how they are read, and a threshold that is lowered for them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import tiny
from tests.running import save_tiny
from vitviz import analyze, load
from vitviz.model.checkpoints import TESTS_SUFFIX
from vitviz.model.loaded import KNOWN_OR_NOT, LARGEST
from vitviz.model.tensor_file import read_tensors
from vitviz.probe.measure.predictions import Classes
from vitviz.train.command import main
from vitviz.train.dataset import Pictures
from vitviz.train.errors import TrainError
from vitviz.train.others import threshold
from vitviz.train.photographs import (
    answers_to,
    certain_from,
    in_words,
    lowered,
    on_photographs,
    on_plain,
    read_photographs,
    share_right,
)

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


def test_an_answer_is_right_by_its_class_or_its_group_and_silent_ones_count_for_nothing():
    rows = torch.tensor([[0.97, 0.02, 0.01], [0.5, 0.49, 0.01], [0.02, 0.18, 0.8]]).log()
    grouped = Classes(("a", "b", "c"), ("x", "x", "z"), calibrated=True)
    told, right = answers_to(rows, grouped, torch.tensor([1, 1, 2]))
    assert right.tolist() == [False, True, True]  # the class a; the group x, twice; the class c
    assert told.tolist() == pytest.approx([0.97, 0.99, 0.8])
    assert answers_to(rows, grouped)[1].any().item() is False
    # Below the threshold, and below a quarter, nothing is told.
    refused = replace(grouped, threshold=1.0)
    assert answers_to(rows, refused)[0].tolist() == [0, 0, 0]
    unsure = Classes(tuple("abcde"), calibrated=True)
    assert answers_to(torch.zeros(1, 5), unsure)[0].item() == 0


def test_plain_answers_begin_where_three_of_four_are_right():
    known = torch.tensor([0.9] * 10 + [0.3] * 5, dtype=torch.double)
    right = known > 0.5
    strangers = torch.tensor([0.95] * 2 + [0.2] * 28, dtype=torch.double)
    # Twice as many strangers as known photographs: from .3 on 10/15 of 15/15 + 2 * 2/30 are right,
    # which is .59; from .9 on 10/15 of 10/15 + 2 * 2/30.
    assert certain_from(known, right, strangers) == 0.9
    assert certain_from(known, ~right, strangers) == 1
    assert certain_from(known, right | True, torch.zeros(4)) == 0.3  # 0 is no answer
    found = on_plain(known, right, strangers)
    assert found["plain_right"] == pytest.approx(5 / 6)
    assert (found["plain_kept"], found["plain_kept_error"]) == (1, 0)
    # The same photographs, drawn again and again.
    generator = torch.Generator().manual_seed(0)
    good, strange = (
        torch.rand(20_000, of, generator=generator).lt(share).double().mean(1)
        for of, share in ((15, 10 / 15), (30, 2 / 30))
    )
    spread = (good / (good + 2 * strange)).std().item()
    assert found["plain_right_error"] == pytest.approx(spread, rel=0.1)


def test_an_error_counts_that_a_right_answer_is_not_a_wrong_one():
    """It was taken for the sum of two independent counts, and was too small."""
    known = torch.tensor([0.9] * 102 + [0.1] * 18, dtype=torch.double)
    right = torch.arange(120) < 84  # 84 right, 18 wrong, 18 that are not told
    strangers = torch.tensor([0.9] * 6 + [0.1] * 194, dtype=torch.double)
    found = on_plain(known, right, strangers)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.rand(20_000, 120, generator=generator)
    good = drawn.lt(0.7).double().mean(1)
    told = drawn.lt(0.85).double().mean(1)
    strange = torch.rand(20_000, 200, generator=generator).lt(0.03).double().mean(1)
    shares = good / (told + 2 * strange)
    assert found["plain_right"] == pytest.approx(0.7 / 0.91)
    assert found["plain_right_error"] == pytest.approx(shares.std().item(), rel=0.03)


def test_the_bound_is_that_of_the_definition():
    """The least probability from which on `RIGHT` of the answers are right, found by trying all."""
    generator = torch.Generator().manual_seed(0)
    for n, m in ((1, 1), (9, 4), (40, 60)):
        for _ in range(20):
            known = torch.rand(n, generator=generator).mul(20).round().double() / 20
            strangers = torch.rand(m, generator=generator).mul(20).round().double() / 20
            right = torch.rand(n, generator=generator) < 0.8
            fits = [
                bound
                for bound in torch.cat([known, strangers]).unique().tolist()
                if bound > 0
                and share_right(known >= bound, right, strangers >= bound) > 0.75 - 1e-9
            ]
            assert certain_from(known, right, strangers) == min(fits, default=1)


def test_each_photograph_is_left_out_of_the_bound_that_it_is_judged_by():
    known = torch.tensor([0.99, 0.95, 0.9, 0.6], dtype=torch.double)
    right, strangers = torch.tensor([True] * 4), torch.tensor([0.97, 0.7, *[0.5] * 6]).double()
    assert certain_from(known, right, strangers) == 0.9  # 3/4 of 3/4 + 2 * 1/8
    for at, bound in enumerate((1, 0.99, 0.99, 0.9)):
        rest = torch.arange(4) != at
        assert certain_from(known[rest], right[rest], strangers) == bound
    assert on_plain(known, right, strangers)["plain_kept"] == 0  # by the whole bound it were 3/4


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
    answers = [one.answer() for one in brought]
    told = json.loads(loaded.card.details["evaluation"])
    assert told["photographs"]["kept"] == 1
    assert 0 < loaded.card.certain <= 1
    assert {one.level for one in answers} <= {"answer", "maybe", "not_sure"}
    for one in answers:
        assert (one.level == "answer") == (one.probability >= loaded.card.certain)
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
    assert main([*words, "--explainers", "all"]) == 1
    assert "--explainers goes alone" in capsys.readouterr().err


def test_the_threshold_of_a_head_is_of_another_score(folder, tmp_path, monkeypatch, capsys):
    """It was compared with the log-sum-exp, or ended in a KeyError."""
    others = json.dumps({"score": LARGEST, "threshold": 0.4})
    head = save_tiny(tmp_path, "cls", others=others)
    labels = load(head).card.labels
    monkeypatch.setattr("vitviz.train.measure.read", lambda *_, **__: noise(1, labels))
    for more in (["--photographs", str(folder)], ["--others", "theirs"]):
        assert main(["--evaluate", str(head), "--data", "own", *more]) == 1
        assert f"has a threshold for the {LARGEST}" in capsys.readouterr().err
