"""Maps of attention: of one head, of all heads, and followed through the layers by rollout."""

from math import ceil
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from ..probe.analysis import Analysis
from ..probe.explain.explainers import HeadFusion
from .figure_parts import (
    COLOURS,
    DIMMEST,
    OPACITY,
    ROLLOUT,
    SHADES,
    VIT,
    Direction,
    attention_label,
    bar,
    caption,
    check_scale,
    dimmed,
    head_name,
    least_top,
    mark,
    middles,
    name_ticks,
    panels,
    patch_map,
    photo_of,
    picture,
    ratio_of,
    shares,
    show,
    solid,
    stage,
    tiled,
    title,
    token_name,
    top_of,
)

SHOWN = 0.995  # quantile of a whole map that is the top of its colour scale, as in the viewer
MOST_SHARP = 800  # tokens: the side of a whole map has about so many pixels


def attention(
    analysis: Analysis,
    layer: int,
    head: int | None = None,
    token: int = 0,
    *,
    direction: Direction = "from",
    vmax: float | None = None,
    spotlight: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """One attention map: the token in the picture, its map, and the map over the picture.

    `head` None is the mean of the heads. `vmax` is the top of the colour scale; None: the largest
    value shown, at least three times uniform attention. `spotlight`: in place of colours over the
    picture, the photo itself is dimmed where attention is low. `ax`: draw the last of the three
    there, in place of a figure. Raises `SelectionError` for a layer, head or token that the model
    does not have.
    """
    layer = analysis.trace.check_layer(layer)
    values = np.asarray(analysis.attention(layer, head, token, direction))
    top = top_of(patch_map(analysis, values), vmax, analysis.trace.num_tokens)

    def over(ax: Axes) -> AxesImage:
        ax.set_axis_off()
        if spotlight:
            return dimmed(ax, analysis, values, top)
        picture(ax, analysis)
        return show(ax, analysis, values, top, alpha=OPACITY)

    if ax is not None:
        figure, _ = stage(ax, 0, 0, analysis.card)
        image = over(ax)
        mark(ax, analysis, token)
        caption(ax, f"layer {layer}, {head_name(analysis, head)}")
        if not spotlight:
            bar(figure, solid(image), ax, attention_label(analysis), clipped=vmax is not None)
        return figure
    figure, axes = panels(analysis, 3, size=3.4, paper=f"{VIT}, equation 6")
    picture(axes[0], analysis)
    image = show(axes[1], analysis, values, top, colours=SHADES if spotlight else COLOURS)
    over(axes[2])
    for ax in axes:
        mark(ax, analysis, token)
    caption(axes[0], "the picture")
    caption(axes[1], shares(analysis, "the map", values, direction))
    low = f"the photo, at attention 0 with {DIMMEST:.0%} of its light"
    caption(axes[2], low if spotlight else f"the same at {OPACITY:.0%} opacity")
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
    largest value, with its own bar. Raises `SelectionError` for another, and for a layer or token
    that the model does not have.
    """
    check_scale(scale, "shared", "own")
    count, layer = analysis.trace.num_heads, analysis.trace.check_layer(layer)
    rows = [np.asarray(analysis.attention(layer, head, token, direction)) for head in range(count)]
    figure, axes = panels(analysis, count, size=2.2, paper=f"{VIT}, equation 6")
    maps = np.stack([patch_map(analysis, values) for values in rows])
    shared = top_of(maps, vmax, analysis.trace.num_tokens)
    for head, (ax, values) in enumerate(zip(axes, rows, strict=True)):
        top = (
            shared
            if scale == "shared"
            else top_of(patch_map(analysis, values), vmax, analysis.trace.num_tokens)
        )
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


def pooling(analysis: Analysis, found: np.ndarray | None = None) -> Figure:
    """Attention of the learned query that gathers the answer, in each of its heads, on one scale.

    `found` is that of `analysis.pooling_map()`, for an analysis that does not hold its model.
    Raises `SelectionError` for a model that pools in another way.
    """
    rows = np.asarray(analysis.pooling_map() if found is None else found)
    figure, axes = panels(analysis, len(rows), size=2.2, paper="arXiv:2106.04560")
    maps = np.stack([patch_map(analysis, values) for values in rows])
    top = top_of(maps, None, analysis.trace.num_tokens)
    for head, (ax, values) in enumerate(zip(axes, rows, strict=True)):
        image = show(ax, analysis, values, top)
        caption(ax, shares(analysis, f"head {head}", values, "from"))
    bar(figure, image, axes, attention_label(analysis), clipped=False)
    title(figure, f"Where the answer is gathered: the {len(rows)} heads of the pool")
    return figure


def wall(
    analysis: Analysis,
    token: int = 0,
    *,
    direction: Direction = "from",
    scale: Literal["shared", "layer", "own"] = "shared",
    ax: Axes | None = None,
) -> Figure:
    """The attention maps of all heads of all layers, and the mean of each layer's heads.

    `scale` "shared": one colour scale for all; "layer": each layer up to its own largest patch,
    which stands beside it; "own": each map up to its own, which stands below it. A scale ends at
    least at three times uniform attention, so that an even map looks even.
    `ax`: draw there, in place of a figure of its own.
    Raises `SelectionError` for a token that the model does not have.
    """
    check_scale(scale, *_OF_SCALE)
    grid, depth, tokens = analysis.grid, analysis.trace.depth, analysis.trace.num_tokens
    maps = _all_maps(analysis, token, direction)
    together = {"shared": None, "layer": (1, 2, 3), "own": (2, 3)}[scale]
    tops = np.maximum(maps.max(axis=together, keepdims=True), least_top(tokens))
    tops = np.broadcast_to(tops, (*maps.shape[:2], 1, 1))
    top = top_of(maps, None, tokens) if scale == "shared" else 1.0
    shown = maps if scale == "shared" else maps / tops
    # Numbers below the maps need room; without them the gap must still be seen between large maps.
    right = max(1, round(grid.cols / 12))
    down = max(1, round(grid.rows / 5)) if scale == "own" else max(1, round(grid.rows / 12))
    size = min(1.1, 11 / (columns := maps.shape[1]))
    height = depth * size * ratio_of(grid.image_size) * (1 + down / grid.rows)
    figure, ax = stage(
        ax,
        max(columns * size, 3.4) + 2.3,
        max(height, 2.4) + 1.0,
        analysis.card,
        photo_name=photo_of(analysis),
        paper=f"{VIT}, equation 6",
    )
    image = ax.imshow(
        tiled(shown, down, right), cmap=COLOURS, vmin=0, vmax=top, interpolation="nearest"
    )
    ax.set_aspect(grid.patch_size[0] / grid.patch_size[1])
    lefts, rows = grid.cols + right, grid.rows + down
    name_ticks(ax, "x", middles(columns, lefts, right), ["mean", *range(columns - 1)])
    name_ticks(ax, "y", middles(depth, rows, down), range(depth))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("head", fontsize=8)
    ax.set_ylabel("layer", fontsize=8)
    small = {"fontsize": min(6.0, 9 * size), "color": "0.35"}
    if scale == "layer":
        for value, place in zip(tops[:, 0].ravel(), middles(depth, rows, down), strict=True):
            ax.text(columns * lefts, place, f"{value:.3g}", va="center", **small)
    if scale == "own":
        for (layer, head), value in np.ndenumerate(tops[..., 0, 0]):
            x, y = middles(columns, lefts, right)[head], layer * rows + grid.rows - 0.5
            ax.text(x, y, f"{value:.2g}", va="top", ha="center", **small)
    if grid.is_patch(token):
        row, col = grid.row_col(token)
        for layer, head in np.ndindex(depth, columns):
            _frame(ax, layer * rows + row, head * lefts + col)
    bar(figure, image, ax, _OF_SCALE[scale] or attention_label(analysis))
    names = {"shared": "one scale", "layer": "each layer its own scale", "own": "own scales"}
    title(
        figure,
        f"Attention {direction} {token_name(analysis, token)}: "
        f"{depth} layers x {columns - 1} heads, {names[scale]}",
    )
    return figure


_OF_SCALE = {
    "shared": "",
    "layer": "share of the end of the layer's scale,\nwhich stands beside it",
    "own": "share of the end of the map's scale,\nwhich stands below it",
}


def _all_maps(analysis: Analysis, token: int, direction: Direction) -> np.ndarray:
    """The mean and the heads of each layer, on the grid. (L, 1 + H, rows, cols)"""
    layers = range(analysis.trace.depth)
    heads = np.stack([np.asarray(analysis.attention_of_heads(i, token, direction)) for i in layers])
    values = np.concatenate([heads.mean(axis=1, keepdims=True), heads], axis=1)
    return patch_map(analysis, values)


def _frame(ax: Axes, row: int, col: int) -> None:
    """Frame one patch of the picture that is drawn."""
    box = Rectangle((col - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="white", linewidth=0.8)
    box.set_path_effects([withStroke(linewidth=1.8, foreground="black")])
    ax.add_patch(box)


def matrix(
    analysis: Analysis,
    layer: int,
    head: int | None = None,
    *,
    vmax: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A whole attention map: a row for every query, a column for every key; prefix tokens apart.

    `head` None is the mean of the heads. `vmax` is the top of the colour scale; None: the
    quantile `SHOWN` of all numbers, because with the few above it the rest would be dark.
    `ax`: draw there, in place of a figure of its own.
    Raises `SelectionError` for a layer or head that the model does not have.
    """
    layer = analysis.trace.check_layer(layer)
    values = np.asarray(analysis.attention_matrix(layer, head))
    grid, prefix = analysis.grid, analysis.grid.num_prefix_tokens
    top = (
        vmax if vmax is not None else max(float(np.quantile(values, SHOWN)), least_top(len(values)))
    )
    gap = max(1, len(values) // 100) if prefix else 0
    canvas = np.insert(values, [prefix] * gap, np.nan, axis=0)
    canvas = np.insert(canvas, [prefix] * gap, np.nan, axis=1)
    figure, ax = stage(
        ax,
        7.6,
        7.1,
        analysis.card,
        photo_name=photo_of(analysis),
        paper=f"{VIT}, equation 6",
    )
    # In print each number stays a square with edges, unless there are more numbers than pixels.
    fine = "none" if len(values) <= MOST_SHARP else "antialiased"
    shown = np.ma.masked_invalid(canvas)
    image = ax.imshow(shown, cmap=COLOURS, vmin=0, vmax=top, interpolation=fine)
    every = ceil(grid.rows / 16)
    rows = range(0, grid.rows, every)
    places = [prefix + gap + row * grid.cols + (grid.cols - 1) / 2 for row in rows]
    names = [f"row {row}" for row in rows]
    if prefix:
        kinds = dict.fromkeys(name.split("_")[0] for name in analysis.card.config.prefix_names)
        places, names = [(prefix - 1) / 2, *places], [", ".join(kinds), *names]
    name_ticks(ax, "x", places, names)
    name_ticks(ax, "y", places, names)
    ax.tick_params(axis="x", rotation=90)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("key: the token that is looked at", fontsize=8)
    ax.set_ylabel("query: the token that looks", fontsize=8)
    cut = values.max() > top
    note = f"\n{1 - np.mean(values > top):.1%} of the numbers lie within the scale" if cut else ""
    bar(figure, image, ax, attention_label(analysis) + note, clipped=bool(cut))
    title(
        figure,
        f"The whole attention map, {len(values)} x {len(values)} tokens: "
        f"layer {layer}, {head_name(analysis, head)}",
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

    The layers before `first` are left out. Raises `SelectionError` for a token, layer or option
    that does not exist.
    """
    first = analysis.trace.check_layer(first)
    layers = range(first, analysis.trace.depth)
    rows = [
        np.asarray(
            analysis.rollout(token, layer, head_fusion=head_fusion, residual=residual, first=first)
        )
        for layer in layers
    ]
    figure, axes = panels(analysis, len(layers), size=2.2, paper=f"{ROLLOUT}, section 3")
    # A query that is a patch keeps most of its own content in the first layers; its square would
    # set the scale for all. The scale is that of the other tokens; the bar says that it is cut.
    others = np.stack([np.delete(values, token) for values in rows])
    others = others[:, -(analysis.grid.num_patches - analysis.grid.is_patch(token)) :]
    top = top_of(others, vmax, analysis.trace.num_tokens)
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
