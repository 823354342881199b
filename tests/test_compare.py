"""Two analyses on the same selection: what differs is the difference of their own numbers."""

import pytest
import torch

import vitviz
from tests.models import photo, tiny
from vitviz import Analysis, SelectionError, analyze
from vitviz.probe.measure import features


@pytest.fixture(scope="module")
def cls() -> Analysis:
    return analyze(tiny("cls"), photo())


@pytest.fixture(scope="module")
def other() -> Analysis:
    return analyze(tiny("cls"), photo(90, 50))


def test_maps_of_equal_grids_and_their_difference(cls, other):
    both = vitviz.compare(cls, other)
    assert both.same_grid
    maps = both.attention(1, 0, token=6, direction="to")
    assert torch.equal(maps.first, cls.attention(1, 0, 6, "to"))
    assert torch.equal(maps.second, other.attention(1, 0, 6, "to"))
    assert torch.equal(maps.difference, maps.first - maps.second)
    options = {"head_fusion": "max", "residual": 0.3, "first": 1}
    rolled = both.rollout(3, 2, **options)
    assert torch.equal(
        rolled.difference, cls.rollout(3, 2, **options) - other.rollout(3, 2, **options)
    )
    assert rolled.common == pytest.approx(1 - float(rolled.difference.abs().sum()) / 2, abs=1e-6)
    assert 0 < rolled.common < 1
    assert not both.position_similarity(4).difference.any()  # the same model has the same positions
    after = both.feature_similarity(0, 5)
    expected = features.similarity(features.tokens_after(other.trace, 0), 5)
    assert torch.equal(after.second, expected)


def test_an_analysis_beside_itself_differs_in_nothing(cls):
    both = vitviz.compare(cls, cls)
    maps = both.rollout()
    assert not maps.difference.any()
    assert maps.common == pytest.approx(1, abs=1e-6)
    assert all(one.first == one.second for one in both.answers())


def test_on_another_grid_a_patch_stays_at_its_place(cls):
    finer = analyze(tiny("registers"), photo())
    both = vitviz.compare(cls, finer)
    assert not both.same_grid
    for token in range(cls.grid.num_prefix_tokens, cls.grid.num_tokens):
        row, col = cls.grid.row_col(token)
        there = finer.grid.row_col(both.carried(token))
        middle = [(row + 0.5) / cls.grid.rows, (col + 0.5) / cls.grid.cols]
        assert there == (int(middle[0] * finer.grid.rows), int(middle[1] * finer.grid.cols))
    maps = both.attention(1, 0, token=6)
    assert torch.equal(maps.second, finer.attention(1, 0, both.carried(6)))
    for what in ("difference", "common"):
        with pytest.raises(SelectionError, match="only maps of equal grids"):
            getattr(maps, what)


def test_the_answers_of_both_by_the_names_of_classes(cls, other):
    found = vitviz.compare(cls, other).answers(2)
    tops = [one.label for of in (cls, other) for one in of.predictions(2)]
    assert [one.label for one in found] == list(dict.fromkeys(tops))
    every = {one.label: one.probability for one in other.predictions(99)}
    assert [one.second for one in found] == [every[one.label] for one in found]
    strange = analyze(tiny("no_cls"), photo())
    for one in vitviz.compare(cls, strange).answers(3):
        assert (one.first is None) == (one.label not in cls.card.labels)
        assert (one.second is None) == (one.label not in strange.card.labels)


def test_what_one_of_them_has_not_is_a_sentence(cls, other):
    bare = analyze(tiny("no_cls"), photo())
    with pytest.raises(
        SelectionError, match="in the second analysis: the second model has 0 prefix"
    ):
        vitviz.compare(cls, bare).rollout(0)
    with pytest.raises(SelectionError, match=r"^token must be a whole number"):
        vitviz.compare(cls, other).rollout(99)
    with pytest.raises(SelectionError, match="first must be an Analysis, got str"):
        vitviz.compare("photo.jpg", cls)
    with pytest.raises(SelectionError, match="k must be"):
        vitviz.compare(cls, other).answers(0)
    with pytest.raises(SelectionError, match="the second model, tiny registers, names no classes"):
        vitviz.compare(cls, analyze(tiny("registers"), photo())).answers()
