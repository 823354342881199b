"""Explainers that use values and gradients: the effect of attention on tokens and on a class.

`A` is an attention map, `dA` its gradient for the logit of the class (`Trace.attention_gradient`).
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...errors import CaptureError, SelectionError
from ...languages import Message
from ...model.config import ViTConfig
from ..capture.recorder import listening
from .case import Case


def attention_norm(case: Case, token: int | None) -> Tensor:
    """Length of the vector that `token` gets from each token in the last layer. (N,), none negative

    `token` None, here and below: the query of the pool.
    The norm of sum over heads of A[h, i, j] v[h, j] W_o, where W_o is the projection after the
    attention: a large attention to a value that is almost zero moves nothing, and neither does a
    head or an attention that is off. Kobayashi et al. 2020, arXiv:2004.10102, equation 7. Raises
    `SelectionError` for a model with a norm between attention and projection, where the terms of
    the sum are not added up alone.
    """
    attn, trace, pool = case.model.blocks[-1].attn, case.trace, case.model.attn_pool
    if token is None and case.pool and pool is not None:
        return _brought(case.pool.shares, case.pool.values, pool.proj.weight)
    if case.model.config.attn_norm:
        raise SelectionError(Message("experiments.no_attention_norm"))
    if trace.v is None:
        raise CaptureError("this trace holds no values; capture(vit, values=True) keeps them")
    last = trace.depth - 1
    made = trace.attention_from if case.surgery is None else partial(case.surgery.shares, trace)
    return _brought(made(last, token or 0), trace.v[last], attn.proj.weight)


def has_attention_norm(config: ViTConfig) -> bool:
    """Whether `attention_norm` can be told: no norm comes between, or the pool's has none."""
    return not config.attn_norm or config.global_pool == "map"


def _brought(shares: Tensor, values: Tensor, weight: Tensor) -> Tensor:
    """Length of each token's part of the projected output. (H, N), (H, N, d), (D, D) -> (N,)"""
    moved = (shares[..., None] * values).transpose(0, 1).flatten(1)  # (N, H d)
    return (moved @ weight.float().cpu().T).norm(dim=-1)


def attention_gradient(case: Case, token: int | None) -> Tensor:
    """First-order estimate of the class's loss if each edge from `token` is cut. (N,), signed

    sum over layers and heads of (A * dA)[token, j]: attribution patching (Nanda 2023), of the edges
    of one row.
    """
    if token is None and case.pool:
        return (case.pool.shares * case.pool_gradient).sum(0)
    trace, token = case.trace, token or 0
    costs = (
        (trace.attention_from(layer, token) * trace.attention_gradient_from(layer, token)).sum(0)
        for layer in range(trace.depth)
    )
    return sum(costs, torch.zeros(()))


def generic(case: Case, token: int | None) -> Tensor:
    """Relevance of each token for `token`, through all layers. (N,), none negative

    R = identity; in each layer R += mean over heads of relu(A * dA) R; the row of `token` in R.
    Chefer et al. 2021, arXiv:2103.15679, equations 5 and 6, with the logit of the class, and
    without a normalisation at the end. Computed with one vector instead of the whole product. A
    pool is one more such layer; nothing leads around it.
    """
    row = _start(case, token)
    for layer in reversed(range(case.trace.depth)):
        row = row + row @ _positive(case, layer)
    return row


def gradient_rollout(case: Case, token: int | None) -> Tensor:
    """Rollout over relu(A * dA) in place of A. (N,), none negative, sums to 1

    With a pool, all values are 0 if no token that the pool attends to speaks for the class.

    In each layer the mean over heads of relu(A * dA) is scaled to rows that sum to 1, a row of
    zeros becoming the token itself; half of it and half the identity make one step, and the steps
    are multiplied from the first layer to the last. No paper defines this method.
    """
    row, itself = _start(case, token), torch.eye(case.trace.num_tokens)
    row = row / row.sum().clamp(min=torch.finfo(row.dtype).tiny)
    for layer in reversed(range(case.trace.depth)):
        fused = _positive(case, layer)
        sums = fused.sum(dim=-1, keepdim=True)
        row = 0.5 * row + 0.5 * row @ torch.where(sums > 0, fused / sums, itself)
    return row


def grad_cam(case: Case, _token: int | None, *, layer: int | None = None) -> Tensor:
    """relu of the channels of each patch, weighted with their mean gradients. (N,), none negative

    Read at the input of a layer's attention, after its norm. `layer` None: the last one; after it
    the patches of a model that answers from CLS have no gradient at all. Prefix tokens, which
    have no place, and patches that were taken out get 0. Selvaraju et al. 2016, arXiv:1610.02391,
    equations 1 and 2.
    """
    at = -1 if layer is None else case.trace.check_layer(layer)
    heard: list[Tensor] = []

    def hear(_module: object, args: tuple[Any, ...]) -> tuple[Any, ...]:
        heard.append(args[0].detach().requires_grad_())
        return heard[0], *args[1:]

    device = next(case.model.parameters()).device
    with torch.enable_grad(), case.operated(), listening() as listen:
        listen(case.model.blocks[at].attn.register_forward_pre_hook, hear)
        logits = case.model(case.pixels[None].to(device))
        (gradient,) = torch.autograd.grad(case.score(logits[0]), heard)
    there = case.grid.num_prefix_tokens + case.patches
    weights = gradient[0, there].mean(dim=0)
    values = torch.zeros(case.grid.num_tokens)
    values[there] = (heard[0].detach()[0, there] @ weights).relu().float().cpu()
    return values


def _start(case: Case, token: int | None) -> Tensor:
    """The start vector: 1 at the token, or the relevance of each token for the pool. (N,)"""
    if token is None and case.pool:
        return (case.pool.shares * case.pool_gradient).relu().mean(dim=0)
    row = torch.zeros(case.trace.num_tokens)
    row[token or 0] = 1
    return row


def _positive(case: Case, layer: int) -> Tensor:
    """The mean over heads of relu(A * dA) of a layer. (N, N)"""
    maps, gradients = case.trace.attention(layer), case.trace.attention_gradient(layer)
    return maps.mul_(gradients).relu_().mean(dim=0)
