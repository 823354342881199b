"""vitviz: take a Vision Transformer apart and look at every number between a photo and an answer.

import vitviz
analysis = vitviz.analyze(vitviz.load(), "photo.jpg")
analysis.attention(layer=5, head=2, token=0)
"""

from .errors import CaptureError, ImageError, SelectionError, VitvizError, WeightsError
from .model.config import ViTConfig
from .model.loaded import LoadedModel, ModelCard
from .model.photo import Photo, open_photo
from .model.preprocess import Preprocess
from .model.vit import ViT
from .model.weights import from_timm, list_models, load
from .notebook import cell
from .probe.analysis import Analysis, analyze
from .probe.compare import compare
from .probe.explain import EXPLAINERS, rollout, rollout_matrix
from .probe.grid import PatchGrid
from .probe.predictions import Prediction
from .probe.trace import Trace, capture

Analysis._repr_html_ = cell  # what a notebook asks for; probe/ does not know the viewer

__version__ = "0.1.0"

__all__ = [
    "EXPLAINERS",
    "Analysis",
    "CaptureError",
    "ImageError",
    "LoadedModel",
    "ModelCard",
    "PatchGrid",
    "Photo",
    "Prediction",
    "Preprocess",
    "SelectionError",
    "Trace",
    "ViT",
    "ViTConfig",
    "VitvizError",
    "WeightsError",
    "analyze",
    "capture",
    "compare",
    "from_timm",
    "list_models",
    "load",
    "open_photo",
    "rollout",
    "rollout_matrix",
]
