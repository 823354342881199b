"""Attention in boxes: covers and hits by hand, and a batch that gives what one picture gives."""

import math
from dataclasses import replace

import pytest
import torch

from tests.models import TINY, spread
from vitviz.model.vit import ViT
from vitviz.probe.capture.grid import PatchGrid
from vitviz.probe.capture.recorder import capture
from vitviz.probe.explain.case import Case
from vitviz.probe.explain.explainers import EXPLAINERS, centre_map
from vitviz.train.boxes import (
    attention_in_boxes,
    baselines,
    box_cover,
    hits,
    measured,
    small_boxes,
    standard_errors,
)
from vitviz.train.boxes import (
    points as points_of,
)
from vitviz.train.dataset import Pictures
from vitviz.train.scores import normalise

HALF = (0.5,) * 3


def test_a_box_covers_whole_patches_and_parts_of_them():
    grid = PatchGrid((8, 12), (4, 4), 1)  # two rows, three cols
    boxes = torch.tensor([[4.0, 2, 12, 5], [0, 0, 12, 8], [5, 1, 6, 3.5]])
    got = box_cover(grid, boxes)
    # Two whole patches wide, and half of a patch and one line high.
    assert torch.equal(got[0], torch.tensor([[0, 0.5, 0.5], [0, 0.25, 0.25]]))
    assert got[1].min() == 1
    # A box inside one patch, whose edge lies in the middle of a pixel.
    assert torch.equal(got[2], torch.tensor([[0, 2.5 / 16, 0], [0, 0, 0]]))


def test_a_cover_has_the_area_of_its_box_whatever_the_patches():
    boxes = torch.tensor([[3.0, 7, 31, 40], [0.5, 0.25, 9, 72]])
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for patch in ((6, 6), (8, 9), (72, 1)):
        cover = box_cover(PatchGrid((72, 72), patch, 1), boxes)
        torch.testing.assert_close(cover.sum((1, 2)) * patch[0] * patch[1], area)


def test_energy_and_pointing_by_hand():
    inside = torch.tensor([[[1.0, 0], [0, 0]]])  # a quarter of the picture
    all_in = torch.tensor([[[5.0, 0], [0, 0]]])
    half_in = torch.tensor([[[1.0, 0], [1.0, 0]]])
    assert hits(all_in, inside) == {"energy": 4, "pointing": 1}
    assert hits(half_in, inside) == {"energy": 2, "pointing": 0.5}  # one of two largest is inside
    assert hits(torch.zeros(1, 2, 2), inside) == {"energy": 1, "pointing": 0.25}
    assert hits(torch.ones(1, 2, 2), inside) == {"energy": 1, "pointing": 0.25}


def test_the_centre_map_is_symmetric_and_falls_as_a_gaussian():
    centre = centre_map(PatchGrid((8, 12), (1, 1), 0))
    assert centre.shape == (8, 12)
    torch.testing.assert_close(centre, centre.flip(0))
    torch.testing.assert_close(centre, centre.flip(1))
    # From the middle to the edge it is two standard deviations.
    ratio = math.exp(-((3.5 / 8) ** 2 - (0.5 / 8) ** 2) / (2 * 0.25**2))
    assert centre[0, 5] / centre[3, 5] == pytest.approx(ratio)


def test_baselines_are_no_better_than_chance_but_the_centre_for_what_is_there():
    grid = PatchGrid((32, 32), (8, 8), 1)
    maps = baselines(grid, 3000)
    assert torch.equal(maps["random"], baselines(grid, 3000)["random"])
    corner, middle = (
        box_cover(grid, torch.tensor([box]).float()).expand(3000, -1, -1)
        for box in ([0, 0, 16, 16], [8, 8, 24, 24])
    )
    for inside in (corner, middle):
        for name in ("uniform", "random"):
            found = hits(maps[name], inside)
            assert found["energy"] == pytest.approx(1, abs=0.03)
            assert found["pointing"] == pytest.approx(0.25, abs=0.03)
    assert hits(maps["centre"], middle) == {"energy": pytest.approx(2.1, abs=0.3), "pointing": 1}
    assert hits(maps["centre"], corner)["energy"] == pytest.approx(1)


