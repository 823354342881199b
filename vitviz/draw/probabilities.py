"""Probabilities of classes: the predictions, and the logit lens after each block."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import VitvizError
from ..languages import Message
from ..probe.analysis import Analysis
from ..probe.compare import compare
from ..probe.measure.numbers import digits
from .figure_parts import (
    BLUE,
    ORANGE,
    chart,
    fonts,
    panels,
    percent,
    photo_of,
    picture,
    sheet,
    shortened,
    stage,
    title,
)

LENS = "arXiv:2310.18969"
# Okabe and Ito's palette, which the colour-blind can tell apart; further lines repeat it, dashed.
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("-", "--", ":")
LONGEST = 34  # letters of a label beside a chart at most


def predictions(analysis: Analysis, k: int = 5) -> Figure:
    """The k most probable classes beside the picture, and above if it shows none of them.

    Raises `VitvizError` if the model names no classes.
    """
    best = analysis.predictions(k)
    if not best:
        raise VitvizError(Message("models.no_classes", name=analysis.card.name))
    figure, (left, ax) = panels(analysis, 2, size=3.4, paper="")
    picture(left, analysis)
    bars = ax.barh(range(len(best)), [one.number for one in best], color=BLUE)
    ax.set_axis_on()
    ax.set_aspect("auto")
    ax.set_yticks(
        range(len(best)),
        labels=[shortened(prediction.label, LONGEST) for prediction in best],
        parse_math=False,  # a label may hold dollar signs
        fontfamily=fonts(),
    )
    ax.bar_label(bars, [one.number_text for one in best], padding=3)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    outputs, temperature = analysis.card.outputs, analysis.card.temperature
    note = f"The {len(best)} most probable of {len(analysis.trace.logits)} classes"
    if outputs == "value":
        ax.margins(x=0.2)
        ax.set_xlabel("value")
        note = f"{len(best)} of {len(analysis.trace.logits)} values"
    else:
        _from_0_to_1(ax, 1.18)
        softened = "" if temperature == 1 else f" of logits / {temperature:.3g}"
        rule = "softmax" if outputs == "one_of" else "sigmoid"
        ax.set_xlabel(f"probability: {rule}{softened}")
    if outputs == "any_of":
        note = analysis.answer_text()
    title(figure, "\n".join(filter(None, (analysis.not_taught(), note))))
    return figure


def _from_0_to_1(ax: Axes, width: float) -> None:
    """An axis of probabilities, with room for texts beside the bars."""
    ax.set_xlim(0, width)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])


def answers(before: Analysis, after: Analysis, k: int = 5, *, ax: Axes | None = None) -> Figure:
    """The k most probable classes of two analyses, each class with both probabilities; below, what
    was changed in the second. `ax`: draw there, in place of a figure of its own.

    Raises `VitvizError` if one of the models names no classes.
    """
    for analysis in (before, after):
        if not analysis.predictions(1):
            raise VitvizError(Message("models.no_classes", name=analysis.card.name))
    rows = compare(before, after).answers(k)
    values = after.card.outputs == "value"
    written = digits if values else percent
    height = 0.5 * len(rows) + 1.6
    figure, ax = stage(ax, 7.4, height, after.card, photo_name=photo_of(after))
    places = range(len(rows))
    for shift, name, colour, shares in (
        (-0.2, "before", BLUE, [row.first for row in rows]),
        (0.2, "after", ORANGE, [row.second for row in rows]),
    ):
        # A class that only the other model has gets no bar.
        known = [share or 0.0 for share in shares]
        bars = ax.barh([place + shift for place in places], known, 0.36, color=colour, label=name)
        texts = ["no such class" if share is None else written(share) for share in shares]
        ax.bar_label(bars, texts, padding=3, fontsize=7)
    names = [shortened(row.label, LONGEST) for row in rows]
    ax.set_yticks(places, labels=names, parse_math=False, fontfamily=fonts())
    if values:
        ax.margins(x=0.2)
    else:
        _from_0_to_1(ax, 1.15)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("value" if values else "probability", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    title(figure, "The answers before and after")
    return figure


def lens(analysis: Analysis, k: int = 5) -> Figure:
    """The logit lens: the model's answer after each block, as probabilities and ranks.

    The lines are the k classes that lead after the last layer, and the class that leads after any
    other layer. Raises `VitvizError` if the model names no classes, or answers with values.
    """
    if analysis.card.outputs == "value":
        raise VitvizError(f"{analysis.card.name} answers with values, which have no lens to draw")
    lines = analysis.lens_lines(k)
    if not lines:
        raise VitvizError(f"{analysis.card.name} names no classes: there is no lens to draw")
    figure = sheet(10.4, 4.8, analysis.card, photo_name=photo_of(analysis), paper=LENS)
    probabilities, ranks = figure.subplots(1, 2)
    for at, line in enumerate(lines):
        style = {**line_style(at), "marker": "o", "markersize": 3, "linewidth": 1.4}
        probabilities.plot(line.probabilities, **style)
        ranks.plot(line.ranks, **style)
    chart(probabilities, "probability")
    probabilities.set_ylim(bottom=0)
    chart(ranks, f"rank among {len(analysis.trace.logits)} classes, the first at the top")
    ranks.set_yscale("log")
    ranks.yaxis.set_major_formatter("{x:g}")
    ranks.yaxis.set_minor_formatter("")
    ranks.invert_yaxis()
    for ax in (probabilities, ranks):
        ax.set_xticks(range(0, analysis.trace.depth, -(-analysis.trace.depth // 12)))
        ax.set_xlabel("after layer; the head was trained for the last one only", fontsize=8)
        ax.grid(axis="y", alpha=0.25)
    legend = figure.legend(
        probabilities.lines,
        [shortened(line.label, LONGEST) for line in lines],
        loc="outside right center",
        fontsize=7,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_fontfamily(fonts())
    title(figure, "Logit lens: what the model would answer if it ended after each block")
    return figure


def line_style(at: int) -> dict[str, str]:
    """Colour and dashes of the line at this place: no two of the first 21 look alike."""
    return {
        "color": LINES[at % len(LINES)],
        "linestyle": DASHES[at // len(LINES) % len(DASHES)],
    }
