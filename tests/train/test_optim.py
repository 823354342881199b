"""Optimisers and learning rates; augmentation of the pictures."""

import pytest
import torch

from vitviz.model.config import ViTConfig
from vitviz.model.vit import ViT
from vitviz.train.augment import augment, erase
from vitviz.train.mix import mix
from vitviz.train.optim import Muon, learning_rate, make_optimizers, orthogonalize
from vitviz.train.recipe import Recipe
from vitviz.train.recipes import RECIPES

STILL = Recipe(image_size=8, channels=3, patch_size=4)  # changes nothing about a picture


@pytest.mark.parametrize("shape", [(2, 8, 8), (3, 24, 6), (1, 6, 24)])
def test_orthogonalize_keeps_directions_and_evens_their_strength(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    u, s, vh = torch.linalg.svd(matrices, full_matrices=False)
    assert (s[:, 0] / s[:, -1]).min() > 1.5  # uneven before
    got = orthogonalize(matrices)
    strength = (u.mT @ got @ vh.mT).diagonal(dim1=1, dim2=2)
    assert 0.5 < strength.min() <= strength.max() < 1.3
    torch.testing.assert_close(u @ torch.diag_embed(strength) @ vh, got, atol=1e-4, rtol=0)


def test_orthogonalize_of_nothing_is_nothing():
    assert torch.equal(orthogonalize(torch.zeros(1, 3, 3)), torch.zeros(1, 3, 3))


def test_muon_takes_q_k_and_v_apart_and_equal_shapes_together():
    torch.manual_seed(0)
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.5, "dtype": torch.float32}
    qkv, one, other = (torch.nn.Parameter(torch.randn(rows, 4)) for rows in (12, 8, 8))
    before = [p.detach().clone() for p in (qkv, one, other)]
    for p in (qkv, one, other):
        p.grad = torch.randn_like(p)
    Muon([{"params": [qkv], "parts": 3}, {"params": [one, other]}], **options).step()
    # The first momentum is a tenth of the gradient; its length does not matter to orthogonalize.
    for i in range(3):
        rows = slice(4 * i, 4 * i + 4)
        step = 0.1 * orthogonalize(qkv.grad[None, rows])[0]
        torch.testing.assert_close(qkv.detach()[rows], before[0][rows] * 0.95 - step)
    for p, was in ((one, before[1]), (other, before[2])):
        step = 0.1 * 2**0.5 * orthogonalize(p.grad[None])[0]  # twice as tall as wide
        torch.testing.assert_close(p.detach(), was * 0.95 - step)


def test_muon_remembers():
    p = torch.nn.Parameter(torch.zeros(2, 2))
    muon = Muon([p], lr=1.0, momentum=0.5, weight_decay=0.0, dtype=torch.float32)
    first, second = torch.tensor([[1.0, 0], [0, 0]]), torch.tensor([[0.0, 0], [0, 1]])
    p.grad = first.clone()
    muon.step()
    before, p.grad = p.detach().clone(), second.clone()
    muon.step()
    momentum = 0.25 * first + 0.5 * second
    nesterov = 0.5 * second + 0.5 * momentum
    torch.testing.assert_close(p.detach(), before - orthogonalize(nesterov[None])[0])


def test_every_parameter_has_one_optimiser_and_only_matrices_decay():
    vit = ViT(ViTConfig(image_size=8, patch_size=4, embed_dim=8, depth=2, num_heads=2))
    names = {id(p): name for name, p in vit.named_parameters()}
    for optimizer, muons in (("adamw", 0), ("muon", 8)):
        recipe = STILL.changed({"optimizer": optimizer, "weight_decay": 0.3})
        groups = [g for o in make_optimizers(vit, recipe) for g in o.param_groups]
        found = [id(p) for group in groups for p in group["params"]]
        assert sorted(found) == sorted(names)
        assert sum(len(g["params"]) for g in groups if "momentum" in g) == muons
        for group in groups:
            for p in group["params"]:
                learned_token = names[id(p)] in ("cls_token", "pos_embed")
                assert (group["weight_decay"] > 0) == (p.ndim > 1 and not learned_token)
                assert (group.get("parts") == 3) == ("momentum" in group and "qkv" in names[id(p)])


