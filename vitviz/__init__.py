"""vitviz: take a Vision Transformer apart and look at every number between a photo and an answer.

import vitviz
analysis = vitviz.analyze(vitviz.load(), "photo.jpg")
analysis.attention(layer=5, head=2, token=0)
"""
# ruff: noqa: F403, F405 (the names below are those of public.py)

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .public import *

__version__ = "0.3.2"

__all__ = [
    "EXPLAINERS",
    "Ablation",
    "Analysis",
    "BrokenPicture",
    "CaptureError",
    "Features",
    "Halves",
    "ImageError",
    "LoadedModel",
    "ModelCard",
    "PatchGrid",
    "Photo",
    "Prediction",
    "Preprocess",
    "SelectionError",
    "SharedPCA",
    "Survey",
    "Taught",
    "Trace",
    "ViT",
    "ViTConfig",
    "VitvizError",
    "WeightsError",
    "ablate",
    "analyze",
    "analyze_many",
    "capture",
    "cka",
    "compare",
    "features",
    "from_timm",
    "from_transformers",
    "halves",
    "list_models",
    "load",
    "open_photo",
    "pca",
    "rollout",
    "rollout_matrix",
    "save",
    "survey",
    "teach",
    "with_head",
]
_ROOMS = ("errors", "languages", "many", "model", "notebook", "probe")  # where these names are from


def __getattr__(name: str) -> Any:
    """Import a public name, or a room, when it is first used: they need torch, which takes seconds
    that `vitviz --help` need not wait.
    """
    if name == "draw":  # takes matplotlib, which the other names need not wait for
        return importlib.import_module(f"{__name__}.draw")
    if name not in __all__ and name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import public

    globals().update({public_name: getattr(public, public_name) for public_name in __all__})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS, "draw"})
