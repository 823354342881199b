"""The engine of the page, in Node: the shipped models on the examples, and its fixture."""

import json
from pathlib import Path

import pytest

import vitviz
from tests import engine_fixture
from tests.test_payload import needs_node, node
from tests.viewer_fixture import FOLDER, compare

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "vitviz/web/examples").glob("*.*g"))


@needs_node
@pytest.mark.parametrize("name", ["photos", "mnist", "mnist-rotary", "mnist-none"])
def test_the_shipped_models_are_those_of_python(name: str, tmp_path: Path) -> None:
    """On every example; on the first with an intervention of each kind."""
    loaded = vitviz.load(name)
    pairs = zip(EXAMPLES, EXAMPLES[1:] + EXAMPLES[:1], strict=True)
    told = [engine_fixture.passes(loaded, *pair, each=at == 0) for at, pair in enumerate(pairs)]
    assert len(told) == 7
    assert len(told[0]["cases"]) > 20
    file = tmp_path / "passes.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    script, weights = ROOT / "tests/js/engine_shipped.js", ROOT / f"weights/{name}.safetensors"
    result = node(str(script), str(file), str(weights))
    assert result.returncode == 0, result.stderr[-2000:]


def test_the_committed_passes_are_those_of_this_code() -> None:
    for name in engine_fixture.ALL:
        fresh = json.loads(json.dumps(engine_fixture.small(name)))
        kept = json.loads((FOLDER / "engine" / f"{name}.json").read_text("utf-8"))
        compare(fresh, kept, name)
