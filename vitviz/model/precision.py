"""Precision: 16-bit weights, in modules that convert their inputs to the type of their weights.

This halves the memory and speeds up products on a GPU. Pixels, recorded tokens (which may go
through the model again) and results stay float32.
"""

from typing import Any

import torch
from torch import Tensor, nn

from ..errors import WeightsError
from .json_values import short
from .positions import Angles
from .vit import AttentionPool, Block, PatchEmbed, ViT

PRECISIONS = {"half": torch.float16, "bfloat16": torch.bfloat16}


def to_precision(vit: ViT, dtype: Any, device: str | torch.device) -> None:
    """Bring a model that runs on this device to the `dtype` of `vitviz.load`; None: as it is.

    Raises as `check_precision` does, and torch's errors for a device that does not exist.
    """
    if kind := check_precision(dtype, torch.device(device)):
        bring_to(vit, kind)


def check_precision(dtype: Any, device: torch.device) -> torch.dtype | None:
    """The type of weights that is requested; None for float32.

    Raises `WeightsError` for anything but a name or a value of `PRECISIONS`, and on a CPU.
    """
    if dtype is None:
        return None
    kind = PRECISIONS.get(dtype) if isinstance(dtype, str) else dtype
    if kind not in PRECISIONS.values():
        allowed = " or ".join(map(repr, PRECISIONS))
        raise WeightsError(f"dtype must be {allowed}, got {short(str(dtype))}")
    if device.type == "cpu":
        raise WeightsError(
            f"dtype {short(str(dtype))} needs a GPU, and the device is the CPU; without dtype "
            "vitviz computes there in float32"
        )
    return kind


def bring_to(vit: ViT, kind: torch.dtype) -> None:
    """Make the weights of this type, and let every part convert its input to it.

    Learned rotary frequencies stay float32: rounded, they would turn far patches to other places.
    """
    for part in vit.modules():
        own = [] if isinstance(part, Angles) else [*part.parameters(recurse=False)]
        for weight in own:
            weight.data = weight.data.to(kind)
        if part is not vit and (own or isinstance(part, PatchEmbed | Block | AttentionPool)):
            part.register_forward_pre_hook(_convert)


def converts(vit: ViT) -> bool:
    """Whether `bring_to` has prepared this model."""
    return _convert in vit.patch_embed._forward_pre_hooks.values()


def precision_of(vit: ViT) -> torch.dtype | None:
    """The type of the weights of a model that `bring_to` has prepared; None for any other."""
    return vit.patch_embed.proj.weight.dtype if converts(vit) else None


def _convert(part: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The input of a part, its floating numbers in the type of its weights."""
    kind = next(part.parameters()).dtype
    return tuple(
        value.to(kind) if isinstance(value, Tensor) and value.is_floating_point() else value
        for value in args
    )
