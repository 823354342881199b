"""Numbers that Python computed, for the JavaScript tests.

`python -m tests.viewer_fixture` writes them to tests/js/fixture.
"""

import base64
import json
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests import (
    engine_fixture,
    explained_fixture,
    gradients_fixture,
    learner_fixture,
    teach_fixture,
)
from tests.chance_fixture import draws
from tests.models import TINY, as_sent, photo, tiny
from tests.operated_fixture import CASES, operated
from tests.pixels_fixture import pixels
from tests.results_fixture import examples
from vitviz import EXPLAINERS, Analysis, Trace, ViT, analyze, open_photo
from vitviz.model.loaded import KNOWN_OR_NOT
from vitviz.model.untrained import draw
from vitviz.payload import pack
from vitviz.probe.measure import features
from vitviz.probe.measure.film import Film, grid_facts, look
from vitviz.probe.measure.heads import distances
from vitviz.probe.measure.mixing import mix
from vitviz.probe.measure.pairs import Pair, pair
from vitviz.probe.measure.positions import similarity, unit_rows

FOLDER = Path(__file__).parent / "js" / "fixture"
NAMES = ("cls", "no_cls", "distilled", "registers", "grey")
assert set(NAMES) <= set(TINY)
# What a trained checkpoint tells beside its weights; of some of the models only.
DETAILS = {
    "cls": {
        "seed": "3",
        "temperature": "0.8",
        "groups": json.dumps(["dog", "cat", "dog", "a new word", "cat", "bird", "bird"]),
        "others": json.dumps({"score": KNOWN_OR_NOT, "threshold": 0.5}),
    },
    # A threshold that no picture reaches.
    "no_cls": {
        "others": json.dumps({"score": KNOWN_OR_NOT, "threshold": 50}),
        "evaluation": json.dumps(
            {
                "top1": 0.5,
                "others": {
                    "pictures": 1500,
                    "classes": ["apple", "pear", "plum"],
                    "scores": {"known or not": {"auroc": 0.82, "refused": 0.31}},
                    "chosen": {"threshold": 50, "kept": 0.948, "refused": 0.33},
                },
            }
        ),
    },
}


def fixture(analysis: Analysis) -> dict[str, Any]:
    """A payload, with what the browser must find in it."""
    payload = pack(analysis)
    exact, grid = analysis.trace, analysis.grid
    explained = _explained(analysis, payload.manifest["pass"]["first"]["token"])
    # The browser gets q and k in half precision. What it makes of them must be right to the last
    # digits; how far that is from the model's own values is what the manifest promises.
    analysis = as_sent(analysis)
    trace = analysis.trace
    layer, head, token = trace.depth - 1, trace.num_heads - 1, trace.num_tokens - 2
    row, col = grid.row_col(token)
    top, left, height, width = grid.box(token)
    patch = analysis.pixels[:, top : top + height, left : left + width]
    tokens = features.tokens_after(exact, layer)
    principal = features.principal(grid.patches(tokens.T).T)
    patch_norms = grid.patches(features.norms(tokens))
    times = float(patch_norms.sort().values[-3:-1].mean() / patch_norms.quantile(0.5))
    options = {"token": token, "layer": layer, "first": 1, "residual": 0.3}
    return {
        "manifest": payload.manifest | {"pass": payload.manifest["pass"] | {"id": "fixture"}},
        "files": {path: base64.b64encode(data).decode() for path, data in payload.files.items()},
        "layer": layer,
        "head": head,
        "token": token,
        "place": [row, col],
        "box": [top, left, height, width],
        "attention_from": trace.attention_from(layer, token).tolist(),
        "exact_from": exact.attention_from(layer, token).tolist(),
        "attention_to": trace.attention_to(layer, token).tolist(),
        "mean_to": analysis.attention(layer, None, token, "to").tolist(),
        "rollout_options": options,
        "rollout": {
            fusion: analysis.rollout(
                token, layer, head_fusion=fusion, residual=0.3, first=1
            ).tolist()
            for fusion in ("mean", "max", "min")
        },
        "similarity": analysis.position_similarity(token).flatten().tolist(),
        "lens": [] if analysis.lens is None else _lens(analysis),
        "untrained_similarity": _untrained_similarity(analysis, row * grid.cols + col),
        # Of the rounded rows, as they are sent.
        "feature_similarity": features.similarity(unit_rows(tokens).half().float(), token).tolist(),
        "feature_norms": features.norms(tokens).tolist(),
        "feature_colours": principal.rgb().flatten().tolist(),
        "feature_explained": principal.explained.tolist(),
        # With random weights no norm is twice the median: a lower bar, which two patches pass.
        "outlier_times": times,
        "outliers": features.outliers(patch_norms, times).tolist(),
        "similarity_of_rows": analysis.position_similarity(token).mean(dim=1).tolist(),
        "similarity_of_cols": analysis.position_similarity(token).mean(dim=0).tolist(),
        "explained": explained,
        "pair": _pair(pair(trace, layer, head, token, 1)),
        "mix": _mix(analysis, exact, layer, head, token),
        "even_distance": distances(grid).mean().item(),
        "embedded": exact.tokens[0, :, : len(analysis.embedding.filters)].tolist(),
        # The two orders in which a patch is flattened: (p1 p2 c) and (c p1 p2).
        "patch_pixel": patch.permute(1, 2, 0).flatten().tolist(),
        "patch_channel": patch.flatten().tolist(),
    }


