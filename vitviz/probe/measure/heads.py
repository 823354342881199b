"""Statistics of the heads on one photo: how widely they look (entropy), and how far (distance)."""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from ..capture.grid import PatchGrid
from ..capture.trace import Trace


@dataclass(frozen=True, eq=False, slots=True)
class HeadStatistics:
    """Two numbers for every head of every layer.

    entropy   (L, H)  of a row of the attention map, mean over all tokens; in nats, from 0 (the
                      head looks at one token) to log N (uniform attention)
    distance  (L, H)  between a patch and the patches it attends to, mean over patches; in pixels
    """

    entropy: Tensor
    distance: Tensor

    def to_dict(self) -> dict[str, list[list[float]]]:
        """The same in JSON's types, [layer][head], rounded to six significant digits."""
        return {
            name: [[float(f"{value:.6g}") for value in row] for row in getattr(self, name).tolist()]
            for name in ("entropy", "distance")
        }


def head_statistics(trace: Trace, grid: PatchGrid) -> HeadStatistics:
    """Entropy and mean attention distance of every head. (L, H) each

    The distance is that of arXiv:2010.11929, appendix D.7 (figure 7, right), here of one photo: for
    each patch the distances to all patches, weighted by its attention. Prefix tokens have no place,
    so only attention between patches counts, rescaled so that its rows sum to 1. Tokens that an
    intervention took out do not count.
    """
    first, stays = grid.num_prefix_tokens, torch.ones(trace.num_tokens).bool()
    if trace.cuts:
        stays = ~trace.cuts.removed
    away = torch.nn.functional.pad(distances(grid), (0, 0, first, 0))  # a row for every token
    entropy = torch.empty(trace.depth, trace.num_heads)
    distance = torch.empty_like(entropy)
    spread, lengths = torch.empty(2, trace.num_heads, trace.num_tokens)
    for layer in range(trace.depth):
        for heads, rows, scores in trace.score_blocks(layer):
            attention = scores.softmax(dim=-1)
            # Entropy is -sum a log a, where log a = score - log-sum-exp. The log-sum-exp is read
            # off the largest entry of each row, because exponentials are what costs time.
            lse = scores.amax(dim=-1) - attention.amax(dim=-1).log()
            if trace.cuts:
                scores.masked_fill_(attention == 0, 0)  # 0 log 0 is 0, and not 0 times infinity
            spread[heads, rows] = lse - scores.mul_(attention).sum(dim=-1)
            inner = attention[..., first:]
            # All attention can lie on prefix tokens; the distance is 0 then, and not 0 / 0.
            total = inner.sum(dim=-1).clamp_min(torch.finfo(torch.float32).tiny)
            lengths[heads, rows] = inner.mul_(away[rows]).sum(dim=-1) / total
        entropy[layer] = spread[:, stays].mean(dim=-1)
        distance[layer] = lengths[:, first:][:, stays[first:]].mean(dim=-1)
    return HeadStatistics(entropy.clamp_min_(0), distance)


def distances(grid: PatchGrid) -> Tensor:
    """Distances between the middles of all patches, in pixels. (P, P)"""
    height, width = grid.patch_size
    place = torch.cartesian_prod(
        height * torch.arange(grid.rows, dtype=torch.float32),
        width * torch.arange(grid.cols, dtype=torch.float32),
    )
    apart = rearrange(place, "p yx -> p 1 yx") - rearrange(place, "p yx -> 1 p yx")
    return apart.norm(dim=-1)
