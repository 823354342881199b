"""Change digits as pens, paper and light do: thickness, dark on light, uneven light, grain."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .recipe import Recipe

FADED = 0.4  # how grey ink and paper can become; 1 is the distance from black to white
SHADE = 0.5  # how much darker the side away from the light can become
GRAIN = 0.08  # standard deviation of the noise


def change_ink(x: Tensor, recipe: Recipe) -> Tensor:
    """Make light strokes on black look like photos. float32 (B, 1, h, w) in [0, 1] -> the same

    Random numbers come from torch's global generator.
    """
    if recipe.stroke:
        x = change_strokes(x, _draw(x, -recipe.stroke, recipe.stroke))
    if recipe.paper:
        x = put_on_paper(x, recipe.paper)
    if recipe.invert:
        x = torch.where(_draw(x, 0, 1) < recipe.invert, 1 - x, x)
    if recipe.paper:
        x = light(x, recipe.paper)
    return x


def change_strokes(x: Tensor, by: Tensor) -> Tensor:
    """Make light strokes thicker (by > 0) or thinner (by < 0): each edge moves by up to one pixel.
    (B, 1, h, w), (B, 1, 1, 1) from -1 to 1 -> (B, 1, h, w)

    Fractions of a pixel are interpolated between the picture and its dilation or erosion, as a
    pixel is that ink covers in part.
    """
    thicker = F.max_pool2d(x, 3, stride=1, padding=1)
    thinner = -F.max_pool2d(-x, 3, stride=1, padding=1)
    return torch.where(by > 0, x.lerp(thicker, by), x.lerp(thinner, -by))


def put_on_paper(x: Tensor, strength: float) -> Tensor:
    """Fade the ink, which is light here, and lighten the black ground. (B, 1, h, w)"""
    ground, ink = (_draw(x, 0, FADED * strength) for _ in range(2))
    return ground + (1 - ink - ground) * x


def light(x: Tensor, strength: float) -> Tensor:
    """Add a shadow on one side, and grain. (B, 1, h, w)"""
    rows, cols = (torch.linspace(-0.5, 0.5, n, device=x.device) for n in x.shape[2:])
    angle = _draw(x, 0, 2 * math.pi)
    slope = angle.sin() * rows[:, None] + angle.cos() * cols  # (B, 1, h, w), within +-.71
    shade = _draw(x, 0, SHADE * strength) * (slope / math.sqrt(2) + 0.5)
    grain = torch.randn_like(x) * _draw(x, 0, GRAIN * strength)
    return (x * (1 - shade) + grain).clamp(0, 1)


def _draw(x: Tensor, low: float, high: float) -> Tensor:
    """One random number for each picture of the batch. (B, 1, 1, 1)"""
    return torch.empty(len(x), 1, 1, 1, device=x.device).uniform_(low, high)
