"""PCA of the patches of several pictures, with one basis for all, as DINOv2's authors do it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from ..errors import SelectionError
from ..probe.analysis import Analysis
from ..probe.measure.features import principal, tokens_after
from ..probe.verify import is_of

FEWEST = 3  # patches that three directions can be found in
Side = Literal["positive", "negative"]


@dataclass(frozen=True, eq=False, slots=True)
class SharedPCA:
    """The patches of one picture, in the three directions that several pictures share.

    scores      (rows, cols, 3) coordinates along them; nan outside the foreground. Over all
                pictures each has mean 0
    colours     (rows, cols, 3) the same as red, green and blue in [0, 1]; 0 outside the foreground
    foreground  (rows, cols) bool: which patches the directions were found in
    explained   (3,) share of the variance of these patches of all pictures along each direction
    """

    scores: Tensor
    colours: Tensor
    foreground: Tensor
    explained: Tensor


def pca(
    analyses: Sequence[Analysis],
    layer: int = -1,
    *,
    normed: bool = True,
    foreground: Side | None = None,
) -> list[SharedPCA]:
    """The three directions in which the patches of several pictures differ most; one basis for all.

    The same colour means the same in each picture, so that parts of objects can be compared. Oquab
    et al. 2023, "DINOv2", arXiv:2304.07193, section 7.5: PCA between the patches of all pictures,
    the patches with a positive first component kept as foreground, a second PCA of these.

    analyses    of one model, at least one; the pictures may have grids of different shapes
    layer       the block after which tokens are read, negative from the end
    normed      after the last norm of the model, as the authors do; False: the residual stream
    foreground  "positive" or "negative": the side of the first component that is kept. The sign of
                a direction is a convention, so look which side holds the object. None: all patches

    Raises `SelectionError` without analyses, for anything else than analyses, for several models, a
    layer that the model does not have, another word for `foreground`, or if fewer than three
    patches are kept; `VitvizError` for an analysis read from a file, which does not hold the norm:
    `normed=False` needs none.
    """
    if isinstance(analyses, Analysis) or not isinstance(analyses, Iterable):
        alone = " alone" if isinstance(analyses, Analysis) else ""
        raise SelectionError(_no_analyses(analyses, alone))
    analyses = list(analyses)
    if other := [each for each in analyses if not isinstance(each, Analysis)]:
        raise SelectionError(_no_analyses(other[0]))
    if not analyses:
        raise SelectionError("PCA needs at least one analysis")
    if not all(_share_a_model(analyses[0], other) for other in analyses[1:]):
        raise SelectionError("PCA shares its directions between pictures of one model")
    if foreground not in (None, "positive", "negative"):
        raise SelectionError(f"foreground must be positive, negative or None, not {foreground!r}")
    patches = torch.cat([_patches(each, layer, normed) for each in analyses])
    kept = torch.ones(len(patches), dtype=torch.bool)
    if foreground:
        first = principal(patches).scores[:, 0]
        kept = first > 0 if foreground == "positive" else first < 0
    if int(kept.sum()) < FEWEST:
        raise SelectionError(f"PCA needs {FEWEST} patches or more, and {int(kept.sum())} are kept")
    found = principal(patches[kept])
    scores = torch.full((len(patches), 3), torch.nan)
    colours = torch.zeros(len(patches), 3)
    scores[kept], colours[kept] = found.scores, found.rgb()
    shapes = [(each.grid.rows, each.grid.cols) for each in analyses]
    parts = (
        whole.split([rows * cols for rows, cols in shapes]) for whole in (scores, colours, kept)
    )
    return [
        SharedPCA(
            one.unflatten(0, shape),
            rgb.unflatten(0, shape),
            is_kept.unflatten(0, shape),
            found.explained,
        )
        for shape, one, rgb, is_kept in zip(shapes, *parts, strict=True)
    ]


def _no_analyses(came: object, alone: str = "") -> str:
    kind = type(came).__name__
    return f"PCA takes a list of analyses, as vitviz.analyze returns them, got {kind}{alone}"


def _share_a_model(first: Analysis, other: Analysis) -> bool:
    """Whether one model made both. Weights are compared where the model is at hand, and the size of
    its pictures is the same.
    """
    if _model_of(first) != _model_of(other):
        return False
    if first.card.config != other.card.config:
        return True  # of another size
    known, unknown = (first, other) if first.loaded is not None else (other, first)
    if known.loaded is None or known.loaded is unknown.loaded:
        return True
    return is_of(unknown.pass_, known.loaded)


def _model_of(analysis: Analysis) -> tuple[object, ...]:
    """The model of an analysis, whatever the size of its pictures; an untrained twin is another."""
    card = analysis.card
    one_patch = replace(card.config, image_size=card.config.patch_size)
    return card.name, card.source, card.trained, one_patch


def _patches(analysis: Analysis, layer: int, normed: bool) -> Tensor:
    """The tokens of the patches of a picture. (P, D)"""
    tokens = analysis.normed_tokens(layer) if normed else tokens_after(analysis.trace, layer)
    return tokens[analysis.grid.num_prefix_tokens :]
