"""Names of classes in other languages: from dictionaries or beside the pictures, to the card."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models import tiny
from vitviz import Analysis, WeightsError, analyze, load
from vitviz.languages import Message, say
from vitviz.model.checkpoints import FORMAT, save_checkpoint
from vitviz.model.preprocess import Preprocess
from vitviz.model.tensor_file import read_tensors, write_tensors
from vitviz.probe.measure.predictions import groups_of
from vitviz.train.dataset import read
from vitviz.train.errors import TrainError
from vitviz.train.names import main, names_of, read_names

WORDS = {"ko": {"labels": {"class 1": "첫째"}, "groups": {"dog": "개"}}}


def save(path: Path, words: dict | None = None, **details: str) -> Path:
    loaded = tiny("cls")
    save_checkpoint(
        path,
        loaded.vit.state_dict(),
        config=loaded.card.config,
        preprocess=loaded.preprocess,
        labels=loaded.card.labels,
        details=details,
        words=words,
        dtype=torch.float32,
    )
    return path


def test_a_checkpoint_carries_names_and_messages_and_so_does_its_analysis(tmp_path: Path) -> None:
    minutes = Message("training.minutes", minutes=3)
    loaded = load(save(tmp_path / "a.safetensors", WORDS, title="My own", **{"wall time": minutes}))
    assert loaded.card.words == WORDS
    assert say(loaded.card.details["wall time"], "ko") == "3분"
    assert loaded.card.details == {"title": "My own", "wall time": "3 min"}
    assert load(str(tmp_path / "a.safetensors"), pretrained=False).card.words == WORDS
    analysis = analyze(loaded, np.zeros((9, 9), np.uint8))
    again = Analysis.from_bytes(analysis.to_bytes())
    assert again.card.words == WORDS
    assert say(again.card.details["wall time"], "ko") == "3분"
    assert say(again.card.source, "ko") == "a.safetensors, vitviz로 학습"


def test_a_file_of_before_has_neither(tmp_path: Path) -> None:
    path = save(tmp_path / "a.safetensors", WORDS, title="Handwritten digits")
    tensors, metadata = read_tensors(path)
    meta = json.loads(metadata[FORMAT])
    del meta["words"], meta["messages"]
    write_tensors(path, tensors, {FORMAT: json.dumps(meta)})
    assert load(path).card.words == {}
    assert load(path).card.details == {"title": "Handwritten digits"}


@pytest.mark.parametrize(
    "words",
    ["x", [], {"ko": "x"}, {"ko": {"labels": "x"}}, {"ko": {"labels": {"x": 1}}}, {"ko": [{}]}],
)
def test_names_that_are_none_are_refused(words: object, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="the words of a model must be texts by language"):
        replace(tiny("cls").card, words=words)
    (tmp_path / "names.json").write_text(json.dumps(words))
    with pytest.raises(TrainError, match="must map the tag of a language"):
        read_names(tmp_path / "names.json")


def test_a_file_of_names_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text("{")
    with pytest.raises(TrainError, match="is not JSON"):
        read_names(tmp_path / "names.json")


def test_the_dictionaries_name_what_a_data_set_of_ours_has() -> None:
    words = names_of("everyday100", ("goldfish", "a stranger"), ("dog", "furniture"))
    assert words["en"] == {"groups": {"dog": "a dog"}}
    assert words["ko"] == {
        "labels": {"goldfish": "금붕어"},
        "groups": {"dog": "개", "furniture": "가구"},
    }
    assert names_of("my own", ("goldfish",), None) == {}


def test_names_are_read_beside_the_pictures(tmp_path: Path) -> None:
    cut = Preprocess(size=(8, 8), channels=1, mean=(0.5,), std=(0.5,))
    names = {"ko": {"labels": {"goldfish": "금빛 붕어"}}}
    (tmp_path / "everyday100").mkdir()
    np.savez(
        tmp_path / "everyday100" / "x_train.npz",
        images=np.zeros((2, 8, 8), np.uint8),
        labels=np.array([0, 1]),
    )
    (tmp_path / "everyday100" / "classes.json").write_text('["goldfish", "bee"]')
    pictures = read(str(tmp_path / "everyday100"), "train", cut)
    assert pictures.words["ko"] == {"labels": {"goldfish": "금붕어", "bee": "벌"}}
    assert pictures.take(torch.tensor([1])).words == pictures.words
    (tmp_path / "everyday100" / "names.json").write_text(json.dumps(names))
    assert read(str(tmp_path / "everyday100"), "train", cut).words["ko"] == names["ko"]


def test_a_checkpoint_of_before_gets_the_names_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = json.dumps({"data": "everyday100"})
    path = save(tmp_path / "a.safetensors", {"ko": {}, "xx": {}}, recipe=recipe)
    tensors, metadata = read_tensors(path)
    meta = json.loads(metadata[FORMAT])
    meta["labels"][:1] = ["goldfish"]
    write_tensors(path, tensors, {FORMAT: json.dumps(meta)})
    monkeypatch.setattr("sys.argv", ["names", str(path)])
    assert main() == 0
    after, metadata = read_tensors(path)
    renamed = json.loads(metadata[FORMAT])
    words = renamed.pop("words")
    assert words["ko"] == {"labels": {"goldfish": "금붕어"}}
    assert words["xx"] == meta.pop("words")["xx"] == {}
    assert renamed == meta
    assert after.keys() == tensors.keys()
    assert all(torch.equal(after[name], tensors[name]) for name in tensors)
    monkeypatch.setattr("sys.argv", ["names", str(tmp_path / "none.safetensors")])
    assert main() == 1
    assert "none.safetensors" in capsys.readouterr().err


def test_the_shipped_photo_model_has_the_names_of_today() -> None:
    """Whoever adds a language or changes a name runs `python -m vitviz.train.names` on it."""
    card = load("photos").card
    assert card.words == names_of("everyday100", card.labels, dict.fromkeys(groups_of(card)))
