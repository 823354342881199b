"""Patches: the picture as the model cuts it, and one patch on its way to a token."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..errors import VitvizError
from ..probe.analysis import Analysis
from .figure_parts import (
    BLUE,
    GREY,
    ORANGE,
    SIGNED,
    VIT,
    bar,
    caption,
    chart,
    mark,
    panels,
    photo_of,
    picture,
    pixels,
    sheet,
    title,
    token_name,
)
from .filters import as_picture


def patch_grid(analysis: Analysis) -> Figure:
    """The picture as the model saw it, cut into its patches."""
    grid = analysis.grid
    figure, (ax,) = panels(analysis, 1, size=4.6, paper=f"{VIT}, section 3.1")
    picture(ax, analysis)
    height, width = grid.patch_size
    across = [ax.axhline(row * height - 0.5) for row in range(1, grid.rows)]
    down = [ax.axvline(col * width - 0.5) for col in range(1, grid.cols)]
    for line in (*across, *down):
        line.set(color="white", linewidth=0.8, path_effects=[withStroke(linewidth=1.6)])
    title(
        figure,
        f"{grid.rows} x {grid.cols} = {grid.num_patches} patches of {height} x {width} pixels",
    )
    return figure


def patch(analysis: Analysis, token: int) -> Figure:
    """One patch on its way to a token: pixels, flattened pixels, responses of the first filters.

    The filters are the first rows of the matrix that every patch is multiplied with; the position
    embedding is added to their responses. Raises `SelectionError` for a token that is no patch, and
    `VitvizError` for an analysis that was saved without filters.
    """
    grid, embedding = analysis.grid, analysis.embedding
    token = grid.check(token)
    row, col = grid.row_col(token)
    if embedding is None:
        raise VitvizError("this analysis was saved by an older vitviz, without filters")
    count = len(embedding.filters)
    height, width = grid.patch_size
    seen = np.asarray(grid.patch(analysis.picture, token))
    figure = sheet(
        10.4, 8.2, analysis.card, photo_name=photo_of(analysis), paper=f"{VIT}, equation 1"
    )
    parts = figure.subfigures(4, 1, squeeze=False, height_ratios=[3.2, 1.3, 1, 2.3])
    top, flat, filters, responses = parts.flat
    whole, enlarged = top.subplots(1, 2)
    picture(whole, analysis)
    mark(whole, analysis, token)
    pixels(enlarged, seen)
    for ax, text in (
        (whole, f"patch (row {row}, col {col}) is token {token}"),
        (enlarged, f"its {height} x {width} pixels"),
    ):
        ax.set_axis_off()
        caption(ax, text)

    # Pixel by pixel, the channels of a pixel together, as in the viewer.
    values = np.asarray(grid.patch(analysis.pixels.permute(1, 2, 0), token)).ravel()
    reach = float(np.abs(values).max()) or 1.0
    strip = flat.subplots()
    shown = strip.imshow(
        values[None], cmap=SIGNED, vmin=-reach, vmax=reach, aspect="auto", interpolation="none"
    )
    strip.set_yticks([])
    strip.tick_params(labelsize=7)
    caption(strip, f"flattened and normalised: {len(values)} numbers, pixel after pixel")
    bar(flat, shown, strip, "")

    for at, ax in enumerate(filters.subplots(1, count)):
        pixels(ax, as_picture(np.asarray(embedding.filters[at])))
        ax.set_axis_off()
        ax.set_title(str(at), fontsize=6)
    filters.suptitle(
        f"the first {count} of {analysis.card.config.embed_dim} filters, each with its largest "
        "weight in full colour and 0 in grey",
        fontsize=8,
    )
    content, position = embedding.content[token], embedding.position[token]
    _responses(responses.subplots(), analysis, np.asarray(content), np.asarray(position))
    title(figure, f"From patch to token: {token_name(analysis, token)}")
    return figure


def _responses(ax: Axes, analysis: Analysis, content: np.ndarray, position: np.ndarray) -> None:
    """The first numbers of a token: responses of the filters, the position, and their sum."""
    places = np.arange(len(content))
    ax.bar(places - 0.2, content, width=0.4, color=BLUE, label="answer of the filter")
    ax.bar(places + 0.2, position, width=0.4, color=ORANGE, label="position")
    ax.plot(places, content + position, "_", color="black", markersize=11, label="their sum")
    ax.axhline(0, color=GREY, linewidth=0.6)
    norms = ("patch_norm_before", "patch_norm_after", "norm_pre")
    normed = [name for name in norms if getattr(analysis.card.config, name)]
    note = f" (this model normalises on the way: {', '.join(normed)})" if normed else ""
    chart(ax, f"the first {len(content)} numbers of the token{note}")
    ax.set_xlim(-0.6, len(content) - 0.4)
    ax.set_xticks(places)
    ax.legend(fontsize=7, frameon=False, ncols=3, loc="upper right")
    ax.margins(y=0.2)
