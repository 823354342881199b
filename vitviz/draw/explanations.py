"""Explainers beside the picture: how much every patch matters, each map on its own scale."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..model.loaded import LoadedModel
from ..probe.analysis import Analysis, Target
from ..probe.explain.explainers import EXPLAINERS, chosen, fitting
from ..probe.explain.fairness import Removal
from .figure_parts import (
    COLOURS,
    DIMMEST,
    GREY,
    SHADES,
    SIGNED,
    bar,
    caption,
    chart,
    dimmed,
    fonts,
    mark,
    panels,
    patch_map,
    photo_of,
    picture,
    sheet,
    shortened,
    show,
    title,
    token_name,
)
from .probabilities import line_style


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
    if case.likeness:
        return explained(analysis, values, token, likeness=case.liked or "a vector")
    if case.target is not None and case.other is not None:
        return explained(analysis, values, token, (case.target, case.other))
    return explained(analysis, values, token, case.target)


def explained(
    analysis: Analysis,
    maps: Mapping[str, ArrayLike],
    token: int = 0,
    target: int | tuple[int, int] | None = None,
    *,
    likeness: str = "",
    spotlight: bool = False,
) -> Figure:
    """The picture, and finished maps of explainers by key, (N,) each. `target`: the class that the
    maps explain; None: no class; two classes: the difference of their logits. `likeness`: the name
    of the picture that this one is compared with, in place of a class.

    Each map has its own scale, because their units differ. In signed maps blue speaks against the
    class or the likeness, and orange for it. `spotlight`: unsigned maps dim the photo instead of
    colouring it.
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
    classes = target if isinstance(target, tuple) else () if target is None else (target,)
    names = [_class_name(analysis, number) for number in classes]
    if likeness:
        names = [f"the likeness to {shortened(likeness)}"]
    of_class = f"for {' minus '.join(names)}, " if names else ""
    title(figure, f"How much each patch matters {of_class}seen from {whose}; each its own scale")
    return figure


def fair_test(analysis: Analysis, test: Removal) -> Figure:
    """The curves of `Analysis.fair_test`: what falls while patches are taken out, by the order of
    each map, beside the range that holds 90 % of the random orders. Left: the most important
    patches first, where falling fast is good; right: the least important first.

    The vertical axis is the calibrated probability of the class, or the likeness to a vector or to
    another picture, from -1 to 1. Curves: arXiv:1509.06321, arXiv:1806.07421.
    """
    figure = sheet(
        9.0,
        4.2,
        analysis.card,
        photo_name=photo_of(analysis),
        paper="arXiv:1509.06321, arXiv:1806.07421",
    )
    gone, (low, high) = np.asarray(test.removed), test.band()
    first, last = figure.subplots(1, 2, sharey=True)
    for ax, curves, text in (
        (first, test.first, "most important first: falling fast is good"),
        (last, test.last, "least important first: staying high is good"),
    ):
        chart(ax, text)
        ax.fill_between(gone, low, high, color=GREY, alpha=0.3, label="90 % of the random orders")
        for at, (key, curve) in enumerate(curves.items()):
            name = EXPLAINERS[key].name if key in EXPLAINERS else key
            gain = f" (gain {test.gain(key):+.3f})" if ax is first else ""
            ax.plot(gone, np.asarray(curve), **line_style(at), label=f"{name}{gain}")
        ax.set_xlabel("share of the patches taken out", fontsize=8)
    what: str = test.score
    if test.target is not None:
        what = f"{what} of {_class_name(analysis, test.target)}"
    first.set_ylabel(shortened(what), fontsize=8, parse_math=False, fontfamily=fonts())
    first.legend(fontsize=7)
    title(figure, f"Fair test: {shortened(what)} while patches are taken out")
    return figure


def _class_name(analysis: Analysis, number: int) -> str:
    labels = analysis.card.labels
    return f'"{labels[number]}"' if labels else f"class {number}"
