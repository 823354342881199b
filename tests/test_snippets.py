"""The code under each panel makes what the panel shows, and the files of it run as they are."""

import base64
import json
import re
import shutil
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.models import photo
from tests.node import JS, needs_node, node
from tests.operated_fixture import CASES as OPERATED
from tests.running import save_tiny
from tests.viewer_fixture import film
from vitviz import EXPLAINERS, Analysis, analyze, load
from vitviz.languages import Message
from vitviz.model.key import ModelKey
from vitviz.model.untrained import twin
from vitviz.payload import Payload, pack
from vitviz.payload.bundle import VIEWER
from vitviz.payload.explanations import explanation_name
from vitviz.payload.payload import late_file, late_path

FOLDER = VIEWER / "snippets"
WITH_TORCH = (FOLDER / "with_torch.py").read_text("utf-8")
MOST_LINES = 23
# Names from outside are text in the code too.
HOSTILE = 'a "dog" \\ it\'s {x} # 강아지\U0001f600.png'
OUTPUTS = {"one_of": "softmax", "any_of": "sigmoid", "value": "[0, :count]"}
EVERY = (
    "why",
    "patches",
    "positions",
    "attention",
    "qk",
    "rollout",
    "explain",
    "features",
    "predictions",
    "model",
)

# Those that see pictures of a size that is not their own.
SIZES = {"distilled": (48, 20), "no_cls": (32, 32)}
# (model, selection, taste, panels that show no array)
CASES = (
    (
        "cls",
        {"token": 6, "partner": 3, "layer": 1, "head": 1, "moment": 0, "target": 2},
        {"order": "pixel", "units": "normalised", "gallery": "layer"},
        (),
    ),
    (
        "registers",
        {"token": 0, "layer": 3, "head": "mean", "direction": "to", "fusion": "max", "first": 1},
        {"gallery": "matrix"},
        ("qk", "predictions", "training"),
    ),
    (
        "no_cls",
        {"token": 7, "partner": 2, "layer": 1, "head": 2, "direction": "to", "residual": 0.3},
        {"order": "channel", "units": "raw", "gallery": "all"},
        ("training", "many"),  # `survey` would have to be told to invert
    ),
    (
        "distilled",
        {"token": 5, "partner": 1, "layer": 2, "head": 3, "fusion": "min"},
        {"order": "channel", "gallery": "dots", "painted": "normed"},
        ("training",),
    ),
    (
        "rotary",
        {"token": 5, "partner": 3, "layer": 1, "head": 2, "target": 1},
        {"gallery": "layer"},
        ("training",),
    ),
    (
        "relative",
        {"token": 9, "partner": 3, "layer": 2, "head": 1, "target": 1, "direction": "to"},
        {"gallery": "matrix"},
        ("training",),
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photo, models and a film side by side, as the code expects them."""
    folder = tmp_path_factory.mktemp("snippets")
    Image.fromarray(photo()).save(folder / HOSTILE)
    film(folder / "tiny-cls.film.safetensors")
    for name, *_ in CASES:
        save_tiny(folder, name)
    return folder


@pytest.fixture(scope="module")
def told(folder: Path) -> list[list[dict[str, Any]]]:
    """For each case and panel the code, and the numbers that the viewer has for it."""
    return answers(folder, [one_of(folder, *case[:3]) for case in CASES])


def one_of(
    folder: Path,
    name: str,
    selection: dict,
    taste: dict,
    changes: Any = (),
    outputs: str | None = None,
    size: tuple[int, int] | None = None,
) -> dict:
    """What the viewer is given of an analysis."""
    size = size or (None if changes else SIZES.get(name))
    loaded = load(folder / f"tiny-{name}.safetensors", image_size=size, outputs=outputs)
    # One of them was inverted first, which its code has to say.
    analysis = analyze(loaded, folder / HOSTILE, invert=name == "no_cls", interventions=changes)
    payload = asked(pack(analysis, film=True), analysis, selection)
    files = {path: base64.b64encode(data).decode() for path, data in payload.files.items()}
    return {"manifest": payload.manifest, "files": files, "selection": selection, "taste": taste}


def answers(folder: Path, wanted: list[dict]) -> list[list[dict[str, Any]]]:
    (folder / "wanted.json").write_text(json.dumps(wanted))
    return json.loads(node(JS / "snippets.js", folder / "wanted.json"))


def asked(payload: Payload, analysis: Analysis, selection: dict[str, Any]) -> Payload:
    """The payload with the explanations of this selection, as a host would make them."""
    files, manifest = dict(payload.files), payload.manifest
    chosen = selection.get("maps", "").split(".")
    for place, one in enumerate(manifest["model"]["explainers"]):
        if place >= 4 and one["key"] not in chosen:
            continue
        if "class" in one["needs"] and analysis.card.head != "classes":
            continue  # of the likeness to a picture that is not beside
        target = selection.get("target") if "class" in one["needs"] else None
        if target is None and "class" in one["needs"]:
            target = analysis.class_index(None)
        token = selection["token"] if "token" in one["needs"] else 0
        name = explanation_name(one["key"], token, target)
        files[late_path(name)] = late_file(analysis, name)
        manifest["files"][name] = {"path": late_path(name), "size": len(files[late_path(name)])}
    return replace(payload, files=files)


def run(code: str, folder: Path) -> list[np.ndarray]:
    """The arrays that a snippet calls `shown`, each as one row of numbers."""
    names: dict[str, Any] = {}
    with chdir(folder):
        exec(compile(code, "snippet", "exec"), names)
    return arrays_of(names["shown"])


def arrays_of(shown: Any) -> list[np.ndarray]:
    arrays = shown if isinstance(shown, list) else [shown]
    return [torch.as_tensor(one).detach().double().flatten().numpy() for one in arrays]


@needs_node
@pytest.mark.parametrize("case", range(len(CASES)), ids=[name for name, *_ in CASES])
def test_each_snippet_makes_what_its_panel_shows(case: int, folder: Path, told: list) -> None:
    silent = (*CASES[case][3], "experiment")  # nothing was done
    for one in told[case]:
        panel, code = one["panel"], one["code"]
        assert (code is None) == (panel in silent), panel
        if code is None:
            continue
        ours = run(code["vitviz"], folder)
        # Of some explainers the definition is longer than a snippet.
        plain = run(code["torch"], folder) if code["torch"] else ours
        assert len(ours) == len(plain) == len(one["shown"]), panel
        for exact, same, shown in zip(ours, plain, one["shown"], strict=True):
            size = max(1e-3, float(np.abs(exact).max()))
            np.testing.assert_allclose(same, exact, rtol=0, atol=1e-4 * size, err_msg=panel)
            # The viewer has q, k and values in half precision.
            np.testing.assert_allclose(shown, exact, rtol=0, atol=6e-3 * size, err_msg=panel)


@needs_node
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_the_code_of_the_answer_is_that_of_the_outputs(outputs: str, folder: Path) -> None:
    """A softmax of classes of which one is true, sigmoids of several, the logits of values."""
    (panels,) = answers(folder, [one_of(folder, *CASES[0][:3], outputs=outputs)])
    (one,) = [panel for panel in panels if panel["panel"] == "predictions"]
    for kind, word in (("vitviz", "predictions"), ("torch", OUTPUTS[outputs])):
        assert word in one["code"][kind]
        for made, shown in zip(run(one["code"][kind], folder), one["shown"], strict=True):
            np.testing.assert_allclose(made, shown, rtol=1e-4, atol=1e-4)


@needs_node
@pytest.mark.parametrize("name", ["cls", "no_cls", "registers", "rotary", "relative"])
def test_explainers_have_their_definition_in_plain_pytorch(name: str, folder: Path) -> None:
    """Whatever stands beside it: what one cell leaves behind does not change the next."""
    keys = [key for key in EXPLAINERS if f"# %% explain_{key} " in WITH_TORCH]
    chosen = [".".join(keys[at::3][::-1]) for at in range(3)]
    if name == "registers":  # it names no classes, and stands for models of other blocks
        chosen = ["random.centre"]
    selection = {"token": 5, "partner": 1, "layer": 1, "head": 0, "target": 2}
    wanted = [one_of(folder, name, {**selection, "maps": maps}, {}) for maps in chosen]
    for maps, panels in zip(chosen, answers(folder, wanted), strict=True):
        (one,) = [panel for panel in panels if panel["panel"] == "explain"]
        code = one["code"]["torch"]
        assert code is not None, maps
        assert "analysis." not in code.replace("analysis.pixels[None]", "")
        plain, exact = run(code, folder), run(one["code"]["vitviz"], folder)
        assert len(plain) == len(exact) == maps.count(".") + 1
        for key, same, right in zip(maps.split("."), plain, exact, strict=True):
            size = max(1e-3, float(np.abs(right).max()))
            np.testing.assert_allclose(same, right, rtol=0, atol=1e-4 * size, err_msg=key)


@needs_node
@pytest.mark.parametrize("name", ["cls", "no_cls"])
def test_occlusion_leaves_out_windows_that_hold_a_small_picture(name: str, folder: Path) -> None:
    patch = load(folder / f"tiny-{name}.safetensors").card.config.patch_size
    size = (3 * patch[0], 2 * patch[1])
    selection = {"token": 1, "layer": 1, "head": 0, "target": 2, "maps": "occlusion"}
    (panels,) = answers(folder, [one_of(folder, name, selection, {}, size=size)])
    (one,) = [panel for panel in panels if panel["panel"] == "explain"]
    (plain,), (exact,) = (run(one["code"][kind], folder) for kind in ("torch", "vitviz"))
    np.testing.assert_allclose(plain, exact, rtol=0, atol=1e-4 * np.abs(exact).max())


@needs_node
def test_the_code_of_an_experiment_makes_what_every_panel_shows_of_it(folder: Path) -> None:
    """The code names what was changed; Experiment takes it from the list that was made."""
    wanted = [one_of(folder, *case[:3], OPERATED[case[0]]) for case in CASES]
    ran = 0
    for one in (panel for panels in answers(folder, wanted) for panel in panels):
        # A film is that of the training, whatever a pass changes; a model's numbers as well.
        if one["code"] is None or one["panel"] in ("training", "model"):
            continue
        code = one["code"]["vitviz"]
        assert "interventions=[" in code
        ran += one["panel"] == "experiment"
        for exact, shown in zip(run(code, folder), one["shown"], strict=True):
            size = max(1e-3, float(np.abs(exact).max()))
            np.testing.assert_allclose(shown, exact, rtol=0, atol=6e-3 * size, err_msg=one["panel"])
    assert ran == 5  # of the models that name classes


@needs_node
def test_snippets_are_short_and_every_panel_has_one(told: list) -> None:
    snippets = [one["code"] for case in told for one in case if one["code"]]
    for code in snippets:
        for text in filter(None, code.values()):
            lines = [line for line in text.splitlines() if line]
            more = 4 if "block.attn.angles" in text or "score_bias" in text else 0
            more += 5 if "back = " in text else 0  # of a model that turns queries and keys
            assert 2 <= len(lines) <= MOST_LINES + more, text
            assert max(map(len, lines)) <= 130, text
            assert text.isascii() or text.replace("\n", "").isprintable()
    assert {one["panel"] for case in told for one in case if one["code"]} == {
        *EVERY,
        "training",
        "many",
    }
    sizes = [f"image_size={size}" for size in ("(48, 20)", "32)")]
    for size in sizes:  # those of no_cls and distilled, and of no other
        assert sum(size in one["code"]["vitviz"] for case in told for one in case[:1]) == 1
    for code in filter(None, (code["torch"] for code in snippets)):
        assert "analysis." not in code.replace("analysis.pixels[None]", "")
    explained = [one for case in told for one in case if one["panel"] == "explain"]
    assert any(one["code"]["torch"] for one in explained)


def cells_run(kind: str, folder: Path) -> dict[str, list[np.ndarray]]:
    """What each cell of a file calls `shown`, of the file run from top to bottom as it is."""
    source, names, found = (FOLDER / f"with_{kind}.py").read_text("utf-8"), {}, {}
    with chdir(folder):
        for cell in source.split("# %% ")[1:]:
            exec(compile(f"# {cell}", "cell", "exec"), names)
            found[re.match(r"\w+", cell)[0]] = arrays_of(names.get("shown", []))
    return found


def test_both_files_run_as_they_are_and_agree(tmp_path: Path) -> None:
    """With the values that stand in them: what a student has who opens one of them."""
    shutil.copy(VIEWER.parent / "web/examples/dog.jpg", tmp_path / "photo.jpg")
    ours, plain = (cells_run(kind, tmp_path) for kind in ("vitviz", "torch"))
    for cell in ("many", "likeness", "normed"):  # of which there is no cell in plain PyTorch
        del ours[cell]
    assert ours.keys() <= plain.keys()
    for cell in ours.keys() - {"loaded", "start", "explain"}:
        for exact, same in zip(ours[cell], plain[cell], strict=True):
            size = float(np.abs(exact).max())
            np.testing.assert_allclose(same, exact, rtol=0, atol=1e-4 * size, err_msg=cell)
    explained = [name for name in plain if name.startswith("explain_")]
    assert {name.removeprefix("explain_") for name in explained} <= set(EXPLAINERS)
    assert len(plain[explained[-1]]) == len(explained)


def test_the_name_in_the_code_is_one_that_load_takes(folder: Path) -> None:
    def told(*what: Any, **options: Any) -> ModelKey:
        manifest = pack(analyze(load(*what, **options), photo()), whole=False).manifest
        return ModelKey(**manifest["model"]["key"])

    file = folder / "tiny-cls.safetensors"
    key = ModelKey("tiny-cls.safetensors")
    assert told(file) == key
    assert told(file, pretrained=False) == replace(key, untrained=True)
    assert told(file, image_size=32) == key  # its own size
    assert told("mnist", image_size=56) == ModelKey("mnist", image_size=56)
    assert told("mnist", pretrained=False) == ModelKey("mnist", untrained=True)
    # a name of a hub is no file, also without its weights
    card = replace(
        load(file).card, name="org/vit", source=Message("models.of_transformers", name="org/vit")
    )
    hub = twin(replace(load(file), card=card))
    manifest = pack(analyze(hub, photo()), whole=False).manifest
    assert manifest["model"]["key"] == ModelKey("org/vit", untrained=True).to_dict()
