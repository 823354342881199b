"""Filters: the filters of the patch embedding as pictures, beside those before training."""

import numpy as np
from matplotlib.figure import Figure

from ..model.loaded import LoadedModel
from ..model.untrained import twin
from ..probe.measure.filters import Filters, left_of_start
from .figure_parts import VIT, pixels, sheet, title

COLS = 14


def filters(loaded: LoadedModel) -> Figure:
    """The principal components of the patch embedding, and those of the untrained twin below.

    Each has its largest weight in full colour, and 0 in grey. The captions say what the filters
    look like, in numbers.
    """
    models = [loaded, twin(loaded)] if loaded.card.trained else [loaded]
    found = [Filters.of(model.vit.patch_embed.proj.weight) for model in models]
    rows = -(-len(found[0].components) // COLS)
    figure = sheet(
        10, len(models) * (0.5 + 0.75 * rows) + 0.9, loaded.card, paper=f"{VIT}, figure 7 (left)"
    )
    parts = figure.subfigures(len(models), 1, squeeze=False)[:, 0]
    for part, model, principal in zip(parts, models, found, strict=True):
        axes = list(part.subplots(rows, COLS, squeeze=False).flat)
        for ax in axes:
            ax.set_axis_off()
        for ax, weights in zip(axes, principal.components, strict=False):
            pixels(ax, as_picture(np.asarray(weights)))
        name = "trained" if model.card.trained else "untrained"
        part.suptitle(f"{name}: {in_words(principal)}", fontsize=8)
    note = ""
    if loaded.card.trained:
        note = f"\n{left_of_start(loaded):.0%} of the filters is what they were before training"
    title(figure, f"{len(found[0].components)} principal components of the filters{note}")
    return figure


def in_words(found: Filters) -> str:
    """A description of the filters, as a sentence without a subject."""
    count, colours = len(found.components), int((found.colour > 0.5).sum())
    kinds = f", {colours} of them contrasts of colours" if found.components.shape[1] == 3 else ""
    return (
        f"{count} components hold {float(found.shares.sum()):.0%} of the variance{kinds}; "
        f"{found.smooth:.0%} of all filters is smooth (of noise {found.even:.0%})"
    )


def as_picture(weights: np.ndarray) -> np.ndarray:
    """A filter with its largest weight in full colour and 0 in grey. (C, ph, pw) -> uint8 (ph, pw,
    C)
    """
    weights = np.moveaxis(weights, 0, -1)
    most = float(np.abs(weights).max()) or 1.0
    return np.rint(127.5 + 127.5 * weights / most).astype(np.uint8)
