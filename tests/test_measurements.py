"""The measurements in a checkpoint are read as numbers or not at all."""

import json
from dataclasses import replace

import pytest

from tests.models import tiny
from vitviz import load
from vitviz.model.weights import ModelCard
from vitviz.probe.measure.measurements import measurements_of

GOOD = {
    "top1": 0.565,
    "top5": 0.83,
    "group": 0.674,
    "nll": 1.66,
    "ece": 0.032,
    "pictures": 5000,
    "boxes": {"attention": {"energy": 1.62, "pointing": 0.6}},
}
# As `train.report` writes it.
OTHERS = {
    "pictures": 1500,
    "classes": ["apple", "pear", "plum"],
    "scores": {
        "known or not": {"auroc": 0.82, "refused": 0.31},
        "largest logit": {"auroc": 0.7, "refused": 0.1},
    },
    "chosen": {"threshold": 0.4, "kept": 0.948, "refused": 0.33},
}


def card(**details: object) -> ModelCard:
    return replace(tiny("cls").card, details={k: json.dumps(v) for k, v in details.items()})


def test_what_was_measured_is_told_as_it_is() -> None:
    assert measurements_of(card(evaluation=GOOD)) == GOOD


def test_how_many_pictures_training_itself_looked_at() -> None:
    def watched(**details: object) -> object:
        return measurements_of(card(**details)).get("watched")

    for recipe, count in ((1000, 1000), (0, 5000), (9000, 5000), (-1, None), ("all", None)):
        assert watched(evaluation=GOOD, recipe={"eval_pictures": recipe}) == count
    assert watched(evaluation={"top1": 0.5}, recipe={"eval_pictures": 1000}) is None
    shipped = {name: measurements_of(load(name).card) for name in ("photos", "mnist")}
    assert [shipped[name]["watched"] for name in ("photos", "mnist")] == [1000, 10000]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (None, {}),
        ([], {}),
        ("<b>99%</b>", {}),
        ({"top1": "0.9", "top5": True, "ece": -1, "group": 1.5, "nll": None}, {}),
        ({"top1": 0.5, "other": 1, "boxes": []}, {"top1": 0.5}),
        ({"boxes": {"a": {"energy": 1}, "b": 3}}, {}),
    ],
    ids=str,
)
def test_what_is_no_number_is_left_out(told: object, found: dict) -> None:
    assert measurements_of(card(evaluation=told)) == found


def test_what_it_tells_from_others_is_that_of_the_score_it_uses() -> None:
    found = measurements_of(card(evaluation={"others": OTHERS}))["others"]
    assert found == {
        "auroc": 0.82,
        "refused": 0.31,
        "own_kept": 0.948,
        "own_refused": 0.33,
        "kept": 0.95,
        "pictures": 1500,
        "classes": 3,
    }
    without = {name: value for name, value in OTHERS.items() if name != "chosen"}
    found = measurements_of(card(evaluation={"others": without}))["others"]
    assert found == {
        "auroc": 0.82,
        "refused": 0.31,
        "kept": 0.95,
        "pictures": 1500,
        "classes": 3,
    }


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"scores": []},
        {"scores": {"known or not": 3}},
        {"scores": {"known or not": {"auroc": 1.5, "refused": float("nan")}}, "pictures": 3},
        {"scores": {"largest logit": {"auroc": 0.7}}, "chosen": "x"},
    ],
    ids=str,
)
def test_others_that_are_no_numbers_are_left_out(told: object) -> None:
    assert measurements_of(card(evaluation={"top1": 0.5, "others": told})) == {"top1": 0.5}


PHOTOGRAPHS = {"known": 52, "strangers": 263, "kept": 0.98, "left_out": 0.96, "refused": 0.2}


def test_what_was_measured_on_photographs_is_told_whole_or_not_at_all() -> None:
    told = PHOTOGRAPHS | {"auroc": 0.74, "top1": 0.6}
    found = measurements_of(card(evaluation={"photographs": told}))
    assert found == {"photographs": PHOTOGRAPHS | {"auroc": 0.74}}
    for broken in ("known", "strangers", "kept", "refused"):
        told = PHOTOGRAPHS | {broken: "<b>"}
        assert measurements_of(card(evaluation={"photographs": told})) == {}, broken
    told = PHOTOGRAPHS | {"left_out": 1.2}
    assert "left_out" not in measurements_of(card(evaluation={"photographs": told}))["photographs"]
    assert measurements_of(card(evaluation={"top1": 0.5, "photographs": [3]})) == {"top1": 0.5}


def test_no_measurements() -> None:
    assert measurements_of(card()) == {}
    huge = "1" + "0" * 400  # an integer that no float can be
    text = f'{{"top1": NaN, "nll": Infinity, "pictures": {huge}}}'
    broken = replace(card(), details={"evaluation": text})
    assert measurements_of(broken) == {}
