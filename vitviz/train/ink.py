"""Change digits as pens, paper and light do: thick or thin, dark on light, unevenly lit, grainy."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from .recipe import Recipe

FADED = 0.4  # how grey ink and paper get, as a share of the way from black to white
SHADE = 0.5  # how much darker the far side of the picture gets
GRAIN = 0.08  # standard deviation of the noise


def change_ink(x: Tensor, recipe: Recipe) -> Tensor:
    """Light strokes on black -> as people bring them. float32 (B, 1, h, w) in [0, 1] -> the same

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
    """Make light strokes thicker (by > 0) or thinner (by < 0), on either side by a share of a pixel
    from -1 to 1. (B, 1, h, w), (B, 1, 1, 1) -> (B, 1, h, w)

    Between the picture and its dilation, or its erosion: what lies between is a pixel that ink
    covers in part.
    """
    thicker = F.max_pool2d(x, 3, stride=1, padding=1)
    thinner = -F.max_pool2d(-x, 3, stride=1, padding=1)
    return torch.where(by > 0, x.lerp(thicker, by), x.lerp(thinner, -by))


def put_on_paper(x: Tensor, strength: float) -> Tensor:
    """Ink that is not quite light on a ground that is not quite black. (B, 1, h, w)"""
    ground, ink = (_draw(x, 0, FADED * strength) for _ in range(2))
    return ground + (1 - ink - ground) * x


def light(x: Tensor, strength: float) -> Tensor:
    """Light from one side, and grain. (B, 1, h, w)"""
    rows, cols = (torch.linspace(-0.5, 0.5, n, device=x.device) for n in x.shape[2:])
    angle = _draw(x, 0, 2 * math.pi)
    slope = angle.sin() * rows[:, None] + angle.cos() * cols  # (B, 1, h, w), within +-.71
    shade = _draw(x, 0, SHADE * strength) * (slope / math.sqrt(2) + 0.5)
    grain = torch.randn_like(x) * _draw(x, 0, GRAIN * strength)
    return (x * (1 - shade) + grain).clamp(0, 1)


def _draw(x: Tensor, low: float, high: float) -> Tensor:
    """One random number for each picture of the batch. (B, 1, 1, 1)"""
    return torch.empty(len(x), 1, 1, 1, device=x.device).uniform_(low, high)
