"""Case: one picture in one model and one class, all that an explainer may look at."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..model.vit import ViT
from .grid import PatchGrid
from .trace import Trace

TOGETHER = 2**13  # tokens that go through the model at a time; more only cost memory


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """What one explanation is made from.

    trace   the pass of the picture; with v where an explainer needs "values", with v and g where it
            needs "gradients"
    vit     the model; None for explainers that need the trace alone
    pixels  (C, h, w), what entered the model
    target  the class that is explained; None for explainers that know no class
    """

    trace: Trace
    grid: PatchGrid
    pixels: Tensor
    vit: ViT | None = None
    target: int | None = None

    @torch.inference_mode()
    def logits_with(self, kept: Tensor) -> Tensor:
        """The logits when only some tokens are in the sequence. (B, n) token indices -> (B, C)

        The other tokens are really taken out, after positions were added: a ViT can do that, and
        what is gone costs nothing. Prefix tokens are tokens too: who wants them names them.
        """
        vit, embedded = self.vit, self.trace.tokens[0]
        device = next(vit.parameters()).device
        parts = []
        for some in kept.split(max(1, TOGETHER // max(1, kept.shape[1]))):
            x = embedded[some].to(device)
            for block in vit.blocks:
                x = block(x)
            parts.append(vit.forward_head(vit.norm(x)).float().cpu())
        return torch.cat(parts)

    def with_patches(self, patches: Tensor) -> Tensor:
        """Token indices of the prefix tokens and these patches. (B, n) -> (B, prefix + n)"""
        prefix = torch.arange(self.grid.num_prefix_tokens).expand(len(patches), -1)
        return torch.cat([prefix, patches + self.grid.num_prefix_tokens], dim=1)

    def batches(self, count: int) -> Iterator[slice]:
        """Slices of `count` whole pictures that fit into the model together, with their graph."""
        together = max(1, TOGETHER // 4 // self.grid.num_tokens)
        for start in range(0, count, together):
            yield slice(start, min(start + together, count))
