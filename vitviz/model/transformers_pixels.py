"""Read preprocessor_config.json of Hugging Face transformers as a `Preprocess`."""

import math
import re
from collections.abc import Mapping
from typing import Any

from ..errors import WeightsError
from .config import sides_of
from .json_values import is_number, is_whole, short
from .preprocess import IMAGENET_MEAN, IMAGENET_STD, Preprocess

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_SQUARE = {"size": {"height": 224, "width": 224}, "image_mean": 0.5, "image_std": 0.5}
_CUT = {"do_center_crop": True, "crop_size": 224, "resample": 3}
_CLIP = _CUT | {"size": {"shortest_edge": 224}, "image_mean": CLIP_MEAN, "image_std": CLIP_STD}
_IMAGENET = {"image_mean": IMAGENET_MEAN, "image_std": IMAGENET_STD}
# Defaults of transformers' processors, by their names. A single number as the size is the short
# side if the default has a "shortest_edge", else both sides. "DINOv2" is no processor, but the
# preprocessing that DINOv2 was published with.
PROCESSORS: dict[str, dict[str, Any]] = {
    "ViT": _SQUARE | {"resample": 2},
    "Siglip": _SQUARE | {"resample": 3},
    "DINOv3ViT": _SQUARE | _IMAGENET | {"resample": 2},
    "Beit": _SQUARE | {"resample": 3, "crop_size": 224},
    "DeiT": _SQUARE | _CUT | {"size": {"height": 256, "width": 256}},
    "CLIP": _CLIP,
    "Bit": _CLIP,
    "DINOv2": _CLIP | _IMAGENET | {"size": {"shortest_edge": 256}},
}
INTERPOLATIONS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's numbers


def preprocess_of(settings: Mapping[str, Any], processor: str, channels: int) -> Preprocess:
    """The preprocessing of a processor's file, with the defaults of the processor that the file
    names, or else of `processor`.

    Raises `WeightsError` for an unknown processor and for impossible values.
    """
    name = (
        settings.get("image_processor_type") or settings.get("feature_extractor_type") or processor
    )
    kind = re.sub("(ImageProcessor|FeatureExtractor)(Fast|Pil)?$", "", str(name))
    if kind not in PROCESSORS:
        raise WeightsError(
            f"its pictures are prepared by {short(name)}, which vitviz does not know; "
            "preprocess={...} says how they are"
        )
    default = {"do_center_crop": False, **PROCESSORS[kind]}
    values = default | {key: value for key, value in settings.items() if value is not None}
    size = values["size"]
    edge = size if is_whole(size) and "shortest_edge" in default["size"] else None
    if isinstance(size, Mapping):
        edge = size.get("shortest_edge")
        size = None if edge is not None else (size.get("height"), size.get("width"))
    full = sides_of("size", size if edge is None else edge)
    crop = values.get("crop_size") if switch(values, "do_center_crop") else full
    if isinstance(crop, Mapping):
        crop = (crop.get("height"), crop.get("width"))
    crop = sides_of("crop_size", crop)
    share = _crop_pct(crop[0], full[0])
    if share != _crop_pct(crop[1], full[1]) or (edge is not None and crop[0] != crop[1]):
        raise WeightsError(f"it crops {crop} of {full} pixels, which vitviz cannot do")
    if not is_whole(values["resample"]) or not 0 <= values["resample"] < len(INTERPOLATIONS):
        raise WeightsError(f"resample must be from 0 to 5, got {short(values['resample'])}")
    # (p * factor - mean) / std of transformers is (p / 255 - mean / scale) / (std / scale) here.
    scale = (
        255 * _number(values, "rescale_factor", 1 / 255) if switch(values, "do_rescale") else 255
    )
    normal = switch(values, "do_normalize")
    mean, std = (
        _per_channel(values[key] if normal else other, key, channels, scale)
        for key, other in (("image_mean", 0.0), ("image_std", 1.0))
    )
    return Preprocess(
        size=crop,
        channels=channels,
        mean=mean,
        std=std,
        crop_pct=share,
        crop_mode="squash" if edge is None else "center",
        crop_floor=True,
        interpolation=INTERPOLATIONS[values["resample"]],
    )


def _crop_pct(crop: int, full: int) -> float:
    """The `crop_pct` from which `Preprocess`, which rounds down, computes `full` pixels again."""
    share = crop / full
    return share if math.floor(crop / share) == full else math.nextafter(share, 0)


def switch(values: Mapping[str, Any], key: str, default: bool = True) -> bool:
    """A value that must be true or false; null is the default. Raises `WeightsError`."""
    value = default if values.get(key) is None else values[key]
    if not isinstance(value, bool):
        raise WeightsError(f"{key} must be true or false, got {short(value)}")
    return value


def _number(values: Mapping[str, Any], key: str, default: float) -> float:
    value = values.get(key, default)
    if not is_number(value, 1e-6, 1e6):
        raise WeightsError(f"{key} must be a number from 1e-6 to 1e6, got {short(value)}")
    return value


def _per_channel(value: Any, key: str, channels: int, scale: float) -> tuple[float, ...]:
    """A number for each channel; for a grey model the average of three."""
    numbers = list(value) if isinstance(value, list | tuple) else [value]
    if not numbers or not all(is_number(number, -1e6, 1e6) for number in numbers):
        raise WeightsError(f"{key} must be numbers, got {short(value)}")
    if len(numbers) != channels:
        numbers = [sum(numbers) / len(numbers)] * channels
    return tuple(number / scale for number in numbers)
