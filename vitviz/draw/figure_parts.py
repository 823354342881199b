"""Parts of figures: sheets with their source, maps, charts, colour bars and captions."""

from collections.abc import Iterable
from io import BytesIO
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Literal

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from PIL import Image

from ..errors import SelectionError, VitvizError
from ..model.loaded import ModelCard
from ..probe.analysis import Analysis
from ..probe.measure.numbers import percent
from ..whole import at_home, writes_whole

COLOURS = "viridis"  # perceptually uniform, in grey and for the colour-blind too
# For values with a sign: blue and orange begin at the same light grey, as in the viewer.
SIGNED = LinearSegmentedColormap.from_list(
    "signed", ["#003e6b", "#0084d9", "#71b1fc", "#ebebeb", "#ec9a71", "#c76430", "#6c2400"]
)
# Brightness of the photo under a spotlight where values are 0. Brightness grows with the square
# root of the values, as in the viewer.
DIMMEST = 0.2
SHADES = LinearSegmentedColormap.from_list(
    "shades", [(DIMMEST + (1 - DIMMEST) * root,) * 3 for root in np.sqrt(np.linspace(0, 1, 256))]
)
LUMINANCE = np.array([0.3, 0.59, 0.11])
OPACITY = 0.55  # of a map that lies over the picture; its colour bar is drawn at full opacity
LEAST_TIMES = 3  # least end of a scale of attention, in times uniform, as in the viewer
BLUE, ORANGE, GREY = "#31688e", "#d55e00", "#999999"  # told apart by the colour-blind too
DPI = 150
LINE = 0.13  # inches between the lines of the source
LONGEST_NAME = 80  # letters of the name of a photo
VIT = "arXiv:2010.11929"
ROLLOUT = "arXiv:2005.00928"
REGISTERS = "arXiv:2309.16588"
# Labels and file names can be in any script; fonts that are not installed are skipped.
FONTS = ("DejaVu Sans", "Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic")

Direction = Literal["from", "to"]


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the name chooses the format (png, svg, pdf).

    The same figure gives the same bytes: no date is written. Raises `VitvizError` if it cannot be
    written.
    """
    path = at_home(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise VitvizError(f"a figure is written as .png, .svg or .pdf, got {path.name!r}")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    name = figure.get_suptitle()
    try:
        # matplotlib draws the ids inside an SVG at random unless it is given a salt.
        with matplotlib.rc_context({"svg.hashsalt": "vitviz"}):
            metadata = {"Title": name, **dates.get(kind, {})}
            with writes_whole(path) as partial:
                figure.savefig(partial, format=kind, dpi=DPI, metadata=metadata)
    except OSError as error:
        raise VitvizError(f"the figure could not be written to {path}: {error}") from error


class Sheet(Figure):
    """A figure that a notebook shows, whether or not its matplotlib draws inline."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=DPI)
        return file.getvalue()


def sheet(
    width: float, height: float, card: ModelCard, *, photo_name: str = "", paper: str = ""
) -> Figure:
    """An empty figure, sizes in inches, with a line below for model, photo and source."""
    size = f" at {card.key.size} pixels" if card.key.size else ""
    source = [f"model: {card.name}{size} ({card.source})"]
    source += [f"photo: {photo_name}"] if photo_name else []
    source += [f"source: {paper}"] if paper else []
    source_lines = _lines(source, width)
    # A long list of what was changed has room of its own, below a figure that stays as large.
    figure = Sheet(figsize=(width, height + LINE * max(0, source_lines.count("\n") - 1)))
    figure.set_layout_engine("constrained")
    # As the x label of the whole figure, because constrained layout keeps room for that.
    figure.supxlabel(source_lines, fontsize=7, color="0.35", parse_math=False, fontfamily=fonts())
    return figure


def stage(
    ax: Axes | None, width: float, height: float, card: ModelCard, **about: str
) -> tuple[Figure, Axes]:
    """A `sheet` with a single picture, as figure and axes; or the axes of the caller, `ax`."""
    if ax is not None:
        figure = ax.get_figure(root=True)
        assert figure is not None  # axes that were taken out of their figure
        return figure, ax
    figure = sheet(width, height, card, **about)
    return figure, figure.subplots()


def panels(analysis: Analysis, count: int, *, size: float, paper: str) -> tuple[Figure, list[Axes]]:
    """Empty panels of `size` inches in a grid that is wider than high, shaped like the picture."""
    wide = ceil(count**0.5)  # a little wider than high, if possible without gaps in the last row
    full = [cols for cols in range(wide, 7) if count % cols == 0]
    cols = count if count <= 3 else full[0] if full else min(6, wide + 1)
    rows = ceil(count / cols)
    figure = sheet(
        cols * size + 1.2,
        rows * (size * ratio_of(analysis.grid.image_size) + 0.4) + 0.9,
        analysis.card,
        photo_name=photo_of(analysis),
        paper=paper,
    )
    axes = list(figure.subplots(rows, cols, squeeze=False).flat)
    for ax in axes:
        ax.set_axis_off()
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]


