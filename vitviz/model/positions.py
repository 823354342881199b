"""Positions inside attention: q and k turned by their place, and a learned bias of the scores.

Read it after `vit.py`. A position that is added to the tokens has to last through all blocks. Here
every block gets the positions anew, and a score depends on how far apart two patches are.
"""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from .config import Rotary, ViTConfig


class Angles(nn.Module):
    """How far q and k of each token are turned, in radians. -> (B or 1, H or 1, n, d / 2)

    Rotary positions (arXiv:2104.09864). Half of the pairs of channels turn with the row of a patch
    and half with its column, slower from pair to pair; or all of them with both, as each block and
    head has learned (arXiv:2403.13298). Prefix tokens have no place: they are not turned.
    """

    def __init__(self, config: ViTConfig, rotary: Rotary) -> None:
        super().__init__()
        self.config, self.rotary = config, rotary
        learned = torch.zeros(2, config.num_heads, config.head_dim // 2)
        self.freqs = nn.Parameter(learned) if rotary.kind == "mixed" else None

    def forward(self, places: Tensor | None, device: torch.device) -> Tensor:
        freqs = (self.fixed_freqs() if self.freqs is None else self.freqs).to(device)
        first, second = rearrange(self.coordinates().to(device), "two p -> two 1 p 1")
        angles = first * freqs[0, :, None] + second * freqs[1, :, None]
        angles = F.pad(angles, (0, 0, self.config.num_prefix_tokens, 0))  # (H or 1, N, d / 2)
        return angles[None] if places is None else angles[:, places].transpose(0, 1)

    def coordinates(self) -> Tensor:
        """Row and column of each patch, the first axis first, as `Rotary` counts them. (2, P)"""
        axes = []
        grid = self.config.grid_size
        for count, reference in zip(grid, self.rotary.reference or grid, strict=True):
            steps = torch.arange(count)
            if self.rotary.kind == "normalised":
                axes.append(2 * torch.pi * (2 * (steps + 0.5) / count - 1))
            else:
                axes.append((steps + self.rotary.offset) / count * reference)
        y, x = torch.meshgrid(*axes, indexing="ij")
        both = torch.stack([y, x] if self.rotary.order == "yx" else [x, y])
        return rearrange(both, "two rows cols -> two (rows cols)")

    def fixed_freqs(self) -> Tensor:
        """The fixed angle by which one step along each axis turns each pair. (2, 1, d / 2)"""
        count = self.config.head_dim // 4
        slower = self.rotary.temperature ** -(torch.arange(count) / count)
        return rearrange(torch.block_diag(slower, slower), "two m -> two 1 m")

    def reset_parameters(self) -> None:
        """Initialise learned frequencies as in the paper: rotate each head's two axes at random."""
        if self.freqs is not None:
            half = self.config.head_dim // 4
            slower = self.rotary.temperature ** -(torch.arange(half) / half)
            way = 2 * torch.pi * torch.rand(self.config.num_heads, 1)
            ways = torch.cat([way, way + torch.pi / 2], dim=1)[..., None]  # (H, 2, 1)
            drawn = torch.stack([ways.cos() * slower, ways.sin() * slower])
            self.freqs.data.copy_(rearrange(drawn, "yx h two m -> yx h (two m)"))


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the pair of channels m and m + d / 2 by angle m. (B, H, n, d), (..., n, d / 2)"""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).type_as(x)


class RelativeBias(nn.Module):
    """A learned number of each head for every way between two tokens. -> (B or 1, H, n, n)

    BEiT (arXiv:2106.08254) adds it to the scores. A way is the offset in rows and columns; pairs of
    patches with the same way share a number. Three more numbers are for CLS to a patch, a patch to
    CLS, and CLS to itself.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        rows, cols = self.grid_size = config.grid_size
        self.table = nn.Parameter(
            torch.zeros((2 * rows - 1) * (2 * cols - 1) + 3, config.num_heads)
        )

    def forward(self, places: Tensor | None) -> Tensor:
        rows, cols = self.grid_size
        if places is None:
            places = torch.arange(1 + rows * cols, device=self.table.device)[None]
        ways = way_between(places[:, :, None], places[:, None], self.grid_size)
        return rearrange(self.table[ways], "b query key h -> b h query key")


def way_between(query: Tensor, key: Tensor, grid_size: tuple[int, int]) -> Tensor:
    """Index into the table of a `RelativeBias`. Token 0 is CLS, the patches follow row by row."""
    rows, cols = grid_size
    down = (query - 1) // cols - (key - 1) // cols + rows - 1
    right = (query - 1) % cols - (key - 1) % cols + cols - 1
    from_cls = (2 * rows - 1) * (2 * cols - 1)
    way = torch.where(key == 0, from_cls + 1, down * (2 * cols - 1) + right)
    return torch.where(query == 0, from_cls + 2 * (key == 0), way)
