"""The untrained twin in the page: drawn there as torch draws it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load as tensors_of

from tests.node import node
from vitviz import load
from vitviz.model.loaded import build
from vitviz.model.untrained import draws, twin
from vitviz.payload.bundle import VIEWER

SCRIPT = f"""
import {{ weightsOf }} from "{(VIEWER / "maths" / "draws.js").as_uri()}";
import {{ writeSafetensors }} from "{(VIEWER / "maths" / "safetensors.js").as_uri()}";
import {{ readFileSync, writeFileSync }} from "node:fs";
const draws = JSON.parse(readFileSync(process.argv[1], "utf8"));
writeFileSync(process.argv[2], new Uint8Array(writeSafetensors(weightsOf(draws))));
"""


def drawn(loaded, folder: Path) -> dict[str, torch.Tensor]:
    (asked := folder / "draws.json").write_text(json.dumps(draws(loaded)))
    node("--input-type=module", "-e", SCRIPT, asked, folder / "made")
    return tensors_of((folder / "made").read_bytes())


def change(loaded, **details: str):
    card = replace(loaded.card, details={**loaded.card.details, **details})
    return build(loaded.vit.state_dict(), card, loaded.preprocess)


@pytest.mark.parametrize("name", ["photos", "mnist-rotary"])
def test_the_weights_are_those_of_torch(tmp_path, name: str) -> None:
    loaded = load(name)
    exact, found = twin(loaded).vit.state_dict(), drawn(loaded, tmp_path)
    assert found.keys() == exact.keys()
    for one, weight in exact.items():
        assert (found[one] - weight).abs().max() <= 1e-6, one
    told = json.dumps(draws(loaded))
    assert len(told) < 20_000


@pytest.mark.parametrize("recipe", [{"zero_head": True}, {"wide_start": True}, {"seed": 2**31}])
def test_what_a_recipe_began_with_is_drawn_too(tmp_path, recipe: dict) -> None:
    loaded = change(load("mnist"), recipe=json.dumps(recipe), seed=str(recipe.get("seed", 5)))
    exact, found = twin(loaded).vit.state_dict(), drawn(loaded, tmp_path)
    for one, weight in exact.items():
        assert (found[one] - weight).abs().max() <= 1e-6, one


def test_weights_that_are_drawn_in_another_way_have_no_twin_in_a_page() -> None:
    loaded = load("mnist")
    few = replace(loaded.card.config, embed_dim=8, num_heads=2)  # 8 numbers of CLS
    assert draws(replace(loaded, card=replace(loaded.card, config=few))) is None
