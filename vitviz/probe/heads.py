"""What each head is like on this photo: how widely it looks, and how far."""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from .grid import PatchGrid
from .trace import Trace


@dataclass(frozen=True, eq=False, slots=True)
class HeadStatistics:
    """Two numbers for every head of every layer.

    entropy   (L, H)  of a row of the attention map, mean over all tokens; in nats, from 0 (a head
                      that looks at one token) to log N (at all alike)
    distance  (L, H)  between a patch and where it looks, mean over all patches; in pixels
    """

    entropy: Tensor
    distance: Tensor

    def to_dict(self) -> dict[str, list[list[float]]]:
        """The same in JSON's types, [layer][head], with six digits that count."""
        return {
            name: [[float(f"{value:.6g}") for value in row] for row in getattr(self, name).tolist()]
            for name in ("entropy", "distance")
        }


def head_statistics(trace: Trace, grid: PatchGrid) -> HeadStatistics:
    """Entropy and mean attention distance of every head. (L, H) each

    The distance is that of arXiv:2010.11929, appendix D.7 (figure 7, right), here of one photo: for
    each patch the distances to all patches, weighted by its attention. Prefix tokens have no place,
    so only attention between patches counts, scaled so that a row sums to 1 again.
    """
    away, first = distances(grid), grid.num_prefix_tokens
    entropy = torch.empty(trace.depth, trace.num_heads)
    distance = torch.empty_like(entropy)
    together = torch.get_num_threads()  # maps at a time: they stay in the processor's cache
    for layer in range(trace.depth):
        for start in range(0, trace.num_heads, together):
            some = slice(start, start + together)
            scores = (trace.q[layer, some] * trace.scale) @ trace.k[layer, some].mT
            shares = scores.softmax(dim=-1)
            # -sum a log a, where log a = score - log of the sum of the exponentials; the latter is
            # read off the largest entry of each row, because exp is the dear part.
            normaliser = scores.amax(dim=-1) - shares.amax(dim=-1).log()
            rows = normaliser - scores.mul_(shares).sum(dim=-1)
            entropy[layer, some] = rows.mean(dim=-1)
            inner = shares[:, first:, first:]
            # What a patch gives to patches can round to nothing; then it does not look away at all.
            total = inner.sum(dim=-1).clamp_min(torch.finfo(torch.float32).tiny)
            distance[layer, some] = (inner.mul_(away).sum(dim=-1) / total).mean(dim=-1)
    return HeadStatistics(entropy.clamp_min_(0), distance)


def distances(grid: PatchGrid) -> Tensor:
    """From the middle of each patch to that of each other, in pixels. (P, P)"""
    height, width = grid.patch_size
    place = torch.cartesian_prod(
        height * torch.arange(grid.rows, dtype=torch.float32),
        width * torch.arange(grid.cols, dtype=torch.float32),
    )
    apart = rearrange(place, "p yx -> p 1 yx") - rearrange(place, "p yx -> 1 p yx")
    return apart.norm(dim=-1)
