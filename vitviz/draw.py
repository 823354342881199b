"""Figures for slides and papers: an Analysis goes in, a matplotlib Figure comes out.

Each function returns a `matplotlib.figure.Figure` that no window and no pyplot state knows; a
notebook shows it when it is the last line of a cell, and `save` writes it as PNG, SVG or PDF.
Colours are perceptual (viridis), patches keep their edges, and every map has a bar with numbers.
"""

from math import ceil
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from .errors import VitvizError
from .probe.analysis import Analysis
from .probe.explain import HeadFusion
from .probe.features import OUTLIER_TIMES, norms, outliers, principal, similarity, tokens_after

COLOURS = "viridis"  # even steps of value look like even steps, in grey and to the colour-blind too
OPACITY = 0.55  # of a map that lies over the picture; its colour bar is drawn at full opacity
DPI = 150
VIT = "arXiv:2010.11929"
ROLLOUT = "arXiv:2005.00928"
REGISTERS = "arXiv:2309.16588"
# Labels and file names come from outside, in any script: whichever of these fonts are installed.
FONTS = ("DejaVu Sans", "Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic")

Direction = Literal["from", "to"]


def patch_grid(analysis: Analysis) -> Figure:
    """The picture as the model saw it, cut into its patches."""
    grid = analysis.grid
    figure, (ax,) = _figure(analysis, 1, size=4.6, paper=f"{VIT}, section 3.1")
    _picture(ax, analysis)
    height, width = grid.patch_size
    lines = {"color": "white", "linewidth": 0.8, "path_effects": [withStroke(linewidth=1.6)]}
    for row in range(1, grid.rows):
        ax.axhline(row * height - 0.5, **lines)
    for col in range(1, grid.cols):
        ax.axvline(col * width - 0.5, **lines)
    _title(
        figure,
        f"{grid.rows} x {grid.cols} = {grid.num_patches} patches of {height} x {width} pixels",
    )
    return figure


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
    figure, axes = _figure(analysis, 3, size=3.4, paper=f"{VIT}, equation 6")
    top = _top(_map(analysis, values), vmax)
    _picture(axes[0], analysis)
    image = _show(axes[1], analysis, values, top)
    _picture(axes[2], analysis)
    _show(axes[2], analysis, values, top, alpha=OPACITY)
    for ax in axes:
        _mark(ax, analysis, token)
    _caption(axes[0], "the picture")
    _caption(axes[1], _shares(analysis, "the map", values, direction))
    _caption(axes[2], f"the same at {OPACITY:.0%} opacity")
    _bar(figure, image, axes, _attention_label(analysis), clipped=vmax is not None)
    _title(
        figure,
        f"Attention {direction} {token_name(analysis, token)}: "
        f"layer {layer}, {_head_name(analysis, head)}",
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
    figure, axes = _figure(analysis, count, size=2.2, paper=f"{VIT}, equation 6")
    shared = _top(np.stack([_map(analysis, values) for values in rows]), vmax)
    for head, (ax, values) in enumerate(zip(axes, rows, strict=True)):
        top = shared if scale == "shared" else _top(_map(analysis, values), vmax)
        image = _show(ax, analysis, values, top)
        _mark(ax, analysis, token)
        _caption(ax, _shares(analysis, f"head {head}", values, direction))
        if scale == "own":
            _bar(figure, image, ax, "", clipped=vmax is not None)
    if scale == "shared":
        _bar(figure, image, axes, _attention_label(analysis), clipped=vmax is not None)
    _title(
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
    figure, axes = _figure(analysis, len(layers), size=2.2, paper=f"{ROLLOUT}, section 3")
    # A patch as the query keeps most of itself in the first layers; its own square would set the
    # scale for all. The scale is that of what came from elsewhere, and the bar says it is cut.
    others = np.stack([np.delete(values, token) for values in rows])
    others = others[:, -(analysis.grid.num_patches - analysis.grid.is_patch(token)) :]
    top = _top(others, vmax)
    for layer, ax, values in zip(layers, axes, rows, strict=True):
        _picture(ax, analysis)
        _show(ax, analysis, values, top, alpha=OPACITY)
        _mark(ax, analysis, token)
        _caption(ax, _shares(analysis, f"up to layer {layer}", values, "from"))
    clipped = vmax is not None or analysis.grid.is_patch(token)
    label = f"relevance, at {OPACITY:.0%} opacity; all tokens sum to 1"
    _bar(figure, _solid(axes[0].images[-1]), axes, label, clipped=clipped)
    _title(
        figure,
        f"Attention rollout for {token_name(analysis, token)}: "
        f"{head_fusion} of heads, residual {residual:g}"
        + (f", from layer {first}" if first else ""),
    )
    return figure


def position_similarity(analysis: Analysis, token: int | None = None) -> Figure:
    """How similar the learned position of a patch is to all others; None: every patch, as a mosaic.

    Cosine similarity on a scale from -1 to 1. Raises `SelectionError` for a model without learned
    positions and for a token that is no patch.
    """
    grid = analysis.grid
    if token is None:
        figure, (ax,) = _figure(analysis, 1, size=6.4, paper=f"{VIT}, figure 7 (centre)")
        array = mosaic(np.asarray(analysis.position_similarities()), grid.rows, grid.cols)
        image = ax.imshow(array, cmap=COLOURS, vmin=-1, vmax=1, interpolation="nearest")
        ax.set_aspect(grid.patch_size[0] / grid.patch_size[1])
        ax.set_axis_on()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xticks(*_middles(grid.cols), fontsize=7)
        ax.set_yticks(*_middles(grid.rows), fontsize=7)
        ax.set_xlabel("col of the patch")
        ax.set_ylabel("row of the patch")
        title = f"Position embeddings: each of the {grid.num_patches} patches to all others"
    else:
        figure, (ax,) = _figure(analysis, 1, size=4.6, paper=f"{VIT}, figure 7 (centre)")
        values = np.asarray(analysis.position_similarity(token)).ravel()
        image = _show(ax, analysis, values, 1.0, low=-1.0)
        _mark(ax, analysis, token)
        title = f"Position embeddings: {token_name(analysis, token)} to all others"
    _bar(figure, image, ax, "cosine similarity")
    _title(figure, title)
    return figure


def features(analysis: Analysis, layer: int, token: int = 0) -> Figure:
    """The tokens after a layer: PCA as colours, cosine similarity to one token, and norms.

    Raises `SelectionError` for what the model does not have.
    """
    grid = analysis.grid
    grid.check(token)
    tokens = tokens_after(analysis.trace, layer)
    found = principal(grid.patches(tokens.T).T)
    alike, lengths = np.asarray(similarity(tokens, token)), norms(tokens)
    marked = np.flatnonzero(np.asarray(outliers(grid.patches(lengths))))
    figure, axes = _figure(analysis, 3, size=3.4, paper=f"norms: {REGISTERS}")
    height, width = grid.image_size
    extent = (-0.5, width - 0.5, height - 0.5, -0.5)
    colours = np.asarray(found.rgb()).reshape(grid.rows, grid.cols, 3)
    axes[0].imshow(colours, extent=extent, interpolation="nearest")
    shares = ", ".join(f"{share:.1%}" for share in found.explained.tolist())
    _caption(axes[0], f"PCA: red, green, blue explain\n{shares}")
    low = float(_map(analysis, alike).min())
    _bar(figure, _show(axes[1], analysis, alike, 1.0, low=low), axes[1], "")
    _caption(axes[1], f"cosine similarity to\n{token_name(analysis, token)}")
    patch_norms = _map(analysis, np.asarray(lengths))
    top, low = float(patch_norms.max()), float(patch_norms.min())
    _bar(figure, _show(axes[2], analysis, np.asarray(lengths), top, low=low), axes[2], "")
    _caption(
        axes[2],
        f"norms, {len(marked)} of {grid.num_patches} patches\nabove {OUTLIER_TIMES:g} x median",
    )
    for patch in marked.tolist():
        _mark(axes[2], analysis, patch + grid.num_prefix_tokens)
    for ax in axes[:2]:
        _mark(ax, analysis, token)
    _title(figure, f"Tokens after layer {layer}")
    return figure


def predictions(analysis: Analysis, k: int = 5) -> Figure:
    """The k most probable classes beside the picture. Raises `VitvizError` if there are none."""
    answers = analysis.predictions(k)
    if not answers:
        raise VitvizError(
            f"{analysis.card.name} names no classes: there are no predictions to draw"
        )
    figure, (left, ax) = _figure(analysis, 2, size=3.4, paper="")
    _picture(left, analysis)
    probabilities = [answer.probability for answer in answers]
    bars = ax.barh(range(len(answers)), probabilities, color="#31688e")
    ax.set_axis_on()
    ax.set_aspect("auto")
    ax.set_yticks(
        range(len(answers)),
        labels=[answer.label for answer in answers],
        parse_math=False,  # a label may hold dollar signs
        fontfamily=_fonts(),
    )
    ax.bar_label(bars, [f"{p:.1%}" for p in probabilities], padding=3)
    ax.set_xlim(0, 1.18)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    temperature = analysis.card.temperature
    softened = "" if temperature == 1 else f" of logits / {temperature:.3g}"
    ax.set_xlabel(f"probability: softmax{softened}")
    _title(figure, f"The {len(answers)} most probable of {len(analysis.trace.logits)} classes")
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the name chooses the format (png, svg, pdf).

    The same figure gives the same bytes: no date is written. Raises `VitvizError` if it cannot be
    written.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise VitvizError(f"a figure is written as .png, .svg or .pdf, got {path.name!r}")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    title = figure.get_suptitle()
    try:
        # matplotlib draws the ids inside an SVG at random unless it is given a salt.
        with matplotlib.rc_context({"svg.hashsalt": "vitviz"}):
            figure.savefig(
                path, format=kind, dpi=DPI, metadata={"Title": title, **dates.get(kind, {})}
            )
    except OSError as error:
        raise VitvizError(f"the figure could not be written to {path}: {error}") from error


def token_name(analysis: Analysis, token: int) -> str:
    """What a token is called in a title: `cls_token`, or its patch by row and col."""
    if analysis.grid.is_patch(token):
        row, col = analysis.grid.row_col(token)
        return f"patch (row {row}, col {col})"
    return analysis.card.config.prefix_names[token]


def mosaic(similarities: np.ndarray, rows: int, cols: int) -> np.ma.MaskedArray:
    """One small map per patch, laid out like the patches, a masked line between two of them.

    (P, P) -> (rows * (rows + 1) - 1, cols * (cols + 1) - 1)
    """
    canvas = np.full((rows, rows + 1, cols, cols + 1), np.nan, dtype=similarities.dtype)
    maps = similarities.reshape(rows, cols, rows, cols)
    canvas[:, :rows, :, :cols] = maps.transpose(0, 2, 1, 3)
    flat = canvas.reshape(rows * (rows + 1), cols * (cols + 1))
    return np.ma.masked_invalid(flat[:-1, :-1])


# --- the parts of a figure ------------------------------------------------------------------------


def _figure(analysis: Analysis, panels: int, *, size: float, paper: str) -> tuple[Figure, list]:
    """Empty panels of `size` inches in a grid that is wider than high; the source stands below."""
    wide = ceil(panels**0.5)  # a little wider than high, and no gaps in the last row if that works
    full = [cols for cols in range(wide, 7) if panels % cols == 0]
    cols = panels if panels <= 3 else full[0] if full else min(6, wide + 1)
    rows = ceil(panels / cols)
    shape = analysis.grid.image_size
    ratio = min(max(shape[0] / shape[1], 0.5), 2.0)
    figure = Figure(figsize=(cols * size + 1.2, rows * (size * ratio + 0.4) + 0.9))
    figure.set_layout_engine("constrained")
    axes = list(figure.subplots(rows, cols, squeeze=False).flat)
    for ax in axes:
        ax.set_axis_off()
    for ax in axes[panels:]:
        ax.remove()
    source = [f"model: {analysis.card.name} ({analysis.card.source})"]
    source += [f"photo: {analysis.photo_name}"] if analysis.photo_name else []
    source += [f"source: {paper}"] if paper else []
    # The x label of the whole figure: constrained layout keeps its place free.
    figure.supxlabel(
        _lines(source, figure), fontsize=7, color="0.35", parse_math=False, fontfamily=_fonts()
    )
    return figure, axes[:panels]


def _lines(parts: list[str], figure: Figure) -> str:
    """The parts in as few lines as the width of the figure allows."""
    room = int(figure.get_figwidth() * 15)  # letters of 7 points per inch
    lines = [""]
    for part in parts:
        part = part if len(part) <= room else part[: room - 1] + "…"
        if lines[-1] and len(lines[-1]) + len(part) + 3 > room:
            lines.append("")
        lines[-1] += (" · " if lines[-1] else "") + part
    return "\n".join(lines)


def _title(figure: Figure, text: str) -> None:
    size = min(12.0, figure.get_figwidth() * 125 / len(text))  # a long title on a narrow figure
    figure.suptitle(text, fontsize=size, parse_math=False)


def _caption(ax: Axes, text: str) -> None:
    ax.set_title(text, fontsize=8, parse_math=False)


def _picture(ax: Axes, analysis: Analysis) -> AxesImage:
    picture = np.asarray(analysis.picture)
    grey = {"cmap": "gray", "vmin": 0, "vmax": 255} if picture.shape[-1] == 1 else {}
    return ax.imshow(picture.squeeze(-1) if grey else picture, interpolation="nearest", **grey)


def _map(analysis: Analysis, values: np.ndarray) -> np.ndarray:
    """The patches of (N or P,) laid out like the image. -> (rows, cols)"""
    return np.asarray(analysis.grid.to_map(values))


def _show(
    ax: Axes,
    analysis: Analysis,
    values: np.ndarray,
    top: float,
    *,
    low: float = 0.0,
    alpha: float = 1.0,
) -> AxesImage:
    """A map in the coordinates of the picture, so that both lie on each other."""
    height, width = analysis.grid.image_size
    return ax.imshow(
        _map(analysis, values),
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        cmap=COLOURS,
        vmin=low,
        vmax=top,
        alpha=alpha,
        interpolation="nearest",
    )


def _solid(image: AxesImage) -> AxesImage:
    """The same scale without transparency, for a bar whose colours are those of the map."""
    solid = AxesImage(image.axes, cmap=image.cmap, norm=image.norm)
    solid.set_array(image.get_array())
    return solid


def _mark(ax: Axes, analysis: Analysis, token: int) -> None:
    """A frame around the patch of the token; a prefix token has no place to frame."""
    if analysis.grid.is_patch(token):
        top, left, height, width = analysis.grid.box(token)
        outline = [withStroke(linewidth=3.5, foreground="black")]
        frame = Rectangle(
            (left - 0.5, top - 0.5), width, height, fill=False, edgecolor="white", linewidth=1.8
        )
        frame.set_path_effects(outline)
        ax.add_patch(frame)


def _bar(
    figure: Figure, image: AxesImage, axes: Axes | list[Axes], label: str, clipped: bool = False
) -> None:
    """A colour bar with numbers; its pointed end says that larger values were cut."""
    bar = figure.colorbar(image, ax=axes, shrink=0.85, extend="max" if clipped else "neither")
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)


def _top(values: np.ndarray, vmax: float | None) -> float:
    """The top of a scale that starts at 0; any positive number where all is 0."""
    return vmax if vmax is not None else (float(values.max(initial=0.0)) or 1.0)


def _shares(analysis: Analysis, name: str, values: np.ndarray, direction: Direction) -> str:
    """A caption with what the map does not show: the attention of patches and of prefix tokens.

    A row sums to 1, so its parts are shares; a column does not, so each prefix token speaks alone.
    """
    prefix = [text.split("_")[0] for text in analysis.card.config.prefix_names]
    if direction == "to":
        gives = ", ".join(f"{kind} {values[prefix.index(kind)]:.1%}" for kind in prefix[:2])
        return f"{name}\nfrom {gives}" if gives else name
    kinds = dict.fromkeys(prefix)  # cls, dist, reg: in order, each once
    shares = {k: sum(values[i] for i, text in enumerate(prefix) if text == k) for k in kinds}
    patches = values[len(prefix) :].sum()
    rest = ", ".join(f"{kind} {share:.1%}" for kind, share in shares.items())
    return f"{name}: patches {patches:.1%}" + (f"\n{rest}" if rest else "")


def _attention_label(analysis: Analysis) -> str:
    count = analysis.trace.num_tokens
    return f"attention (uniform: 1/{count} = {1 / count:.4f})"


def _head_name(analysis: Analysis, head: int | None) -> str:
    return f"mean of {analysis.trace.num_heads} heads" if head is None else f"head {head}"


def _middles(count: int) -> tuple[list[float], list[str]]:
    """Where the small maps of a mosaic have their middle, and the number that stands there."""
    return (
        [i * (count + 1) + (count - 1) / 2 for i in range(count)],
        [str(i) for i in range(count)],
    )


def _fonts() -> list[str]:
    """The fonts to try for each letter; a name that is not installed would be logged each time."""
    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed]
