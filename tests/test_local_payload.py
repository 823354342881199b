"""The files of a pass that a page computed are those that Python makes of the same pass."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, load_file

from tests.engine_fixture import in_base64
from tests.models import spread
from tests.node import JS, needs_node, node
from vitviz import Analysis, ViT, analyze
from vitviz import load as load_model
from vitviz.model.checkpoints import save_checkpoint
from vitviz.model.menu import WEIGHTS_DIR
from vitviz.payload.payload import FIRST, late_file, layer_name, layer_path, pack
from vitviz.probe.intervene.intervention import Transplant
from vitviz.web.store.examples import FOLDER

CHANGES = {
    "intact": [],
    "tokens": [{"kind": "remove", "patches": [3, 7, 20]}],
    "edges": [{"kind": "cut", "edges": "patches to prefix", "layers": [1], "heads": "all"}],
    "positions": [{"kind": "positions", "by": "off"}],
    "places": [{"kind": "positions", "by": "shuffled", "seed": 3}],
    "heads": [{"kind": "head", "layer": 1, "head": 1, "by": "zero"}],
    "branches": [{"kind": "branch", "layer": 1, "branch": "attention"}],
    "even": [{"kind": "even", "rows": "cls"}],
    "scramble": [{"kind": "scramble", "rows": "patches", "layers": [2], "seed": 4}],
    "shuffle": [{"kind": "shuffle", "cells": 1, "seed": 4}],
    "transplant": [
        {"kind": "remove", "patches": [5]},
        {"kind": "transplant", "patches": [1, 2, 30], "layer": 1, "from": "other"},
        {"kind": "transplant", "patches": "all", "layer": 2, "from": "other"},
    ],
    "pixels": [{"kind": "replace", "patches": [9, 10, 11], "by": "noise", "seed": 4}],
}


def _is_read_again(saved: Analysis, analysis: Analysis) -> None:
    """An analysis that a page has saved is that of Python."""
    # Fair tests lie beside the checkpoint, which is all that the page has.
    details = {name: told for name, told in analysis.card.details.items() if name != "explainers"}
    assert saved.card == replace(analysis.card, details=details)
    for one, other in zip(saved.interventions, analysis.interventions, strict=True):
        assert one.to_dict() == other.to_dict()
        if isinstance(other, Transplant):
            assert torch.allclose(one.donor.tokens, other.donor.tokens, rtol=1e-4, atol=1e-4)
    assert (saved.preprocess, saved.grid, saved.removed) == (
        analysis.preprocess,
        analysis.grid,
        analysis.removed,
    )
    assert torch.equal(saved.picture, analysis.picture)
    assert torch.equal(saved.pixels, analysis.pixels)
    for name in ("q", "k", "tokens", "logits"):
        exact = getattr(analysis.trace, name)
        off = (getattr(saved.trace, name) - exact).abs().max()
        assert off <= 1e-4 * exact.abs().max(), name
    for one, other in zip(saved.predictions(3), analysis.predictions(3), strict=True):
        assert (one.label, one.probability) == (other.label, pytest.approx(other.probability, 1e-4))
    assert (saved.positions is None) == (analysis.positions is None)
    if analysis.positions is not None:
        assert torch.equal(saved.positions.patches, analysis.positions.patches)


def _from(donor: Analysis, one: dict) -> dict:
    return {**one, "from": donor} if "from" in one else one


# Models of digits with other switches.
VARIANTS: dict[str, dict[str, Any]] = {
    "no-classes": {"num_classes": 0},
    "rmsnorm": {"norm": "rmsnorm"},
    "post-norm": {"post_norm": True},
    "relative": {"relative_bias": True, "pos_embed": False},
    "map": {"global_pool": "map", "pool_heads": 2},
}


def _variant(name: str, folder: Path) -> Path:
    """The model of digits with other switches; parameters that it lacks are random."""
    loaded = load_model("mnist")
    config = replace(loaded.card.config, **VARIANTS[name])
    state, trained = spread(ViT(config)).state_dict(), loaded.vit.state_dict()
    state |= {key: one for key, one in trained.items() if key in state}
    labels = loaded.card.labels if config.num_classes else None
    path = folder / f"{name}.safetensors"
    save_checkpoint(
        path, state, config=config, preprocess=loaded.preprocess, labels=labels, details={}
    )
    return path


@pytest.fixture(
    scope="module",
    params=[
        ("mnist", "digit.png"),
        ("photos", "dog.jpg"),
        ("mnist-rotary", "digit.png"),
        ("mnist-none", "digit.png"),
        *((name, "digit.png") for name in VARIANTS),
    ],
    ids=lambda one: one[0],
)
def made(request: pytest.FixtureRequest, tmp_path_factory) -> tuple[Path, dict[str, Analysis]]:
    """What a page makes of every change of a picture in one model, as a folder, and Python's."""
    name, picture = request.param
    folder = tmp_path_factory.mktemp("made")
    made = name in VARIANTS
    weights = _variant(name, folder) if made else WEIGHTS_DIR / f"{name}.safetensors"
    loaded = load_model(weights if made else name)
    idle = ("positions", "places") if name == "mnist-none" else ()
    changes = {of: one for of, one in CHANGES.items() if of not in idle}
    donor = analyze(loaded, FOLDER / "cat.jpg")
    analyses = {
        of: analyze(loaded, FOLDER / picture, interventions=[_from(donor, one) for one in list_])
        for of, list_ in changes.items()
    }
    question = {
        "weights": str(weights),
        "picture": in_base64(analyses["intact"]),
        "other": {"name": donor.photo_name, "picture": in_base64(donor)},
        "cases": [],
    }
    for of, analysis in analyses.items():
        manifest = pack(analysis, whole=False).manifest
        case = {"model": manifest["model"], "photo": manifest["photo"]}
        case |= {"interventions": changes[of], "first": manifest["pass"]["first"]}
        (folder / of).mkdir()
        question["cases"].append({**case, "folder": str(folder / of)})
    (folder / "question.json").write_text(json.dumps(question))
    node(JS / "local_payload.js", folder / "question.json")
    return folder, analyses


