"""The answer in words: groups of classes, their summed probability, and whether to believe it."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from ..model.loaded import ModelCard
from ..model.told import parse

# An answer whose calibrated probability is below this is shown as "not sure". Calibrated means that
# of the answers given with 25 %, about one in four is right: named or not, such an answer is wrong
# most of the time, and a visitor who reads a name believes it. On the validation pictures of the
# first photo model, 5 % of the answers about groups lay below it, and 20 % of these were right; of
# those about classes 12 %, and 16 % right.
NOT_SURE = 0.25


@dataclass(frozen=True, slots=True)
class Group:
    """Classes that go by one word, "dog". `probability` is the sum of theirs."""

    name: str
    probability: float
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says in one phrase: the most probable group, or class where there are none.

    `sure` is None where no temperature was fitted: then nobody knows what its percentages mean.
    """

    kind: Literal["group", "class"]
    name: str
    probability: float
    sure: bool | None


def groups_of(card: ModelCard) -> tuple[str, ...] | None:
    """The word for every class, if the checkpoint brings a whole list of them."""
    try:
        words = parse(card.details["groups"])
    except (KeyError, ValueError):
        return None
    whole = isinstance(words, list) and len(words) == len(card.labels or ())
    return tuple(map(str, words)) if whole else None


def summed(probabilities: Tensor, words: tuple[str, ...]) -> tuple[Group, ...]:
    """The groups, most probable first. (C,) and one word per class"""
    members: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        members.setdefault(word, []).append(index)
    groups = [
        Group(word, float(probabilities[classes].sum()), tuple(classes))
        for word, classes in members.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.probability))
