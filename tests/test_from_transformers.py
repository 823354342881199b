"""An object of transformers is the same model as the folder that it would be saved in."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import vitviz
from tests.models import photo
from tests.test_transformers_files import FOLDER, NAMES
from vitviz import WeightsError


class Described:
    """Stands in for a config or a processor: `to_dict` has numbers as keys, tuples and a dtype."""

    def __init__(self, path: Path) -> None:
        self.read = json.loads(path.read_text("utf-8"))

    def to_dict(self) -> dict[str, Any]:
        values = {**self.read, "dtype": torch.float32}
        if "id2label" in values:
            values["id2label"] = {int(at): name for at, name in values["id2label"].items()}
        return values


class Model(nn.Module):
    """Stands in for a model of transformers: a state dict and a config, and a long repr."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.held = load_file(folder / "model.safetensors")
        self.config = Described(folder / "config.json")

    def state_dict(self) -> dict[str, torch.Tensor]:  # type: ignore[override]
        return self.held

    def __repr__(self) -> str:
        return "everything in the model " * 100


def processor_of(name: str) -> Described | None:
    path = FOLDER / name / "preprocessor_config.json"
    return Described(path) if path.is_file() else None


@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_equal_to_its_saved_folder(name: str) -> None:
    model = Model(FOLDER / name)
    ours = vitviz.from_transformers(model, processor_of(name), name=name)
    theirs = vitviz.load(FOLDER / name, device="cpu")
    assert ours.card == theirs.card
    assert ours.preprocess == theirs.preprocess
    assert ours.resampling == theirs.resampling
    state = theirs.vit.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in ours.vit.state_dict().items())
    logits = [vitviz.analyze(each, photo()).trace.logits for each in (ours, theirs)]
    assert torch.equal(*logits)


def test_the_model_is_copied_and_may_be_wrapped() -> None:
    model = Model(FOLDER / "dinov2")
    processor = type("Processor", (), {"image_processor": processor_of("dinov2")})()
    model.held = {f"_orig_mod.{key}": value for key, value in model.held.items()}
    loaded = vitviz.from_transformers(model, processor, labels=["a", "b", "c"])
    before = vitviz.analyze(loaded, photo()).trace.logits
    for value in model.held.values():
        value.zero_()
    assert torch.equal(vitviz.analyze(loaded, photo()).trace.logits, before)
    assert (loaded.card.name, loaded.card.labels) == ("Model", ("a", "b", "c"))


def test_without_a_processor_the_default_of_the_family_is_said_to_be_assumed() -> None:
    loaded = vitviz.from_transformers(Model(FOLDER / "vit"))
    assert "pictures made as those of ViT are" in str(loaded.card.assumed)


def test_other_objects_are_refused_without_being_printed() -> None:
    model = Model(FOLDER / "vit")
    for refused in (
        lambda: vitviz.load(model),
        lambda: vitviz.analyze(model, photo()),
        lambda: vitviz.from_transformers(nn.Linear(1, 1)),
        lambda: vitviz.from_transformers("vit"),
        lambda: vitviz.from_transformers(model, model),
        lambda: vitviz.from_timm(model),
    ):
        with pytest.raises(WeightsError) as raised:
            refused()
        assert "everything in the model" not in str(raised.value)
    with pytest.raises(WeightsError, match=r"got Model; vitviz\.from_timm"):
        vitviz.load(model)
