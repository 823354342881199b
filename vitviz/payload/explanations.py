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
    from ..probe.analysis import Analysis, Target

LIKE = "like"  # in place of a class: the likeness to another picture
# Explainer, token and class ("any": of an explainer without one) in the name of a late file.
_NAME = re.compile(rf"explain-([a-z_0-9]{{1,40}})-([0-9]{{1,7}})-([0-9]{{1,7}}|any|{LIKE})")
# Limit of the work for an explanation in a page of one file, in operations (2 per parameter, token
# and pass): about 5 s. The shipped photo model takes 8e8 for a pass, ViT-B/16 3e10.
MOST_WORK = 5e11
MOST_PASSES = 3


def explanation_name(key: str, token: int, target: int | str | None) -> str:
    """Name of the late file with the values of an explainer for a token and a class, or `LIKE`."""
    return f"explain-{key}-{token}-{'any' if target is None else target}"


def is_explanation(name: str) -> bool:
    """Whether a name has the form of an explanation's; it may still not exist."""
    return _NAME.fullmatch(name) is not None


def runs_the_model(name: str, config: ViTConfig) -> bool:
    """Whether the values of this name can only be computed with the model."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in EXPLAINERS:
        return False
    return EXPLAINERS[found[1]].within(config).runs_the_model


def passes_of(analysis: "Analysis", name: str) -> int:
    """Approximate number of passes for the file of this name; 0 for any other file."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in EXPLAINERS:
        return 0
    return EXPLAINERS[found[1]].passes(analysis.grid)


def explanation(
    analysis: "Analysis", name: str, other: "Analysis | None" = None
) -> dict[str, Tensor]:
    """{"values": (N,), "cost": (3,)}: forward and backward passes, and seconds here (0: unknown).
    "gap", (1,), only if the values should add up: the share by which their sum is off.
    "likeness", (1,), only for `LIKE`: of the picture to that of `other`.

    Raises `SelectionError` for an explainer, token or class that does not exist, and `VitvizError`
    without the model where it has to run.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise SelectionError(f"this analysis has no file {name!r}")
    key, token, target = found.groups()
    alike: dict[str, Tensor] = {}
    wanted: Target = None
    if target == LIKE:
        if other is None:
            raise SelectionError("a likeness needs another picture in the same model")
        wanted = other
        alike = {"likeness": torch.tensor([analysis.likeness(other)])}
    elif target != "any":
        wanted = int(target)
    made = explained(analysis, key, int(token), wanted)
    cost = torch.tensor([made.forward, made.backward, made.seconds])
    gap = {} if made.gap is None else {"gap": torch.tensor([made.gap])}
    return {"values": made.values.float(), "cost": cost, **gap, **alike}


def facts(analysis: "Analysis", *, late: bool) -> dict[str, Any]:
    """Facts for the viewer on the explainers of this model, in JSON's types.

    {"explainers": `_listed`, "tested": `_tested`}
    """
    found = fair_tests_of(analysis.card)
    measured = found.get("explainers", {})
    return {"explainers": _listed(analysis, measured, late=late), "tested": _tested(found)}


def _listed(
    analysis: "Analysis", measured: Mapping[str, Any], *, late: bool
) -> list[dict[str, Any]]:
    """The explainers of this model.

    "names" and "sentences": in other languages than English; "passes": their number by definition;
    "measured": results on many pictures, if the checkpoint has them; "late": whether values can be
    requested later; otherwise only those in the payload exist.
    """
    return [
        _described(explainer, analysis.grid)
        | {
            "measured": _rounded(measured.get(explainer.key)),
            "late": late and (analysis.loaded is not None or not explainer.runs_the_model),
        }
        for explainer in _possible(analysis)
    ]


def _rounded(measured: Any) -> Any:
    """Five digits of each number: the page shows three, and all 17 are a kilobyte of each page."""
    if isinstance(measured, Mapping):
        return {name: _rounded(value) for name, value in measured.items()}
    return float(f"{measured:.5g}") if isinstance(measured, float) else measured


def _described(explainer: Explainer, grid: PatchGrid) -> dict[str, Any]:
    return {
        "key": explainer.key,
        "name": str(explainer.name),
        "names": in_others(explainer.name),
        "sentence": str(explainer.sentence),
        "sentences": in_others(explainer.sentence),
        "paper": explainer.paper,
        "signed": explainer.signed,
        "baseline": explainer.baseline,
        "needs": sorted(explainer.needs),
        "passes": explainer.passes(grid),
    }


def without_host(listed: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The explainers of a list that the page's engine computes, for a page without a host."""
    return [row for row in listed if row["key"] in in_page.EXPLAINERS]


def of_digits() -> dict[int, list[dict[str, Any]]]:
    """Rows like those of `_listed` for the models that learn digits in the page, by the side of a
    patch in pixels. The page computes all of them.
    """
    grids = {side: PatchGrid((28, 28), (side, side), 1) for side in (4, 7, 14)}
    return {
        side: without_host(
            _described(explainer, grid) | {"measured": None, "late": True}
            for explainer in EXPLAINERS.values()
        )
        for side, grid in grids.items()
    }


def _tested(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Number of pictures, data and date of the fair tests in `_listed`; None without tests."""
    facts = {name: found.get(name) for name in ("pictures", "data", "date")}
    return facts if found and None not in facts.values() else None


def beforehand(analysis: "Analysis", token: int) -> dict[str, dict[str, Tensor]]:
    """Explanations in a page of one file: of the answer, by each explainer that takes few passes.
    {name: file}
    """
    found = {}
    per_pass = 2.0 * analysis.card.num_parameters * analysis.grid.num_tokens
    for explainer in _possible(analysis):
        passes = explainer.passes(analysis.grid)
        if passes > MOST_PASSES or passes * per_pass > MOST_WORK:
            continue
        if explainer.runs_the_model and analysis.loaded is None:
            continue
        if "class" in explainer.needs and analysis.card.head != "classes":
            continue  # likeness to a picture that is not known yet
        target = analysis.class_index(None) if "class" in explainer.needs else None
        name = explanation_name(explainer.key, token if "token" in explainer.needs else 0, target)
        try:
            found[name] = explanation(analysis, name)
            found[name]["cost"][2] = 0  # seconds of this machine, not of the reader's
        except VitvizError:  # left out: the viewer says that this model refuses it
            continue
    return found


def _possible(analysis: "Analysis") -> Iterator[Explainer]:
    """The explainers that the model allows. One that needs a class is left out only if the model
    neither names classes nor pools: with a pool it can explain the likeness to another picture.
    """
    card = analysis.card
    for explainer in EXPLAINERS.values():
        if "class" not in explainer.needs or card.head == "classes" or card.config.global_pool:
            yield explainer.within(analysis.card.config)
