"""Explainers side by side: how much every patch matters, each map on its own scale."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..model.loaded import LoadedModel
from ..probe.analysis import Analysis
from ..probe.explain import EXPLAINERS, chosen
from .figure_parts import (
    COLOURS,
    SIGNED,
    bar,
    caption,
    mark,
    panels,
    patch_map,
    show,
    title,
    token_name,
)


def explain(
    analysis: Analysis,
    keys: Sequence[str] | None = None,
    token: int = 0,
    target: int | str | None = None,
    *,
    loaded: LoadedModel | None = None,
) -> Figure:
    """The maps of some explainers for a class; `keys` None: of all.

    Each has its own scale, because their units differ; blue speaks against the class and orange for
    it where values have a sign. Parameters and errors are those of `Analysis.explain`.
    """
    keys = [chosen(key).key for key in (EXPLAINERS if keys is None else keys)]
    case = analysis.case(*keys, target=target, loaded=loaded)
    figure, axes = panels(analysis, len(keys), size=2.4, paper="")
    for key, ax in zip(keys, axes, strict=True):
        explainer = EXPLAINERS[key]
        values = np.asarray(explainer(case, token))
        top = float(np.abs(patch_map(analysis, values)).max()) or 1.0
        low, colours = (-top, SIGNED) if explainer.signed else (0.0, COLOURS)
        image = show(ax, analysis, values, top, low=low, colours=colours)
        mark(ax, analysis, token)
        caption(ax, "\n".join(filter(None, (explainer.name, explainer.paper))))
        bar(figure, image, ax, "")
    whose = token_name(analysis, token)
    of_class = "" if case.target is None else f'for "{analysis.card.labels[case.target]}", '
    title(figure, f"How much each patch matters {of_class}seen from {whose}; each its own scale")
    return figure
