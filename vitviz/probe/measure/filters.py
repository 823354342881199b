"""Filters: the principal components of the patch embedding, and their colour and smoothness."""

import math
from dataclasses import dataclass

import torch
from einops import einsum, rearrange
from torch import Tensor

from ...model.loaded import LoadedModel
from ...model.untrained import twin

COUNT = 28  # as in figure 7 of the paper


@dataclass(frozen=True, eq=False, slots=True)
class Filters:
    """The D filters of a patch embedding: principal components, colour and smoothness.

    components (n, C, ph, pw)  their first principal components, of length 1, the largest first; the
                               largest weight of each is positive
    shares     (n,)            of the filters' variance, from 0 to 1
    colour     (n,)            share of a component that is a contrast of colours, not of light and
                               dark, from 0 to 1; noise has 2/3, a grey model 0
    smooth                     share of all filters that is smooth: waves of one period or less
                               across a patch, in rows and columns together
    even                       the same share of noise, which has as much of every wave
    """

    components: Tensor
    shares: Tensor
    colour: Tensor
    smooth: float
    even: float

    @classmethod
    def of(cls, weight: Tensor, count: int = COUNT) -> "Filters":
        """Analyze the weight of a patch embedding (D, C, ph, pw); at most `count` components.

        Figure 7 (left) of arXiv:2010.11929. Shares are of the sum of squares.
        """
        weight = weight.detach().double().cpu()
        channels, height, width = weight.shape[1:]
        flat = rearrange(weight, "d c h w -> d (c h w)")
        _, values, rows = torch.linalg.svd(flat - flat.mean(0), full_matrices=False)
        rows = rows[:count]
        largest = rows.gather(1, rows.abs().argmax(1, keepdim=True))
        components = (rows * largest.sign()).view(-1, channels, height, width)
        grey = channels * components.mean(1).square().sum((1, 2))
        waves = einsum(
            cosines(height), cosines(width), weight, "k h, l w, d c h w -> d c k l"
        ).square()
        halves = torch.arange(height)[:, None] + torch.arange(width)  # half periods across a patch
        slow = halves <= 2
        return cls(
            components=components.float(),
            shares=(values.square() / values.square().sum())[:count].float(),
            colour=(1 - grey).clamp(0, 1).float(),
            smooth=(waves[:, :, slow].sum() / waves.sum()).item(),
            even=slow.double().mean().item(),
        )


def cosines(n: int) -> Tensor:
    """The waves of n pixels, from slow to fast, of length 1: wave k has k / 2 periods (the discrete
    cosine transform, type II). (n, n) [wave, pixel]
    """
    wave = torch.arange(n, dtype=torch.float64)
    basis = torch.cos(math.pi / n * wave[:, None] * (wave + 0.5)) * math.sqrt(2 / n)
    basis[0] /= math.sqrt(2)
    return basis


def left_of_start(loaded: LoadedModel) -> float:
    """The share of a model's filters that is left from its untrained twin: the squared cosine
    between the two, from 0 to 1. About 0 if the training began with other weights than the twin's;
    1 for the twin itself.
    """
    ours, first = (
        model.vit.patch_embed.proj.weight.detach().double().cpu().flatten()
        for model in (loaded, twin(loaded))
    )
    return (torch.dot(ours, first).square() / (ours.square().sum() * first.square().sum())).item()
