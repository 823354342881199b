"""EXPLAINERS: functions that say how much every token matters for one query token."""

from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor

from ..errors import SelectionError
from .trace import Trace

HeadFusion = Literal["mean", "max", "min"]


def attention(
    trace: Trace, query: int, *, layer: int | None = None, head: int | None = None
) -> Tensor:
    """Raw attention of `query` in one layer. (N,), sums to 1

    `layer` None: the last one. `head` None: the mean of the heads. Attention is where a token
    gathers values from, not why the model decides (arXiv:1902.10186).
    Raises `SelectionError` for a layer, head or token that the trace does not have.
    """
    rows = trace.attention_from(trace.depth - 1 if layer is None else layer, query)
    return rows.mean(dim=0) if head is None else rows[trace.check_head(head)]


def rollout(
    trace: Trace,
    query: int,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """How much of each input token reaches `query`, through several layers. (N,), sums to 1

    Attention rollout (Abnar & Zuidema 2020, arXiv:2005.00928, section 3): the row of `query` in the
    matrix of `rollout_matrix`, computed with one vector instead of the whole product.
    Raises `SelectionError` for a token, layer or option that does not exist.
    """
    row = torch.zeros(trace.num_tokens)
    row[trace.check_token(query)] = 1
    for step in reversed(list(_steps(trace, head_fusion, residual, first, last))):
        row = row @ step()
    return row


def rollout_matrix(
    trace: Trace,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """Rollout for every query at once: A_last ... A_first. (N, N), rows sum to 1

    A_l is `residual` times the identity, for the residual path around attention, plus the rest of
    the fused heads of layer l; each row is scaled to sum to 1.
    """
    product = torch.eye(trace.num_tokens)
    for step in _steps(trace, head_fusion, residual, first, last):
        product = step() @ product
    return product


def _steps(
    trace: Trace, head_fusion: str, residual: float, first: int, last: int | None
) -> Iterator[Callable[[], Tensor]]:
    """A function for each layer, first to last, that makes A_l: one matrix is held at a time."""
    if head_fusion not in ("mean", "max", "min"):
        raise SelectionError(f'head_fusion must be "mean", "max" or "min", got {head_fusion!r}')
    if not 0 <= residual <= 1:
        raise SelectionError(f"residual must be from 0 to 1, got {residual!r}")
    first = trace.check_layer(first)
    last = trace.check_layer(trace.depth - 1 if last is None else last)
    if first > last:
        raise SelectionError(f"the first layer {first} comes after the last layer {last}")

    def make(layer: int) -> Callable[[], Tensor]:
        def step() -> Tensor:
            heads = trace.attention(layer)  # (H, N, N)
            fused = (
                heads.mean(dim=0)
                if head_fusion == "mean"
                else getattr(heads, f"a{head_fusion}")(dim=0)
            )
            itself = torch.eye(trace.num_tokens)
            mixed = residual * itself + (1 - residual) * fused
            sums = mixed.sum(dim=-1, keepdim=True)
            # The minimum over heads can be 0 for all keys: without a residual, such a token keeps
            # its own value.
            return torch.where(sums > 0, mixed / sums, itself)

        return step

    return (make(layer) for layer in range(first, last + 1))


EXPLAINERS: dict[str, Callable[..., Tensor]] = {
    "attention": attention,
    "rollout": rollout,
}
