"""Scores: each number is one that can be worked out by hand."""

import time

import pytest
import torch
import torch.nn.functional as F

from tests.models import TINY, spread
from vitviz.model.vit import ViT
from vitviz.train.precision import bfloat16_is_slow, precision
from vitviz.train.scores import (
    calibration_error,
    confusion,
    fit_temperature,
    logits_of,
    score,
)

CPU = torch.device("cpu")


def test_accuracies_and_groups():
    logits = torch.zeros(4, 6)
    # Right as class, and as group, whose probabilities are added; added logits would be wrong.
    logits[0, [0, 1, 5]] = torch.tensor([5.0, 3, 3])
    logits[1] = torch.tensor([6.0, 5, 4, 3, 2, 1])  # the right one is fifth
    logits[2] = torch.tensor([6.0, 5, 4, 3, 2, 1])  # the right one is sixth
    logits[3] = torch.tensor([3.0, 2.9, 0, 0, 0, 2.9])  # wrong, but the right group together wins
    targets = torch.tensor([0, 4, 5, 1])
    groups = ("a", "b", "a", "a", "a", "b")
    scores = score(logits, targets, groups)
    assert scores["top1"] == 0.25
    assert scores["top5"] == 0.75
    assert scores["group"] == 0.75  # 0: a, 4: a, 1: b are right; 5 is b, but a has more
    assert scores["nll"] == pytest.approx(F.cross_entropy(logits, targets).item())
    assert "group" not in score(logits, targets)


def test_top5_of_three_classes_is_all():
    assert score(torch.eye(3), torch.tensor([0, 1, 1]))["top5"] == 1


def test_confusion_counts_what_is_taken_for_what():
    probabilities = torch.tensor([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.1, 0.2, 0.7]])
    # An x; a y whose two kinds together exceed x; a certain y. Then the second is an x in truth.
    for targets, expected in (([0, 1, 1], [[1, 0], [0, 2]]), ([0, 0, 2], [[1, 1], [0, 1]])):
        names, counts = confusion(probabilities, torch.tensor(targets), ("x", "y", "y"))
        assert names == ("x", "y")
        assert counts.tolist() == expected


def test_calibration_error_by_hand():
    # Four answers with confidence .9, two of them right; two with .6, both right.
    probabilities = torch.tensor([[0.9, 0.1]] * 4 + [[0.6, 0.4]] * 2)
    targets = torch.tensor([0, 0, 1, 1, 0, 0])
    expected = 4 / 6 * (0.9 - 0.5) + 2 / 6 * (1 - 0.6)
    assert calibration_error(probabilities, targets) == pytest.approx(expected)
    assert calibration_error(torch.eye(3), torch.arange(3)) == 0


def test_the_temperature_undoes_overconfidence():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(20_000, 5, generator=generator)
    targets = torch.multinomial(logits.softmax(1), 1, generator=generator).view(-1)
    assert fit_temperature(logits, targets) == pytest.approx(1, abs=0.05)
    assert fit_temperature(3 * logits, targets) == pytest.approx(3, abs=0.15)
    assert fit_temperature(logits / 2, targets) == pytest.approx(0.5, abs=0.025)
    honest, loud = (score(3 * logits, targets, temperature=t) for t in (3.0, 1.0))
    assert honest["ece"] < 0.02 < 0.2 < loud["ece"]
    assert honest["top1"] == loud["top1"]


def test_logits_are_the_models_own_for_normalised_pixels():
    vit = spread(ViT(TINY["cls"], patch_keep=0.5)).train()
    images = torch.randint(0, 256, (5, 3, 32, 32), dtype=torch.uint8)
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    got = logits_of(vit, images, mean, std, batch_size=2)
    assert vit.training  # as it was
    pixels = (images / 255 - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    torch.testing.assert_close(got, vit.eval()(pixels).detach())
    close = logits_of(vit, images, mean, std, numbers="bfloat16")
    assert close.dtype == torch.float32
    assert 0 < (close - got).abs().max() < 0.2 * got.abs().max()


def test_bfloat16_rounds_attention_and_linear_layers_and_changes_nothing_else():
    q, k, v = torch.randn(3, 1, 2, 9, 4)
    bias = torch.randn(9, 9).masked_fill_(torch.eye(9).bool(), -torch.inf)
    for settings in ({}, {"scale": 0.3}, {"scale": 0.3, "attn_mask": bias}):
        exact = F.scaled_dot_product_attention(q, k, v, **settings)
        with precision("bfloat16", CPU):
            attended = F.scaled_dot_product_attention(q, k, v, **settings)
        assert attended.dtype == torch.bfloat16
        torch.testing.assert_close(attended.float(), exact, atol=0.03, rtol=0.03)
    with precision("bfloat16", CPU):
        projected = F.linear(q, torch.eye(4))
    assert projected.dtype == torch.bfloat16
    with precision("float32", CPU):
        assert F.linear(q, torch.eye(4)).dtype == torch.float32


@pytest.mark.parametrize(("factor", "slow"), [(3, True), (0.3, False)])
def test_a_stopwatch_decides_whether_bfloat16_is_slow(monkeypatch, factor, slow):
    clock = 0.0

    def linear(x, _weight):
        nonlocal clock
        clock += factor if x.dtype == torch.bfloat16 else 1

    monkeypatch.setattr(F, "linear", linear)
    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    assert bfloat16_is_slow() is slow