def boxed(n: int, boxes: torch.Tensor) -> Pictures:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (n, 3, 32, 32), generator=generator).to(torch.uint8)
    return Pictures("x", images, torch.zeros(n, dtype=torch.long), ("a",) * 7, boxes=boxes)


def test_only_pictures_with_a_small_box_are_asked():
    boxes = torch.tensor([[0.0, 0, 16, 16], [0, 0, 32, 32], [5, 5, 5, 9], [0, 0, 24, 24]])
    assert small_boxes(boxed(4, boxes)).tolist() == [0, 3]
    assert small_boxes(boxed(4, None)).tolist() == []
    assert attention_in_boxes(spread(ViT(TINY["cls"])), boxed(1, boxes[1:2]), HALF, HALF) == {}


def test_a_batch_finds_what_every_picture_alone_finds():
    vit = spread(ViT(TINY["cls"])).eval()  # 4 x 4 patches of 8 pixels
    boxes = [[0, 0, 16, 16], [8, 8, 32, 16], [0, 0, 32, 32], [0, 16, 8, 32], [0, 0, 8, 8]]
    pictures = boxed(5, torch.tensor(boxes).float())
    got = attention_in_boxes(vit, pictures, HALF, HALF, batch_size=3)
    assert list(got) == ["uniform", "random", "centre", *(one.key for one in measured(vit.config))]
    cheap = {key for key, one in EXPLAINERS.items() if "passes" not in one.needs}
    assert {*got} == {"uniform", *cheap}
    assert got["uniform"]["energy"] == pytest.approx(1)
    # The third box is the whole picture and is left out; the others cover 4, 3, 2 and 1 of 16.
    assert got["uniform"]["pointing"] == pytest.approx((4 + 3 + 2 + 1) / 16 / 4)

    grid = PatchGrid.of(vit.config)
    for explainer in measured(vit.config):
        name, energies, points = explainer.key, [], []
        for i in (0, 1, 3, 4):
            pixels = normalise(pictures.images[i : i + 1] / 255, HALF, HALF)
            with capture(vit, target="answer") as recorder:
                trace = recorder.trace(vit(pixels))
            case = Case(trace=trace, grid=grid, pixels=pixels[0], vit=vit, target=trace.target)
            map = grid.to_map(explainer(case)).relu()
            inside = box_cover(grid, pictures.boxes[i : i + 1])[0]
            if not map.any():
                map = torch.ones_like(map)
            energies.append((map * inside).sum() / map.sum() / inside.mean())
            largest = map == map.max()
            points.append(((inside > 0.5) & largest).sum() / largest.sum())
        assert got[name]["energy"] == pytest.approx(sum(energies).item() / 4, rel=1e-4)
        assert got[name]["pointing"] == pytest.approx(sum(points).item() / 4)
        guesses = points_of(
            centre_map(grid).expand(4, -1, -1), box_cover(grid, pictures.boxes[[0, 1, 3, 4]])
        )
        gap = torch.stack(points).double() - guesses
        ahead = gap.mean() / (gap.std() / 2) if gap.std() > 0 else 0
        assert got[name]["ahead"] == pytest.approx(float(ahead))


def test_an_explainer_that_the_model_has_not_is_left_out():
    vit = spread(ViT(replace(TINY["cls"], attn_norm=True))).eval()
    got = attention_in_boxes(vit, boxed(1, torch.tensor([[0.0, 0, 16, 16]])), HALF, HALF)
    assert "attention" in got
    assert "attention_norm" not in got


def test_being_ahead_is_counted_in_standard_errors():
    # (0.5² x 4) / 3 is the variance, and four of them have a standard error of half its root.
    assert standard_errors(torch.tensor([1.0, 0, 0, 1])) == pytest.approx(3**0.5)
    assert standard_errors(torch.tensor([-1.0, 0, 0, -1])) == pytest.approx(-(3**0.5))
    assert standard_errors(torch.ones(1)) == 0
    assert standard_errors(torch.zeros(3)) == 0