def _explained(analysis: Analysis, token: int) -> dict[str, list[float]]:
    """The explanations of the answer that a page of one file brings."""
    return {
        key: analysis.explain(key, token).tolist()
        for key, one in EXPLAINERS.items()
        if one.passes(analysis.grid) <= 3
        and ("class" not in one.needs or analysis.card.head == "classes")
    }


def film(path: Path) -> Film:
    """Two moments of a training that never was: of a tiny model, and of its untrained twin."""
    loaded = tiny("cls")
    config, pictures = loaded.card.config, [photo(), photo(90, 50), photo(40, 40)]
    seen = [loaded.preprocess.picture(open_photo(picture)) for picture in pictures]
    pixels = [loaded.preprocess.pixels(picture)[0] for picture in seen]
    twin = ViT(config).eval()
    twin.load_state_dict(draw(config, 3, zero_head=True))
    looks = [look(vit, pixels) for vit in (twin, loaded.vit)]
    names = ("step", "epoch", "images", "seconds", "loss", "top1", "top5")
    moments = [(0, 0, 0, 0.0, None, 0.14, 0.71), (20, 2.5, 2560, 90.0, 0.5, 0.6, 0.95)]
    made = Film(
        pixels=torch.stack(seen),
        **{name: torch.stack([one[name] for one in looks]) for name in looks[0]},
        facts={
            "recipe": "fixture",
            "began_with": "<b>earlier</b>",
            **grid_facts(loaded.vit),
            "labels": list(loaded.card.labels),
            "pictures": [{"name": name} for name in ("first", "<b>second</b>", "third")],
            "moments": [dict(zip(names, moment, strict=True)) for moment in moments],
        },
    )
    made.save(path)
    return made


def film_fixture() -> dict[str, Any]:
    """A film as it lies on disk, with what the browser must find in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.film.safetensors"
        made = film(path)
        data = path.read_bytes()
    best = made.probabilities[1, 2].float().topk(3)
    return {
        "file": base64.b64encode(data).decode(),
        "similarity": made.positions[1, 6].tolist(),  # of patch 6 in the second moment
        "head": made.attention[1, 2, 1, 1].tolist(),  # third picture, layer 1, head 1
        "mean": made.attention[1, 2, 1].float().mean(dim=0).tolist(),
        "pixels": made.pixels[1].flatten().tolist()[:64],
        "answers": [
            [made.facts["labels"][i], p] for p, i in zip(*map(Tensor.tolist, best), strict=True)
        ],
        "first": made.probabilities[0, 0].tolist(),
    }


def write(folder: Path) -> None:
    """One JSON file for each of the tiny models; in folders operated passes, draws, examples and
    passes for the page's engine, and pixels.
    """
    write_viewer(folder)
    for name in engine_fixture.ALL:
        _write(folder / "engine" / name, engine_fixture.small(name))
        _write(folder / "gradients" / name, gradients_fixture.small(name))
    _write(folder / "engine" / "angles", engine_fixture.angles())
    _write(folder / "engine" / "servers", engine_fixture.servers())
    for name, told in learner_fixture.runs().items():
        _write(folder / "learner" / name, told)
    for name in explained_fixture.NAMES:
        _write(folder / "explained" / name, explained_fixture.small(name))


def write_viewer(folder: Path) -> None:
    """All but what the page's engine is held to, which takes most of the time."""
    _write(folder / "chance" / "draws", draws(), exact=True)
    _write(folder / "results" / "examples", examples(), exact=True)
    _write(folder / "pixels" / "pictures", pixels(), exact=True)
    _write(folder / "teach" / "teach", teach_fixture.table())
    for name in CASES:
        _write(folder / "operated" / name, operated(name))
    for name in NAMES:
        analysis = analyze(tiny(name), photo())
        details = DETAILS.get(name, {})
        temperature = float(details.get("temperature", 1))
        card = replace(analysis.card, details=details, temperature=temperature)
        numbers = fixture(replace(analysis, card=card))
        if name == "cls":
            numbers["film"] = film_fixture()
        _write(folder / name, numbers)


