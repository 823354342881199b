"""Entropy and attention distance of heads: by hand, against plain loops, and at their limits."""

import math
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.models import TINY, photo, tiny
from vitviz import analyze
from vitviz.probe.capture.cuts import Cuts
from vitviz.probe.capture.grid import PatchGrid
from vitviz.probe.capture.trace import Trace
from vitviz.probe.measure.heads import distances, head_statistics

GRID = PatchGrid(image_size=(8, 24), patch_size=(4, 8), num_prefix_tokens=1)  # 2 x 3 patches


def trace(q: torch.Tensor, k: torch.Tensor) -> Trace:
    return Trace(q, k, tokens=torch.empty(0), logits=torch.empty(0), scale=1.0)


def test_distances_of_a_grid_that_a_reader_can_check() -> None:
    away = distances(GRID)
    assert away[0].tolist() == [0, 8, 16, 4, pytest.approx(80**0.5), pytest.approx(272**0.5)]
    assert_close(away, away.T)


def test_a_head_that_looks_everywhere_alike() -> None:
    nothing = torch.zeros(1, 1, 7, 2)
    found = head_statistics(trace(nothing, nothing), GRID)
    assert_close(found.entropy, torch.full((1, 1), math.log(7)))
    assert_close(found.distance, distances(GRID).mean().reshape(1, 1))


def test_a_head_that_looks_at_itself_and_one_that_looks_at_cls() -> None:
    own = 100 * torch.eye(7).reshape(1, 1, 7, 7)
    found = head_statistics(trace(own, own), GRID)
    assert_close(found.entropy, torch.zeros(1, 1))
    assert_close(found.distance, torch.zeros(1, 1))
    to_cls = torch.zeros(1, 1, 7, 7)
    to_cls[..., 0] = 1000
    nowhere = head_statistics(trace(torch.ones(1, 1, 7, 7), to_cls.mT.contiguous()), GRID)
    assert_close(nowhere.distance, torch.zeros(1, 1))  # and not NaN


def test_patches_that_were_taken_out_do_not_count() -> None:
    """Patches 0 and 5 of six are gone; CLS and the other four look at these five alike."""
    nothing = torch.zeros(1, 2, 7, 2)
    removed = torch.tensor([False, True, False, False, False, False, True])
    found = head_statistics(replace(trace(nothing, nothing), cuts=Cuts(removed, (), 2)), GRID)
    assert_close(found.entropy, torch.full((1, 2), math.log(5)))
    # The upper row holds 1 and 2, the lower one 3 and 4; patches are 4 high and 8 wide. Of the 16
    # pairs of a patch and where it looks, four are a patch and itself.
    one_way = 8 + 80**0.5 + 4 + 272**0.5 + 80**0.5 + 8  # 1-2, 1-3, 1-4, 2-3, 2-4, 3-4
    assert_close(found.distance, torch.full((1, 2), 2 * one_way / 16))


@pytest.mark.parametrize("name", TINY)
def test_the_same_as_loops_over_rows_that_sum_to_one(name: str) -> None:
    analysis = analyze(tiny(name), photo())
    trace, grid = analysis.trace, analysis.grid
    found = analysis.head_statistics()
    assert found.entropy.shape == found.distance.shape == (trace.depth, trace.num_heads)
    for layer in range(trace.depth):
        for head, rows in enumerate(trace.attention(layer)):
            entropy = torch.distributions.Categorical(probs=rows).entropy().mean()
            assert_close(found.entropy[layer, head], entropy, rtol=1e-4, atol=1e-5)
            means = []
            for token in range(grid.num_prefix_tokens, grid.num_tokens):
                top, left, *_ = grid.box(token)
                row = (
                    rows[token, grid.num_prefix_tokens :]
                    / rows[token, grid.num_prefix_tokens :].sum()
                )
                boxes = [
                    grid.box(other) for other in range(grid.num_prefix_tokens, grid.num_tokens)
                ]
                means.append(
                    sum(
                        float(share) * math.hypot(box[0] - top, box[1] - left)
                        for share, box in zip(row, boxes, strict=True)
                    )
                )
            assert float(found.distance[layer, head]) == pytest.approx(
                sum(means) / len(means), rel=1e-4
            )


def test_nothing_of_the_trace_is_changed() -> None:
    analysis = analyze(tiny("registers"), photo())
    q, k = analysis.trace.q.clone(), analysis.trace.k.clone()
    analysis.head_statistics()
    assert_close(analysis.trace.q, q, rtol=0, atol=0)
    assert_close(analysis.trace.k, k, rtol=0, atol=0)
