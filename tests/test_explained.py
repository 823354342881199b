"""Explanations and fair tests by the page's engine, in Node: of the shipped models."""

from pathlib import Path

import pytest

import vitviz
from tests import engine_fixture, explained_fixture
from tests.node import needs_node
from tests.test_engine import EXAMPLES, compare_shipped
from tests.viewer_fixture import compare_committed


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
    compare_shipped("explained", name, told, tmp_path)


def test_the_committed_explanations_are_those_of_this_code() -> None:
    compare_committed("explained", explained_fixture.small, explained_fixture.NAMES)
