"""fast_products: linear layers by oneDNN, one of the two libraries that torch brings for them.

torch multiplies float32 matrices on a CPU with MKL, which on processors of AMD uses half of the
width they have: 95 GFLOP/s of one core where oneDNN, which comes with torch too, does 200 (EPYC,
torch 2.15). Both compute in float32; only the order in which they add differs. Where MKL uses the
whole width nothing is gained; what oneDNN does there was not measured.
"""

import platform
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


def _found() -> Callable[..., Tensor] | None:
    """What torch has oneDNN compute a layer with, for which it names no public function.

    None, and layers are computed as always, where there is none, where it takes other arguments
    than today, and on processors other than x86, on which nobody has compared the two.
    """
    product = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if product is None or platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        sums = product(torch.ones(1, 3), torch.ones(2, 3), torch.ones(2), "none", [], "")
    except (RuntimeError, TypeError):
        return None
    return product if sums.tolist() == [[4.0, 4.0]] else None


_ONEDNN = _found()


def fast_products() -> AbstractContextManager[None]:
    """Linear layers of this thread are computed by oneDNN where it can, until the block ends.

    Results differ from those of torch by rounding, about 1e-6 of the largest. Gradients of the
    inputs are computed, and those of weights where they are asked for, by torch itself.
    """
    return _Products()


class _Products(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        _types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is F.linear and not kwargs and _can(*args):
            return _Linear.apply(*args) if torch.is_grad_enabled() else _product(*args)
        return func(*args, **(kwargs or {}))


def _can(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    """Whether oneDNN computes this layer as torch would: float32 on the CPU, weights fixed."""
    tensors = [x, weight] if bias is None else [x, weight, bias]
    return (
        _ONEDNN is not None
        and torch.backends.mkldnn.is_available()
        and all(type(one) in (Tensor, torch.nn.Parameter) for one in tensors)
        and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tensors)
        and not (torch.is_grad_enabled() and any(one.requires_grad for one in tensors[1:]))
        and x.numel() > 0
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    assert _ONEDNN is not None  # as `_can` found
    return _ONEDNN(x, weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        ctx.weight = weight
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return _product(gradient, ctx.weight.t()), None, None
