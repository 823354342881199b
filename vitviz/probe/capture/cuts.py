"""Cuts: edges of attention that a pass did not have, as masks made on demand."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from some queries to some keys. `layers`, `heads` None: all of them.

    queries, keys  (N,) bool each: every edge from one to the other, a token to itself left out; or
                   int64 of one length: edge by edge
    """

    queries: Tensor
    keys: Tensor
    layers: frozenset[int] | None = None
    heads: tuple[int, ...] | None = None

    def mask(self) -> Tensor:
        """The edges between all `queries` and `keys`, if these are bool. (N, N) bool"""
        both = self.queries[:, None] & self.keys
        return both.fill_diagonal_(False)

    def add_to(self, mask: Tensor) -> None:
        """Set the edges in a mask (H or 1, N, N)."""
        heads = slice(None) if self.heads is None else list(self.heads)
        if self.queries.dtype == torch.bool:
            mask[heads] |= self.mask()
        else:
            part = mask[heads]
            part[:, self.queries, self.keys] = True
            mask[heads] = part


@dataclass(frozen=True, eq=False)
class Cuts:
    """Edges of attention that a pass did not have.

    removed  (N,) bool  tokens taken out: each attends to itself alone, and no other token to it
    """

    removed: Tensor
    edges: tuple[Edges, ...]
    num_heads: int

    def mask(self, layer: int) -> Tensor | None:
        """True where the edge is cut; None if the layer has all of its edges. (H or 1, N, N)"""
        here = [edges for edges in self.edges if edges.layers is None or layer in edges.layers]
        if not here and not self.removed.any():
            return None
        n = len(self.removed)
        heads = 1 if all(edges.heads is None for edges in here) else self.num_heads
        mask = torch.zeros(heads, n, n, dtype=torch.bool)
        for edges in here:
            edges.add_to(mask)
        mask[:, :, self.removed] = True
        mask[:, self.removed] = True
        alone = self.removed.nonzero().view(-1)
        mask[:, alone, alone] = False
        return mask

    def blind(self, layer: int) -> int | None:
        """A token that has no edge left in this layer; None if every token has some."""
        mask = self.mask(layer)
        if mask is None or not (rows := mask.all(dim=-1).any(dim=0)).any():
            return None
        return int(rows.nonzero()[0])


def among(whole: Tensor, places: Tensor) -> Tensor:
    """The entries between some tokens only. (1, H, N, N), (B, n) indices -> (B, H, n, n)"""
    return whole[0][:, places[:, :, None], places[:, None]].transpose(0, 1)
