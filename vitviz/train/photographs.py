"""Photographs as people bring them: shares of known ones and strangers that a model keeps."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..model.json_values import is_whole
from ..model.preprocess import Preprocess
from ..probe.measure.predictions import Classes, known_or_not, results_of
from .dataset import Pictures, open_one, stack
from .errors import TrainError
from .others import auroc, threshold
from .scores import score

LIST = "photographs.json"
# Visitors bring photographs of known and of other things. Nobody has counted how many of each: this
# is assumed, and the report says so.
KNOWN_SHARE = 1 / 3
RIGHT = 0.75  # least share of the plain answers to such a mix that are right
ROUNDING = 1e-9  # of shares that are exactly `RIGHT`


@dataclass(frozen=True, eq=False)
class Photographs:
    """Large photographs, cut as an upload is: those of a model's classes, and strangers."""

    known: Pictures
    strangers: Tensor  # uint8 (m, C, h, w)


def read_photographs(folder: Path, cut: Preprocess, labels: tuple[str, ...]) -> Photographs:
    """The photographs that FOLDER/photographs.json lists, [{"file", "index"}]: the number of its
    class among the labels, or null for a stranger.

    Raises `TrainError` if it lists no known ones or no strangers, or cannot be read.
    """
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        rows = [(str(row["file"]), row["index"]) for row in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainError(f"{folder} needs {LIST}, a list of file and index: {error!r}") from error
    for name, index in rows:
        if index is not None and not (is_whole(index) and 0 <= index < len(labels)):
            raise TrainError(
                f"{name} in {folder} has index {index!r}; there are {len(labels)} classes, from 0"
            )
    known = [(name, index) for name, index in rows if index is not None]
    strangers = [name for name, index in rows if index is None]
    if not known or not strangers:
        raise TrainError(
            f"{folder} needs photographs of the classes and of other things, "
            f"got {len(known)} and {len(strangers)}"
        )

    def cut_out(names: list[str]) -> Tensor:
        return stack((open_one(folder / name) for name in names), cut, folder.name, len(names))

    targets = torch.tensor([index for _, index in known])
    pictures = Pictures(folder.name, cut_out([name for name, _ in known]), targets, labels)
    return Photographs(pictures, cut_out(strangers))


def lowered(held_back: float, known: Tensor) -> float:
    """The lower of two thresholds: `held_back`, which was set with the pictures held back, and the
    `threshold` of known photographs. A number, scores (n,) -> a number
    """
    return min(held_back, threshold(known))


def on_photographs(
    known: Tensor, strangers: Tensor, targets: Tensor, limit: float, held_back: float
) -> dict[str, Any]:
    """Effect of a threshold on photographs. Logits (n, K), (m, K), classes (n,) -> {"known",
    "strangers", "top1", "top5", "auroc", "kept", "left_out", "refused"}

    known and strangers are counts, the rest lies in [0, 1]. kept is the share of the known that
    reach `limit`, refused that of the strangers that do not. left_out is like kept, but the
    threshold for each photograph is `lowered` by the others alone: kept is too high where the
    same photographs set the threshold. `held_back` is the threshold before it was lowered.
    """
    ours, theirs = known_or_not(known), known_or_not(strangers)
    every = torch.arange(len(ours))
    fair = [ours[i] >= lowered(held_back, ours[every != i]) for i in every if len(ours) > 1]
    right = score(known, targets)
    return {
        "known": len(known),
        "strangers": len(strangers),
        "top1": right["top1"],
        "top5": right["top5"],
        "auroc": auroc(ours, theirs),
        "kept": (ours >= limit).double().mean().item(),
        **({"left_out": torch.stack(fair).double().mean().item()} if fair else {}),
        "refused": (theirs < limit).double().mean().item(),
    }


def answers_to(
    logits: Tensor, classes: Classes, targets: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The probability of each answer, 0 where the picture is refused or the model is not sure, and
    whether it names the class or its group. (n, K), (n,) -> float64 (n,), bool (n,)

    Without targets, as for strangers, every answer is wrong.
    """
    answers = [results_of(row, classes, 1).answer for row in logits]
    told = [
        answer.probability or 0.0 if answer and answer.level in ("answer", "maybe") else 0.0
        for answer in answers
    ]
    right = torch.zeros(len(answers), dtype=torch.bool)
    for at, index in enumerate(() if targets is None else targets.tolist()):
        names = {"class": classes.labels, "group": classes.groups or ()}
        answer = answers[at]
        right[at] = answer is not None and names[answer.kind][index] == answer.name
    return torch.tensor(told, dtype=torch.double), right


def certain_from(known: Tensor, right: Tensor, strangers: Tensor) -> float:
    """The lowest bound such that at least `RIGHT` of the answers whose probability reaches it are
    right, in a mix with `KNOWN_SHARE` of known photographs; 1 if there is none.

    known (n,) and right (n,): probabilities of the answers to known photographs, and whether the
    answers are right. strangers (m,): probabilities of the answers to strangers.
    """
    bounds = torch.cat([known, strangers]).unique()  # ascending
    bounds = bounds[bounds > 0]

    def share_from(values: Tensor, of: int) -> Tensor:
        """Number of values that reach each bound, divided by `of`."""
        below = torch.searchsorted(values.sort().values, bounds)
        return (len(values) - below).double() / max(1, of)

    good = KNOWN_SHARE * share_from(known[right], len(known))
    ours = KNOWN_SHARE * share_from(known, len(known))
    theirs = (1 - KNOWN_SHARE) * share_from(strangers, len(strangers))
    fits = bounds[good >= (RIGHT - ROUNDING) * (ours + theirs)]
    return fits[0].item() if len(fits) else 1.0


def share_right(known: Tensor, right: Tensor, strangers: Tensor) -> float:
    """The share of the plain answers that are right, in the mix of `KNOWN_SHARE`; 0 without any.
    bool (n,), (n,), (m,): which known photographs and which strangers get a plain answer
    """
    ours = KNOWN_SHARE * known.double().mean().item()
    theirs = (1 - KNOWN_SHARE) * strangers.double().mean().item()
    good = KNOWN_SHARE * (known & right).double().mean().item()
    return good / (ours + theirs) if ours + theirs > 0 else 0.0


def on_plain(known: Tensor, right: Tensor, strangers: Tensor) -> dict[str, float]:
    """Effect of `certain_from` on photographs that had no part in it: each is left out in turn.
    -> {"plain_right", "plain_right_error", "plain_kept", "plain_kept_error"}, in [0, 1]

    plain_right is the share of the plain answers that are right, plain_kept that of the right
    answers to known photographs that are plain; each with its standard error, of shares of
    independent photographs (for plain_right by the delta method).
    """

    def others(values: Tensor) -> list[Tensor]:
        return [values[torch.arange(len(values)) != i] for i in range(len(values))]

    bounds = [
        certain_from(a, b, strangers) for a, b in zip(others(known), others(right), strict=True)
    ]
    ours = known >= torch.tensor(bounds, dtype=torch.double)
    theirs = strangers >= torch.tensor(
        [certain_from(known, right, rest) for rest in others(strangers)], dtype=torch.double
    )
    kept = ours[right].double().mean().item() if right.any() else 0.0
    good, wrong, strange = (
        of.double().mean().item() for of in (ours & right, ours & ~right, theirs)
    )
    odds = (1 - KNOWN_SHARE) / KNOWN_SHARE
    whole = good + wrong + odds * strange
    slopes = ((wrong + odds * strange, good), (-good, wrong), (-odds * good, strange))
    counts = (len(known), len(known), len(strangers))
    spread = sum(
        (slope / whole**2) ** 2 * share * (1 - share) / count if whole else 0.0
        for (slope, share), count in zip(slopes, counts, strict=True)
    )
    if whole:  # a photograph whose answer is right is not one whose answer is wrong
        both = slopes[0][0] * slopes[1][0] / whole**4
        spread -= 2 * both * good * wrong / len(known)
    return {
        "plain_right": share_right(ours, right, theirs),
        "plain_right_error": spread**0.5,
        "plain_kept": kept,
        "plain_kept_error": (kept * (1 - kept) / max(1, int(right.sum()))) ** 0.5,
    }


def in_words(found: dict[str, Any]) -> str:
    """The part "photographs" of a report, in a sentence."""
    left_out = ""
    if "left_out" in found:
        left_out = f" ({found['left_out']:.1%}, if each has no part in the threshold)"
    return (
        f"photographs as people bring them: it keeps {found['kept']:.1%} of {found['known']} of "
        f"its classes{left_out} and refuses {found['refused']:.1%} of {found['strangers']} of "
        f"other things; AUROC {found['auroc']:.3f}, top-1 {found['top1']:.1%}, "
        f"top-5 {found['top5']:.1%}{plain_in_words(found)}"
    )


def plain_in_words(found: dict[str, Any]) -> str:
    """The figures of `on_plain`, as the end of a sentence."""
    if "plain_right" not in found:
        return ""
    right, kept = (
        f"{found[name]:.1%} (standard error {found[name + '_error']:.1%})"
        for name in ("plain_right", "plain_kept")
    )
    return (
        f"; where {KNOWN_SHARE:.0%} of them show a known thing, {right} of the plain answers are "
        f"right, and {kept} of the right answers are plain"
    )
