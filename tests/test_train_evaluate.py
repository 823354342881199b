"""Scores: each number is one that can be worked out by hand."""

import math
import time

import pytest
import torch
import torch.nn.functional as F

from tests.models import TINY, spread
from vitviz.model.vit import ViT
from vitviz.probe.grid import PatchGrid
from vitviz.train.dataset import Pictures
from vitviz.train.evaluate import (
    attention_in_boxes,
    box_cover,
    calibration_error,
    centre_map,
    fit_temperature,
    hits,
    logits_of,
    score,
)
from vitviz.train.precision import bfloat16_is_slow, precision

CPU = torch.device("cpu")


def test_accuracies_and_groups():
    logits = torch.zeros(4, 6)
    logits[0, [0, 1, 5]] = torch.tensor([5.0, 3, 3])  # right, as class and (not by logits) as group
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


def test_attention_stays_in_float32_while_the_linear_layers_are_rounded():
    q = torch.randn(1, 2, 9, 4)
    with precision("bfloat16", CPU):
        attended = F.scaled_dot_product_attention(q, q, q)
        projected = F.linear(q, torch.eye(4))
    assert attended.dtype == torch.float32
    torch.testing.assert_close(attended, F.scaled_dot_product_attention(q, q, q))
    assert projected.dtype == torch.bfloat16
    with precision("float32", CPU):
        assert F.linear(q, torch.eye(4)).dtype == torch.float32


def test_a_box_covers_patches_with_its_last_pixels():
    grid = PatchGrid((8, 12), (4, 4), 1)  # two rows, three cols
    expected = torch.tensor([[0, 0.5, 0.5], [0, 0.25, 0.25]])
    # left 4, right 11: two whole patches wide; top 2, bottom 4: half of a patch and one line
    assert torch.equal(box_cover(grid, torch.tensor([4, 2, 11, 4])), expected)
    assert box_cover(grid, torch.tensor([0, 0, 11, 7])).min() == 1


def test_energy_and_pointing_by_hand():
    inside = torch.tensor([[[1.0, 0], [0, 0]]])  # a quarter of the picture
    all_in = torch.tensor([[[5.0, 0], [0, 0]]])
    half_in = torch.tensor([[[1.0, 0], [1.0, 0]]])
    assert hits(all_in, inside) == {"energy": 4, "pointing": 1}
    assert hits(half_in, inside) == {"energy": 2, "pointing": 0.5}  # two largest share the point
    assert hits(torch.ones(1, 2, 2), inside) == {"energy": 1, "pointing": 0.25}


def test_the_centre_map_is_symmetric_and_falls_as_a_gaussian():
    centre = centre_map(PatchGrid((8, 12), (1, 1), 0))
    assert centre.shape == (8, 12)
    torch.testing.assert_close(centre, centre.flip(0))
    torch.testing.assert_close(centre, centre.flip(1))
    # From the middle to the edge it is two standard deviations.
    ratio = math.exp(-((3.5 / 8) ** 2 - (0.5 / 8) ** 2) / (2 * 0.25**2))
    assert centre[0, 5] / centre[3, 5] == pytest.approx(ratio)


def test_a_model_that_looks_at_one_patch_points_into_its_box():
    config = TINY["cls"]  # 4 x 4 patches of 8 pixels
    vit = spread(ViT(config)).eval()
    images = torch.randint(0, 256, (6, 3, 32, 32), dtype=torch.uint8)
    boxes = torch.tensor(
        [[0, 0, 15, 15], [8, 8, 31, 15], [0, 0, 31, 31], [0, 16, 7, 31]] + [[0, 0, 7, 7]] * 2
    )
    pictures = Pictures("x", images, torch.zeros(6, dtype=torch.long), ("a",) * 7, boxes=boxes)
    got = attention_in_boxes(vit, pictures, (0.5,) * 3, (0.5,) * 3)
    assert list(got) == ["uniform", "centre", "attention", "rollout"]
    assert got["uniform"]["energy"] == pytest.approx(1)
    # The third box is the whole picture and is not asked; five are left: 4, 3, 2, 1 and 1 of 16.
    assert got["uniform"]["pointing"] == pytest.approx((4 + 3 + 2 + 1 + 1) / 16 / 5)
    assert all(hit["energy"] > 0 and 0 <= hit["pointing"] <= 1 for hit in got.values())


@pytest.mark.parametrize(("factor", "slow"), [(3, True), (0.3, False)])
def test_a_stopwatch_decides_whether_bfloat16_is_slow(monkeypatch, factor, slow):
    clock = 0.0

    def linear(x, _weight):
        nonlocal clock
        clock += factor if x.dtype == torch.bfloat16 else 1

    monkeypatch.setattr(F, "linear", linear)
    monkeypatch.setattr(time, "perf_counter", lambda: clock)
    assert bfloat16_is_slow() is slow
