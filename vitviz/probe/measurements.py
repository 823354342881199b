"""What a checkpoint says was measured of it: how often it is right, and where it looks."""

import math
from collections.abc import Mapping
from typing import Any

from ..model.json_values import parse
from ..model.loaded import ModelCard

SHARES = ("top1", "top5", "group", "ece")
NUMBERS = (*SHARES, "nll", "pictures")
BOX_NUMBERS = ("energy", "pointing")


def measurements_of(card: ModelCard) -> dict[str, Any]:
    """Some of `NUMBERS`, and "boxes": {map: {"energy", "pointing"}}, from the details of a card.

    Shares lie in [0, 1]. An entry that is not a number, or whose name is not known here, is left
    out. {} for a model that carries no measurements.
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


def _numbers(told: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    def good(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and value >= 0

    return {name: told[name] for name in names if good(told.get(name))}
