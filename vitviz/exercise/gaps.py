"""The gaps, in the order of the file: a call of the student's code, and common mistakes."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

LAYER = 1  # the block whose parts are compared; any would do


class Gap(NamedTuple):
    """`call(model, ...)` runs the student's lines; `mistakes` give the results of common mistakes.

    A mistake with the key KEY has the sentence `mistake_KEY`.
    """

    call: Callable[..., Any]
    mistakes: Mapping[str, Callable[..., Any]]


def _cut(form: str) -> Callable[..., Tensor]:
    def cut(model: Any, pixels: Tensor) -> Tensor:
        return rearrange(pixels, form, y=model.patch_embed.side, x=model.patch_embed.side)

    return cut


def _unfolded(model: Any, pixels: Tensor) -> Tensor:
    side = model.patch_embed.side
    squares = pixels.unfold(2, side, side).unfold(3, side, side)  # (B, C, rows, columns, y, x)
    return squares.reshape(len(pixels), -1, pixels.shape[1] * side * side)


def _split(form: str) -> Callable[..., tuple[Tensor, ...]]:
    def split(model: Any, numbers: Tensor) -> tuple[Tensor, ...]:
        return tuple(rearrange(numbers, form, three=3, h=model.blocks[LAYER].attn.heads))

    return split


def _scores(q: Tensor, k: Tensor, width: int) -> Tensor:
    return q @ k.mT / width**0.5


def _mixed(form: str) -> Callable[..., Tensor]:
    return lambda _model, shares, v: rearrange(shares @ v, form)


def _with_cls(model: Any, patches: Tensor, positions: Tensor | float = 0.0) -> Tensor:
    cls = model.cls_token.expand(len(patches), -1, -1)
    return torch.cat([cls, patches + positions], dim=1)


def _no_sum(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    return block.mlp(block.norm2(block.attn(block.norm1(x))))


def _no_norm(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    x = x + block.attn(x)
    return x + block.mlp(x)


def _norm_after(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    x = block.norm1(x + block.attn(x))
    return block.norm2(x + block.mlp(x))


def _normed_kept(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    x = block.norm1(x)
    x = block.norm2(x + block.attn(x))
    return x + block.mlp(x)


def _one_norm(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    x = x + block.attn(block.norm1(x))
    return x + block.mlp(block.norm1(x))


def _mlp_alone(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    return block.mlp(block.norm2(x + block.attn(block.norm1(x))))


def _side_by_side(model: Any, x: Tensor) -> Tensor:
    block = model.blocks[LAYER]
    return x + block.attn(block.norm1(x)) + block.mlp(block.norm2(x))


def two_steps(model: Any, step: Callable[..., Any]) -> Any:
    """Two steps of gradient descent, at a rate of 0.1, on (weight - 1)^2 from 0.

    Returns (3,): the weight after each step, then 0 if the weight moved, else the first six calls
    as digits (1 zero_grad, 2 backward, 3 step). Returns `...` if nothing was called. The weight is
    a parameter of the model, so that model.zero_grad() works as well as the optimizer's.
    """
    weight, calls, seen = model.norm.bias, [], []
    kept = weight.data
    with torch.inference_mode(False), torch.enable_grad():
        weight.data, weight.grad = torch.zeros(1), None
        optimizer = torch.optim.SGD([weight], lr=0.1)
        plain = optimizer.zero_grad

        def zero_grad(*given: Any, **named: Any) -> None:
            calls.append("1")
            plain(*given, **named)

        optimizer.zero_grad = zero_grad  # type: ignore[method-assign]
        optimizer.register_step_pre_hook(lambda *_: calls.append("3"))
        hook = weight.register_hook(lambda _slope: calls.append("2"))
        try:
            for _ in range(2):
                step(optimizer, ((weight - 1) ** 2).sum())
                seen.append(weight.item())
        finally:
            hook.remove()
            weight.data, weight.grad = kept, None
    if not calls:
        return ...
    return torch.tensor([*seen, 0.0 if any(seen) else float("".join(calls[:6]))])


def _steps(*calls: str) -> Callable[..., Any]:
    """The steps of somebody who calls these, in this order."""

    def step(optimizer: Any, loss: Tensor) -> None:
        todo = {"zero": optimizer.zero_grad, "back": loss.backward, "step": optimizer.step}
        for call in calls:
            todo[call]()

    return lambda model: two_steps(model, step)


GAPS = {
    "cut": Gap(
        lambda model, pixels: model.patch_embed.cut(pixels),
        {
            "colours_last": _cut("b c (rows y) (cols x) -> b (rows cols) (y x c)"),
            "channels_mixed": _unfolded,
            "columns_first": _cut("b c (rows y) (cols x) -> b (cols rows) (c y x)"),
        },
    ),
    "split": Gap(
        lambda model, numbers: model.blocks[LAYER].attn.split(numbers),
        {
            "heads_first": _split("b n (h three d) -> three b h n d"),
            "heads_last": _split("b n (three d h) -> three b h n d"),
            "q_k_swapped": lambda model, numbers: tuple(
                _split("b n (three h d) -> three b h n d")(model, numbers)[at] for at in (1, 0, 2)
            ),
        },
    ),
    "shares": Gap(
        lambda model, q, k: model.blocks[LAYER].attn.shares(q, k),
        {
            "no_root": lambda _model, q, k: _scores(q, k, 1).softmax(dim=-1),
            "wrong_root": lambda _model, q, k: _scores(q, k, q.shape[1] * q.shape[-1]).softmax(
                dim=-1
            ),
            "by_width": lambda _model, q, k: _scores(q, k, q.shape[-1] ** 2).softmax(dim=-1),
            "times_root": lambda _model, q, k: _scores(q, k, 1 / q.shape[-1]).softmax(dim=-1),
            "root_after": lambda _model, q, k: (
                _scores(q, k, 1).softmax(dim=-1) / q.shape[-1] ** 0.5
            ),
            "turned": lambda _model, q, k: _scores(k, q, q.shape[-1]).softmax(dim=-1),
            "over_heads": lambda _model, q, k: _scores(q, k, q.shape[-1]).softmax(dim=1),
            "over_queries": lambda _model, q, k: _scores(q, k, q.shape[-1]).softmax(dim=-2),
            "no_softmax": lambda _model, q, k: _scores(q, k, q.shape[-1]),
        },
    ),
    "join": Gap(
        lambda model, shares, v: model.blocks[LAYER].attn.join(shares, v),
        {
            "heads_not_moved": lambda _model, shares, v: (shares @ v).reshape(
                v.shape[0], v.shape[2], -1
            ),
            "heads_interleaved": _mixed("b h n d -> b n (d h)"),
            "shares_turned": lambda model, shares, v: _mixed("b h n d -> b n (h d)")(
                model, shares.mT, v
            ),
        },
    ),
    "block": Gap(
        lambda model, x: model.blocks[LAYER](x),
        {
            "no_sum": _no_sum,
            "no_norm": _no_norm,
            "norm_after": _norm_after,
            "side_by_side": _side_by_side,
            "normed_kept": _normed_kept,
            "one_norm": _one_norm,
            "mlp_alone": _mlp_alone,
        },
    ),
    "tokens": Gap(
        lambda model, patches: model.tokens(patches),
        {
            "cls_last": lambda model, patches: (
                _with_cls(model, patches).roll(-1, dims=1) + model.pos_embed
            ),
            "no_positions": _with_cls,
            "one_position": lambda model, patches: (
                _with_cls(model, patches) + model.pos_embed[:, -1:]
            ),
            "cls_without_position": lambda model, patches: _with_cls(
                model, patches, model.pos_embed[:, 1:]
            ),
        },
    ),
    "answer": Gap(
        lambda model, x: model.answer(x),
        {
            "mean": lambda model, x: model.head(model.norm(x).mean(dim=1)),
            "no_last_norm": lambda model, x: model.head(x[:, 0]),
            "norm_twice": lambda model, x: model.head(model.norm(model.norm(x[:, 0]))),
            "last_token": lambda model, x: model.head(model.norm(x[:, -1])),
            "softmax_too": lambda model, x: model.head(model.norm(x[:, 0])).softmax(dim=-1),
        },
    ),
    "loss": Gap(
        lambda model, logits, labels: model.loss(logits, labels),
        {
            "softmax_before": lambda _model, logits, labels: F.cross_entropy(
                logits.softmax(dim=-1), labels
            ),
            "added_up": lambda _model, logits, labels: F.cross_entropy(
                logits, labels, reduction="sum"
            ),
            "no_logarithm": lambda _model, logits, labels: (
                -F.nll_loss(logits.softmax(dim=-1), labels)
            ),
            "no_minus": lambda _model, logits, labels: -F.cross_entropy(logits, labels),
            "logits_taken": lambda _model, logits, labels: F.nll_loss(logits, labels),
            "squares": lambda _model, logits, labels: F.mse_loss(
                logits.softmax(dim=-1), F.one_hot(labels, logits.shape[-1]).float()
            ),
        },
    ),
    "step": Gap(
        lambda model: two_steps(model, model.step),
        {
            "not_emptied": _steps("back", "step"),
            "no_step": _steps("zero", "back"),
            "no_backward": _steps("zero", "step"),
            "step_first": _steps("zero", "step", "back"),
            "emptied_too_late": _steps("back", "zero", "step"),
        },
    ),
}