# Tolerances between processors, relative or absolute. The costs of an explanation are whole numbers
# except for the gap, a share of the rise of a logit. One of these rises is only .0015, and logits
# differ by 2e-7 between two kinds of processors. The page's engine has the same tolerances.
NEAR, OF_COSTS = 1e-4, 1e-3


def compare(fresh: Any, kept: Any, where: str, near: float = NEAR) -> None:
    """Assert that numbers of a fixture are what this code makes of them."""
    message = f"{where}: run python -m tests.viewer_fixture"
    if isinstance(fresh, dict):
        assert fresh.keys() == kept.keys(), message
        for key in fresh:
            compare(fresh[key], kept[key], f"{where} {key}", OF_COSTS if key == "costs" else near)
    elif isinstance(fresh, list):
        assert len(fresh) == len(kept), message
        for one, other in zip(fresh, kept, strict=True):
            compare(one, other, where, near)
    else:
        same = pytest.approx(kept, rel=near, abs=near) if isinstance(fresh, float) else kept
        assert fresh == same, message


def compare_committed(room: str, made: Callable[[str], Any], names: Iterable[str]) -> None:
    """The same of the files in a folder of the fixture."""
    for name in names:
        path = FOLDER / room / f"{name}.json"
        assert path.is_file(), f"{path.name} is missing: run python -m tests.viewer_fixture"
        kept = json.loads(path.read_text("utf-8"))
        compare(json.loads(json.dumps(made(name))), kept, f"{room}/{path.name}")


def _write(path: Path, told: Any, exact: bool = False) -> None:
    """Write a fixture. Unless `exact`, a file that differs by rounding alone is kept."""
    path = path.with_suffix(".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(told if exact else _rounded(told))
    if path.exists() and not exact:
        with suppress(AssertionError):
            compare(json.loads(text), json.loads(path.read_text("utf-8")), path.stem)
            return
    path.write_text(text + "\n", encoding="utf-8")


def _pair(found: Pair) -> dict[str, Any]:
    """The pair of `token` and token 1, as lists and numbers."""
    return _plain(asdict(found))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The same with lists for tensors."""
    return {
        name: value.tolist() if isinstance(value, torch.Tensor) else value
        for name, value in values.items()
    }


def _mix(analysis: Analysis, exact: Trace, layer: int, head: int, token: int) -> dict[str, Any]:
    """What `head` adds to `token`, of the numbers as sent; `exact_added` is the model's own."""
    found = analysis.mixing(layer)
    sent = replace(found, v=found.v.half().float(), out=found.out.half().float())
    names = ("mixed", "added", "change", "before", "after", "share", "cosine")
    made = mix(analysis.trace, sent, layer, head, token)
    parts = _plain({name: getattr(made, name) for name in names})
    normed = found.normed[token].norm().item()
    own = mix(exact, found, layer, head, token).added.tolist()
    return {**parts, "normed": normed, "exact_added": own}


def _lens(analysis: Analysis) -> list[list[float]]:
    """The probability of every class after each block."""
    return (analysis.lens / analysis.card.temperature).softmax(dim=-1).tolist()


def _untrained_similarity(analysis: Analysis, patch: int) -> list[float] | None:
    before = analysis.untrained_positions()
    return None if before is None else similarity(before.patches)[patch].tolist()


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


if __name__ == "__main__":
    write(FOLDER)
