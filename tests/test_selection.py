"""A layer, a head, a token: whole numbers out of Python, numpy and torch are the same thing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests import viewer_fixture
from tests.models import tiny
from vitviz import Analysis, SelectionError, compare, draw
from vitviz.probe.capture.selection import choose, count_of
from vitviz.probe.explain import explainers
from vitviz.probe.measure import features
from vitviz.probe.measure.pairs import pair

MAKERS = [np.int64, np.uint8, np.array, torch.tensor, lambda n: torch.arange(n + 1)[n]]
NO_NUMBERS = [True, 1.0, "1", None, np.True_, np.float32(1), torch.tensor(True), torch.tensor(1.0)]

# What is asked of an analysis by number; `n` makes the numbers.
QUESTIONS: dict[str, Callable[[Analysis, Callable[[int], Any]], Any]] = {
    "attention": lambda a, n: a.attention(n(1), n(1), n(6), "to"),
    "attention_of_heads": lambda a, n: a.attention_of_heads(n(1), n(6)),
    "attention_matrix": lambda a, n: a.attention_matrix(n(1), n(1)),
    "rollout": lambda a, n: a.rollout(n(6), n(2), first=n(1)),
    "position_similarity": lambda a, n: a.position_similarity(n(6)),
    "predictions": lambda a, n: [each.logit for each in a.predictions(n(2))],
    "lens_lines": lambda a, n: [each.index for each in a.lens_lines(n(2))],
    "explainers.attention": lambda a, n: explainers.attention(a.trace, n(6), layer=n(1), head=n(1)),
    "explainers.rollout_matrix": lambda a, n: explainers.rollout_matrix(a.trace, last=n(1)),
    "trace.attention": lambda a, n: a.trace.attention(n(1)),
    "trace.attention_of": lambda a, n: a.trace.attention_of(n(1), n(1)),
    "trace.rounded": lambda a, n: a.trace.rounded(n(1)).q,
    "features": lambda a, n: features.similarity(features.tokens_after(a.trace, n(1)), n(6)),
    "pair": lambda a, n: pair(a.trace, n(1), n(1), n(6), n(7)).scores,
    "grid.box": lambda a, n: a.grid.box(n(6)),
    "grid.patch": lambda a, n: a.grid.patch(a.pixels[0], n(6)),
    "grid.row_col": lambda a, n: a.grid.row_col(n(6)),
    "grid.token": lambda a, n: a.grid.token(n(1), n(2)),
    "grid.is_patch": lambda a, n: a.grid.is_patch(n(6)),
}
FIGURES: dict[str, Callable[[Analysis, Callable[[int], Any]], Any]] = {
    "attention": lambda a, n: draw.attention(a, n(1), n(1), n(6)),
    "features": lambda a, n: draw.features(a, n(1), n(6)),
    "head_statistics": lambda a, n: draw.head_statistics(a, n(1), n(1)),
    "heads": lambda a, n: draw.heads(a, n(1), n(6)),
    "matrix": lambda a, n: draw.matrix(a, n(1), n(1)),
    "pair": lambda a, n: draw.pair(a, n(1), n(1), n(6), n(7)),
    "patch": lambda a, n: draw.patch(a, n(6)),
    "position_similarity": lambda a, n: draw.position_similarity(a, n(6)),
    "predictions": lambda a, n: draw.predictions(a, n(2)),
    "rollout": lambda a, n: draw.rollout(a, n(6), first=n(1)),
    "wall": lambda a, n: draw.wall(a, n(6)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_kind_of_whole_number_asks_the_same(
    name, tiny_analysis: Analysis, subtests: pytest.Subtests
) -> None:
    expected = QUESTIONS[name](tiny_analysis, int)
    for make in MAKERS:
        with subtests.test(made=make(1), by=make):
            found = QUESTIONS[name](tiny_analysis, make)
            if isinstance(expected, torch.Tensor):
                assert torch.equal(found, expected)
            else:
                assert found == expected
                assert type(found) is type(expected)
                assert not isinstance(found, tuple) or set(map(type, found)) == {int}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_no_whole_number_is_refused(
    name, tiny_analysis: Analysis, subtests: pytest.Subtests
) -> None:
    # None is allowed there: the mean of the heads, or the last layer
    both = (
        "attention",
        "attention_matrix",
        "explainers.attention",
        "rollout",
        "explainers.rollout_matrix",
    )
    for wrong in NO_NUMBERS:
        if wrong is None and name in both:
            continue
        with subtests.test(wrong=wrong), pytest.raises(SelectionError):
            QUESTIONS[name](tiny_analysis, lambda _, wrong=wrong: wrong)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_take_every_kind_of_whole_number(name, tiny_analysis: Analysis) -> None:
    def texts(figure: Any) -> list[str]:
        return [text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text"))]

    expected = texts(FIGURES[name](tiny_analysis, int))
    for make in (np.uint8, torch.tensor):
        assert texts(FIGURES[name](tiny_analysis, make)) == expected


COUNTS = {"layer": 3, "head": 2, "token": 17}  # of the tiny model "cls"
FROM_THE_END: dict[str, Callable[[Analysis, int, int, int], Any]] = {
    "attention": lambda a, layer, head, token: a.attention(layer, head, token, "to"),
    "attention_matrix": lambda a, layer, head, _: a.attention_matrix(layer, head),
    "rollout": lambda a, layer, _, token: a.rollout(token, layer),
    "explain attention": lambda a, layer, head, token: a.explain(
        "attention", token, layer=layer, head=head
    ),
    "explain generic": lambda a, _, __, token: a.explain("generic", token),
    "explain grad_cam": lambda a, layer, *_: a.explain("grad_cam", layer=layer),
    "mix": lambda a, layer, head, token: a.mix(layer, head, token).added,
    "position_similarity": lambda a, _, __, token: a.position_similarity(token),
    "features": lambda a, layer, _, token: features.similarity(
        features.tokens_after(a.trace, layer), token
    ),
    "pair": lambda a, layer, head, token: pair(a.trace, layer, head, token, token).scores,
    "trace.attention_from": lambda a, layer, _, token: a.trace.attention_from(layer, token),
    "trace.rounded": lambda a, layer, *_: a.trace.rounded(layer).q,
    "grid.row_col": lambda a, _, __, token: a.grid.row_col(token),
    "compare": lambda a, layer, head, token: compare(a, a).attention(layer, head, token).first,
}


@pytest.mark.parametrize("name", FROM_THE_END)
def test_negative_numbers_count_from_the_end_as_in_numpy(name: str, tiny_analysis) -> None:
    ask = FROM_THE_END[name]
    for layer, head, token in ((2, 1, 16), (0, 0, 1)):
        expected = ask(tiny_analysis, layer, head, token)
        found = ask(tiny_analysis, layer - 3, head - 2, token - 17)
        assert torch.equal(torch.as_tensor(found), torch.as_tensor(expected))
    if name != "explain grad_cam":  # which takes no token, and a layer alone
        with pytest.raises(SelectionError, match="must be a whole number from 0 to"):
            ask(tiny_analysis, -4, -3, -18)


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "predictions"])
def test_figures_name_what_negative_numbers_stand_for(name: str, tiny_analysis) -> None:
    def texts(make: Callable[[int], int]) -> list[str]:
        figure = FIGURES[name](tiny_analysis, make)
        return [text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text"))]

    # Layer, first and head 1 are -2 and -1; which of them is meant depends on the place.
    negative = {1: -2 if name in ("features", "rollout", "heads") else -1, 6: -11, 7: -10}
    if name in ("attention", "head_statistics", "matrix", "pair"):
        calls = iter(["layer", "head", "token", "token"])
        found = texts(lambda n: n - COUNTS[next(calls)])
    else:
        found = texts(lambda n: negative[n])
    assert found == texts(int)


def test_the_figure_of_a_training_does_too(tmp_path) -> None:
    film, card = viewer_fixture.film(tmp_path / "x.film.safetensors"), tiny("cls").card
    draw.training(film, card, np.int64(1), torch.tensor(1))


def test_the_sentence_says_what_came() -> None:
    assert choose("layer", np.int32(2), 3) == 2
    assert count_of(torch.tensor(4)) == 4
    with pytest.raises(SelectionError, match="layer must be a whole number from 0 to 2, got -1"):
        choose("layer", -1, 3)
    with pytest.raises(SelectionError, match="k must be a whole number of at least 1, got 0"):
        count_of(0)
