"""Explanations and fair tests by the page's engine, in Node: of the shipped models."""

import json
from pathlib import Path

import pytest

import vitviz
from tests import engine_fixture, explained_fixture
from tests.test_engine import EXAMPLES, ROOT
from tests.test_payload import needs_node, node
from tests.viewer_fixture import FOLDER, compare


@needs_node
@pytest.mark.parametrize("name", ["photos", "mnist"])
def test_explanations_of_the_shipped_models_are_those_of_python(name: str, tmp_path: Path) -> None:
    """All and a fair test, of digits; of photos those that take few passes."""
    loaded = vitviz.load(name)
    told = []
    changes = [{"kind": "remove", "patches": [3, 7, 20]}, {"kind": "even", "rows": "cls"}]
    cases = (("dog" if name == "photos" else "digit", [], 0), ("digit", changes, 17))
    for stem, interventions, token in cases[: 1 if name == "photos" else 2]:
        file = next(one for one in EXAMPLES if one.stem == stem)
        analysis = vitviz.analyze(loaded, file)
        target = analysis.class_index(None)
        case = explained_fixture.explanations(
            loaded, file, interventions, target, token, most=3 if name == "photos" else 1e9
        )
        told.append({"picture": engine_fixture.in_base64(analysis), "cases": [case]})
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(told), encoding="utf-8")
    script, weights = ROOT / "tests/js/explained_shipped.js", ROOT / f"weights/{name}.safetensors"
    result = node(str(script), str(file), str(weights))
    assert result.returncode == 0, result.stderr[-2000:]


def test_the_committed_explanations_are_those_of_this_code() -> None:
    for name in explained_fixture.NAMES:
        fresh = json.loads(json.dumps(explained_fixture.small(name)))
        kept = json.loads((FOLDER / "explained" / f"{name}.json").read_text("utf-8"))
        compare(fresh, kept, name)
