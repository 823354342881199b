"""Predictions: probabilities of classes and of groups of classes, and when to say "not sure"."""

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from ..model.json_values import parse
from ..model.loaded import ModelCard

# An answer whose calibrated probability is below this is shown as "not sure". Calibrated means that
# of the answers given with 25 %, about one in four is right. Such an answer is wrong most of the
# time, and a visitor who reads a name believes it. On the validation pictures of the
# first photo model, 5 % of the answers about groups lay below it, and 20 % of these were right; of
# those about classes 12 %, and 16 % right.
NOT_SURE = 0.25

MOST_NAMES = 120  # classes that are listed at most; nobody would read a thousand


@dataclass(frozen=True, slots=True)
class Prediction:
    """One class of the answer. `probability` in [0, 1] is the softmax of logits / temperature."""

    index: int
    label: str
    logit: float
    probability: float


@dataclass(frozen=True, slots=True)
class Group:
    """Classes with one common word, as "dog". `probability` is the sum of theirs."""

    name: str
    probability: float
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says in one phrase: the most probable group, or class where there are none.

    `sure` is None where no temperature was fitted: uncalibrated percentages mean nothing.
    """

    kind: Literal["group", "class"]
    name: str
    probability: float
    sure: bool | None


def groups_of(card: ModelCard) -> tuple[str, ...] | None:
    """The group of every class; None unless the checkpoint names one for each."""
    try:
        words = parse(card.details["groups"])
    except (KeyError, ValueError):
        return None
    whole = isinstance(words, list) and len(words) == len(card.labels or ())
    return tuple(map(str, words)) if whole else None


def summed(probabilities: Tensor, words: tuple[str, ...]) -> tuple[Group, ...]:
    """The groups, most probable first, from (C,) probabilities and one word for each class."""
    members: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        members.setdefault(word, []).append(index)
    groups = [
        Group(word, float(probabilities[classes].sum()), tuple(classes))
        for word, classes in members.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.probability))


def kinds_of(card: ModelCard) -> list[dict[str, Any]]:
    """All classes of a model by group: [{"name", "labels"}], with the name "" without groups.

    [] for a model that has no labels, or more than `MOST_NAMES`.
    """
    if card.head != "classes" or len(card.labels) > MOST_NAMES:
        return []
    kinds: dict[str, list[str]] = {}
    for label, word in zip(card.labels, groups_of(card) or [""] * len(card.labels), strict=True):
        kinds.setdefault(word, []).append(label)
    return [{"name": name, "labels": kinds[name]} for name in sorted(kinds)]
