"""Predictions: probabilities of classes and groups, and whether the answer is one at all."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ..languages import ENGLISH, Message
from ..model.json_values import parse
from ..model.loaded import ModelCard

# An answer whose calibrated probability is below this is shown as "not sure". Calibrated means that
# of the answers given with 25 %, about one in four is right. Such an answer is wrong most of the
# time, and a visitor who reads a name believes it. On the validation pictures of the
# first photo model, 5 % of the answers about groups lay below it, and 20 % of these were right; of
# those about classes 12 %, and 16 % right.
NOT_SURE = 0.25

KEPT = 0.95  # share of pictures of the classes that a threshold of "known or not" is set to keep

# A class with this share of the probability of its group is named in place of the group: "a bear,
# panda or koala" says less than "red panda", and hides nothing only where the rest is small.
HOLDS_ITS_GROUP = 0.9

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
    """What the model says in one phrase: the most probable group, or class where there are none, or
    where one class holds nearly all of its group (`HOLDS_ITS_GROUP`).

    `sure` is None where no temperature was fitted: uncalibrated percentages mean nothing. `known`
    is that of `KnownOrNot`: where it is False, the picture shows none of the classes, and the
    answer is only the nearest of them; None where the model was not trained to tell.
    """

    kind: Literal["group", "class"]
    name: str
    probability: float
    sure: bool | None
    known: bool | None = None


@dataclass(frozen=True, slots=True)
class KnownOrNot:
    """Whether a picture shows one of the classes at all, as its model was trained to tell.

    score      the score of the picture, see `known_or_not`
    threshold  the model's; the picture counts as known from it on
    known      whether the score reaches the threshold
    kept       the share of pictures of the classes that the threshold was set to keep
    """

    score: float
    threshold: float
    known: bool
    kept: float = KEPT


def known_or_not(logits: Tensor) -> Tensor:
    """The log-odds that a picture shows one of the classes, as the log-sum-exp of its logits.
    (..., K) -> (...)

    The odds are against one more class in the softmax, "none of these", whose logit is always 0.
    The energy of arXiv:2010.03759 is minus this, of a model that was trained without such pictures.
    The logits are those without temperature: training has fixed their level.
    """
    return logits.logsumexp(dim=-1)


def not_taught(answer: Answer, card: ModelCard) -> Message:
    """The sentence for a picture that shows none of the classes, with the nearest of them."""
    names = card.words.get(ENGLISH, {}).get("groups" if answer.kind == "group" else "labels", {})
    name = names.get(answer.name, answer.name)  # "a dog" for "dog"
    return Message("viewer.notTaught", name=name, share=percent(answer.probability))


def percent(share: float) -> str:
    """A share as a percentage; only 0 is shown as 0.0%, and only 1 as 100.0% (else > 99.9%)."""
    text = f"{share:.1%}"
    if text == "0.0%" and share > 0:
        return "< 0.1%"
    if text == "100.0%" and share < 1 - 1e-6:  # a smaller rest may be float32 rounding
        return "> 99.9%"
    return text


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
    places = {word: place for place, word in enumerate(members)}
    sums = probabilities.new_zeros(len(members))
    sums.index_add_(0, torch.tensor([places[word] for word in words]), probabilities)
    groups = [
        Group(word, share, tuple(classes))
        for (word, classes), share in zip(members.items(), sums.tolist(), strict=True)
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
