"""The way back of the page's engine, in Node: gradients of the shipped models, and its fixture."""

import json
from pathlib import Path

import pytest

import vitviz
from tests import engine_fixture, gradients_fixture
from tests.test_engine import EXAMPLES, ROOT
from tests.test_payload import needs_node, node
from tests.viewer_fixture import FOLDER, compare


@needs_node
@pytest.mark.parametrize("name", ["photos", "mnist", "mnist-rotary", "mnist-none"])
def test_gradients_of_the_shipped_models_are_those_of_torch(name: str, tmp_path: Path) -> None:
    """On three examples, of the answer; of the first with interventions, and of all weights."""
    loaded = vitviz.load(name)
    changes = [
        [],
        [{"kind": "remove", "patches": [3, 7, 20]}, {"kind": "head", "layer": 1, "head": 1}],
        [{"kind": "scramble", "rows": "patches", "layers": [1], "seed": 3}],
        [{"kind": "cut", "edges": "patches to others", "layers": [0], "heads": "all"}],
    ]
    told = []
    for at, file in enumerate((EXAMPLES[0], EXAMPLES[3], EXAMPLES[-1])):
        analysis = vitviz.analyze(loaded, file)
        cases = [
            gradients_fixture.gradients(
                loaded, file, one, analysis.class_index(None), weights=at == 0 and not one
            )
            for one in (changes[:1] if at else changes)
        ]
        told.append({"picture": engine_fixture.in_base64(analysis), "cases": cases})
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    script, weights = ROOT / "tests/js/gradients_shipped.js", ROOT / f"weights/{name}.safetensors"
    result = node(str(script), str(file), str(weights))
    assert result.returncode == 0, result.stderr[-2000:]


def test_the_committed_gradients_are_those_of_this_code() -> None:
    for name in engine_fixture.ALL:
        fresh = json.loads(json.dumps(gradients_fixture.small(name)))
        kept = json.loads((FOLDER / "gradients" / f"{name}.json").read_text("utf-8"))
        compare(fresh, kept, name)
