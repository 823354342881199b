"""fast_products: linear layers by oneDNN, one of the two libraries that torch brings for them.

torch multiplies float32 matrices on a CPU with MKL, which uses half of the vector width of AMD
processors: 95 GFLOP/s on one core, where oneDNN, which also comes with torch, reaches 200 (EPYC,
torch 2.15). Both compute in float32; only the order of the additions differs. Processors on which
MKL uses the whole width were not measured; little can be gained there.
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
    """torch's private function that computes a linear layer with oneDNN.

    None, so that layers are computed as always, if torch lacks the function, if its arguments have
    changed, and on processors other than x86, where the two were never compared.
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
    """Compute linear layers of this thread with oneDNN where possible, until the block ends.

    Results differ from torch's by rounding, about 1e-6 of the largest. Gradients of inputs are
    computed with oneDNN too; a layer whose weights need gradients is left to torch.
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
        and all(type(tensor) in (Tensor, torch.nn.Parameter) for tensor in tensors)
        and all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
        and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors[1:]))
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
