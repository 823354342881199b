"""The card of a taught head is read as it was written, and damaged ones are refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.models import tiny
from vitviz import WeightsError
from vitviz.model.taught import Confused, Taught, read_taught

MINE = Taught("photos", (3, 2), 0.03, ((2, 1), (0, 2)), (Confused("a.png", 0, 1, 0.75),))


def changed(**values: Any) -> str:
    return json.dumps(json.loads(MINE.to_json()) | values)


def test_the_counts_of_a_taught_head_are_read_as_they_were_written() -> None:
    assert (MINE.right, MINE.of) == (4, 5)
    assert read_taught(MINE.to_json(), 2) == MINE
    told = json.loads(MINE.to_json())
    assert (told["right"], told["of"]) == (4, 5)
    card = tiny("map").card
    four = replace(MINE, pictures=(1,) * 4, confusions=((0,) * 4,) * 4, confused=())
    assert card.taught is None
    assert replace(card, details={"taught": four.to_json()}).taught == four
    assert (four.right, four.of) == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        "7",
        changed(pictures=[3]),
        changed(pictures=[3, -1]),
        changed(pictures=[3, 2.5]),
        changed(pictures=[3, 10**10]),
        changed(pictures=None),
        changed(confusions=[[1, 2]]),
        changed(confusions=[[1, 2], [3]]),
        changed(confusions=[[1, 2], [3, True]]),
        changed(penalty="0.03"),
        changed(penalty=float("nan")),
        changed(base=None),
        changed(confused=[{"picture": "a.png"}]),
        changed(confused=[{"picture": "a.png", "label": 0, "answer": 2, "probability": 0.5}]),
        changed(confused=[{"picture": 1, "label": 0, "answer": 1, "probability": 0.5}]),
        changed(confused=[{"picture": "a", "label": 0, "answer": 1, "probability": 1.5}]),
        changed(confused=7),
    ],
    ids=range(20),
)
def test_a_damaged_card_of_a_taught_head_is_refused(text: str) -> None:
    with pytest.raises(WeightsError, match="the taught of a model is damaged"):
        read_taught(text, 2)
    with pytest.raises(WeightsError, match="the taught of a model is damaged"):
        replace(tiny("map").card, details={"taught": text})
