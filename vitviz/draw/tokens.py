"""Similarity of tokens: their learned positions, and their features after a layer."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure

from ..errors import SelectionError
from ..many.pca import Side
from ..many.pca import pca as shared_pca
from ..probe.analysis import Analysis
from ..probe.measure.features import (
    OUTLIER_TIMES,
    norms,
    outliers,
    principal,
    similarity,
    tokens_after,
)
from .figure_parts import (
    REGISTERS,
    SIGNED,
    VIT,
    bar,
    caption,
    mark,
    middles,
    name_ticks,
    panels,
    patch_map,
    picture,
    ratio_of,
    sheet,
    shortened,
    show,
    tiled,
    title,
    token_name,
)

DINOV2 = "arXiv:2304.07193"
PICTURE = 2.2  # inches of a picture beside others
MOST_PICTURES = 12  # in one row


def position_similarity(analysis: Analysis, token: int | None = None) -> Figure:
    """How similar the learned position of a patch is to all others. None: the maps of all patches.

    Cosine similarity from -1 (blue) to 1 (brown), as in the viewer. Raises `SelectionError` for a
    model without learned positions and for a token that is no patch.
    """
    grid = analysis.grid
    if token is None:
        figure, (ax,) = panels(analysis, 1, size=6.4, paper=f"{VIT}, figure 7 (centre)")
        array = mosaic(np.asarray(analysis.position_similarities()), grid.rows, grid.cols)
        image = ax.imshow(array, cmap=SIGNED, vmin=-1, vmax=1, interpolation="nearest")
        ax.set_aspect(grid.patch_size[0] / grid.patch_size[1])
        name_ticks(ax, "x", middles(grid.cols, grid.cols + 1), range(grid.cols))
        name_ticks(ax, "y", middles(grid.rows, grid.rows + 1), range(grid.rows))
        ax.set_xlabel("col of the patch")
        ax.set_ylabel("row of the patch")
        text = f"Position embeddings: each of the {grid.num_patches} patches to all others"
    else:
        figure, (ax,) = panels(analysis, 1, size=4.6, paper=f"{VIT}, figure 7 (centre)")
        values = np.asarray(analysis.position_similarity(token)).ravel()
        image = show(ax, analysis, values, 1.0, low=-1.0, colours=SIGNED)
        mark(ax, analysis, token)
        text = f"Position embeddings: {token_name(analysis, token)} to all others"
    bar(figure, image, ax, "cosine similarity")
    title(figure, text)
    return figure


def features(analysis: Analysis, layer: int, token: int = 0) -> Figure:
    """The tokens after a layer: PCA as colours, cosine similarity to one token, and norms.

    Raises `SelectionError` for a layer or token that the model does not have.
    """
    grid = analysis.grid
    token, layer = grid.check(token), analysis.trace.check_layer(layer)
    tokens = tokens_after(analysis.trace, layer)
    found = principal(grid.patches(tokens.T).T)
    alike, lengths = np.asarray(similarity(tokens, token)), norms(tokens)
    marked = np.flatnonzero(np.asarray(outliers(grid.patches(lengths))))
    figure, axes = panels(analysis, 3, size=3.4, paper=f"norms: {REGISTERS}")
    height, width = grid.image_size
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    colours = np.asarray(found.rgb()).reshape(grid.rows, grid.cols, 3)
    axes[0].imshow(colours, extent=extent, interpolation="nearest")
    shares = ", ".join(f"{share:.1%}" for share in found.explained.tolist())
    caption(axes[0], f"PCA: red, green, blue explain\n{shares}")
    low = float(patch_map(analysis, alike).min())
    bar(figure, show(axes[1], analysis, alike, 1.0, low=low), axes[1], "")
    caption(axes[1], f"cosine similarity to\n{token_name(analysis, token)}")
    patch_norms = patch_map(analysis, np.asarray(lengths))
    top, low = float(patch_norms.max()), float(patch_norms.min())
    bar(figure, show(axes[2], analysis, np.asarray(lengths), top, low=low), axes[2], "")
    caption(
        axes[2],
        f"norms, {len(marked)} of {grid.num_patches} patches\nabove {OUTLIER_TIMES:g} x median",
    )
    for patch in marked.tolist():
        mark(axes[2], analysis, patch + grid.num_prefix_tokens)
    for ax in axes[:2]:
        mark(ax, analysis, token)
    title(figure, f"Tokens after layer {layer}")
    return figure


def pca(
    analyses: Iterable[Analysis],
    layer: int = -1,
    *,
    normed: bool = True,
    foreground: Side | None = None,
) -> Figure:
    """Several pictures above the PCA of their patches as colours, with one basis for all.

    The parameters are those of `vitviz.pca`, which names the errors; more than `MOST_PICTURES`
    pictures are a `SelectionError`, too.
    """
    if isinstance(analyses, Iterable):  # else vitviz.pca says what came
        analyses = list(analyses)
        if len(analyses) > MOST_PICTURES:
            came = f"{len(analyses)} came"
            raise SelectionError(f"a figure holds {MOST_PICTURES} pictures, and {came}")
    found = shared_pca(analyses, layer, normed=normed, foreground=foreground)
    first = analyses[0]
    height = 2 * PICTURE * ratio_of(first.grid.image_size) + 0.9
    figure = sheet(max(4.0, PICTURE * len(found)), height, first.card, paper=DINOV2)
    axes = figure.subplots(2, len(found), squeeze=False)
    for above, below, analysis, each in zip(*axes, analyses, found, strict=True):
        picture(above, analysis)
        caption(above, shortened(analysis.photo_name, 30))
        size = (0, analysis.grid.image_size[1], analysis.grid.image_size[0], 0)
        below.imshow(np.asarray(each.colours), extent=size, interpolation="nearest")
        for ax in (above, below):
            ax.set_axis_off()
    shares = ", ".join(f"{share:.1%}" for share in found[0].explained.tolist())
    kept = f" of the foreground ({foreground} side)" if foreground else ""
    layer = first.trace.check_layer(layer)
    title(figure, f"PCA after layer {layer}{kept}: red, green, blue explain {shares}")
    return figure


def mosaic(similarities: np.ndarray, rows: int, cols: int) -> np.ma.MaskedArray:
    """One small map per patch, laid out like the patches, with masked lines between them.

    (P, P) -> (rows * (rows + 1) - 1, cols * (cols + 1) - 1)
    """
    return tiled(similarities.reshape(rows, cols, rows, cols))
