"""Figures of many pictures: how far every head looks, by layer, with its standard error."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import SelectionError
from ..many.ablation import Ablation
from ..many.survey import Survey
from ..probe.capture.grid import PatchGrid
from ..probe.intervene.intervention import Head
from ..probe.measure.heads import distances
from .figure_parts import (
    BLUE,
    GREY,
    ORANGE,
    SIGNED,
    VIT,
    bar,
    chart,
    fonts,
    shortened,
    stage,
    title,
)

WIDTH = 0.56  # of a layer's dots together, in layers


def figure7(first: Survey, second: Survey | None = None, *, ax: Axes | None = None) -> Figure:
    """Mean attention distance of every head by layer: figure 7, right, of the ViT paper.

    A dot for each head, and a bar of two standard errors either way over the pictures, where it is
    longer than the dot. `second`: another model, or the same one untrained, in the same axes.
    `ax`: draw there, in place of a figure of its own. Raises `SelectionError` for a survey without
    distances.
    """
    surveys = [survey for survey in (first, second) if survey is not None]
    paper = f"{VIT}, figure 7 (right)"
    figure, ax = stage(ax, 6.4, 4.2, first.card, photo_name=_counted(surveys), paper=paper)
    tops, depths = [], []
    for survey, colour, marker in zip(surveys, (BLUE, ORANGE), "os", strict=False):
        mean, error = (np.asarray(values) for values in (survey.mean(), survey.error()))
        depth, heads = mean.shape
        # Side by side in the order of their distance, so that intervals do not hide each other.
        aside = WIDTH * ((np.arange(heads) + 0.5) / heads - 0.5)
        order = mean.argsort(axis=1)
        x = (np.arange(depth)[:, None] + aside).ravel()
        mean, error = (np.take_along_axis(each, order, axis=1).ravel() for each in (mean, error))
        n = len(survey.pictures)
        ax.errorbar(
            x,
            mean,
            yerr=2 * np.nan_to_num(error),
            fmt=marker,
            markersize=4,
            color=colour,
            alpha=0.75,
            elinewidth=1,
            markeredgewidth=0,
            label=f"{_name(survey)}, {n:,} pictures",
        )
        tops.append(float(mean.max()))
        depths.append(depth)
    grids = dict.fromkeys(PatchGrid.of(survey.card.config) for survey in surveys)
    even = [float(distances(grid).mean()) for grid in grids]
    for pixels in even:
        ax.axhline(pixels, color=GREY, linestyle="--", linewidth=1)
    far = " and ".join(f"{pixels:.3g}" for pixels in even)
    chart(ax, f"dashed: even attention to all patches, {far} pixels")
    ax.set_ylim(0, 1.08 * max(*even, *tops))
    ax.set_xticks(range(0, max(depths), -(-max(depths) // 12)))
    ax.set_xlabel("layer", fontsize=8)
    ax.set_ylabel("mean attention distance, in pixels", fontsize=8)
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)
    ax.legend(fontsize=7, frameon=False, prop={"family": fonts(), "size": 7}, loc="lower right")
    title(figure, "How far every head looks")
    return figure


def ablation(found: Ablation, *, ax: Axes | None = None) -> Figure:
    """Fall of the logit of the answer without each head: a cell for each, mean over pictures.

    Raises `SelectionError` unless each intervention turns one head off, each head once, and if no
    picture could be used.
    """
    config = found.card.config
    off = [Head(layer, head) for layer in range(config.depth) for head in range(config.num_heads)]
    alone = [changes[0] for changes in found.interventions if len(changes) == 1]
    if len(found.interventions) != len(off) or {*alone} != {*off}:
        raise SelectionError("this figure is of every head turned off: ablate(loaded, pictures)")
    if not found.pictures:
        raise SelectionError("no picture could be used: there is nothing to draw")
    values = np.zeros((config.depth, config.num_heads))
    for row, change in zip(found.table(), alone, strict=True):
        place = change.to_dict()
        values[place["layer"], place["head"]] = row["logits"]
    count = f"{len(found.pictures):,} pictures"
    size = 1.6 + 0.5 * config.num_heads, 1.4 + 0.4 * config.depth
    figure, ax = stage(ax, *size, found.card, photo_name=count)
    top = float(np.abs(values).max()) or 1.0
    image = ax.imshow(values, cmap=SIGNED, vmin=-top, vmax=top, aspect="auto")
    ax.set_xticks(range(config.num_heads))
    ax.set_yticks(range(config.depth))
    ax.tick_params(labelsize=7)
    ax.set_xlabel("head", fontsize=8)
    ax.set_ylabel("layer", fontsize=8)
    what = "the answer"
    if found.target is not None:
        labels = found.card.labels
        what = shortened(f'"{labels[found.target]}"' if labels else f"class {found.target}")
    bar(figure, image, ax, f"fall of the logit of {what}")
    title(figure, f"What {what} loses without each head")
    return figure


def _name(survey: Survey) -> str:
    card = survey.card
    size = f"{card.key.size} pixels" if card.key.size else ""
    return ", ".join(filter(None, (card.name, "" if card.trained else "untrained", size)))


def _counted(surveys: Sequence[Survey]) -> str:
    """The numbers of pictures, in place of the name of a photo."""
    counts = dict.fromkeys(f"{len(survey.pictures):,} pictures" for survey in surveys)
    return " and ".join(counts)
