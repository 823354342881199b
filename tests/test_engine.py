"""The engine of the page, in Node: the shipped models on the examples, and its fixture."""

import json
from pathlib import Path
from typing import Any

import pytest

import vitviz
from tests import engine_fixture
from tests.node import JS, needs_node, node
from tests.running import ROOT
from tests.viewer_fixture import compare_committed
from vitviz.web.store.examples import EXAMPLES as ALL

EXAMPLES = sorted(Path(one.path) for one in ALL if one.shown)


@needs_node
@pytest.mark.parametrize("name", ["photos", "mnist", "mnist-rotary", "mnist-none"])
def test_the_shipped_models_are_those_of_python(name: str, tmp_path: Path) -> None:
    """On every example; on the first with an intervention of each kind."""
    loaded = vitviz.load(name)
    pairs = zip(EXAMPLES, EXAMPLES[1:] + EXAMPLES[:1], strict=True)
    told = [engine_fixture.passes(loaded, *pair, each=at == 0) for at, pair in enumerate(pairs)]
    assert len(told) == 7
    assert len(told[0]["cases"]) > 20
    compare_shipped("engine", name, told, tmp_path)


def compare_shipped(what: str, name: str, told: list[dict[str, Any]], folder: Path) -> None:
    """A script compares what the page computes with a shipped model with what Python told."""
    (file := folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    node(JS / f"{what}_shipped.js", file, ROOT / f"weights/{name}.safetensors")


def test_the_committed_passes_are_those_of_this_code() -> None:
    compare_committed("engine", engine_fixture.small, engine_fixture.ALL)
