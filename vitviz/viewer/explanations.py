"""Explanations for the viewer: the list of explainers, and the values of one as a late file."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import SelectionError, VitvizError
from ..languages import in_others
from ..model.config import ViTConfig
from ..probe.capture.grid import PatchGrid
from ..probe.explain.explainers import EXPLAINERS, Explainer
from ..probe.explain.explanation import explained
from ..probe.measure.measurements import fair_tests_of
from . import in_page

if TYPE_CHECKING:
    from ..probe.analysis import Analysis

# Explainer, token and class ("any": of one that knows none) in the name of a late file.
_NAME = re.compile(r"explain-([a-z_0-9]{1,40})-([0-9]{1,7})-([0-9]{1,7}|any)")
# Of an explanation that a page of one file brings, as 2 for each parameter, token and pass: some
# 5 s. The shipped photo model takes 8e8 for a pass, ViT-B/16 3e10.
MOST_WORK = 5e11
MOST_PASSES = 3


def explanation_name(key: str, token: int, target: int | None) -> str:
    """Name of the late file with the values of an explainer for a token and a class."""
    return f"explain-{key}-{token}-{'any' if target is None else target}"


def is_explanation(name: str) -> bool:
    """Whether a late file has such a name; whether it can be made is another question."""
    return _NAME.fullmatch(name) is not None


def runs_the_model(name: str, config: ViTConfig) -> bool:
    """Whether the values of this name can only be computed with the model."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in EXPLAINERS:
        return False
    return EXPLAINERS[found[1]].within(config).runs_the_model


def passes_of(analysis: "Analysis", name: str) -> int:
    """About how many passes the file of this name takes; 0 for any other file."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in EXPLAINERS:
        return 0
    return EXPLAINERS[found[1]].passes(analysis.grid)


def explanation(analysis: "Analysis", name: str) -> dict[str, Tensor]:
    """{"values": (N,), "cost": (3,)}: forward and backward passes, and seconds here (0: unknown).

    Raises `SelectionError` for an explainer, token or class that does not exist, and `VitvizError`
    without the model where it has to run.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise SelectionError(f"this analysis has no file {name!r}")
    key, token, target = found.groups()
    made = explained(analysis, key, int(token), None if target == "any" else int(target))
    cost = torch.tensor([made.forward, made.backward, made.seconds])
    return {"values": made.values.float(), "cost": cost}


def facts(analysis: "Analysis", *, late: bool) -> dict[str, Any]:
    """What a viewer has to know of the explainers that this model can have, in JSON's types.

    {"explainers": one of `_listed` for each, "tested": `_tested`}
    """
    found = fair_tests_of(analysis.card)
    measured = found.get("explainers", {})
    return {"explainers": _listed(analysis, measured, late=late), "tested": _tested(found)}


def _listed(
    analysis: "Analysis", measured: Mapping[str, Any], *, late: bool
) -> list[dict[str, Any]]:
    """Each explainer that this model can have.

    "names" and "sentences" are those of other languages than English; "passes" it takes by its
    definition; "measured" on many pictures if the checkpoint brings that;
    "late": whether its values can be asked for, else only those in the payload are there.
    """
    return [
        _described(one, analysis.grid)
        | {
            "measured": measured.get(one.key),
            "late": late and (analysis.loaded is not None or not one.runs_the_model),
        }
        for one in _possible(analysis)
    ]


def _described(one: Explainer, grid: PatchGrid) -> dict[str, Any]:
    return {
        "key": one.key,
        "name": str(one.name),
        "names": in_others(one.name),
        "sentence": str(one.sentence),
        "sentences": in_others(one.sentence),
        "paper": one.paper,
        "signed": one.signed,
        "baseline": one.baseline,
        "needs": sorted(one.needs),
        "passes": one.passes(grid),
    }


def without_host(listed: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The explainers of a list that the page's engine computes: those of a page without a host."""
    return [one for one in listed if one["key"] in in_page.EXPLAINERS]


def of_digits() -> dict[int, list[dict[str, Any]]]:
    """Explainers of the models that learn digits in the page, by the side of a patch in pixels: as
    `_listed`, all made by the page.
    """
    grids = {side: PatchGrid((28, 28), (side, side), 1) for side in (4, 7, 14)}
    return {
        side: without_host(
            _described(one, grid) | {"measured": None, "late": True} for one in EXPLAINERS.values()
        )
        for side, grid in grids.items()
    }


def _tested(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """On how many pictures, of which data and when the fair tests of `_listed` were made; None if
    none were.
    """
    facts = {name: found.get(name) for name in ("pictures", "data", "date")}
    return facts if found and None not in facts.values() else None


def beforehand(analysis: "Analysis", token: int) -> dict[str, dict[str, Tensor]]:
    """The explanations of a page of one file: for the answer, of each explainer that takes few
    passes. {name: file}
    """
    found = {}
    per_pass = 2.0 * analysis.card.num_parameters * analysis.grid.num_tokens
    for one in _possible(analysis):
        passes = one.passes(analysis.grid)
        if passes > MOST_PASSES or passes * per_pass > MOST_WORK:
            continue
        if one.runs_the_model and analysis.loaded is None:
            continue
        target = analysis.class_index(None) if "class" in one.needs else None
        name = explanation_name(one.key, token if "token" in one.needs else 0, target)
        try:
            found[name] = explanation(analysis, name)
            found[name]["cost"][2] = 0  # a page is the same whenever it is made
        except VitvizError:  # what this model refuses is not there, and the viewer says so
            continue
    return found


def _possible(analysis: "Analysis") -> Iterator[Explainer]:
    """All explainers as they are in this model; without those for a class where it names none."""
    for one in EXPLAINERS.values():
        if "class" not in one.needs or analysis.card.head == "classes":
            yield one.within(analysis.card.config)
