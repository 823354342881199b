"""Steering: the direction of a class in the residual stream, and how long a token is there.

A vector is added to tokens on their way through the layers, so that the answer follows it (Turner
et al. 2023, arXiv:2308.10248). Here it is the direction along which the head reads a class.
vitviz/viewer/engine/steering.js does the same.
"""

from typing import cast

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from ...model.vit import ViT


def directions(vit: ViT, toward: int) -> Tensor:
    """The direction in which the logit of a class rises, for each token. (N, D), rows of length 1

    The head reads a token x with weights w behind a LayerNorm with gain g and shift h: the logit is
    w . (g * (x - mean(x)) / s + h) + b, s the deviation of x. With a = w * g that is
    (a - mean(a)) . x / s + w . h + b. The direction is a - mean(a): along it the product with x
    rises fastest. RMSNorm subtracts no mean, and the direction is a.

    A token gets the part of the head that reads it: where CLS and the mean stand side by side
    (`token_avg`), CLS the first and all others the second half; the distillation token that of its
    own head; tokens that no head reads (the patches beside CLS) the one of CLS. The model must pool
    by "token", "avg" or "token_avg".
    """
    (vit,) = getattr(vit.head, "instead_of", (vit,))  # see `Likeness` of likeness.py
    config = vit.config
    heads = [vit.head, vit.head_dist] if config.dist_token else [vit.head]
    rows = torch.stack([cast(nn.Linear, head).weight[toward].detach() for head in heads])
    rows = _before(vit.fc_norm, rows)
    rows = rearrange(rows, "heads (part d) -> (heads part) d", d=config.embed_dim)
    rows = F.normalize(_before(vit.norm, rows), dim=1)
    reader = torch.zeros(config.num_tokens, dtype=torch.long, device=rows.device)
    if config.global_pool == "token_avg":
        reader[1:] = 1
    elif config.dist_token:
        reader[1] = 1
    return rows[reader]


def length(tokens: Tensor) -> Tensor:
    """How long a token is in each picture: the median of their norms. (B, n, D) -> (B, 1, 1)

    The median, since a few tokens are many times as long as all others (arXiv:2309.16588); of an
    even number the lower of the two in the middle. It grows from layer to layer and from model to
    model, so that one factor means the same in all of them. Gradients take it as a constant, so
    integrated gradients need not add up where it differs on their way.
    """
    return tokens.detach().norm(dim=-1, keepdim=True).median(dim=1, keepdim=True).values


def _before(norm: nn.Module, rows: Tensor) -> Tensor:
    """Fold the gain and the centring of a norm, not its division, into weights behind it. (n, D)"""
    if isinstance(norm, nn.Identity):
        return rows
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    rows = rows * norm.weight.detach()
    return rows if isinstance(norm, nn.RMSNorm) else rows - rows.mean(dim=1, keepdim=True)
