"""The check of experiments under load: a mix-up of photos or strokes does not pass."""

import base64

import numpy as np
import pytest

from tests.bench.experiments import SAME, is_answer, shown, stroke, told_apart
from tests.models import photo
from vitviz import Analysis, analyze
from vitviz.payload import pack


@pytest.fixture(scope="module")
def pupils(tiny_vit) -> list[Analysis]:
    """Two photos of the same model."""
    return [analyze(tiny_vit, pixels) for pixels in (photo(), 255 - photo())]


def test_only_the_own_photo_with_the_own_stroke_is_an_answer(pupils) -> None:
    changes = [stroke(at, 16) for at in range(4)]
    expected = {
        (at, one): shown(ours.operate([change]))
        for at, ours in enumerate(pupils)
        for one, change in enumerate(changes)
    }
    assert told_apart([*expected.values()]) > SAME
    for at, ours in enumerate(pupils):
        for one, change in enumerate(changes):
            payload = pack(ours.operate([change]), whole=False, beside=True)
            data = base64.b64encode(payload.files["first.safetensors"])
            reply = {"pass": payload.manifest["pass"], "files": {"first": {"data": data}}}
            for other, numbers in expected.items():
                assert is_answer(reply, numbers, change) is (other == (at, one))
            assert not is_answer(reply, expected[at, one], changes[one - 1])


def test_answers_that_are_the_same_are_told() -> None:
    rows = [np.array([0.5, 0.5]), np.array([0.9, 0.1]), np.array([0.5, 0.5])]
    assert told_apart(rows[:2]) == pytest.approx(0.4)
    assert told_apart(rows) == 0
