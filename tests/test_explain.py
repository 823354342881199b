"""Attention and rollout as explainers: closed forms, and examples to check by hand."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.test_trace import trace_of
from vitviz import SelectionError, Trace, rollout, rollout_matrix
from vitviz.probe.explain.explainers import attention, rollouts


def made_trace(depth: int, heads: int, tokens: int, q: torch.Tensor | None = None) -> Trace:
    """A trace with head_dim 1; with q and k of zeros, attention is uniform."""
    k = torch.zeros(depth, heads, tokens, 1)
    q = torch.zeros(depth, heads, tokens, 1) if q is None else q
    return Trace(
        q=q, k=k, tokens=torch.zeros(depth + 1, tokens, heads), logits=torch.zeros(2), scale=1.0
    )


def all_look_at(token: int, depth: int, heads: int, tokens: int) -> Trace:
    trace = made_trace(depth, heads, tokens, torch.ones(depth, heads, tokens, 1))
    trace.k[:, :, token] = 200.0  # after the softmax: 1 for this key, 0 for the others
    return trace


def test_rollout_of_uniform_attention_has_a_closed_form() -> None:
    tokens, depth = 197, 12
    trace = made_trace(depth, 3, tokens)
    expected = 0.5**depth * torch.eye(tokens) + (1 - 0.5**depth) / tokens
    assert_close(rollout_matrix(trace), expected)
    row = rollout(trace, 0)
    assert row[0].item() == pytest.approx(0.005319, abs=1e-6)
    assert row[1].item() == pytest.approx(0.00507490, abs=1e-7)


def test_rollout_that_a_reader_can_check() -> None:
    """Two layers in which every token looks only at token 1: half stays, then half of that."""
    trace = all_look_at(1, depth=2, heads=2, tokens=3)
    assert_close(rollout(trace, 0), torch.tensor([0.25, 0.75, 0.0]))
    assert_close(rollout(trace, 1), torch.tensor([0.0, 1.0, 0.0]))
    assert_close(rollout(trace, 0, residual=0.0), torch.tensor([0.0, 1.0, 0.0]))
    assert_close(rollout(trace, 0, residual=1.0), torch.tensor([1.0, 0.0, 0.0]))
    assert_close(rollout(trace, 0, first=1), torch.tensor([0.5, 0.5, 0.0]))
    assert_close(rollout(trace, 0, last=0), torch.tensor([0.5, 0.5, 0.0]))


@pytest.mark.parametrize("head_fusion", ["mean", "max", "min"])
@pytest.mark.parametrize("name", ["cls", "registers"])
def test_rollout_is_the_product_of_the_layers(name: str, head_fusion: str) -> None:
    trace = trace_of(name)
    expected = torch.eye(trace.num_tokens)
    for layer in range(1, trace.depth):
        maps = trace.attention(layer)
        fused = {"mean": maps.mean(0), "max": maps.max(0).values, "min": maps.min(0).values}[
            head_fusion
        ]
        mixed = 0.3 * torch.eye(trace.num_tokens) + 0.7 * fused
        expected = (mixed / mixed.sum(1, keepdim=True)) @ expected
    options = {"head_fusion": head_fusion, "residual": 0.3, "first": 1}
    assert_close(rollout_matrix(trace, **options), expected)
    assert_close(rollout_matrix(trace, **options).sum(1), torch.ones(trace.num_tokens))
    for query in (0, 3):
        assert_close(rollout(trace, query, **options), expected[query])


def test_rollouts_are_those_after_each_layer() -> None:
    trace = trace_of("registers")
    for query in (0, 3):
        rows = rollouts(trace, query)
        for layer in range(trace.depth):
            assert_close(rows[layer], rollout(trace, query, last=layer))
    with pytest.raises(SelectionError, match="token"):
        rollouts(trace, trace.num_tokens)


def test_the_order_of_layers_matters_and_of_heads_does_not() -> None:
    trace = trace_of("cls")
    flipped = Trace(trace.q.flip(0), trace.k.flip(0), trace.tokens, trace.logits, trace.scale)
    swapped = Trace(trace.q.flip(1), trace.k.flip(1), trace.tokens, trace.logits, trace.scale)
    assert_close(rollout(swapped, 0), rollout(trace, 0))
    assert not torch.allclose(rollout(flipped, 0), rollout(trace, 0), atol=1e-3)


def test_rollout_of_heads_that_agree_on_nothing_stays_where_it_is() -> None:
    trace = all_look_at(1, depth=1, heads=2, tokens=3)
    trace.k[:, 1] = trace.k[:, 1].roll(1, dims=1)  # the second head looks at token 2 only
    assert_close(trace.attention(0).amin(dim=0), torch.zeros(3, 3))
    row = rollout(trace, 0, head_fusion="min", residual=0.0)
    assert_close(row, torch.tensor([1.0, 0.0, 0.0]))


def test_raw_attention_is_the_row_of_the_map() -> None:
    trace = trace_of("cls")
    assert_close(attention(trace, 4, layer=1, head=1), trace.attention(1)[1, 4])
    assert_close(attention(trace, 4), trace.attention(2)[:, 4].mean(0))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"head_fusion": "median"}, "head_fusion must be"),
        ({"residual": 1.5}, "residual must be from 0 to 1, got 1.5"),
        ({"first": 2, "last": 1}, "first layer 2 comes after the last layer 1"),
        ({"last": 3}, "layer must be a whole number from 0 to 2, got 3"),
    ],
)
def test_options_that_do_not_exist_are_refused(wrong: dict, sentence: str) -> None:
    with pytest.raises(SelectionError, match=sentence):
        rollout(trace_of("cls"), 0, **wrong)


@pytest.mark.parametrize(
    "residual",
    [
        *(torch.tensor([0.5, 0.5]), np.array([0.5, 0.5]), "0.5", None, 1.1, float("nan"), 1j),
        pytest.param(10**400, id="400 digits"),
    ],
)
def test_a_residual_is_one_number_from_0_to_1(residual: object) -> None:
    with pytest.raises(SelectionError, match="residual must be from 0 to 1"):
        rollout(trace_of("cls"), 0, residual=residual)


@pytest.mark.parametrize("residual", [torch.tensor(0.25), torch.tensor([0.25]), np.float32(0.25)])
def test_a_residual_is_a_number_of_any_kind(residual: object) -> None:
    trace = trace_of("cls")
    assert torch.equal(rollout(trace, 0, residual=residual), rollout(trace, 0, residual=0.25))
