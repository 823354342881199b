"""Bias: the learned numbers that a model adds to its scores; maps of them would cost N^2."""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from ...model.positions import way_between
from ...model.vit import ViT


@dataclass(frozen=True, eq=False, slots=True)
class Bias:
    """The relative position bias of all layers (arXiv:2106.08254), in units of the scores.

    tables     (L, ways, H)  a number for every way between two tokens, see `way_between`
    grid_size  (rows, cols) of the patches
    places     (N,)          index of the token whose position each token has; None: its own
    queries    (L, N)        index of the token whose row of the bias each query gets; -1: a row of
                             zeros; None: its own
    """

    tables: Tensor
    grid_size: tuple[int, int]
    places: Tensor | None = None
    queries: Tensor | None = None

    @classmethod
    def of(cls, vit: ViT) -> "Bias | None":
        """The bias of a model; None if it has none."""
        found = [block.attn.score_bias.relative for block in vit.blocks]
        tables = [
            relative.table.detach().float().cpu() for relative in found if relative is not None
        ]
        return cls(torch.stack(tables), vit.config.grid_size) if tables else None

    def scores(self, layer: int, heads: slice, rows: slice) -> Tensor:
        """The bias added to the scores of some heads and queries. (heads, rows, N)"""
        count = 1 + self.grid_size[0] * self.grid_size[1]
        places = torch.arange(count) if self.places is None else self.places
        asking = torch.arange(count) if self.queries is None else self.queries[layer]
        asking = asking[rows]
        ways = way_between(places[asking][:, None], places[None], self.grid_size)
        added = rearrange(self.tables[layer][:, heads][ways], "query key h -> h query key")
        return added if self.queries is None else added * (asking >= 0)[:, None]
