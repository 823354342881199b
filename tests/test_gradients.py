"""The way back of the page's engine, in Node: gradients of the shipped models, and its fixture."""

from pathlib import Path

import pytest

import vitviz
from tests import engine_fixture, gradients_fixture
from tests.node import needs_node
from tests.test_engine import EXAMPLES, compare_shipped
from tests.viewer_fixture import compare_committed


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
    compare_shipped("gradients", name, told, tmp_path)


def test_the_committed_gradients_are_those_of_this_code() -> None:
    compare_committed("gradients", gradients_fixture.small, engine_fixture.ALL)
