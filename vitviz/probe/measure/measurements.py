"""Read the measurements in a checkpoint: accuracy, box hits, refusals of unknown pictures."""

from collections.abc import Mapping
from typing import Any

from ...model.json_values import is_number, parse
from ...model.loaded import ModelCard
from ...model.untrained import recipe_of
from .predictions import KEPT

SHARES = ("top1", "top5", "group", "ece")
NUMBERS = (*SHARES, "nll", "pictures")
BOX_NUMBERS = ("energy", "pointing")
FAIR_FIGURES = ("gain", "over_centre", "deletion", "insertion", "beaten", "saco")
PHOTOGRAPHS = ("known", "strangers")  # their counts
PLAIN = ("plain_right", "plain_right_error", "plain_kept", "plain_kept_error")
MOST = 1e15  # bound of every number
SCORE = "known or not"  # the measured score that `Analysis.known_or_not` uses


def measurements_of(card: ModelCard) -> dict[str, Any]:
    """Some of `NUMBERS`, "watched", "boxes", "others" and "photographs", from details of a card.

    "watched" is the number of the "pictures" that training evaluated after each epoch; the figures
    of its film are for those.
    "boxes" is {map: {"energy", "pointing"}}.
    "others" measures how well `Analysis.known_or_not` finds pictures of none of the classes, on
    "pictures" of "classes" kinds of things that the model was never shown: "auroc"; "refused", the
    share of them below the threshold that keeps 95 % of the test pictures ("kept"); and with the
    model's own threshold the shares "own_kept" of the test pictures and "own_refused" of the rest.
    "photographs" measures the same on "known" large photographs of the classes and "strangers" of
    other things: "kept" and "refused", the shares that the model's own threshold keeps and refuses;
    "left_out", the share it would keep if set without the photograph in question; "auroc"; and
    `PLAIN`, where a third of them show a known thing: the share of the plain answers that are
    right, and that of the right answers to known ones that are plain, with their standard errors.

    Shares lie in [0, 1]. An entry that is not a number, or whose name is not known here, is left
    out. {} for a model that carries no measurements.
    """
    try:
        parsed = parse(card.details["evaluation"])
    except (KeyError, ValueError):
        return {}
    if not isinstance(parsed, dict):
        return {}
    figures: dict[str, Any] = _numbers(parsed, NUMBERS)
    figures = {name: value for name, value in figures.items() if name not in SHARES or value <= 1}
    watched = recipe_of(card.details).get("eval_pictures")
    if is_number(watched, 0, MOST) and "pictures" in figures:
        figures["watched"] = min(watched or figures["pictures"], figures["pictures"])  # 0: all
    boxes = parsed.get("boxes")
    if isinstance(boxes, dict):
        maps = {
            str(name): _numbers(figures_of_map, BOX_NUMBERS)
            for name, figures_of_map in boxes.items()
            if isinstance(figures_of_map, dict)
        }
        whole = {name: values for name, values in maps.items() if len(values) == len(BOX_NUMBERS)}
        figures |= {"boxes": whole} if whole else {}
    others, photographs = _others(parsed.get("others")), _photographs(parsed.get("photographs"))
    figures |= {"others": others} if others else {}
    return figures | ({"photographs": photographs} if photographs else {})


def fair_tests_of(card: ModelCard) -> dict[str, Any]:
    """Results of fair tests of the explainers on many pictures, from "explainers" in the details of
    a card: the head and table of `--evaluate --explainers`, as JSON.

    {"pictures", "data", "date", "explainers": {key: {figure: {"mean", "half"}}}}; "half" is half of
    the 95 % interval. A figure that is not a number is left out. {} for a model without such tests.
    """
    try:
        parsed = parse(card.details["explainers"])
    except (KeyError, ValueError):
        return {}
    table = parsed.get("table") if isinstance(parsed, dict) else None
    if not isinstance(table, dict) or not card.trained:
        return {}
    tests = {}
    for key, figures in table.items():
        intervals = {
            name: {"mean": value["mean"], "half": value["half"]}
            for name, value in (figures if isinstance(figures, dict) else {}).items()
            if name in FAIR_FIGURES and _is_interval(value)
        }
        if "gain" in intervals:
            tests[str(key)] = intervals
    texts = {name: parsed[name] for name in ("data", "date") if isinstance(parsed.get(name), str)}
    return {"explainers": tests, **texts, **_numbers(parsed, ("pictures",))} if tests else {}


def _is_interval(value: Any) -> bool:
    """Whether a value has a finite mean and half of an interval."""
    parts = [value.get(name) for name in ("mean", "half")] if isinstance(value, dict) else [None]
    return all(is_number(part, -1e6, 1e6) for part in parts)


def _others(parsed: Any) -> dict[str, float]:
    """The part "others" of the measurements; {} if its score was not measured."""

    def inner(of: Any, name: str) -> Any:
        return of.get(name, {}) if isinstance(of, dict) else {}

    shares = _shares(inner(inner(parsed, "scores"), SCORE), "auroc", "refused")
    own = _shares(inner(parsed, "chosen"), "kept", "refused")
    shares |= {f"own_{name}": value for name, value in own.items()}
    if not shares:
        return {}
    classes = inner(parsed, "classes")
    counts = {"classes": len(classes)} if isinstance(classes, list) and classes else {}
    return shares | {"kept": KEPT} | _numbers(parsed, ("pictures",)) | counts


def _photographs(parsed: Any) -> dict[str, float]:
    """The part "photographs" of the measurements; {} unless both shares were measured."""
    shares = _shares(parsed, "kept", "left_out", "refused", "auroc", *PLAIN)
    counts = _numbers(parsed, PHOTOGRAPHS) if isinstance(parsed, dict) else {}
    whole = {"kept", "refused", *PHOTOGRAPHS} <= shares.keys() | counts.keys()
    return counts | shares if whole else {}


def _shares(parsed: Any, *names: str) -> dict[str, float]:
    shares = _numbers(parsed, names) if isinstance(parsed, dict) else {}
    return {name: value for name, value in shares.items() if value <= 1}


def _numbers(parsed: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    return {name: parsed[name] for name in names if is_number(parsed.get(name), 0, MOST)}
