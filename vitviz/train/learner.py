"""The model in training: a ViT with auxiliary heads, which are not kept after the training."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from ..model.vit import ViT

SIDES = ((0, -1), (0, 1), (-1, 0), (1, 0))  # left, right, above, below: (rows, cols) away
CELLS = 2  # a neighbour is predicted as CELLS x CELLS mean colours


class Outputs(NamedTuple):
    """Outputs of a `Learner` for a batch: logits, and the outputs of the auxiliary heads."""

    logits: Tensor  # (B, K)
    others: Tensor | None  # (B, classes of the others)
    neighbours: Tensor | None  # (B, kept patches, sides * values of a patch)
    tokens: Tensor | None  # (B, kept patches, classes of the teacher)
    kept: Tensor | None  # (B, kept patches): the indices of the patches that were not dropped


class Learner(nn.Module):
    """A ViT with auxiliary heads: one classifies the pictures of none of the ViT's classes, one
    predicts the neighbours of a patch, one what a teacher says of each patch.

    The heads are linear, and begin at zero. They are not part of the ViT, so that the same seed
    draws the same ViT with and without them.
    """

    def __init__(
        self, vit: ViT, *, others: int = 0, neighbours: bool = False, tokens: int = 0
    ) -> None:
        super().__init__()
        dim, values = vit.config.embed_dim, vit.config.in_chans * CELLS**2
        self.vit = vit
        self.heads = nn.ModuleDict()
        if others:
            self.heads["others"] = nn.Linear(dim, others)
        if neighbours:
            self.heads["neighbours"] = nn.Linear(dim, len(SIDES) * values)
        if tokens:
            self.heads["tokens"] = nn.Linear(dim, tokens)
        for parameter in self.heads.parameters():
            nn.init.zeros_(parameter)

    def forward(self, pixels: Tensor) -> Outputs:
        """Run all heads on normalised pictures (B, C, h, w). `vit.patch_keep` drops patches."""
        if not self.heads:
            return Outputs(self.vit(pixels), None, None, None, None)
        vit, half = self.vit, max(1, len(self.vit.blocks) // 2)
        prefix = vit.config.num_prefix_tokens
        x, places = vit.tokenize(pixels)
        if torch.is_autocast_enabled(x.device.type):
            # Autocast alone would add up the residual stream in float32: twice the memory traffic.
            x = x.to(torch.get_autocast_dtype(x.device.type))
        for layer, block in enumerate(vit.blocks, start=1):
            x = block(x, places)
            if layer == half:
                patches = x[:, prefix:]
        x = vit.norm(x)
        others = neighbours = tokens = None
        if "others" in self.heads:
            others = self.heads["others"](vit.fc_norm(vit.pool(x)))
        if "neighbours" in self.heads:
            # Normalised, as every block reads the residual stream, but without learned gains.
            patches = F.layer_norm(patches, patches.shape[-1:])
            neighbours = self.heads["neighbours"](patches)
        if "tokens" in self.heads:
            tokens = self.heads["tokens"](x[:, prefix:])
        if places is None:
            places = torch.arange(vit.config.num_tokens, device=x.device).expand(len(x), -1)
        kept = places[:, prefix:] - prefix
        return Outputs(vit.forward_head(x), others, neighbours, tokens, kept)


def neighbour_loss(guess: Tensor, kept: Tensor, pixels: Tensor, grid: tuple[int, int]) -> Tensor:
    """Mean squared error of the predicted neighbours; those beyond the edge do not count. A scalar.

    (B, n, sides * values), (B, n), normalised pictures (B, C, h, w), (rows, cols)

    A neighbour that was kept can be read where it is; one that was dropped has to be predicted from
    the patches around it. Both reward attention to nearby patches.
    """
    rows, cols = grid
    small = F.adaptive_avg_pool2d(pixels, (rows * CELLS, cols * CELLS))
    patches = rearrange(small, "b c (h y) (w x) -> b h w (c y x)", y=CELLS, x=CELLS)
    # One ring of patches around the picture, which does not count.
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
