"""Learning curves: draw loss, accuracy, learning rate and speed from the log of a run.

`draw/` uses matplotlib too, but draws analyses; the two rooms do not import each other.
"""

import json
from pathlib import Path
from typing import Any

from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..whole import writes_whole
from .errors import TrainError, writing

LOG = "log.jsonl"
FORMATS = ("png", "svg")
DPI = 150
# Blue and orange of Okabe and Ito's palette, which the colour-blind can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"

Lines = list[dict[str, Any]]


def plot(folder: Path) -> list[Path]:
    """Draw the run in `folder` into curves.png and curves.svg beside its log; returns the files.

    Raises `TrainError` if there is no run, or nothing to draw in it yet.
    """
    figure = curves(read_log(folder), folder.resolve().name)
    paths = [folder / f"curves.{kind}" for kind in FORMATS]
    for path in paths:
        with writing(path), writes_whole(path) as partial:
            figure.savefig(partial, dpi=DPI)
    return paths


def read_log(folder: Path) -> Lines:
    """The valid lines of a run's log, in the order of their steps.

    A killed run may have left half a line, which is skipped. Steps after the state it was resumed
    from were taken again; only their second lines are kept.
    """
    path = folder / LOG
    try:
        text = path.read_text("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        raise TrainError(f"there is no run in {folder}: it has no {LOG}") from None
    except OSError as error:
        raise TrainError(f"{path} cannot be read: {error.strerror}") from error
    kept: Lines = []
    for words in text.splitlines():
        try:
            line = json.loads(words)
            event, step = str(line["event"]), int(line["step"])
        except (ValueError, KeyError, TypeError):
            continue  # cut off in the middle
        if event == "start":
            kept = [old for old in kept if old["step"] <= step and old["event"] != "end"]
        kept.append({**line, "event": event, "step": step})
    if not any(line["event"] in ("train", "epoch", "end") for line in kept):
        raise TrainError(f"{path} has nothing to draw yet: no step was written down")
    return kept


def curves(lines: Lines, name: str = "") -> Figure:
    """Four curves over the steps: loss, accuracy, learning rate, images per second."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    loss, accuracy, rate, speed = axes = figure.subplots(2, 2, sharex=True).flatten()
    trained = [line for line in lines if line["event"] == "train"]
    # Test loss and accuracy: without label smoothing or augmentation; at the end on all test
    # pictures and with the fitted temperature.
    measured = [line for line in lines if line["event"] in ("epoch", "end")]

    draw(loss, trained, "loss", "as trained (augmented, softened targets)", BLUE)
    draw(loss, measured, "nll", "on test pictures (nll)", ORANGE, marker="o")
    draw(accuracy, measured, "top1", "top-1", BLUE, marker="o")
    draw(accuracy, measured, "top5", "top-5", ORANGE, marker="o")
    accuracy.yaxis.set_major_formatter(ticker.PercentFormatter(1))
    draw(rate, trained, "lr", "learning rate", BLUE)
    draw(speed, trained, "images_per_s", "images per second", BLUE)

    titles = ("loss", "right on test pictures", "learning rate, share of the highest", "speed")
    units = ("nats", "", "", "images / s")
    for ax, title, unit in zip(axes, titles, units, strict=True):
        ax.set_title(title, fontsize=10)
        ax.set_ylabel(unit, fontsize=8)
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.25)
        ax.set_axisbelow(True)
        if not ax.lines:
            ax.text(0.5, 0.5, "not in the log yet", transform=ax.transAxes, ha="center", color=GREY)
        for line in resumed(lines):
            ax.axvline(line["step"], color=GREY, linewidth=0.8, linestyle="--")
    for ax in (rate, speed):
        ax.set_ylim(bottom=0)
        ax.set_xlabel("step (dashed: resumed)" if resumed(lines) else "step", fontsize=8)
    for ax in (loss, accuracy):
        if ax.lines:
            ax.legend(fontsize=8)
    figure.suptitle(title_of(lines, name), fontsize=11)
    return figure


def draw(ax: Axes, lines: Lines, key: str, label: str, colour: str, marker: str = "") -> None:
    """Draw the values of `key` in the lines as a curve; nothing if no line has it."""
    points = [(line["step"], line[key]) for line in lines if isinstance(line.get(key), int | float)]
    if points:
        steps, values = zip(*points, strict=True)
        # A single value makes no line and gets a dot.
        ax.plot(
            steps,
            values,
            color=colour,
            label=label,
            marker=marker or ("o" if len(points) == 1 else ""),
            markersize=3,
            linewidth=1.2,
        )


def resumed(lines: Lines) -> Lines:
    """The lines at which the run was resumed after an interruption."""
    return [line for line in lines if line["event"] == "start" and line["step"] > 0]


def title_of(lines: Lines, name: str) -> str:
    """The run in one line: its name, how far it is, and the last measurements."""
    starts = [line for line in lines if line["event"] == "start"]
    steps = starts[-1].get("steps") if starts else None
    words = [name, f"step {lines[-1]['step']:,}" + (f" of {steps:,}" if steps else "")]
    scored = [line for line in lines if "top1" in line and "top5" in line]
    if scored:
        words.append(f"top-1 {scored[-1]['top1']:.1%}, top-5 {scored[-1]['top5']:.1%}")
    return "   ".join(filter(None, words))
