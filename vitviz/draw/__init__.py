"""Figures for slides and papers: an Analysis goes in, a matplotlib Figure comes out.

Each function returns a `matplotlib.figure.Figure` that is independent of windows and pyplot. A
notebook shows it when it is the last line of a cell; `save` writes it as PNG, SVG or PDF.
Colours are perceptual (viridis; blue to brown for values with a sign), patches keep their edges,
and every map has a colour bar with numbers.
"""

from .charts import head_statistics, pair
from .explanations import explain, explained, fair_test
from .figure_parts import save, token_name
from .filters import filters
from .maps import attention, heads, matrix, pooling, rollout, wall
from .models import measured, training
from .patches import patch, patch_grid
from .probabilities import answers, lens, predictions
from .surveys import ablation, figure7
from .tokens import features, mosaic, pca, position_similarity

__all__ = [
    "ablation",
    "answers",
    "attention",
    "explain",
    "explained",
    "fair_test",
    "features",
    "figure7",
    "filters",
    "head_statistics",
    "heads",
    "lens",
    "matrix",
    "measured",
    "mosaic",
    "pair",
    "patch",
    "patch_grid",
    "pca",
    "pooling",
    "position_similarity",
    "predictions",
    "rollout",
    "save",
    "token_name",
    "training",
    "wall",
]
