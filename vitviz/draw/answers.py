"""What the model says: its classes."""

from matplotlib.figure import Figure

from ..errors import VitvizError
from ..probe.analysis import Analysis
from .parts import fonts, panels, picture, title


def predictions(analysis: Analysis, k: int = 5) -> Figure:
    """The k most probable classes beside the picture. Raises `VitvizError` if there are none."""
    answers = analysis.predictions(k)
    if not answers:
        raise VitvizError(
            f"{analysis.card.name} names no classes: there are no predictions to draw"
        )
    figure, (left, ax) = panels(analysis, 2, size=3.4, paper="")
    picture(left, analysis)
    probabilities = [answer.probability for answer in answers]
    bars = ax.barh(range(len(answers)), probabilities, color="#31688e")
    ax.set_axis_on()
    ax.set_aspect("auto")
    ax.set_yticks(
        range(len(answers)),
        labels=[answer.label for answer in answers],
        parse_math=False,  # a label may hold dollar signs
        fontfamily=fonts(),
    )
    ax.bar_label(bars, [f"{p:.1%}" for p in probabilities], padding=3)
    ax.set_xlim(0, 1.18)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    temperature = analysis.card.temperature
    softened = "" if temperature == 1 else f" of logits / {temperature:.3g}"
    ax.set_xlabel(f"probability: softmax{softened}")
    title(figure, f"The {len(answers)} most probable of {len(analysis.trace.logits)} classes")
    return figure
