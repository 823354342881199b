"""One attention value taken apart: by hand, and against the map it comes from."""

import math

import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, tiny
from vitviz import SelectionError, analyze
from vitviz.probe.capture.score import scores
from vitviz.probe.capture.trace import Trace
from vitviz.probe.measure.pairs import pair


def test_a_sum_for_the_board() -> None:
    q = torch.tensor([[1.0, 2.0], [0.0, 0.0]]).reshape(1, 1, 2, 2)
    k = torch.tensor([[3.0, -1.0], [1.0, 1.0]]).reshape(1, 1, 2, 2)
    found = pair(Trace(q, k, torch.empty(0), torch.empty(0), scale=0.5), 0, 0, query=0, key=1)
    assert found.products.tolist() == [1, 2]
    assert (found.sum, found.score) == (3, 1.5)
    assert found.scores.tolist() == [0.5, 1.5]
    assert found.share == pytest.approx(math.exp(1.5) / (math.exp(0.5) + math.exp(1.5)))


def test_scores_with_a_bias_and_a_cut_edge_by_hand() -> None:
    q = torch.tensor([[[1.0, 2.0], [0.0, 1.0]]])
    k = torch.tensor([[[3.0, -1.0], [1.0, 1.0], [0.0, 2.0]]])
    assert scores(q, k, 0.5).tolist() == [[[0.5, 1.5, 2.0], [-0.5, 0.5, 1.0]]]
    bias = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    assert scores(q, k, 0.5, bias).tolist() == [[[0.5, 2.5, 4.0], [2.5, 0.5, 1.0]]]
    cut = torch.tensor([[True, False, False], [False, False, True]])
    inf = math.inf
    assert scores(q, k, 0.5, bias, cut).tolist() == [[[-inf, 2.5, 4.0], [2.5, 0.5, -inf]]]
    assert bias.isfinite().all()  # what was given is not written into


def test_a_cut_pair_keeps_its_score_and_has_no_share() -> None:
    changes = [{"kind": "cut", "edges": [[2, 5]], "layers": [1], "heads": [1]}]
    trace = analyze(tiny("cls"), photo(), interventions=changes).trace
    found = pair(trace, 1, 1, query=2, key=5)
    assert found.share == 0
    assert found.score == pytest.approx(found.scale * found.sum, rel=1e-4)
    others = torch.arange(trace.num_tokens) != 5
    assert_close(found.attention[others], found.scores[others].softmax(dim=-1))
    assert_close(found.attention, trace.attention_of(1, 1)[2])


@pytest.mark.parametrize("name", TINY)
def test_it_is_the_number_of_the_map(name: str) -> None:
    trace = analyze(tiny(name), photo()).trace
    layer, head, query, key = trace.depth - 1, 1, 2, trace.num_tokens - 1
    found = pair(trace, layer, head, query, key)
    row = trace.attention(layer)[head, query]
    assert_close(found.attention, row)
    assert found.share == pytest.approx(float(row[key]), rel=1e-4)
    assert found.sum == pytest.approx(float(found.q @ found.k), rel=1e-4, abs=1e-5)
    added = found.scale * found.sum + found.bias
    assert found.score == pytest.approx(added, rel=1e-4, abs=1e-5)
    assert bool(found.bias) == (name == "relative")


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ((3, 0, 0, 0), "layer must be"),
        ((0, 2, 0, 0), "head must be"),
        ((0, 0, 17, 0), "token must be"),
        ((0, 0, 0, -18), "token must be"),
    ],
)
def test_what_is_not_there_is_refused(selection: tuple, sentence: str) -> None:
    with pytest.raises(SelectionError, match=sentence):
        pair(analyze(tiny("cls"), photo()).trace, *selection)
