"""Explainers beside the picture: how much every patch matters, each map on its own scale."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..model.loaded import LoadedModel
from ..probe.analysis import Analysis, Target
from ..probe.explain.explainers import EXPLAINERS, chosen, fitting
from .figure_parts import (
    COLOURS,
    DIMMEST,
    SHADES,
    SIGNED,
    bar,
    caption,
    dimmed,
    mark,
    panels,
    patch_map,
    picture,
    show,
    title,
    token_name,
)


def explain(
    analysis: Analysis,
    keys: Sequence[str] | None = None,
    token: int = 0,
    target: Target = None,
    *,
    loaded: LoadedModel | None = None,
) -> Figure:
    """The picture, and the maps of some explainers for a class; `keys` None: all that
    the model has.

    Parameters and errors are those of `Analysis.explain`.
    """
    keys = fitting(analysis.card.config) if keys is None else [chosen(key).key for key in keys]
    case = analysis.case(*keys, target=target, loaded=loaded)
    values = {key: EXPLAINERS[key](case, token) for key in keys}
    of = None if case.likeness else case.target  # a vector has no name
    if of is not None and case.other is not None:
        return explained(analysis, values, token, (of, case.other))
    return explained(analysis, values, token, of)


def explained(
    analysis: Analysis,
    maps: Mapping[str, ArrayLike],
    token: int = 0,
    target: int | tuple[int, int] | None = None,
    *,
    spotlight: bool = False,
) -> Figure:
    """The picture, and finished maps of explainers by key, (N,) each. `target`: the class they are
    for; None: no class; two: the difference of their logits.

    Each map has its own scale, because their units differ. If values have a sign, blue speaks
    against the class and orange for it. `spotlight`: if they have none, the photo itself is dimmed
    instead of coloured.
    """
    size = 3.4 if len(maps) == 1 else 2.4
    figure, (first, *axes) = panels(analysis, 1 + len(maps), size=size, paper="")
    pooled = analysis.card.config.global_pool == "map"  # they begin at its query, not at a token
    picture(first, analysis)
    if not pooled:
        mark(first, analysis, token)
    caption(first, "the picture")
    for (key, tensor), ax in zip(maps.items(), axes, strict=True):
        explainer, values = chosen(key).within(analysis.card.config), np.asarray(tensor)
        top = float(np.abs(patch_map(analysis, values)).max()) or 1.0
        light = spotlight and not explainer.signed
        low, colours = (-top, SIGNED) if explainer.signed else (0.0, SHADES if light else COLOURS)
        image = show(ax, analysis, values, top, low=low, colours=colours)
        if light:
            image.remove()  # only its scale is shown
            dimmed(ax, analysis, values, top)
        if not pooled:
            mark(ax, analysis, token)
        note = f"at 0 the photo has {DIMMEST:.0%} of its light" if light else ""
        caption(ax, "\n".join(filter(None, (explainer.name, explainer.paper, note))))
        bar(figure, image, ax, "")
    whose = "the query of the pool" if pooled else token_name(analysis, token)
    labels = analysis.card.labels
    classes = target if isinstance(target, tuple) else () if target is None else (target,)
    names = [f'"{labels[number]}"' if labels else f"class {number}" for number in classes]
    of_class = f"for {' minus '.join(names)}, " if names else ""
    title(figure, f"How much each patch matters {of_class}seen from {whose}; each its own scale")
    return figure
