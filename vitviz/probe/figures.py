"""The figures that a checkpoint carries about itself: how often it is right, and where it looks."""

import math
from collections.abc import Mapping
from typing import Any

from ..model.loaded import ModelCard
from ..model.told import parse
from .answer import groups_of

SHARES = ("top1", "top5", "group", "ece")
NUMBERS = (*SHARES, "nll", "pictures")
BOX_NUMBERS = ("energy", "pointing")
MOST_NAMES = 120  # of classes that are listed; a thousand would be read by nobody


def figures_of(card: ModelCard) -> dict[str, Any]:
    """What the file says was measured: some of `NUMBERS`, and "boxes": {map: {"energy",
    "pointing"}}.

    Shares lie in [0, 1]; what is not a number, or not known here, is left out. {} for a model
    that carries no figures.
    """
    try:
        told = parse(card.details["evaluation"])
    except (KeyError, ValueError):
        return {}
    if not isinstance(told, dict):
        return {}
    found: dict[str, Any] = _numbers(told, NUMBERS)
    found = {name: value for name, value in found.items() if name not in SHARES or value <= 1}
    boxes = told.get("boxes")
    if isinstance(boxes, dict):
        maps = {
            str(name): _numbers(one, BOX_NUMBERS)
            for name, one in boxes.items()
            if isinstance(one, dict)
        }
        whole = {name: one for name, one in maps.items() if len(one) == len(BOX_NUMBERS)}
        found |= {"boxes": whole} if whole else {}
    return found


def kinds_of(card: ModelCard) -> list[dict[str, Any]]:
    """All that the model can answer, by groups: [{"name", "labels"}], name "" without groups.

    Nothing where there are no labels, or more than anybody reads.
    """
    if card.head != "classes" or len(card.labels) > MOST_NAMES:
        return []
    kinds: dict[str, list[str]] = {}
    for label, word in zip(card.labels, groups_of(card) or [""] * len(card.labels), strict=True):
        kinds.setdefault(word, []).append(label)
    return [{"name": name, "labels": kinds[name]} for name in sorted(kinds)]


def _numbers(told: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    def good(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and value >= 0

    return {name: told[name] for name in names if good(told.get(name))}
