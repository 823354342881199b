"""Pixels that are normalised already, as a DataLoader gives them, in place of a photo."""

from typing import Any

import torch
from torch import Tensor

from ..errors import ImageError
from ..model.loaded import LoadedModel

SLACK = 1.0  # levels of 255 that a normalised pixel may lie outside, from rounding and resizing


def unnormalised(loaded: LoadedModel, pixels: Any) -> tuple[Tensor, Tensor]:
    """The picture of normalised pixels, rounded to 8 bits, and these pixels as they are.

    (C, h, w) or (1, C, h, w) of the model's size -> uint8 (h, w, C), float32 (C, h, w)

    Raises `ImageError` for another type, shape or size, and for levels that no picture has with the
    mean and deviation of the model.
    """
    config, made = loaded.card.config, loaded.preprocess
    if not isinstance(pixels, Tensor) or not pixels.is_floating_point():
        kind = str(pixels.dtype) if isinstance(pixels, Tensor) else type(pixels).__name__
        raise ImageError(f"normalised pixels must be a tensor of floats, got {kind}")
    shape = tuple(pixels.shape)
    sizes = {(config.in_chans, *config.image_size), (config.in_chans, *made.size)}
    if (shape[1:] if shape[:1] == (1,) and len(shape) == 4 else shape) not in sizes:
        allowed = " or ".join(map(str, sorted(sizes)))
        raise ImageError(f"normalised pixels must have shape {allowed}, got {shape}")
    height, width = config.image_size
    whole = pixels.detach().float().cpu().reshape(shape[-3:])[:, :height, :width].clone()
    mean, std = (torch.tensor(values).view(-1, 1, 1) for values in (made.mean, made.std))
    levels = 255 * (whole * std + mean)
    low, high = (float(end) for end in levels.aminmax())
    if not (low >= -SLACK and high <= 255 + SLACK):
        raise ImageError(
            f"with the mean {made.mean} and deviation {made.std} of {loaded.card.name} these "
            f"pixels have levels from {low:.0f} to {high:.0f} of 255: they are normalised in "
            "another way"
        )
    return levels.round().clamp(0, 255).byte().permute(1, 2, 0).contiguous(), whole
