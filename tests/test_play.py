"""The playground: its file, and a model that learned there as the viewer knows models."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load as read_tensors

from tests.models import spread
from tests.node import needs_node, node
from vitviz import EXPLAINERS, analyze, load
from vitviz.model.config import Rotary, ViTConfig
from vitviz.model.preprocess import Preprocess
from vitviz.model.vit import ViT
from vitviz.model.weights import save_checkpoint
from vitviz.payload import in_page
from vitviz.payload.bundle import VIEWER, as_file, digits, join, playing_file
from vitviz.payload.explanations import of_digits
from vitviz.payload.payload import late_file, pack

# What the page leaves out, has no use for, or says of itself.
OWN = ("name", "key", "title", "source", "details", "measurements", "sizes", "words")
OWN += ("light_ink_only", "taught_place", "explainers", "scale")
MODELS = {
    "learned": {"patch_size": 7},
    "mean": {"patch_size": 14, "pos_embed": False, "class_token": False, "global_pool": "avg"},
    "rotary": {"patch_size": 4, "pos_embed": False, "rotary": Rotary(kind="axial")},
}
# A page would do the same with what its engine and its learner give.
SCRIPT = """
const { readFileSync } = require("node:fs");
const { Core } = __CORE__;
const { parseSafetensors } = __FILES__;
const { templateOf } = __ADOPTED__;
const { buffer } = new Uint8Array(readFileSync(process.argv[2]));
const known = { facts: new Core().load(buffer), tensors: parseSafetensors(buffer) };
const called = { key: "p-1", names: { en: "a", ko: "b" }, right: 0.5, pictures: 9 };
const template = templateOf(known, called);
(async () => {
  const { model } = template, files = {};
  for (const [name, { make }] of Object.entries(template.files)) {
    files[name] = Buffer.from(await make()).toString("base64");
  }
  console.log(JSON.stringify({ model, version: template.version, files }));
})();
"""


@needs_node
def test_the_playground_is_one_expression_that_comes_with_its_texts_and_style(
    tmp_path: Path,
) -> None:
    script = tmp_path / "play.cjs"
    text = playing_file().replace("document.currentScript.viewer", "globalThis.made")
    script.write_text(f"{text};\nconsole.log(Object.keys(globalThis.made).join());\n")
    assert node(script).strip() == "createPlayground"
    assert '"직접 학습시키기"' in text
    assert ".vv-play-guess" in text
    # A visitor who does not open it never gets any of it.
    assert "vv-play-guess" not in as_file()
    assert sorted(digits()) == ["test.png", "train.png"]


@needs_node
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_the_page_is_described_as_python_has_it(name: str, tmp_path: Path) -> None:
    sizes = {"image_size": 28, "in_chans": 1, "num_classes": 10, "embed_dim": 16}
    config = ViTConfig(**sizes, depth=2, num_heads=2, **MODELS[name])
    torch.manual_seed(0)
    path, labels = tmp_path / "model.safetensors", tuple("0123456789")
    preprocess = Preprocess(size=(28, 28), channels=1, mean=(0.13,), std=(0.31,), crop_pct=1.0)
    state = spread(ViT(config)).state_dict()
    save_checkpoint(path, state, config=config, preprocess=preprocess, labels=labels, details={})
    script = tmp_path / "adopted.cjs"
    modules = {"CORE": "engine/core.js", "FILES": "maths/safetensors.js"}
    modules["ADOPTED"] = "play/adopted.js"
    text = SCRIPT
    for place, module in modules.items():
        text = text.replace(f"__{place}__", join(VIEWER / module, module, ()))
    script.write_text(text)
    made = json.loads(node(script, path))
    picture = np.random.default_rng(0).integers(0, 255, (28, 28), dtype=np.uint8)
    analysis = analyze(load(path), picture)
    manifest = pack(analysis, whole=False).manifest
    ours = manifest["model"]
    assert made["version"] == manifest["version"]
    assert made["model"].keys() == ours.keys()
    both = ({key: one[key] for key in ours if key not in OWN} for one in (made["model"], ours))
    assert next(both) == next(both)
    assert made["model"]["scale"] == pytest.approx(ours["scale"], rel=1e-12)
    assert made["model"]["explainers"] == ours["explainers"]
    assert made["model"]["measurements"] == {"top1": 0.5, "pictures": 9}
    files = {key: read_tensors(base64.b64decode(one)) for key, one in made["files"].items()}
    model_files = {"filters", "positions", "inside"}
    assert files.keys() == model_files & manifest["files"].keys()
    for key, tensors in files.items():
        theirs = read_tensors(_file(analysis, key))
        assert tensors.keys() == theirs.keys()
        for part, tensor in tensors.items():
            wanted = theirs[part].float()[: len(tensor)]  # the page has three components
            assert tensor.shape == wanted.shape
            assert (tensor - wanted).abs().max() < 2e-3, f"{key} {part}"


def _file(analysis, name: str) -> bytes:
    payload = pack(analysis)
    path = payload.manifest["files"][name].get("path")
    return payload.files[path] if path else late_file(analysis, name)


def test_every_explainer_is_offered_for_each_size_of_patch() -> None:
    listed = of_digits()
    assert sorted(listed) == [4, 7, 14]
    passes = {side: {one["key"]: one["passes"] for one in listed[side]} for side in listed}
    assert {*passes[4]} == {*in_page.EXPLAINERS} <= EXPLAINERS.keys()
    assert passes[4]["occlusion"] > passes[7]["occlusion"] > passes[14]["occlusion"]