def photo_of(analysis: Analysis) -> str:
    """The name of the photo, how its levels were read, and what was changed."""
    name = shortened(analysis.photo_name)
    looks = ", ".join(["stretched"] * analysis.stretched + ["inverted"] * analysis.inverted)
    name += f" ({looks})" if looks else ""
    return "; ".join(filter(None, (name, analysis.changes())))


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """The name of a photo, or a label, with at most `most` letters."""
    return name if len(name) <= most else name[: most - 1] + "…"


def ratio_of(shape: tuple[int, int]) -> float:
    """Height / width of a panel for a picture, bounded so that a page can hold it."""
    return min(max(shape[0] / shape[1], 0.5), 2.0)


def title(figure: Figure, text: str) -> None:
    """Write a title above a `Sheet`; a figure of the caller (`stage`) keeps its own title."""
    if not isinstance(figure, Sheet):
        return
    size = min(12.0, figure.get_figwidth() * 125 / len(text))  # a long title on a narrow figure
    figure.suptitle(text, fontsize=size, parse_math=False, fontfamily=fonts())


def chart(ax: Axes, text: str) -> None:
    """Prepare axes for bars, lines or dots, with a caption that says what they show."""
    caption(ax, text)
    ax.set_axis_on()
    ax.set_aspect("auto")
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def caption(ax: Axes, text: str) -> None:
    ax.set_title(text, fontsize=8, parse_math=False)


def picture(ax: Axes, analysis: Analysis) -> AxesImage:
    return pixels(ax, np.asarray(analysis.picture))


def pixels(ax: Axes, seen: np.ndarray) -> AxesImage:
    """Pixels as they are, in colour or grey. (h, w, C) uint8"""
    if seen.shape[-1] > 1:
        return ax.imshow(seen, interpolation="nearest")
    return ax.imshow(seen.squeeze(-1), interpolation="nearest", cmap="gray", vmin=0, vmax=255)


def patch_map(analysis: Analysis, values: np.ndarray) -> np.ndarray:
    """The patches of (N or P,) laid out like the image. -> (rows, cols)"""
    return analysis.grid.to_map(np.asarray(values))


def show(
    ax: Axes,
    analysis: Analysis,
    values: np.ndarray,
    top: float,
    *,
    low: float = 0.0,
    alpha: float = 1.0,
    colours: str | Colormap = COLOURS,
) -> AxesImage:
    """Draw a map in the coordinates of the picture, so that one fits over the other."""
    height, width = analysis.grid.image_size
    return ax.imshow(
        patch_map(analysis, values),
        extent=(-0.5, width - 0.5, height - 0.5, -0.5),
        cmap=colours,
        vmin=low,
        vmax=top,
        alpha=alpha,
        interpolation="nearest",
    )


def dimmed(ax: Axes, analysis: Analysis, values: np.ndarray, top: float) -> AxesImage:
    """Draw the photo in its own resolution over the picture, grey and dark where values are low."""
    seen = analysis.photograph.crop if analysis.photograph else None
    photo = np.asarray(analysis.picture if seen is None else Image.open(BytesIO(seen)))
    photo = photo.reshape(*photo.shape[:2], -1)
    grid, (height, width) = analysis.grid, analysis.grid.image_size
    rows, cols = (
        np.arange(size) * count // size
        for size, count in zip(photo.shape, (grid.rows, grid.cols), strict=False)
    )
    root = np.sqrt(np.clip(patch_map(analysis, values) / top, 0, 1))[rows][:, cols, None]
    # The luminance of the blend mode "saturation", with which the viewer greys:
    # https://www.w3.org/TR/compositing-1/#blendingnonseparable
    grey = photo @ LUMINANCE[:, None] if photo.shape[-1] == 3 else photo
    shown = (grey + root * (photo - grey)) * (DIMMEST + (1 - DIMMEST) * root)
    shown = shown.round().astype(np.uint8)
    image = pixels(ax, shown)
    image.set_extent((-0.5, width - 0.5, height - 0.5, -0.5))
    return image


def solid(image: AxesImage) -> AxesImage:
    """The same colour scale without transparency, for the colour bar of a map."""
    solid = AxesImage(image.axes, cmap=image.cmap)
    solid.set_norm(image.norm)
    solid.set_array(image.get_array())
    return solid


def mark(ax: Axes, analysis: Analysis, token: int, colour: str = "white") -> None:
    """A frame around the patch of the token; a prefix token has no place to frame."""
    if analysis.grid.is_patch(token):
        top, left, height, width = analysis.grid.box(token)
        frame = Rectangle(
            (left - 0.5, top - 0.5), width, height, fill=False, edgecolor=colour, linewidth=1.8
        )
        frame.set_path_effects([withStroke(linewidth=3.5, foreground="black")])
        ax.add_patch(frame)


