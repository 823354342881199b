"""Preprocess: turn a photo into a model's input (resize, crop, scale), bit for bit as timm does.

`picture` stops before normalisation, so that a visitor can be shown the very pixels the model gets;
`pixels` does the rest. Two steps, because the picture is also what patches are drawn on.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ..errors import ImageError, VitvizError, WeightsError
from .config import MOST
from .json_values import is_number, is_whole, short
from .photo import Photo

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TIMM_CROP_PCT = 0.875  # what timm uses where a model does not say
CROP_MODES = ("center", "squash", "border")
INTERPOLATIONS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
    "lanczos": Image.Resampling.LANCZOS,
}
# Bounds of mean and std, for pixels from 0 to 1; std 1/255 leaves them from 0 to 255.
MOST_MEAN, LEAST_STD, MOST_STD = 2.0, 1e-3, 4.0
MAX_SIDE = 4096  # pixels on a side of a model's input; no published ViT comes near it

# The resized photo before cropping may be an endless strip: 1 x 10,000 pixels become 224 x
# 2,240,000. Above this many pixels (128 MB) only the part that survives the crop is computed.
MAX_RESIZED_PIXELS = 2**25


@dataclass(frozen=True, kw_only=True)
class Preprocess:
    """Size (height, width), channels, and timm's names for the rest of its evaluation transform.

    crop_mode "center": the short side becomes size / crop_pct, then the middle is cut out;
    "squash": both sides become size / crop_pct, whatever the shape; "border": the long side becomes
    size / crop_pct, and the rest is filled with the mean colour. `crop_floor`: an odd rest around
    the crop is halved downwards, as in transformers; else it is rounded as torchvision does. The
    values come with a checkpoint; impossible values raise `WeightsError`.
    """

    size: tuple[int, int]
    channels: int = 3
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    crop_pct: float = 1.0
    crop_mode: str = "center"
    crop_floor: bool = False
    interpolation: str = "bicubic"

    def __post_init__(self) -> None:
        for name, kind in (("size", int), ("mean", float), ("std", float)):
            object.__setattr__(self, name, _numbers(name, getattr(self, name), kind))
        if len(self.size) != 2 or not all(1 <= side <= MAX_SIDE for side in self.size):
            raise WeightsError(
                f"size must be (height, width) from 1 to {MAX_SIDE} pixels, got {short(self.size)}"
            )
        if not is_whole(self.channels) or self.channels not in (1, 3):
            raise WeightsError(f"channels must be 1 (grey) or 3 (RGB), got {short(self.channels)}")
        for name in ("mean", "std"):
            if len(values := getattr(self, name)) != self.channels:
                raise WeightsError(
                    f"{name} needs one number for each of {self.channels} channels, "
                    f"got {short(values)}"
                )
        if min(self.std) <= 0:
            raise WeightsError(f"std must be positive, got {self.std}")
        far = max(map(abs, self.mean)) > MOST_MEAN or max(self.std) > MOST_STD
        if far or min(self.std) < LEAST_STD:
            raise WeightsError(
                f"mean and std are those of pixels from 0 to 1, got {short(self.mean)} and "
                f"{short(self.std)}; those of pixels from 0 to 255 are 255 times as large"
            )
        if not is_number(self.crop_pct, 0.01, 2):
            raise WeightsError(f"crop_pct must lie between 0.01 and 2, got {short(self.crop_pct)}")
        if not isinstance(self.crop_floor, bool):
            raise WeightsError(f"crop_floor must be true or false, got {short(self.crop_floor)}")
        for name, allowed in (("crop_mode", CROP_MODES), ("interpolation", tuple(INTERPOLATIONS))):
            if getattr(self, name) not in allowed:
                raise WeightsError(
                    f"{name} must be one of {', '.join(allowed)}, got {short(getattr(self, name))}"
                )

    def picture(self, photo: Photo) -> Tensor:
        """The model's view of a photo before normalisation, bit for bit as in timm. uint8 (h, w, C)

        Strips hundreds of times longer than wide differ from timm on purpose. If the resized photo
        would have more than `MAX_RESIZED_PIXELS`, only the part inside the crop is computed; Pillow
        may then resize rows and columns in another order, and rounds in between. If the narrow side
        would be rounded to 0 pixels (timm fails), it keeps 1.
        """
        image = photo.in_channels(self.channels)
        full = self._resized(image.height, image.width)
        height, width = self.size
        top, left = self._offset(full[0], height), self._offset(full[1], width)
        method = INTERPOLATIONS[self.interpolation]
        if full[0] * full[1] <= MAX_RESIZED_PIXELS:
            image = image.resize((full[1], full[0]), method)
        else:
            (y, rows), (x, cols) = _kept(full[0], top, height), _kept(full[1], left, width)
            down, right = image.height / full[0], image.width / full[1]
            box = (x * right, y * down, (x + cols) * right, (y + rows) * down)
            box = (*box[:2], min(box[2], image.width), min(box[3], image.height))
            image, top, left = image.resize((cols, rows), method, box=box), top - y, left - x
        seen = Image.new(image.mode, (width, height), self.margin)
        seen.paste(image, (-left, -top))
        return torch.from_numpy(np.array(seen).reshape(height, width, self.channels))

    @property
    def margin(self) -> int | tuple[int, ...]:
        """The colour around a photo that does not fill the picture, as Pillow takes it."""
        if self.crop_mode != "border":
            return 0
        fill = tuple(round(255 * value) for value in self.mean)
        return fill[0] if self.channels == 1 else fill

    def framing(
        self, photo: Photo, size: tuple[int, int] | None = None
    ) -> tuple[float, float, float, float]:
        """The part of the photo that `picture` shows: top, left, bottom, right, in its pixels.

        It reaches beyond the photo if the picture has a margin. `size`: (height, width) of the part
        of the picture that counts, from its top left corner; None: all of it.
        """
        full = self._resized(photo.image.height, photo.image.width)
        height, width = self.size if size is None else size
        top, left = (self._offset(*lengths) for lengths in zip(full, self.size, strict=True))
        down, right = photo.image.height / full[0], photo.image.width / full[1]
        return top * down, left * right, (top + height) * down, (left + width) * right

    def pixels(self, picture: Tensor) -> Tensor:
        """The model's input: (picture / 255 - mean) / std. uint8 (h, w, C) -> (1, C, h, w)

        The picture may lack the last rows and columns, which fill no patch. Raises `ImageError` for
        another one, and `VitvizError` where torch's defaults are not float32 on the CPU.
        """
        _check_defaults()
        most = (*self.size, self.channels)
        fits = picture.ndim == 3 and picture.shape[2] == self.channels
        fits = fits and all(
            0 < made <= side for made, side in zip(picture.shape, most, strict=True)
        )
        if not fits or picture.dtype != torch.uint8:
            raise ImageError(
                f"a picture of shape {(*self.size, self.channels)} and uint8 is expected,"
                f" got {tuple(picture.shape)} of {picture.dtype}"
            )
        values = picture.permute(2, 0, 1).to(torch.float32).div(255)  # as torchvision's ToTensor
        mean, std = (torch.tensor(numbers).view(-1, 1, 1) for numbers in (self.mean, self.std))
        return ((values - mean) / std).unsqueeze(0)

    def to_dict(self) -> dict[str, Any]:
        """The fields in JSON's types; `from_dict` reads them."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Preprocess":
        """Raises `WeightsError` for unknown or missing names and for values out of range."""
        if not isinstance(values, Mapping):
            raise WeightsError(f"preprocess must be a dictionary, got {type(values).__name__}")
        names = {field.name for field in fields(cls)}
        if unknown := sorted(map(str, set(values) - names)):
            raise WeightsError(
                f"preprocess knows {', '.join(sorted(names))}, got also {', '.join(unknown[:5])}"
            )
        if "size" not in values:
            raise WeightsError("preprocess needs a size (height, width)")
        return cls(**values)

    @classmethod
    def from_timm(cls, cfg: Mapping[str, Any]) -> "Preprocess":
        """From `timm.data.resolve_model_data_config(model)`.

        timm gives ImageNet's three means and deviations to a grey model without its own; here such
        a model gets their averages.
        """
        channels, height, width = cfg["input_size"]
        return cls(
            size=(height, width),
            channels=channels,
            mean=per_channel(cfg.get("mean") or IMAGENET_MEAN, channels),
            std=per_channel(cfg.get("std") or IMAGENET_STD, channels),
            crop_pct=cfg.get("crop_pct") or TIMM_CROP_PCT,
            crop_mode=cfg.get("crop_mode") or "center",
            interpolation=cfg.get("interpolation") or "bilinear",  # create_transform's default
        )

    def _resized(self, height: int, width: int) -> tuple[int, int]:
        """Size of the whole resized photo before the crop. Rounds as timm and torchvision do."""
        height_wanted, width_wanted = (
            max(1, math.floor(side / self.crop_pct)) for side in self.size
        )
        goal = height_wanted, width_wanted
        if self.crop_mode == "squash":
            return goal
        if self.crop_mode == "center" and goal[0] == goal[1]:
            long = int(goal[0] * max(height, width) / min(height, width))
            return (goal[0], long) if height <= width else (long, goal[0])
        pick = max if self.crop_mode == "border" else min
        ratio = pick(height / goal[0], width / goal[1])
        return max(1, round(height / ratio)), max(1, round(width / ratio))

    def _offset(self, full: int, kept: int) -> int:
        """Start of the crop along one axis, in pixels; negative if it needs a margin."""
        if full < kept:
            return -((kept - full) // 2)
        return (full - kept) // 2 if self.crop_floor else round((full - kept) / 2)


def per_channel(numbers: Sequence[float], channels: int) -> tuple[float, ...]:
    """One number for each channel: `numbers`, or their mean if there are more or fewer of them."""
    if len(numbers) == channels:
        return tuple(numbers)
    return (sum(numbers) / len(numbers),) * channels


def as_preprocess(given: Preprocess | Mapping[str, Any] | None) -> Preprocess | None:
    """The `Preprocess` that a user gives, as such or as its fields."""
    return given if given is None or isinstance(given, Preprocess) else Preprocess.from_dict(given)


def _kept(full: int, start: int, kept: int) -> tuple[int, int]:
    """First pixel and number of pixels of a resized axis that lie inside the crop."""
    first = max(start, 0)
    return first, min(start + kept, full) - first


def _numbers(name: str, values: object, kind: type) -> tuple:
    """A tuple of plain, finite numbers from a tuple or list, as a JSON file gives them."""

    def accepted(value: object) -> bool:
        return is_whole(value) if kind is int else is_number(value, -MOST, MOST)

    if not isinstance(values, tuple | list) or not all(map(accepted, values)):
        raise WeightsError(f"{name} must be a list of {kind.__name__} numbers, got {short(values)}")
    return tuple(kind(value) for value in values)


def _check_defaults() -> None:
    """Refuse other defaults of torch: what is made on the way (means, angles, maps) would be
    rounded without a word, or lie on another device than the pixels.
    """
    kind, device = torch.get_default_dtype(), torch.get_default_device()
    if kind != torch.float32 or device.type != "cpu":
        raise VitvizError(
            f"torch's defaults are {kind} on {device}; vitviz needs float32 on the CPU, wherever a "
            "model runs: torch.set_default_dtype(torch.float32), torch.set_default_device(None)"
        )
