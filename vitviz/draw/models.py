"""Figures of a model instead of a photo: the film of its training, and its measurements."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from ..errors import VitvizError
from ..model.loaded import ModelCard
from ..probe.capture.selection import counted
from ..probe.explain.explainers import EXPLAINERS
from ..probe.measure.film import Film
from ..probe.measure.measurements import measurements_of
from .figure_parts import (
    BLUE,
    COLOURS,
    GREY,
    OPACITY,
    ORANGE,
    bar,
    caption,
    chart,
    fonts,
    percent,
    pixels,
    ratio_of,
    sheet,
    solid,
    title,
    top_of,
)

MEASURES = {"top1": "first answer right", "top5": "among the first five", "group": "kind of thing"}
MOST_LETTERS = 100  # of the text that says which weights a training began with
EVEN = 1.02  # times chance: below, the most probable class is not worth naming


def training(film: Film, card: ModelCard, layer: int, head: int | None = None) -> Figure:
    """The film of a training: accuracy over its moments, and where CLS looked in the pictures.

    Every picture of the film is shown at the first, the middle and the last moment, on one colour
    scale. `head` None is the mean of the heads; `card` is that of the trained model. Raises
    `SelectionError` for a layer or head that the film does not have.
    """
    moments = film.facts["moments"]
    names = [str(picture["name"]) for picture in film.facts["pictures"]]
    layers, heads = film.attention.shape[2:4]
    layer = counted("layer", layer, layers)
    head = None if head is None else counted("head", head, heads)
    shown = list(dict.fromkeys([0, (len(film) - 1) // 2, len(film) - 1]))
    height, width = film.pixels.shape[1:3]
    ratio = ratio_of((height, width))
    figure = sheet(len(shown) * 2.5 + 1.6, 2.6 + len(names) * (2.5 * ratio + 0.4), card)
    top, *rows = figure.subfigures(
        1 + len(names), 1, squeeze=False, height_ratios=[2.4] + [2.5 * ratio + 0.4] * len(names)
    ).flat
    _accuracy(top.subplots(), moments, shown, str(film.facts.get("began_with", "")))
    for picture, (name, part) in enumerate(zip(names, rows, strict=True)):
        values = film.attention[shown, picture, layer].float()  # (moments, H, N)
        values = values.mean(dim=1) if head is None else values[:, head]
        size = film.facts["rows"], film.facts["cols"]
        maps = np.asarray(values[:, film.facts["num_prefix_tokens"] :]).reshape(-1, *size)
        axes = part.subplots(1, len(shown), squeeze=False)[0]
        for ax, moment, values_on_grid in zip(axes, shown, maps, strict=True):
            pixels(ax, np.asarray(film.pixels[picture]))
            image = ax.imshow(
                values_on_grid,
                extent=(-0.5, width - 0.5, height - 0.5, -0.5),
                cmap=COLOURS,
                vmin=0,
                vmax=top_of(maps, None, values.shape[1]),
                alpha=OPACITY,
                interpolation="nearest",
            )
            ax.set_axis_off()
            caption(
                ax,
                f"{name}, epoch {moments[moment]['epoch']:.3g}\n{_answer(film, moment, picture)}",
            )
            ax.title.set_fontfamily(fonts())
        label = f"attention of CLS, at {OPACITY:.0%} opacity\n(uniform: {1 / values.shape[1]:.4f})"
        bar(part, solid(image), list(axes), label)
    which = f"mean of {heads} heads" if head is None else f"head {head}"
    title(figure, f"{len(film)} moments of a training: layer {layer}, {which}")
    return figure


def measured(card: ModelCard) -> Figure:
    """Measurements of a model: how often it is right, and whether it looks at the object.

    The bars stand beside baselines that need no model: chance, or a map made without looking.
    Raises `VitvizError` for a model without such measurements.
    """
    found = measurements_of(card)
    rates = {name: found[name] for name in MEASURES if name in found}
    boxes = found.get("boxes", {})
    if not rates and not boxes:
        raise VitvizError(f"nothing was measured of {card.name}: there is nothing to draw")
    count = bool(rates) + 2 * bool(boxes)
    figure = sheet(max(3.6 * count, 5.2), 3.2, card)
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    if rates:
        classes = card.config.num_classes
        chance = {"top1": 1 / classes, "top5": min(1, 5 / classes)} if classes else {}
        count_text = f"{found['pictures']:,.0f} " if "pictures" in found else ""
        _rates(axes[0], [MEASURES[name] for name in rates], list(rates.values()), percent)
        for at, name in enumerate(rates):
            if name in chance:
                axes[0].plot([chance[name]] * 2, [at - 0.4, at + 0.4], color=ORANGE)
        axes[0].set_xlim(0, 1.2)
        axes[0].set_xticks([0, 0.25, 0.5, 0.75, 1])
        ece = f"; calibration error {found['ece']:.1%}" if "ece" in found else ""
        chart(axes[0], f"share of {count_text}pictures it was not trained on\norange: chance{ece}")
    if boxes:
        known = {key: str(explainer.name) for key, explainer in EXPLAINERS.items()} | {
            "uniform": "even"
        }
        names = [known.get(name, name) for name in boxes]
        bare = {key for key, explainer in EXPLAINERS.items() if explainer.baseline} | {"uniform"}
        for ax, number, write, text in (
            (
                axes[-2],
                "energy",
                "{:.2f}".format,
                "in the object's box, times even attention\ngrey: no model",
            ),
            (axes[-1], "pointing", percent, "largest patch lies in the box\ngrey: no model"),
        ):
            bars = _rates(ax, names, [hit[number] for hit in boxes.values()], write)
            for name, drawn in zip(boxes, bars, strict=True):
                drawn.set_color(GREY if name in bare else BLUE)
            chart(ax, text)
        axes[-2].axvline(1, color=ORANGE)
    title(figure, f"What was measured of {card.name}")
    return figure


def _accuracy(ax: Axes, moments: list[dict], shown: list[int], began_with: str) -> None:
    """Accuracy over the moments, at equal distances; the moments that are `shown` are marked."""
    for moment in shown:
        ax.axvline(moment, color=GREY, linewidth=0.8, linestyle="--")
    for name, colour in (("top1", BLUE), ("top5", ORANGE)):
        values = [moment[name] for moment in moments]
        text = {"top1": "first answer right", "top5": "among first five"}[name]
        ax.plot(values, color=colour, marker="o", markersize=3, linewidth=1.4, label=text)
    places = np.unique(np.linspace(0, len(moments) - 1, 10).round().astype(int))
    ax.set_xticks(places, [f"{moments[at]['epoch']:.2g}" for at in places])
    origin = f"\nit began with {began_with[:MOST_LETTERS]}" if began_with else ""
    chart(ax, f"accuracy; dashed: the moments below{origin}")
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel("epoch (moments at equal distances)", fontsize=8)
    ax.legend(fontsize=7, frameon=False, loc="lower right")
    ax.grid(axis="y", alpha=0.25)


def _answer(film: Film, moment: int, picture: int) -> str:
    """The most probable class of a picture and its probability, in words."""
    probabilities = film.probabilities[moment, picture].float()
    best = int(probabilities.argmax())
    if probabilities[best] * len(probabilities) < EVEN:
        return "all classes alike"
    return f"{film.facts['labels'][best]}: {percent(float(probabilities[best]))}"


def _rates(
    ax: Axes, labels: list[str], values: list[float], write: Callable[[float], str]
) -> BarContainer:
    """Horizontal bars, the first at the top, with their numbers."""
    bars = ax.barh(range(len(values)), values, color=BLUE)
    ax.set_yticks(range(len(values)), labels=labels, parse_math=False, fontfamily=fonts())
    ax.bar_label(bars, [write(value) for value in values], padding=3, fontsize=7)
    ax.set_xlim(0, 1.2 * max(values))
    ax.invert_yaxis()
    return bars