def tiled(maps: np.ndarray, down: int = 1, right: int = 1) -> np.ma.MaskedArray:
    """Small maps side by side, with `down` and `right` masked rows and columns between them.

    (R, C, rows, cols) -> (R * (rows + down) - down, C * (cols + right) - right)
    """
    deep, wide, rows, cols = maps.shape
    canvas = np.full((deep, rows + down, wide, cols + right), np.nan, dtype=maps.dtype)
    canvas[:, :rows, :, :cols] = maps.transpose(0, 2, 1, 3)
    flat = canvas.reshape(deep * (rows + down), wide * (cols + right))
    return np.ma.masked_invalid(flat[: len(flat) - down, : flat.shape[1] - right])


def middles(count: int, step: int, gap: int = 1) -> list[float]:
    """The middles of `count` tiles that begin every `step` cells, the last `gap` of them empty."""
    return [i * step + (step - gap - 1) / 2 for i in range(count)]


def name_ticks(ax: Axes, axis: str, places: Iterable[float], names: Iterable[object]) -> None:
    """Write names at places along an axis, without tick marks and frame."""
    ax.set_axis_on()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    put = ax.set_xticks if axis == "x" else ax.set_yticks
    put(list(places), [str(name) for name in names], fontsize=7)


def bar(
    figure: Figure, image: AxesImage, axes: Axes | list[Axes], label: str, clipped: bool = False
) -> None:
    """A colour bar with numbers; its pointed end says that larger values were cut."""
    bar = figure.colorbar(image, ax=axes, shrink=0.85, extend="max" if clipped else "neither")
    bar.set_label(label, fontsize=8, parse_math=False, fontfamily=fonts())
    bar.ax.tick_params(labelsize=7)


def check_scale(scale: str, *allowed: str) -> None:
    """Raise `SelectionError` for a scale that is not one of these."""
    if scale not in allowed:
        raise SelectionError(f"scale must be one of {', '.join(allowed)}, got {scale!r}")


def top_of(values: np.ndarray, vmax: float | None, tokens: int) -> float:
    """The top of a scale of attention that starts at 0: `vmax`, else the largest value.

    At least `LEAST_TIMES` uniform attention, so that a map that is nearly even looks even.
    """
    return vmax if vmax is not None else float(values.max(initial=least_top(tokens)))


def least_top(tokens: int) -> float:
    return min(1.0, LEAST_TIMES / tokens)


def shares(analysis: Analysis, name: str, values: np.ndarray, direction: Direction) -> str:
    """A caption: `name`, and the attention to or from prefix tokens, which a map does not show.

    Direction "from" (a row, which sums to 1): the total shares of the patches and of each kind of
    prefix token. Direction "to" (a column): the values of the first two prefix tokens.
    """
    prefix = [text.split("_")[0] for text in analysis.card.config.prefix_names]
    if direction == "to":
        gives = ", ".join(f"{kind} {percent(values[i])}" for i, kind in enumerate(prefix[:2]))
        return f"{name}\nfrom {gives}" if gives else name
    kinds = dict.fromkeys(prefix)  # cls, dist, reg: each kind once, in order
    shares = {k: sum(values[i] for i, text in enumerate(prefix) if text == k) for k in kinds}
    patches = float(values[len(prefix) :].sum())
    rest = ", ".join(f"{kind} {percent(share)}" for kind, share in shares.items())
    return f"{name}: patches {percent(patches)}" + (f"\n{rest}" if rest else "")


def attention_label(analysis: Analysis) -> str:
    count = analysis.trace.num_tokens
    return f"attention (uniform: 1/{count} = {1 / count:.4f})"


def head_name(analysis: Analysis, head: int | None) -> str:
    if head is None:
        return f"mean of {analysis.trace.num_heads} heads"
    return f"head {analysis.trace.check_head(head)}"


def token_name(analysis: Analysis, token: int) -> str:
    """The name of a token in a title: `cls_token`, or its patch by row and col."""
    if analysis.grid.is_patch(token):
        row, col = analysis.grid.row_col(token)
        return f"patch (row {row}, col {col})"
    return analysis.card.config.prefix_names[analysis.grid.check(token)]


def fonts() -> list[str]:
    """The fonts to try for each letter: only installed ones, as matplotlib logs every other."""
    installed = set(font_manager.get_font_names())
    return [name for name in FONTS if name in installed]


def _lines(parts: list[str], width: float) -> str:
    """Join the parts into as few lines as the width of the figure, in inches, allows."""
    room = int(width * 15)  # letters: 15 of 7 points per inch
    lines = [""]
    for part in [line for long in parts for line in wrap(long, room)]:
        if lines[-1] and len(lines[-1]) + len(part) + 3 > room:
            lines.append("")
        lines[-1] += (" · " if lines[-1] else "") + part
    return "\n".join(lines)