def test_schedules():
    def rates(steps: int = 100, **changes):
        recipe = STILL.changed({"warmup": 10, "final_lr": 0.1, **changes})
        return [learning_rate(recipe, step, steps) for step in range(steps + 1)]

    for schedule in ("cosine", "stable", "constant"):
        got = rates(schedule=schedule)
        assert got[:10] == pytest.approx([i / 11 for i in range(1, 11)])
        assert got[10] == 1
    cosine, stable, constant = (rates(schedule=s) for s in ("cosine", "stable", "constant"))
    assert cosine[55] == pytest.approx(0.55)  # half-way down, between 1 and .1
    assert cosine[100] == stable[100] == pytest.approx(0.1)
    assert set(stable[10:61]) == {1}
    assert stable[80] == pytest.approx(0.55)
    assert set(constant[10:]) == {1}
    # Made longer while it is still high, a stable run has had the same rates.
    assert rates(150, schedule="stable")[:60] == stable[:60]


# --- augmentation --------------------------------------------------------------------------------


def pictures(n: int = 64, channels: int = 3, size: int = 8) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (n, channels, size, size), generator=generator).to(torch.uint8)


def test_no_augmentation_changes_nothing():
    x = pictures()
    torch.testing.assert_close(augment(x, STILL), x / 255)


@pytest.mark.parametrize("name", RECIPES)
def test_augmented_pictures_stay_in_range_and_the_originals_as_they_are(name):
    x = pictures(channels=RECIPES[name].channels)
    before = x.clone()
    torch.manual_seed(0)
    one, two = augment(x, RECIPES[name]), augment(x, RECIPES[name])
    assert torch.equal(x, before)
    assert one.shape == x.shape
    assert 0 <= one.min() <= one.max() <= 1
    if name not in ("mnist-notes", "playground"):  # these change nothing
        assert not torch.equal(one, two)


def test_flip_mirrors_about_half_of_the_pictures():
    torch.manual_seed(0)
    x = pictures(400)
    got = augment(x, STILL.changed({"flip": True}))
    same = (got - x / 255).abs().amax((1, 2, 3)) < 1e-4
    mirrored = (got - x.flip(3) / 255).abs().amax((1, 2, 3)) < 1e-4
    assert torch.equal(same, ~mirrored)
    assert 150 < same.sum() < 250


def test_a_crop_is_a_part_of_the_picture_of_at_least_the_asked_area():
    torch.manual_seed(0)
    # x and y themselves, so that a crop can be read off: its middle, and how much it spans.
    line = torch.linspace(0, 255, 64).round().to(torch.uint8)
    x = torch.stack([line.expand(64, 64), line.view(64, 1).expand(64, 64), line.expand(64, 64)])
    got = augment(x.expand(500, 3, 64, 64), STILL.changed({"crop": 0.35}))
    width = got[:, 0, 32, -2] - got[:, 0, 32, 1]
    height = got[:, 1, -2, 32] - got[:, 1, 1, 32]
    area = width * height * (63 / 61) ** 2
    assert 0.3 < area.min() < 0.45
    assert 0.9 < area.max() < 1.05
    assert got[:, 0, 32, 32].std() > 0.05  # not always the middle
    assert (got[:, 0] - got[:, 0, 32:33]).abs().max() < 0.01  # and upright


def test_a_shift_moves_whole_pictures_and_repeats_their_edge():
    torch.manual_seed(0)
    line = (10 * torch.arange(16)).to(torch.uint8)  # the value of a pixel tells its column
    x = line.expand(300, 1, 16, 16)
    got = augment(x, STILL.changed({"shift": 2.0, "channels": 1})) * 255 / 10
    moved = got[:, 0, 8, 8] - 8
    assert -2 <= moved.min() < -1.8
    assert 1.8 < moved.max() <= 2
    expected = (torch.arange(16.0) + moved[:, None]).clamp(0, 15)
    torch.testing.assert_close(got[:, 0], expected[:, None].expand(-1, 16, -1), atol=1e-3, rtol=0)


def test_grey_solarised_and_blurred_each_take_their_share():
    torch.manual_seed(0)
    x = pictures(900)
    got = augment(x, STILL.changed({"three_augment": 0.6}))
    plain = x / 255
    grey = (got - got.mean(1, keepdim=True)).abs().amax((1, 2, 3)) < 1e-4
    same = (got - plain).abs().amax((1, 2, 3)) < 1e-4
    inverted = torch.where(plain < 0.5, plain, 1 - plain)
    solarised = (got - inverted).abs().amax((1, 2, 3)) < 1e-4
    blurred = ~(grey | same | solarised)
    for kind, share in ((grey, 0.2), (solarised, 0.2), (blurred, 0.2), (same, 0.4)):
        assert kind.float().mean().item() == pytest.approx(share, abs=0.05)
    luma = torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)
    torch.testing.assert_close(got[grey][:, 0], (plain[grey] * luma).sum(1))
    assert (got[blurred].std((2, 3)) < 0.7 * plain[blurred].std((2, 3))).all()
    torch.testing.assert_close(got[blurred].mean(), plain[blurred].mean(), atol=0.01, rtol=0)


