"""Fair tests: every figure by hand or by another way, and a band that noise stays within."""

import json

import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, tiny
from tests.test_explainers import DECISIVE, known  # noqa: F401 (a fixture)
from tests.test_trace import CLASSIFIERS
from vitviz import Analysis, SelectionError, analyze
from vitviz.errors import CancelledError
from vitviz.languages import say
from vitviz.probe.explain.fairness import Removal, passes_of, plan_of, removal, saco_of
from vitviz.probe.intervene.chance import Chance


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_point_is_the_answer_of_an_analysis_without_these_patches(name: str) -> None:
    """By `remove`, which leaves them in the sequence behind a mask."""
    analysis, config = analyze(tiny(name), photo()), TINY[name]
    values = torch.arange(config.num_patches, 0.0, -1)  # the first patch is the most important
    case = analysis.case("grad_cam", target=1)
    found = removal(case, {"map": values}, steps=4, orders=2)
    last = config.num_patches - (config.global_pool != "token")
    assert found.removed.tolist() == pytest.approx(
        [round(step * last / 4) / config.num_patches for step in range(5)]
    )
    for step in range(4):  # `remove` refuses to take all of them
        count = round(step * last / 4)
        for curve, gone in (
            (found.first["map"], range(count)),
            (found.last["map"], range(config.num_patches - count, config.num_patches)),
        ):
            changes = [{"kind": "remove", "patches": list(gone)}] if count else []
            without = analyze(tiny(name), photo(), interventions=changes)
            expected = without.trace.logits.softmax(-1)[1]
            assert_close(curve[step], expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_all_maps_of_an_operated_model_can_be_tested(name: str) -> None:
    changes = [{"kind": "remove", "patches": [2, 3]}, {"kind": "head", "layer": 0, "head": 1}]
    analysis = analyze(tiny(name), photo(), interventions=changes)
    found = analysis.fair_test(steps=3, orders=4, groups=3)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_dict()["score"] == "probability"
    assert found.target == int(analysis.trace.logits.argmax())
    whole = analysis.trace.logits.softmax(-1)[found.target]
    for curve in (*found.first.values(), *found.last.values(), *found.random):
        assert_close(curve[0], whole)
        assert curve.min() >= 0
        assert curve.max() <= 1
    assert all(-1 <= one <= 1 for one in found.saco.values())
    assert found.first.keys() == found.saco.keys() == set(found.to_dict()["maps"])
    with pytest.raises(SelectionError, match="groups must be a whole number of at least 2, got 1"):
        analysis.fair_test(groups=1)


@pytest.mark.parametrize("name", ["cls", "no_cls"])
def test_the_order_of_a_single_patch_cannot_be_tested(name: str) -> None:
    for count in (1, 2):
        changes = [{"kind": "keep", "patches": [*range(count)]}]
        analysis = analyze(tiny(name), photo(), interventions=changes)
        if count == 2:
            gain = analysis.fair_test("rollout", steps=3, orders=4).gain("rollout")
            assert gain == gain  # a number, not nan
            continue
        with pytest.raises(SelectionError, match="takes patches out, and only one is left"):
            analysis.fair_test("rollout", steps=3, orders=4)


def made(first: list[float], last: list[float], random: list[list[float]], centre=0.0) -> Removal:
    steps = torch.linspace(0, 1, len(first))
    flat = torch.full((len(first),), 0.5)
    return Removal(
        target=0,
        removed=steps,
        first={"generic": torch.tensor(first), "centre": flat},
        last={"generic": torch.tensor(last), "centre": flat + centre},
        random=torch.tensor(random),
        saco={},
    )


def test_areas_gains_and_sentences_by_hand() -> None:
    noise = [[1, 0.4, 0], [1, 0.5, 0], [1, 0.6, 0], [1, 0.5, 0]]  # two orders, then backwards
    found = made([1.0, 0, 0], [1.0, 1, 0], noise)
    assert found.deletion("generic") == pytest.approx(0.25)
    assert found.insertion("generic") == pytest.approx(0.75)
    assert found.gain("generic") == pytest.approx(0.5)
    assert_close(found.random_gains(), torch.tensor([0.1, 0, -0.1, 0]))
    assert found.beaten("generic") == 4
    text = found.sentence("generic")
    assert text.endswith("better than 4 of 4 random orders and than the centre")
    assert say(text, "ko") != text
    assert (
        made([1.0, 0, 0], [1.0, 1, 0], noise, 0.6)
        .sentence("generic")
        .endswith("4 of 4 random orders, but no better than the centre of the picture")
    )
    assert "no better than chance" in made([1.0, 0.5, 0], [1.0, 0.51, 0], noise).sentence("generic")
    assert "without looking at it" in made([1.0, 0, 0], [1.0, 1, 0], noise, 0.6).sentence("centre")
    low, high = found.band()
    assert low[1] < 0.45 < 0.55 < high[1]


@pytest.mark.parametrize(("steepness", "beaten"), [(0.085, 18), (0.095, 19), (0.105, 20)])
def test_a_map_is_better_than_chance_from_19_of_20_orders_on(steepness: float, beaten: int) -> None:
    # Three points, so the area is half of the middle one and a quarter of each end; an order and
    # its reverse differ in the middle alone. The gains of the orders are 0.01, 0.02, ... 0.1, and
    # the same below 0.
    steps = [place / 100 for place in range(1, 11)]
    orders = [[1, 0.5 - step, 0] for step in steps] + [[1, 0.5 + step, 0] for step in steps]
    found = made([1, 0.5 - steepness, 0], [1, 0.5 + steepness, 0], orders)
    assert_close(found.random_gains(), torch.tensor([*steps, *(-step for step in steps)]))
    assert found.gain("generic") == pytest.approx(steepness)
    assert found.beaten("generic") == beaten
    text = found.sentence("generic")
    assert f"better than {beaten} of 20 random orders" in text
    assert ("no better than chance" in text) is (beaten < 19)


def test_an_order_as_good_as_the_map_is_not_beaten() -> None:
    """The class stays as probable whatever is taken out: every order gains the same, nothing."""
    flat = [0.7, 0.7, 0.7]
    found = made(flat, flat, [flat] * 20)
    assert found.beaten("generic") == found.beaten("centre") == 0
    assert "no better than chance" in found.sentence("generic")
    # As good as the centre is not better than the centre.
    noise = [[1, 0.5, 0]] * 20
    found = made([1, 0.4, 0], [1, 0.6, 0], noise)
    found.first["centre"], found.last["centre"] = found.first["generic"], found.last["generic"]
    assert found.sentence("generic").endswith("but no better than the centre of the picture")


def test_noise_gains_nothing_on_average_and_a_map_that_knows_gains() -> None:
    analysis = analyze(tiny("no_cls"), photo())
    case = analysis.case("grad_cam")
    gains = []
    for seed in range(20):
        noise = torch.rand(15, generator=torch.Generator().manual_seed(seed))
        gains.append(removal(case, {"map": noise}, steps=5, orders=2, seed=seed).gain("map"))
    gains = torch.tensor(gains)
    assert abs(gains.mean()) < 3 * gains.std() / 20**0.5
    found = removal(case, {}, orders=20)
    assert found.random_gains().sum().item() == pytest.approx(0, abs=1e-5)
    assert len(found.random) == 20


def test_the_reason_is_found_fast(known: Analysis) -> None:  # noqa: F811
    found = known.fair_test("occlusion", "attention", target=1)
    assert found.first["occlusion"][1] < 0.5 < found.first["occlusion"][0]
    assert found.gain("occlusion") > found.gain("attention")
    assert "and than the centre" in found.sentence("occlusion")
    assert int(known.grid.patches(known.explain("occlusion", target=1)).argmax()) == DECISIVE


def test_equal_values_are_ordered_at_random_and_not_row_by_row() -> None:
    case = analyze(tiny("cls"), photo()).case("grad_cam")
    flat = torch.zeros(16)
    by_seed = [removal(case, {"map": flat}, orders=2, seed=seed).first["map"] for seed in (0, 1)]
    assert not torch.equal(*by_seed)
    again = removal(case, {"map": flat}, orders=2, seed=0).first["map"]
    assert torch.equal(by_seed[0], again)


def test_orders_are_drawn_with_the_seed_and_a_map_has_the_same_whatever_stands_beside() -> None:
    changes = [{"kind": "remove", "patches": [2, 3]}]
    case = analyze(tiny("cls"), photo(), interventions=changes).case("grad_cam")
    halves = (torch.arange(16) < 8).float()
    chance = Chance(3, "orders")
    ties, one, other = (chance.permutation(14) for _ in range(3))
    alone = plan_of(case, {"halves": halves}, orders=4, seed=3).ways
    assert torch.equal(alone[4:], torch.stack([one, other, one.flip(0), other.flip(0)]))
    upper = [int(place) for place in ties if place < 6]  # of 14 that are left
    assert alone[1].tolist() == upper + [int(place) for place in ties if place >= 6]
    beside = plan_of(case, {"flat": torch.zeros(16), "halves": halves}, orders=2, seed=3).ways
    assert torch.equal(beside[2], alone[1])
    assert torch.equal(beside[6], one)
    with pytest.raises(SelectionError, match="seed must be a whole number"):
        plan_of(case, {}, seed=-1)


def test_saco_by_hand() -> None:
    assert saco_of([3.0, 2, 1], [0.3, 0.2, 0.1]) == 1
    assert saco_of([3.0, 2, 1], [0.1, 0.2, 0.3]) == -1
    # 3 to 2 counts 1 for, 3 to 1 counts 2 against, 2 to 1 counts 1 against: -2 of 4.
    assert saco_of([1.0, 3, 2], [0.3, 0.2, 0.1]) == pytest.approx((1 - 2 - 1) / 4)
    assert saco_of([1.0, 1], [0.5, 0.1]) == 0
    # Equal falls count for the map: 3 to 2 counts 1 for, 3 to 1 and 2 to 1 count 3 against.
    assert saco_of([3.0, 2, 1], [0.1, 0.1, 0.2]) == pytest.approx((1 - 2 - 1) / 4)
    assert saco_of([2.0, 1], [0.3, 0.3]) == 1


def test_the_maps_are_those_of_the_first_token_unless_another_is_named() -> None:
    analysis = analyze(tiny("cls"), photo())
    found, first, second = (
        analysis.fair_test("attention", steps=4, orders=2, **token).first["attention"]
        for token in ({}, {"token": 0}, {"token": 1})
    )
    assert torch.equal(found, first)
    assert not torch.allclose(found, second)


def test_what_a_fair_test_costs_by_hand() -> None:
    # Each map both ways and each random order: 2 * 3 + 20 orders of 12 steps, of half a picture.
    assert passes_of(3) == 26 * 12 / 2
    assert passes_of(1, steps=5, orders=2) == 4 * 5 / 2


def test_progress_is_told_and_a_test_can_be_called_off() -> None:
    analysis, told = analyze(tiny("cls"), photo()), []
    analysis.fair_test(
        "generic",
        steps=4,
        orders=4,
        groups=2,
        progress=lambda done, all_: told.append((done, all_)),
    )
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    with pytest.raises(CancelledError, match="cancelled"):
        analysis.fair_test("generic", cancelled=lambda: len(told) > 0)
    for wrong in ({"steps": 0}, {"orders": 0}):
        with pytest.raises(SelectionError, match="at least 1"):
            analysis.fair_test("generic", **wrong)
