"""Effects of positions inside attention by themselves, and the attention of a pool's query."""

from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.vit import ViT
from ..capture.bias import Bias
from ..capture.trace import Trace
from .turning import angles_of


@torch.no_grad()
def rotary_damping(vit: ViT, layer: int) -> Tensor:
    """The factor by which rotary positions damp the score of equal content at every distance.

    s(down, right) = (2 / d) sum over pairs of cos(difference of their angles), in [-1, 1]: the
    share of the score that remains if a key equals the query and is that far away, provided that
    all pairs have one length (arXiv:2104.09864, section 3.4.3). (1 or H, 2 rows - 1, 2 cols - 1), 1
    in the middle; one map for all heads where the frequencies are not learned. Raises
    `SelectionError` for a model without rotary positions.
    """
    rows, prefix = vit.config.grid_size[0], vit.config.num_prefix_tokens
    angles = angles_of(vit, layer)[:, prefix:]
    grid = rearrange(angles, "h (rows cols) m -> rows cols h m", rows=rows)
    # An angle is a sum of one for the row and one for the column, so a difference is one too.
    down, right = grid[:, 0] - grid[0, 0], grid[0] - grid[0, 0]
    down, right = (
        torch.cat([-angles_of_axis[1:].flip(0), angles_of_axis]) for angles_of_axis in (down, right)
    )
    return rearrange((down[:, None] + right[None]).cos().mean(dim=-1), "y x h -> h y x")


def bias_pictures(bias: Bias | None, layer: int) -> Tensor:
    """The relative bias in the score of a query and a key, by the offset from key to query.

    (H, 2 rows - 1, 2 cols - 1), in the units of scores (natural logarithms of shares): the entry
    (rows - 1 + y, cols - 1 + x) is for a query y rows below and x columns right of the key. The
    ways of CLS are left out. arXiv:2106.08254. Raises `SelectionError` for a model without one.
    """
    if bias is None:
        raise SelectionError(Message("models.no_bias"))
    rows = 2 * bias.grid_size[0] - 1
    return rearrange(bias.tables[layer, :-3], "(down right) h -> h down right", down=rows)


def around(ways: Tensor, place: tuple[int, int]) -> Tensor:
    """Select the values for a query in this row and column and each patch as the key.

    (H, 2 rows - 1, 2 cols - 1), by the way from key to query -> (H, rows, cols)
    """
    rows, cols = ((length + 1) // 2 for length in ways.shape[1:])
    row, col = place
    return ways[:, row : row + rows, col : col + cols].flip(1, 2)


@dataclass(frozen=True, eq=False, slots=True)
class Pool:
    """Attention and values of the learned query of an attention pool (arXiv:2106.04560).

    shares  (H, N)     attention of the query: rows sum to 1; 0 for tokens that it does not read and
                       for tokens taken out
    values  (H, N, d)  values of the tokens
    """

    shares: Tensor
    values: Tensor

    @property
    def gathered(self) -> Tensor:
        """The outputs of all heads, concatenated: the input of the pool's projection. (D,)"""
        return torch.einsum("hn,hnd->hd", self.shares, self.values).flatten()


@torch.no_grad()
def pool_of(vit: ViT, trace: Trace) -> Pool:
    """The pool of SigLIP and of Perception Encoder, after the last block of a trace.

    Raises `SelectionError` for a model that pools in another way.
    """
    pool, config = vit.attn_pool, vit.config
    if pool is None:
        raise SelectionError(Message("models.no_pooling_map"))
    device = pool.latent.device
    x = vit.norm(trace.tokens[-1][None].to(device))
    q = rearrange(pool.q(pool.latent), "1 1 (h d) -> h 1 d", h=pool.num_heads)
    k, v = rearrange(pool.kv(x), "1 n (two h d) -> two h n d", two=2, h=pool.num_heads)
    scores = (q @ k.mT * q.shape[-1] ** -0.5)[:, 0].float().cpu()
    unread = torch.zeros(trace.num_tokens, dtype=torch.bool)
    if not config.pool_prefix:
        unread[: config.num_prefix_tokens] = True
    if trace.cuts is not None:
        unread |= trace.cuts.removed
    shares = scores.masked_fill(unread, -torch.inf).softmax(dim=-1)
    return Pool(shares, v.float().cpu())
