"""Features: cosine similarity, norms and PCA of the tokens after a layer.

Each is a function of the residual stream after a block, `tokens_after(trace, layer)`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..capture.selection import counted
from ..capture.trace import Trace
from .positions import unit_rows

# A patch whose norm is this many times the median is marked as an outlier. arXiv:2309.16588 read
# its cutoff (150 for DINOv2-g) off a histogram of norms; a multiple of the median fits every model.
OUTLIER_TIMES = 2.0

# Quantiles of the scores that become the ends of a colour channel. From minimum to maximum, one
# outlier would leave all other patches the same grey.
COLOUR_RANGE = (0.01, 0.99)


@dataclass(frozen=True, eq=False, slots=True)
class Principal:
    """The three directions in which the patches of a layer differ most, largest first.

    scores     (P, 3)  coordinate of every patch along them; each column has mean 0
    explained  (3,)    share of the variance along each; the other directions hold the rest
    low, high  (3,)    scores that become 0 and 1 as colours, see `COLOUR_RANGE`
    """

    scores: Tensor
    explained: Tensor
    low: Tensor
    high: Tensor

    def rgb(self) -> Tensor:
        """The scores as red, green and blue in [0, 1]. (P, 3); 0.5 where all are equal"""
        span = self.high - self.low
        shown = (self.scores - self.low) / torch.where(span > 0, span, 1)
        return torch.where(span > 0, shown.clamp(0, 1), 0.5)


def tokens_after(trace: Trace, layer: int) -> Tensor:
    """The residual stream after a block. (N, D). Raises `SelectionError` without such a layer."""
    return trace.tokens[trace.check_layer(layer) + 1]


def similarity(tokens: Tensor, token: int) -> Tensor:
    """Cosine similarity of one token with all. (N, D) -> (N,), in [-1, 1]

    The mean is not subtracted. The tokens of a trained model have a large part in common, so all
    values can be high; compare them with each other.
    """
    rows = unit_rows(tokens)
    return rows @ rows[counted("token", token, len(rows))]


def norms(tokens: Tensor) -> Tensor:
    """Length of every token's vector. (N, D) -> (N,)"""
    return tokens.norm(dim=-1)


def outliers(patch_norms: Tensor, times: float = OUTLIER_TIMES) -> Tensor:
    """Mark patches that are longer than `times` the median of all patches. (P,) -> (P,) bool

    Large trained models use a few patches of dull background as registers: they hold what
    concerns the whole picture, and their norms stand out (arXiv:2309.16588).
    """
    return patch_norms > times * patch_norms.quantile(0.5)


def principal(patches: Tensor) -> Principal:
    """PCA over the patches of one layer, prefix tokens left out. (P, D)

    PCA leaves the sign of a direction open. Here the number with the largest magnitude of its D is
    positive, so that the same direction has the same sign in every layer and for every photo.
    """
    centred = (patches - patches.mean(dim=0)).double()
    count, dim = centred.shape
    # The smaller of X X^T and X^T X: both give the directions of the covariance.
    wide = count <= dim
    values, vectors = torch.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    best = vectors.flip(-1)[:, :3]
    directions = centred.T @ best if wide else best  # (D, up to 3)
    directions = torch.nn.functional.normalize(directions, dim=0)
    largest = directions.gather(0, directions.abs().argmax(dim=0, keepdim=True))
    scores = centred @ (directions * torch.where(largest < 0, -1.0, 1.0))
    total = centred.square().sum()
    explained = values.flip(-1)[:3].clamp(min=0) / (total if total > 0 else 1)
    missing = 3 - scores.shape[1]  # with fewer than three patches or dimensions
    scores = torch.nn.functional.pad(scores, (0, missing)).float()
    explained = torch.nn.functional.pad(explained, (0, missing)).float()
    low, high = scores.quantile(torch.tensor(COLOUR_RANGE), dim=0)
    return Principal(scores, explained, low, high)
