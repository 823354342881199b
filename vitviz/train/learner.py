"""The model with what only its training needs: further heads, which are thrown away at the end."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from ..model.vit import ViT, drop_patches

SIDES = ((0, -1), (0, 1), (-1, 0), (1, 0))  # left, right, above, below: (rows, cols) away
CELLS = 2  # a neighbour is guessed as CELLS x CELLS mean colours


class Answers(NamedTuple):
    """What a `Learner` says to a batch: the logits of the model, and those of the further heads."""

    logits: Tensor  # (B, K)
    others: Tensor | None  # (B, classes of the others)
    neighbours: Tensor | None  # (B, kept patches, sides * values of a patch)
    kept: Tensor | None  # (B, kept patches): the numbers of the patches that were not dropped


class Learner(nn.Module):
    """A ViT, a head that names what is none of its classes, and one that guesses neighbours.

    The heads are linear, and begin at zero. They stand beside the ViT and not in it, so that the
    same seed draws the same ViT with and without them.
    """

    def __init__(self, vit: ViT, *, others: int = 0, neighbours: bool = False) -> None:
        super().__init__()
        dim, values = vit.config.embed_dim, vit.config.in_chans * CELLS**2
        self.vit = vit
        self.heads = nn.ModuleDict()
        if others:
            self.heads["others"] = nn.Linear(dim, others)
        if neighbours:
            self.heads["neighbours"] = nn.Linear(dim, len(SIDES) * values)
        for parameter in self.heads.parameters():
            nn.init.zeros_(parameter)

    def forward(self, pixels: Tensor) -> Answers:
        """Normalised pictures, (B, C, h, w). Patches are dropped as `vit.patch_keep` says."""
        if not self.heads:
            return Answers(self.vit(pixels), None, None, None)
        vit, half, kept = self.vit, max(1, len(self.vit.blocks) // 2), None
        x, kept = self.embed(pixels)
        x = vit.norm_pre(x)
        for layer, block in enumerate(vit.blocks, start=1):
            x = block(x)
            if layer == half:
                patches = x[:, vit.config.num_prefix_tokens :]
        x = vit.norm(x)
        others = neighbours = None
        if "others" in self.heads:
            others = self.heads["others"](vit.fc_norm(vit.pool(x)))
        if "neighbours" in self.heads:
            # Scaled as any reader of the residual stream sees it; without gains of its own.
            patches = F.layer_norm(patches, patches.shape[-1:])
            neighbours = self.heads["neighbours"](patches)
        return Answers(vit.forward_head(x), others, neighbours, kept)

    def embed(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """`ViT.embed`, and which patches it kept. (B, C, h, w) -> (B, N, D), (B, kept patches)"""
        vit, keep = self.vit, self.vit.patch_keep
        vit.patch_keep = 1.0
        try:
            x = vit.embed(pixels)
        finally:
            vit.patch_keep = keep
        prefix, patches = vit.config.num_prefix_tokens, vit.config.num_patches
        numbers = torch.arange(-prefix, patches, device=x.device, dtype=x.dtype)
        if not self.training or keep == 1:
            return x, numbers[prefix:].long().expand(len(x), -1)
        # The numbers travel as one more channel, through the very function that drops patches.
        x = torch.cat([x, numbers.view(1, -1, 1).expand(len(x), -1, 1)], dim=2)
        x = drop_patches(x, prefix, keep)
        return x[:, :, :-1], x[:, prefix:, -1].long()


def known_or_not(logits: Tensor) -> Tensor:
    """How strongly a picture is taken for one of the classes: the log of the odds against "none of
    these". (B, K) -> (B,)

    It is as if the softmax had one more class, whose logit is always 0. The energy of
    arXiv:2010.03759 is minus this; there it is asked of a model that never saw other pictures.
    """
    return logits.logsumexp(dim=1)


def neighbour_loss(guess: Tensor, kept: Tensor, pixels: Tensor, grid: tuple[int, int]) -> Tensor:
    """Mean squared error of the guessed neighbours; those beyond the edge do not count. A scalar.

    (B, n, sides * values), (B, n), normalised pictures (B, C, h, w), (rows, cols)

    A kept patch can look for its neighbour where that is; one that was dropped must be guessed
    from what lies around it. Either way it pays to look nearby.
    """
    rows, cols = grid
    small = F.adaptive_avg_pool2d(pixels, (rows * CELLS, cols * CELLS))
    patches = rearrange(small, "b c (h y) (w x) -> b h w (c y x)", y=CELLS, x=CELLS)
    # One ring around the picture, which belongs to nobody.
    patches = F.pad(patches, (0, 0, 1, 1, 1, 1))
    inside = F.pad(torch.ones(rows, cols, device=pixels.device), (1, 1, 1, 1))
    row, col = kept // cols + 1, kept % cols + 1  # (B, n)
    picture = torch.arange(len(kept), device=kept.device)[:, None]
    targets, counts = [], []
    for down, right in SIDES:
        targets.append(patches[picture, row + down, col + right])
        counts.append(inside[row + down, col + right])
    target = torch.stack(targets, dim=2)  # (B, n, sides, values)
    count = torch.stack(counts, dim=2)  # (B, n, sides)
    error = (guess.float().view_as(target) - target).square().mean(dim=3)
    return (error * count).sum() / count.sum()
