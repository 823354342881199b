"""Who runs vitviz inside of torch.inference_mode() or no_grad() gets the same numbers."""

from typing import Any

import pytest
import torch

import vitviz
from tests.models import photo
from tests.running import save_tiny
from vitviz import EXPLAINERS
from vitviz.probe.analysis import Analysis

CHANGES = [{"kind": "remove", "patches": [1]}]
WITH_PASSES = ("generic", "grad_cam", "integrated_gradients", "attention_norm", "occlusion")


def numbers(path: Any, changes: list) -> dict[str, torch.Tensor]:
    """All that can be asked, from the file of a model on."""
    loaded = vitviz.load(path, device="cpu")
    analysis = vitviz.analyze(loaded, photo(), interventions=changes)
    found = {key: analysis.explain(key, target=1) for key in EXPLAINERS}
    vector = torch.ones(loaded.card.config.pooled_dim)
    found |= {f"like {key}": analysis.explain(key, target=vector) for key in WITH_PASSES}
    test = analysis.fair_test("generic", target=1, steps=2, orders=2)
    found |= {"fair": test.first["generic"], "logits": analysis.trace.logits}
    (many,) = vitviz.analyze_many(loaded, [photo()], interventions=changes)
    assert isinstance(many, Analysis)
    found["many"] = many.explain("generic", target=1)
    head = vitviz.with_head(loaded, torch.ones(2, loaded.card.config.pooled_dim))
    found["head"] = vitviz.analyze(head, photo()).explain("generic", target=1)
    found["features"] = torch.from_numpy(vitviz.features(loaded, [photo()]).values)
    return found


@pytest.mark.parametrize("changes", [[], CHANGES])
@pytest.mark.parametrize("name", ["cls", "map", "relative", "rotary", "token_avg"])
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_the_mode_of_the_caller_changes_nothing(mode, name, changes, tmp_path) -> None:
    path = save_tiny(tmp_path, name)
    expected = numbers(path, changes)
    with mode():
        found = numbers(path, changes)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert torch.equal(found[key], values), key


def test_what_was_made_in_inference_mode_can_be_explained_outside(tmp_path) -> None:
    with torch.inference_mode():
        loaded = vitviz.load(save_tiny(tmp_path, "cls"), device="cpu")
        analysis = vitviz.analyze(loaded, photo())
        vector = torch.ones(24)
    assert analysis.explain("generic", target=1).isfinite().all()
    assert analysis.explain("grad_cam", target=vector).isfinite().all()
