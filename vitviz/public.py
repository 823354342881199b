"""The public names of vitviz, which `vitviz` imports when one of them is first used."""
# ruff: noqa: F401

from .errors import CaptureError, ImageError, SelectionError, VitvizError, WeightsError
from .many.ablation import Ablation, ablate
from .many.analyses import analyze_many
from .many.features import Features, cka, features
from .many.halves import Halves, halves
from .many.pca import SharedPCA, pca
from .many.pictures import BrokenPicture
from .many.survey import Survey, survey
from .many.teach import teach
from .model.checkpoints import save
from .model.config import ViTConfig
from .model.head import with_head
from .model.loaded import LoadedModel, ModelCard
from .model.photo import Photo, open_photo
from .model.preprocess import Preprocess
from .model.taught import Taught
from .model.vit import ViT
from .model.weights import from_timm, from_transformers, list_models, load
from .notebook import both, cell
from .probe.analysis import Analysis, analyze
from .probe.capture.grid import PatchGrid
from .probe.capture.recorder import capture
from .probe.capture.trace import Trace
from .probe.compare import Comparison, compare
from .probe.explain.explainers import EXPLAINERS, rollout, rollout_matrix
from .probe.measure.predictions import Prediction

# Notebooks call this method; probe/ does not know the viewer.
Analysis._repr_html_ = cell
Comparison._repr_html_ = both
