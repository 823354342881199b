"""Attention as maps: of one head, of a layer, and followed through the layers."""

from typing import Literal

import numpy as np
from matplotlib.figure import Figure

from ..probe.analysis import Analysis
from ..probe.explain import HeadFusion
from .parts import (
    OPACITY,
    ROLLOUT,
    VIT,
    Direction,
    attention_label,
    bar,
    caption,
    head_name,
    mark,
    panels,
    patch_map,
    picture,
    shares,
    show,
    solid,
    title,
    token_name,
    top_of,
)


def attention(
    analysis: Analysis,
    layer: int,
    head: int | None = None,
    token: int = 0,
    *,
    direction: Direction = "from",
    vmax: float | None = None,
) -> Figure:
    """One attention map: the token in the picture, its map, and the map over the picture.

    `head` None is the mean of the heads. `vmax` is the top of the colour scale; None: the largest
    value shown. Raises `SelectionError` for what the model does not have.
    """
    values = np.asarray(analysis.attention(layer, head, token, direction))
    figure, axes = panels(analysis, 3, size=3.4, paper=f"{VIT}, equation 6")
    top = top_of(patch_map(analysis, values), vmax)
    picture(axes[0], analysis)
    image = show(axes[1], analysis, values, top)
    picture(axes[2], analysis)
    show(axes[2], analysis, values, top, alpha=OPACITY)
    for ax in axes:
        mark(ax, analysis, token)
    caption(axes[0], "the picture")
    caption(axes[1], shares(analysis, "the map", values, direction))
    caption(axes[2], f"the same at {OPACITY:.0%} opacity")
    bar(figure, image, axes, attention_label(analysis), clipped=vmax is not None)
    title(
        figure,
        f"Attention {direction} {token_name(analysis, token)}: "
        f"layer {layer}, {head_name(analysis, head)}",
    )
    return figure


def heads(
    analysis: Analysis,
    layer: int,
    token: int = 0,
    *,
    direction: Direction = "from",
    scale: Literal["shared", "own"] = "shared",
    vmax: float | None = None,
) -> Figure:
    """The attention maps of all heads of a layer, side by side.

    `scale` "shared": one colour scale, so that heads can be compared; "own": each map up to its own
    largest value, with its own bar. Raises `SelectionError` for what the model does not have.
    """
    count = analysis.trace.num_heads
    rows = [np.asarray(analysis.attention(layer, head, token, direction)) for head in range(count)]
    figure, axes = panels(analysis, count, size=2.2, paper=f"{VIT}, equation 6")
    shared = top_of(np.stack([patch_map(analysis, values) for values in rows]), vmax)
    for head, (ax, values) in enumerate(zip(axes, rows, strict=True)):
        top = shared if scale == "shared" else top_of(patch_map(analysis, values), vmax)
        image = show(ax, analysis, values, top)
        mark(ax, analysis, token)
        caption(ax, shares(analysis, f"head {head}", values, direction))
        if scale == "own":
            bar(figure, image, ax, "", clipped=vmax is not None)
    if scale == "shared":
        bar(figure, image, axes, attention_label(analysis), clipped=vmax is not None)
    title(
        figure,
        f"Attention {direction} {token_name(analysis, token)}: layer {layer}, "
        f"{count} heads, {'one scale' if scale == 'shared' else 'each head its own scale'}",
    )
    return figure


def rollout(
    analysis: Analysis,
    token: int = 0,
    *,
    head_fusion: HeadFusion = "mean",
    residual: float = 0.5,
    first: int = 0,
    vmax: float | None = None,
) -> Figure:
    """Attention rollout for a token over the picture, up to each layer in turn, on one scale.

    The layers before `first` are left out.

    Raises `SelectionError` for what the model does not have.
    """
    options = {"head_fusion": head_fusion, "residual": residual, "first": first}
    layers = range(analysis.trace.check_layer(first), analysis.trace.depth)
    rows = [np.asarray(analysis.rollout(token, layer, **options)) for layer in layers]
    figure, axes = panels(analysis, len(layers), size=2.2, paper=f"{ROLLOUT}, section 3")
    # A patch as the query keeps most of itself in the first layers; its own square would set the
    # scale for all. The scale is that of what came from elsewhere, and the bar says it is cut.
    others = np.stack([np.delete(values, token) for values in rows])
    others = others[:, -(analysis.grid.num_patches - analysis.grid.is_patch(token)) :]
    top = top_of(others, vmax)
    for layer, ax, values in zip(layers, axes, rows, strict=True):
        picture(ax, analysis)
        show(ax, analysis, values, top, alpha=OPACITY)
        mark(ax, analysis, token)
        caption(ax, shares(analysis, f"up to layer {layer}", values, "from"))
    clipped = vmax is not None or analysis.grid.is_patch(token)
    label = f"relevance, at {OPACITY:.0%} opacity; all tokens sum to 1"
    bar(figure, solid(axes[0].images[-1]), axes, label, clipped=clipped)
    title(
        figure,
        f"Attention rollout for {token_name(analysis, token)}: "
        f"{head_fusion} of heads, residual {residual:g}"
        + (f", from layer {first}" if first else ""),
    )
    return figure