def test_colour_jitter_keeps_even_grey_even():
    torch.manual_seed(0)
    x = torch.full((100, 3, 4, 4), 100, dtype=torch.uint8)
    got = augment(x, STILL.changed({"colour": 0.3}))
    flat = got.flatten(1)
    assert (flat.amax(1) - flat.amin(1)).max() < 1e-4  # no colour, no pattern appears
    level = flat.mean(1) / (100 / 255)
    assert 0.7 - 1e-4 < level.min() < 0.8 < 1.2 < level.max() < 1.3 + 1e-4  # brightness alone moves


def test_erase_hides_one_rectangle_of_the_asked_share_of_pictures():
    torch.manual_seed(0)
    x = torch.full((1000, 3, 20, 30), 2.0)  # noise is below 1, so hidden pixels can be found
    before = x.clone()
    got = erase(x, 0.4)
    assert torch.equal(x, before)
    hidden = (got < 1).all(1)  # (n, h, w)
    assert torch.equal(hidden, (got < 1).any(1))  # all channels of a pixel, or none
    some = hidden.any(2).any(1)
    assert some.float().mean().item() == pytest.approx(0.4, abs=0.05)
    hidden = hidden[some]
    rows, cols = hidden.any(2), hidden.any(1)
    assert torch.equal(hidden, rows[:, :, None] & cols[:, None])
    for side in (rows, cols):  # one interval: it begins once
        begins = side[:, 0].int() + (side[:, 1:] & ~side[:, :-1]).sum(1)
        assert (begins == 1).all()
        assert side[:, 0].any()  # up to both edges
        assert side[:, -1].any()
    share = hidden.float().mean((1, 2))
    assert 0.01 < share.min() < 0.04
    assert 0.28 < share.max() < 0.37
    assert share.mean().item() == pytest.approx((0.02 + 0.33) / 2, abs=0.02)
    assert got[got < 1].mean().item() == pytest.approx(0.5, abs=0.01)
    assert torch.equal(erase(x, 0.0), x)


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_a_mixed_picture_is_answered_in_proportion(kind):
    torch.manual_seed(0)
    # Every picture has the level of its class, so its mean tells what it is made of.
    targets = torch.tensor([0, 1, 2, 3])
    x = (targets.float() / 3).view(4, 1, 1, 1).expand(4, 3, 16, 16)
    recipe = STILL.changed({kind: 1.0, "mix_share": 1.0})
    shares = []
    for _ in range(20):
        mixed, soft = mix(x, targets, recipe, num_classes=5)
        torch.testing.assert_close(soft.sum(1), torch.ones(4))
        torch.testing.assert_close(mixed.mean((1, 2, 3)), soft @ torch.arange(5.0) / 3)
        shares.append(soft[0, 0].item())
        levels = {len(picture.unique()) for picture in mixed}
        assert levels == {1} if kind == "mixup" else levels <= {1, 2}
    assert max(shares) - min(shares) > 0.5


def test_some_steps_are_mixed_half_of_them_by_each():
    torch.manual_seed(0)
    x, targets = torch.rand(4, 1, 8, 8), torch.arange(4)
    recipe = STILL.changed({"mixup": 1.0, "cutmix": 1.0, "mix_share": 0.6})
    kinds = {"none": 0, "mixup": 0, "cutmix": 0}
    for _ in range(400):
        mixed, soft = mix(x, targets, recipe, num_classes=4)
        if soft is targets:
            assert mixed is x
            kinds["none"] += 1
        else:
            from_one = (mixed == x) | (mixed == x.roll(1, 0))
            kinds["cutmix" if from_one.all() else "mixup"] += 1
    assert kinds["none"] == pytest.approx(160, abs=30)
    assert kinds["mixup"] == pytest.approx(120, abs=30)
    assert mix(x, targets, STILL, num_classes=4) == (x, targets)
