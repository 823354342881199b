"""Charts of attention: every head as a dot, and one attention value taken apart."""

from math import log

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..probe.analysis import Analysis
from ..probe.measure.heads import distances
from ..probe.measure.pairs import pair as take_apart
from .figure_parts import (
    BLUE,
    GREY,
    ORANGE,
    VIT,
    caption,
    chart,
    mark,
    photo_of,
    picture,
    ratio_of,
    sheet,
    title,
    token_name,
)

FEW = 40  # so few bars are wide enough for gaps between them


def head_statistics(
    analysis: Analysis, layer: int | None = None, head: int | None = None
) -> Figure:
    """Every head as a dot over the layers: how widely it looks (entropy), and how far (pixels).

    The dashed line is uniform attention. The head at `layer` and `head` is ringed.
    Raises `SelectionError` for a layer or head that the model does not have.
    """
    trace = analysis.trace
    chosen = None
    if layer is not None and head is not None:
        chosen = trace.check_layer(layer), trace.check_head(head)
    found = analysis.head_statistics()
    figure = sheet(
        8.6,
        4.4,
        analysis.card,
        photo_name=photo_of(analysis),
        paper=f"{VIT}, appendix D.7 and figure 7 (right)",
    )
    entropy, distance = figure.subplots(1, 2)
    even = log(trace.num_tokens), float(distances(analysis.grid).mean())
    _dots(entropy, np.asarray(found.entropy), even[0], chosen)
    chart(entropy, f"how widely: even attention to {trace.num_tokens} tokens is {even[0]:.3g}")
    entropy.set_ylabel("entropy, in nats; mean over tokens", fontsize=8)
    _dots(distance, np.asarray(found.distance), even[1], chosen)
    chart(distance, f"how far: even attention to all patches is {even[1]:.3g}")
    distance.set_ylabel("distance, in pixels; mean over patches", fontsize=8)
    ringed = "" if chosen is None else f"; ringed: layer {chosen[0]}, head {chosen[1]}"
    title(figure, f"{trace.depth} layers x {trace.num_heads} heads on one picture{ringed}")
    return figure


def pair(analysis: Analysis, layer: int, head: int, query: int, key: int | None = None) -> Figure:
    """One attention value taken apart: both vectors, their product, the sum, and the softmax row.

    `key` None: the token that the query attends to most. Raises `SelectionError` for a
    layer, head or token that the model does not have.
    """
    layer, head = analysis.trace.check_layer(layer), analysis.trace.check_head(head)
    if key is None:
        key = int(analysis.attention(layer, head, query).argmax())
    query, key = analysis.grid.check(query), analysis.grid.check(key)
    found = take_apart(analysis.trace, layer, head, query, key)
    grid, count = analysis.grid, analysis.trace.num_tokens
    figure = sheet(
        10.4, 7.2, analysis.card, photo_name=photo_of(analysis), paper=f"{VIT}, equation 6"
    )
    wide = 2.9 / max(1.0, ratio_of(grid.image_size))
    axes = figure.subplot_mosaic(
        [
            ["picture", "q"],
            ["picture", "k"],
            ["picture", "products"],
            ["scores", "scores"],
            ["attention", "attention"],
        ],
        width_ratios=[wide, 7],
    )
    axes["picture"].set_axis_off()
    picture(axes["picture"], analysis)
    for token, colour in ((query, "white"), (key, ORANGE)):
        mark(axes["picture"], analysis, token, colour)
    names = token_name(analysis, query), token_name(analysis, key)
    caption(axes["picture"], f"query (white): {names[0]}\nkey (orange): {names[1]}")

    reach = float(max(found.q.abs().max(), found.k.abs().max()))
    for name, text in (("q", "the query"), ("k", "the key")):
        _bars(axes[name], np.asarray(getattr(found, name)))
        chart(axes[name], f"{name}, {text}: {len(found.q)} numbers")
        axes[name].set_ylim(-1.08 * reach, 1.08 * reach)
    _bars(axes["products"], np.asarray(found.products))
    chart(axes["products"], f"number by number q x k; their sum is {found.sum:.4g}")
    _bars(axes["scores"], np.asarray(found.scores), key)
    bias = f" + bias {found.bias:.4g}" if analysis.trace.bias else ""
    chart(
        axes["scores"],
        "the row of scores, one for every key; orange: "
        f"{found.sum:.4g} x {found.scale:.4g}{bias} = {found.score:.4g}",
    )
    _bars(axes["attention"], np.asarray(found.attention), key)
    chart(
        axes["attention"],
        "softmax of the row, which sums to 1; orange: "
        f"{found.share:.4g} = {found.share * count:.3g} times uniform (1/{count}, dashed)",
    )
    axes["attention"].axhline(1 / count, color=GREY, linestyle="--", linewidth=0.8)
    axes["attention"].set_xlabel("token", fontsize=8)
    title(
        figure,
        f"Attention from {names[0]} to {names[1]}: layer {layer}, head {head}: {found.share:.4g}",
    )
    return figure


def _dots(ax: Axes, values: np.ndarray, even: float, chosen: tuple[int, int] | None) -> None:
    """A dot for each head above its layer. (L, H)"""
    layers = np.repeat(np.arange(len(values)), values.shape[1])
    ax.axhline(even, color=GREY, linestyle="--", linewidth=1)
    ax.scatter(layers, values.ravel(), s=22, color=BLUE, alpha=0.65, linewidths=0)
    if chosen:
        ring = ax.scatter(chosen[0], values[chosen], s=90, edgecolors=ORANGE, linewidths=1.8)
        ring.set_facecolor("none")
    ax.set_ylim(0, 1.06 * max(even, float(values.max())))
    ax.set_xticks(range(0, len(values), -(-len(values) // 12)))
    ax.set_xlim(-0.6, len(values) - 0.4)
    ax.set_xlabel("layer", fontsize=8)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)


def _bars(ax: Axes, values: np.ndarray, chosen: int | None = None) -> None:
    """A bar for each number; the chosen one has another colour."""
    colours = [ORANGE if at == chosen else BLUE for at in range(len(values))]
    ax.bar(range(len(values)), values, color=colours, width=0.8 if len(values) <= FEW else 1)
    ax.axhline(0, color="black", linewidth=0.6)
    ax.set_xlim(-0.6, len(values) - 0.4)
