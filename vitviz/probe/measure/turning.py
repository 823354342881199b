"""Rotary positions in one attention value: query and key before their places turned them."""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.positions import turn
from ...model.vit import ViT
from ..capture.trace import Trace


@dataclass(frozen=True, eq=False, slots=True)
class Turn:
    """Effect of the places of two tokens on the product of query and key (arXiv:2104.09864).

    q, k              (d,)      before the turn
    angle_q, angle_k  (d / 2,)  angle of the pair of channels m and m + d / 2, in radians: 0 for
                                prefix tokens, which have no place
    before, after     (d / 2,)  q . k of each pair, without the turn and with it; `after` sums to
                                `Pair.sum`
    """

    q: Tensor
    k: Tensor
    angle_q: Tensor
    angle_k: Tensor
    before: Tensor
    after: Tensor


@torch.no_grad()
def turn_of(vit: ViT, trace: Trace, layer: int, head: int, query: int, key: int) -> Turn:
    """Turn query and key of one attention value back; positions must be those of the model.

    Raises `SelectionError` for a model without rotary positions, and for a layer, head or token
    that the trace does not have.
    """
    layer, head = trace.check_layer(layer), trace.check_head(head)
    tokens = [trace.check_token(query), trace.check_token(key)]
    turned = torch.stack([trace.q[layer, head, tokens[0]], trace.k[layer, head, tokens[1]]])
    found = angles_of(vit, layer)
    angles = found[min(head, len(found) - 1), tokens]
    plain = turn(turned, angles.cos(), -angles.sin())
    before, after = (rearrange(q * k, "(two m) -> two m", two=2).sum(0) for q, k in (plain, turned))
    return Turn(plain[0], plain[1], angles[0], angles[1], before, after)


def angles_of(vit: ViT, layer: int) -> Tensor:
    """The angles by which tokens are turned in their own places. (1 or H, N, d / 2)

    Raises `SelectionError` for a model without rotary positions.
    """
    attn = vit.blocks[layer].attn
    if attn.angles is None:
        raise SelectionError(Message("models.no_rotary"))
    return attn.angles(None, attn.qkv.weight.device)[0].float().cpu()


def turns(vit: ViT, layer: int) -> Tensor:
    """The angle of the upper left patch, and the steps to the next row and the next column.

    (3, 1 or H, d / 2), in radians. Raises as `angles_of` does.
    """
    rows, prefix = vit.config.grid_size[0], vit.config.num_prefix_tokens
    grid = rearrange(angles_of(vit, layer)[:, prefix:], "h (y x) m -> y x h m", y=rows)
    # A single row or column has no next one: nothing is added.
    return torch.stack(
        [grid[0, 0], (grid[1:2, 0] - grid[0, 0]).sum(0), (grid[0, 1:2] - grid[0, 0]).sum(0)]
    )
