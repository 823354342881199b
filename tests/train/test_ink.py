"""Digits as people bring them: each change of ink, paper and light, and the set of drawn digits."""

import pytest
import torch
from PIL import Image

from tests.train.test_digits import DIGITS, STYLES, drawn
from vitviz import load
from vitviz.probe.analysis import analyze
from vitviz.train.augment import augment
from vitviz.train.errors import TrainError
from vitviz.train.ink import FADED, change_ink, change_strokes, light, put_on_paper
from vitviz.train.recipe import Recipe
from vitviz.train.recipes import RECIPES

STILL = Recipe(image_size=28, patch_size=4)


def line(n: int = 1, width: int = 3) -> torch.Tensor:
    """White upright lines on black. (n, 1, 28, 28)"""
    x = torch.zeros(n, 1, 28, 28)
    x[..., 12 : 12 + width] = 1
    return x


@pytest.mark.parametrize(("by", "width"), [(1, 5), (0.5, 4), (0, 3), (-0.5, 2), (-1, 1)])
def test_strokes_get_wider_and_narrower_by_parts_of_a_pixel(by, width):
    got = change_strokes(line(2), torch.tensor([by, 0.0]).view(2, 1, 1, 1))
    torch.testing.assert_close(got[0].sum(-1), torch.full((1, 28), float(width)))
    assert torch.equal(got[1], line()[0])
    assert 0 <= got.min() <= got.max() <= 1
    # The line grows by the same amount on the left and on the right.
    torch.testing.assert_close(got[0], got[0].flip(-1).roll(-1, -1))


def test_the_asked_share_is_inverted_and_the_rest_left_alone():
    torch.manual_seed(0)
    x = line(400)
    got = change_ink(x, STILL.changed({"invert": 0.25}))
    dark = got[:, 0, 0, 0] == 1
    assert torch.equal(got[dark], 1 - x[dark])
    assert torch.equal(got[~dark], x[~dark])
    assert 70 < dark.sum() < 130


def test_faded_ink_stays_lighter_than_its_ground():
    torch.manual_seed(0)
    got = put_on_paper(line(300), 1.0)
    ground, ink = got[:, 0, 0, 0], got[:, 0, 0, 12]
    assert 0 <= ground.min() < 0.02
    assert 0.9 * FADED < ground.max() <= FADED
    assert 1 - FADED <= ink.min() < 1 - 0.9 * FADED
    assert 0.98 < ink.max() <= 1
    assert (ink - ground).min() >= 1 - 2 * FADED > 0
    torch.testing.assert_close(put_on_paper(line(), 0.0), line())


def test_light_falls_from_any_side_and_its_grain_has_no_direction():
    torch.manual_seed(0)
    white = torch.ones(500, 1, 28, 28)
    got = light(white, 1.0)
    assert got.max() <= 1
    left = got[..., :14].mean((1, 2, 3)) - got[..., 14:].mean((1, 2, 3))
    top = got[..., :14, :].mean((1, 2, 3)) - got[..., 14:, :].mean((1, 2, 3))
    for gap in (left, top):
        assert gap.min() < -0.05
        assert gap.max() > 0.05
        assert gap.mean().abs() < 0.03
    rough = (got - got.roll(1, -1))[..., 1:].std((1, 2, 3))
    assert rough.min() < 0.02 < 0.06 < rough.max()
    assert torch.equal(light(white, 0.0), white)


def test_ink_is_changed_in_grey_pictures_only():
    torch.manual_seed(0)
    changes = {"stroke": 1.0, "invert": 1.0, "paper": 1.0}
    colour = torch.randint(0, 256, (8, 3, 28, 28), dtype=torch.uint8)
    same = augment(colour, STILL.changed({"channels": 3, **changes}))
    torch.testing.assert_close(same, colour / 255)
    grey = augment(colour[:, :1], STILL.changed(changes))
    assert (grey - colour[:, :1] / 255).abs().mean() > 0.2
    assert 0 <= grey.min() <= grey.max() <= 1


@pytest.mark.parametrize("name", ["stroke", "invert", "paper"])
def test_ink_is_changed_by_shares(name):
    for wrong in (-0.1, 1.1):
        with pytest.raises(TrainError, match=f"{name} must be a share from 0 to 1"):
            STILL.changed({name: wrong})


def test_the_recipe_for_digits_shows_them_as_people_bring_them():
    recipe = RECIPES["mnist"]
    torch.manual_seed(0)
    x = torch.zeros(400, 1, 28, 28, dtype=torch.uint8)
    x[..., 4:24, 12:15] = 255  # the twenty rows that MNIST's digits fill
    got = augment(x, recipe)
    ground = got[:, 0, :, :4].median(dim=2).values.median(dim=1).values
    dark = ground > 0.5
    assert 0.4 < dark.float().mean() < 0.6
    ink = (got - ground.view(-1, 1, 1, 1)).abs() > 0.25
    rows = ink.any(3).float().sum(2)
    assert rows.quantile(0.02) < 18
    assert rows.quantile(0.98) > 23
    middle = (ink.any(2) * torch.arange(28.0)).sum(2) / ink.any(2).sum(2).clamp(min=1)
    assert middle.std() > 1.5


def test_the_drawn_digits_are_digits_to_a_model_that_knows_the_style_of_mnist():
    """In the style of MNIST the model reads the drawn digits: errors in others are due to style."""
    mnist = load("mnist")
    right = 0
    for label in DIGITS:
        image = drawn(label, dark=False, width=0.11, shift=(0, 0), size=0.7)
        right += analyze(mnist, image).predictions(1)[0].label == label
    assert right >= 9


def test_a_drawn_digit_is_in_the_style_that_was_asked_for():
    assert len(list(STYLES)) >= 12
    looks = [drawn("3", **style) for style in STYLES]
    assert all(isinstance(image, Image.Image) and image.mode == "L" for image in looks)
    assert len({image.tobytes() for image in looks}) == len(looks)
    for style, image in zip(STYLES, looks, strict=True):
        corner = image.getpixel((2, 2))
        assert (corner > 128) is style["dark"], style