@needs_node
@pytest.mark.parametrize("changes", CHANGES)
def test_the_files_of_a_page_are_those_of_python(made, changes: str) -> None:
    folder, analyses = made
    if changes not in analyses:
        pytest.skip("it has none that could be changed")
    folder, analysis = folder / changes, analyses[changes]
    payload = pack(analysis, whole=False)
    ours, manifest = payload.files, payload.manifest
    _is_read_again(Analysis.load(folder / "saved"), analysis)
    beside = pack(analysis, whole=False, beside=True).files  # with pictures of donors
    wanted = {FIRST: load(beside[FIRST]), "picture.safetensors": load(ours["picture.safetensors"])}
    wanted |= {layer_path(one): load(ours[layer_path(one)]) for one in range(analysis.trace.depth)}
    late = [one for one, file in manifest["files"].items() if file.get("late")]
    kinds = ("features", "stat", "lens", "pooling", "tokens", "mix", "vector", "normed")
    late = [one for one in late if one.startswith(kinds)]
    # Heads that are changed do not add what the model has them add; with post-norm only the host
    # tells what each adds.
    mixes = changes not in ("heads", "branches") and not analysis.card.config.post_norm
    late = [one for one in late if mixes or not one.startswith("mix")]
    classes = analysis.card.head == "classes"  # which have a lens, and features beside them
    pools = analysis.card.config.global_pool == "map"
    normed = analysis.card.config.final_norm == "before_pool"
    assert (analysis.lens is not None) == classes
    assert len(late) == 2 + 2 * classes + pools + normed + (1 + mixes) * analysis.trace.depth
    wanted |= {f"{one}.safetensors": load(late_file(analysis, one)) for one in late}
    wanted["embedding.safetensors"] = load(ours["embedding.safetensors"])
    assert {path.name for path in folder.glob("*.safetensors")} == set(wanted)
    assert layer_name(0) in manifest["files"]
    for path, tensors in wanted.items():
        found = load_file(folder / path)
        assert set(found) == set(tensors), path
        for key, exact in tensors.items():
            if key == "error":  # of half precision, which a page's own files do not have
                assert not found[key].any()
                continue
            # What Python sends has half precision, but for logits and what is measured.
            share = (
                2e-4
                if path.startswith(("lens", "features", "statistics", "vector", "normed"))
                else 2e-3
            )
            assert found[key].shape == exact.shape
            bound = share * float(exact.double().abs().max())
            off = float((found[key].double() - exact.double()).abs().max())
            assert off <= bound, f"{key} of {path}: {off} of {bound}"
