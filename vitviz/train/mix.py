"""Mix every picture of a batch with another, and their targets in the same proportion."""

import torch
from torch import Tensor

from .recipe import Recipe


def mix(x: Tensor, targets: Tensor, recipe: Recipe, num_classes: int) -> tuple[Tensor, Tensor]:
    """mixup (arXiv:1710.09412) blends two pictures, cutmix (arXiv:1905.04899) pastes a rectangle
    of one into the other. float32 (B, C, h, w), (B,) -> (B, C, h, w), (B, num_classes)

    With chance 1 - mix_share both come back as they are. torchvision draws from torch's global
    generator; timm's Mixup draws from numpy's, which a step would have to seed as well.
    """
    from torchvision.transforms import v2  # takes a second; runs that do not mix need not wait

    kinds = [
        kind(alpha=alpha, num_classes=num_classes)
        for kind, alpha in ((v2.MixUp, recipe.mixup), (v2.CutMix, recipe.cutmix))
        if alpha
    ]
    if not kinds or torch.rand(()) >= recipe.mix_share:
        return x, targets
    return kinds[int(torch.randint(len(kinds), ()))](x, targets)
