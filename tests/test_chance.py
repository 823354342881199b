"""Chance: known answers of its paper's authors, draws by hand, counts as they must be."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.chance_fixture import KNOWN, draws
from tests.viewer_fixture import FOLDER
from vitviz import SelectionError
from vitviz.probe.intervene.chance import USES, WORDS, Chance, philox


@pytest.mark.parametrize("known", KNOWN)
def test_philox_gives_the_known_answers_of_its_authors(known: tuple[str, str, str]) -> None:
    counter, key, words = ([int(one, 16) for one in part.split()] for part in known)
    # The same counter twice, beside another one.
    counters = np.array([counter, [1, 2, 3, 4], counter], dtype=np.uint64).T
    found = philox(counters, tuple(key))
    assert found[:, 0].tolist() == found[:, 2].tolist() == words
    assert found[:, 1].tolist() != words


def test_words_are_those_of_one_counter_after_the_other_however_many_are_asked_for() -> None:
    key = (5, USES.index("noise"))
    blocks = [philox(np.array([[at], [0], [0], [0]], dtype=np.uint64), key) for at in range(4)]
    wanted = np.concatenate(blocks).ravel().tolist()
    assert Chance(5, "noise").integers(16).tolist() == wanted
    chance = Chance(5, "noise")
    pieces = [chance.integers(count) for count in (1, 0, 2, 1, 3, 0, 5, 4)]
    assert np.concatenate(pieces).tolist() == wanted


def test_a_word_that_would_make_small_remainders_likelier_is_drawn_again() -> None:
    bounds, words = [3 * 2**30] * 40, Chance(0, "noise").integers(80).tolist()
    late = [place for place in range(40) if words[place] >= bounds[0]]
    assert 3 < len(late) < 20
    more = words[40:]
    while late:
        for place in late:
            words[place] = more.pop(0)
        late = [place for place in late if words[place] >= bounds[0]]
    assert Chance(0, "noise").below(bounds).tolist() == words[:40]


def test_a_permutation_by_hand() -> None:
    fourth, third, second = Chance(3, "shuffle").below([4, 3, 2]).tolist()
    order = [0, 1, 2, 3]
    order[3], order[fourth] = order[fourth], order[3]
    order[2], order[third] = order[third], order[2]
    order[1], order[second] = order[second], order[1]
    assert Chance(3, "shuffle").permutation(4).tolist() == order
    assert [Chance(3, "shuffle").permutation(n).tolist() for n in (0, 1)] == [[], [0]]


def test_all_orders_and_all_remainders_are_equally_likely() -> None:
    chance = Chance(0, "orders")
    orders = Counter(tuple(chance.permutation(4).tolist()) for _ in range(2400))
    assert len(orders) == 24
    assert sum((count - 100) ** 2 / 100 for count in orders.values()) < 49.7  # 1 in 1,000
    dice = torch.bincount(chance.below([6] * 6000), minlength=6)
    assert float(((dice - 1000) ** 2 / 1000).sum()) < 20.5  # 1 in 1,000


def test_uniforms_and_normals_by_hand_and_their_moments() -> None:
    a, b = Chance(1, "noise").integers(2).tolist()
    assert Chance(1, "noise").uniforms(2).tolist() == [a / 2**32, b / 2**32]
    radius, angle = math.sqrt(-2 * math.log((a + 1) / 2**32)), 2 * math.pi * b / 2**32
    pair = torch.tensor([radius * math.cos(angle), radius * math.sin(angle)], dtype=torch.float64)
    assert_close(Chance(1, "noise").normals(3)[:2], pair, rtol=0, atol=1e-12)
    uniforms, normals = Chance(1, "noise").uniforms(40_000), Chance(1, "noise").normals(40_000)
    assert 0 <= float(uniforms.min()) <= float(uniforms.max()) < 1
    assert float(uniforms.mean()) == pytest.approx(0.5, abs=0.005)
    assert float(uniforms.var()) == pytest.approx(1 / 12, abs=0.002)
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert float((normals**power).mean()) == pytest.approx(moment, abs=0.12)
    assert abs(float((normals[::2] * normals[1::2]).mean())) < 0.03
    assert float((normals.abs() < 1).double().mean()) == pytest.approx(0.6827, abs=0.01)


def test_one_seed_gives_other_draws_for_every_use_and_every_other_seed() -> None:
    firsts = [tuple(Chance(seed, use).integers(2)) for use in USES for seed in (0, 1, 2, WORDS - 1)]
    assert len(set(firsts)) == len(firsts)


@pytest.mark.parametrize("seed", [-1, WORDS, 0.5, "0", True, None])
def test_a_seed_is_a_whole_number_of_32_bits(seed) -> None:
    with pytest.raises(SelectionError, match="seed must be a whole number from 0 to 4294967295"):
        Chance(seed, "shuffle")


def test_the_committed_draws_are_those_of_this_code() -> None:
    """They decide what links mean: whoever changes them changes every link with a seed."""
    kept = json.loads((FOLDER / "chance" / "draws.json").read_text("utf-8"))
    fresh = json.loads(json.dumps(draws()))
    for ours, theirs in zip(fresh["draws"], kept["draws"], strict=True):
        for name in ("normals", "more"):
            assert ours.pop(name) == pytest.approx(theirs.pop(name), rel=0, abs=1e-12)
    assert fresh == kept
