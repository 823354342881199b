"""The public names of vitviz, which `vitviz` itself hands out when one of them is asked for."""
# ruff: noqa: F401

from .errors import CaptureError, ImageError, SelectionError, VitvizError, WeightsError
from .model.config import ViTConfig
from .model.loaded import LoadedModel, ModelCard
from .model.photo import Photo, open_photo
from .model.preprocess import Preprocess
from .model.vit import ViT
from .model.weights import from_timm, list_models, load
from .notebook import cell
from .probe.analysis import Analysis, analyze
from .probe.capture.grid import PatchGrid
from .probe.capture.recorder import capture
from .probe.capture.trace import Trace
from .probe.compare import compare
from .probe.explain.explainers import EXPLAINERS, rollout, rollout_matrix
from .probe.measure.predictions import Prediction

Analysis._repr_html_ = cell  # what a notebook asks for; probe/ does not know the viewer
