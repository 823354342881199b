"""Known or not: a model that was trained to tell says when a picture shows none of its classes."""

import json
from dataclasses import replace
from html import escape
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import photo, tiny
from tests.running import save_tiny
from vitviz import Analysis, VitvizError, WeightsError, analyze, cli, draw, load, look
from vitviz.languages import say
from vitviz.model.checkpoints import FORMAT
from vitviz.model.key import ModelKey
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.probe import saved
from vitviz.probe.measure.phrases import not_taught
from vitviz.probe.measure.predictions import KEPT, known_or_not
from vitviz.web.compute.executor import execute
from vitviz.web.compute.jobs import Job, Selection
from vitviz.web.compute.models import Models

KNOWN = photo()
UNKNOWN = np.random.default_rng(7).integers(0, 255, (40, 40, 3)).astype(np.uint8)


def scores() -> tuple[float, float]:
    """The scores of the two pictures by the plain sum of exponentials."""
    pair = [analyze(tiny("cls"), picture).trace.logits for picture in (KNOWN, UNKNOWN)]
    return tuple(log(sum(np.exp(logits.double().numpy()))) for logits in pair)


def others(threshold: object, **changes: object) -> str:
    return json.dumps({"score": KNOWN_OR_NOT, "threshold": threshold} | changes)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose threshold lies between the scores of the two pictures."""
    known, unknown = scores()
    assert known > unknown + 0.03  # else the pictures are chosen badly
    folder = tmp_path_factory.mktemp("known")
    return save_tiny(folder, "cls", others=others((known + unknown) / 2), temperature="0.5")


def test_a_known_picture_reaches_the_threshold_and_another_does_not(checkpoint: Path) -> None:
    loaded = load(checkpoint)
    for picture, score, known in zip((KNOWN, UNKNOWN), scores(), (True, False), strict=True):
        analysis = analyze(loaded, picture)
        told = analysis.known_or_not()
        assert told.score == pytest.approx(score, abs=1e-5)  # not divided by the temperature
        assert told.threshold == loaded.card.threshold == pytest.approx(sum(scores()) / 2)
        assert (told.known, told.kept) == (known, KEPT)
        assert analysis.answer().known is known
        assert (analysis.not_taught() is None) is known


def test_the_sentence_names_the_nearest_class(checkpoint: Path) -> None:
    analysis = analyze(load(checkpoint), UNKNOWN)
    best = analysis.predictions(1)[0]
    english = f"Not one of my 7 things; if it had to choose: {best.label}"
    korean = f"배운 7가지에 없는 것입니다. 굳이 고르자면: {best.label}"
    assert [say(analysis.not_taught(), one) for one in ("en", "ko")] == [english, korean]
    assert analysis.not_taught() in repr(analysis)
    summary = json.loads(json.dumps(analysis.summary()))
    told = analysis.known_or_not()
    assert summary["known_or_not"] == {
        "score": told.score,
        "threshold": told.threshold,
        "known": False,
        "kept": KEPT,
        "sentence": analysis.not_taught(),
    }
    assert summary["answer"]["known"] is False
    known = analyze(load(checkpoint), KNOWN).summary()
    assert known["known_or_not"]["sentence"] is None
    assert known["answer"]["known"] is True


def test_a_group_is_called_as_the_checkpoint_calls_it(checkpoint: Path) -> None:
    analysis = analyze(load(checkpoint), UNKNOWN)
    details = {**analysis.card.details, "groups": json.dumps(["dog", "cat", "dog"] * 2 + ["dog"])}
    words = {"en": {"groups": {"dog": "a dog", "cat": "a cat"}}}
    named = replace(analysis, card=replace(analysis.card, details=details, words=words))
    answer = named.answer()
    assert f"to choose: a {answer.name}" in not_taught(answer, named.card)


def test_who_was_not_trained_to_tell_says_nothing_of_the_kind(checkpoint: Path) -> None:
    twin = load(checkpoint, pretrained=False)
    larger = load(checkpoint, image_size=40)  # nobody set a threshold at this size
    without = json.dumps({"data": "others", "unseen": []})  # no pictures were held out to set one
    ours = tiny("cls").card
    card = replace(ours, details={"others": without})
    embedding = replace(ours, head="embedding", labels=None, details={"others": others(1)})
    for loaded in (
        tiny("cls"),
        tiny("registers"),
        twin,
        larger,
        replace(tiny("cls"), card=card),
        replace(tiny("cls"), card=embedding),
    ):
        analysis = analyze(loaded, UNKNOWN)
        assert analysis.known_or_not() is None
        assert analysis.not_taught() is None
        assert analysis.summary()["known_or_not"] is None
        if (answer := analysis.answer()) is not None:
            assert answer.known is None


def test_a_saved_analysis_says_the_same(checkpoint: Path) -> None:
    analysis = analyze(load(checkpoint), UNKNOWN)
    again = Analysis.from_bytes(analysis.to_bytes())
    assert again.known_or_not() == analysis.known_or_not()
    assert again.not_taught() == analysis.not_taught()


def test_the_score_is_one_more_class_with_logit_0() -> None:
    logits = torch.randn(4, 7, generator=torch.Generator().manual_seed(0))
    with_none = torch.cat([logits, torch.zeros(4, 1)], dim=1).softmax(dim=1)
    known = 1 - with_none[:, -1]
    torch.testing.assert_close(known_or_not(logits), (known / (1 - known)).log())
    assert torch.equal(known_or_not(logits)[0], known_or_not(logits[0]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[" * 100_000,
        "[]",
        "7",
        "null",
        *map(others, (None, True, "1.5", [], {}, float("nan"), float("inf"), 1e300, -(10**400))),
        others(1.5, score="largest probability"),
        others(0.5, score="largest logit"),
        others(1.5, score=None),
        others(1.5, score=[]),
    ],
    ids=range(19),
)
def test_a_damaged_threshold_is_refused_in_a_sentence(
    text: str, checkpoint: Path, tmp_path: Path
) -> None:
    for whole, key, read in (
        (checkpoint, FORMAT, load),
        (tmp_path / "whole.safetensors", saved.FORMAT, Analysis.load),
    ):
        if key == saved.FORMAT:
            analyze(load(checkpoint), KNOWN).save(whole)
        tensors, metadata = read_tensors(whole)
        told = json.loads(metadata[key])
        (told["card"] if key == saved.FORMAT else told)["details"]["others"] = text
        path = tmp_path / f"damaged-{whole.name}"
        write_tensors(path, tensors, {key: json.dumps(told)})
        with pytest.raises(VitvizError, match=r"the (others|threshold) of a model"):
            read(path)
    with pytest.raises(WeightsError):
        replace(tiny("cls").card, details={"others": text})


@pytest.mark.parametrize("text", ["", "often", "null", "true", "[]", "1.5", "-0.1", "NaN", "1e999"])
def test_a_damaged_bound_of_plain_answers_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(WeightsError, match="the certain of a model must be a probability"):
        replace(tiny("cls").card, details={"certain": text})
    assert replace(tiny("cls").card, details={"certain": "0.9"}).certain == 0.9
    assert tiny("cls").card.certain is None


def test_nobody_measured_plain_answers_at_another_size(tmp_path: Path) -> None:
    path = save_tiny(tmp_path, "cls", certain="0.9", temperature="1")
    assert load(path).card.certain == 0.9
    assert load(path, image_size=40).card.certain is None
    assert load(path, pretrained=False).card.certain is None


def write(picture: np.ndarray, path: Path) -> Path:
    Image.fromarray(picture).save(path)
    return path


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("name", "picture"), [("known", KNOWN), ("unknown", UNKNOWN)])
def test_the_command_line_says_it(capsys, tmp_path, checkpoint, name, picture) -> None:
    path, out = write(picture, tmp_path / f"{name}.png"), tmp_path / "out"
    assert cli.main([str(path), "--model", str(checkpoint), "--out", str(out)]) == 0
    printed, told = capsys.readouterr().out, analyze(load(checkpoint), picture)
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert summary["known_or_not"] == json.loads(json.dumps(told.summary()))["known_or_not"]
    assert ("Not one of my 7 things" in printed) is (name == "unknown")
    if name == "unknown":
        score, threshold = told.known_or_not().score, told.known_or_not().threshold
        assert f"{told.not_taught()}\n(score {score:.3g}, below" in printed
        assert f"threshold of {threshold:.3g})\n" in printed
    assert Analysis.load(out / look.ANALYSIS).not_taught() == told.not_taught()


def test_the_figure_of_the_predictions_says_it(checkpoint: Path) -> None:
    loaded = load(checkpoint)
    known, unknown = (
        draw.predictions(analyze(loaded, one)).get_suptitle() for one in (KNOWN, UNKNOWN)
    )
    assert known == "The 5 most probable of 7 classes"
    assert unknown == f"{analyze(loaded, UNKNOWN).not_taught()}\n{known}"


def test_a_notebook_says_it(checkpoint: Path) -> None:
    analysis = analyze(load(checkpoint), UNKNOWN)
    assert f'title="{escape(repr(analysis))}"' in analysis._repr_html_()
    assert analysis.not_taught() in repr(analysis)


def test_page_and_program_get_it_from_the_engine(checkpoint: Path, tmp_path: Path) -> None:
    told = json.loads(json.dumps(analyze(load(checkpoint), UNKNOWN).summary()))["known_or_not"]
    models, data = Models([str(checkpoint)]), write(UNKNOWN, tmp_path / "a.png").read_bytes()
    job = Job(photo=data, name="a.png", model=ModelKey(checkpoint.stem))
    page, program = (execute(replace(job, selection=one), models) for one in (None, Selection()))
    assert program.summary["known_or_not"] == told
    assert page.manifest["model"]["threshold"] == told["threshold"]
    assert program.summary["answer"]["known"] is False
    for result in (page, program):
        assert Analysis.from_bytes(result.saved).not_taught() == told["sentence"]
