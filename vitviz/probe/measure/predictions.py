"""Predictions: probabilities of classes and groups, and whether the picture shows any of them."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ...errors import SelectionError
from ...languages import ENGLISH, Message
from ...model.json_values import parse
from ...model.loaded import ModelCard
from ..capture.selection import whole

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


@dataclass(frozen=True, slots=True)
class Classes:
    """The facts about a model's classes that, with the logits, determine an answer.

    `labels` has a name for each class, and is empty for a model that names no classes; `groups` has
    a word for each, or is None. `calibrated`: whether `temperature` was fitted. `threshold`: least
    score of a picture that counts as known; None for a model that was not trained for that.
    """

    labels: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    temperature: float = 1.0
    calibrated: bool = False
    threshold: float | None = None
    kept: float = KEPT
    not_sure: float = NOT_SURE
    holds_its_group: float = HOLDS_ITS_GROUP


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
    """The model's answer in one phrase: the most probable group; or the most probable class, if
    there are no groups or if it holds nearly all of its group (`HOLDS_ITS_GROUP`).

    `sure` is None if no temperature was fitted: uncalibrated percentages mean nothing. `known` is
    that of `KnownOrNot`: if False, the picture shows none of the classes, and the answer is only
    the nearest of them; None if the model was not trained to tell.
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

    The odds are against an extra class in the softmax, "none of these", whose logit is always 0.
    The energy of arXiv:2010.03759 is minus this, of a model that was trained without such pictures.
    The logits are those without temperature: training has fixed their level.
    """
    return logits.logsumexp(dim=-1)


def not_taught(answer: Answer, card: ModelCard) -> Message:
    """The sentence for a picture that shows none of the classes, with the nearest of them.

    It has no percentage, which would say that the model is sure of what it has just refused.
    """
    names = card.words.get(ENGLISH, {}).get("groups" if answer.kind == "group" else "labels", {})
    name = names.get(answer.name, answer.name)  # "a dog" for "dog"
    none = Message("viewer.notTaught", count=f"{card.config.num_classes:,}")
    guess = Message("viewer.notTaughtGuess", name=name)
    return Message("viewer.notTaughtLine", none=none, guess=guess)


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage; only 0 is shown as 0.0%, and only 1 as 100.0% (else > 99.9%)."""

    def text(value: float) -> str:
        return f"{value:.{digits}%}"

    least = 0.01 / 10**digits
    if text(share) == text(0) and share > 0:
        return f"< {text(least)}"
    if text(share) == text(1) and share < 1 - 1e-6:  # a smaller rest may be float32 rounding
        return f"> {text(1 - least)}"
    return text(share)


def groups_of(card: ModelCard) -> tuple[str, ...] | None:
    """The group of every class; None unless the checkpoint names a group for each."""
    try:
        words = parse(card.details["groups"])
    except (KeyError, ValueError):
        return None
    whole = isinstance(words, list) and len(words) == len(card.labels or ())
    return tuple(map(str, words)) if whole else None


def classes_of(card: ModelCard) -> Classes:
    """The facts about classes in a checkpoint; no labels if it names no classes."""
    named = card.head == "classes"
    return Classes(
        labels=card.labels or () if named else (),
        groups=groups_of(card) if named else None,
        temperature=card.temperature,
        calibrated="temperature" in card.details,
        threshold=card.threshold if named else None,
    )


def class_named(card: ModelCard, target: int | str | None, key: str) -> int | None:
    """The number of a class; None for None, which is the class that the model answers.

    `target`: its number, its label, or its name in any language of the page. `key`: the caller, for
    the message. Raises `SelectionError` as `Analysis.class_index` does.
    """
    labels, count = card.labels or (), card.config.num_classes
    if card.head not in ("classes", "embedding"):
        raise SelectionError(Message("experiments.no_classes", name=card.name, key=key))
    if target is None:
        if not labels:
            raise SelectionError(
                Message("experiments.no_names", name=card.name, key=key, last=count - 1)
            )
        return None
    translations = (words.get("labels", {}) for words in card.words.values())
    called = {name: label for names in translations for label, name in names.items()}
    label = target if target in labels else called.get(str(target))
    if (alike := [str(at) for at, name in enumerate(labels) if name == label])[1:]:
        raise SelectionError(
            Message(
                "experiments.alike", name=card.name, target=repr(target)[:40], numbers=tuple(alike)
            )
        )
    number = int(alike[0]) if alike else whole(target)
    if number is None or not 0 <= number < count:
        wrong = repr(target)[:40]
        raise SelectionError(
            Message("experiments.no_class", name=card.name, target=wrong, last=count - 1)
        )
    return number


@dataclass(frozen=True, slots=True)
class Results:
    """Everything derived from the logits of a pass; empty for a model that names no classes."""

    predictions: tuple[Prediction, ...] = ()
    groups: tuple[Group, ...] = ()
    answer: Answer | None = None
    known_or_not: KnownOrNot | None = None


def results_of(logits: Tensor, classes: Classes, k: int = 5) -> Results:
    """The k most probable classes and groups, best first, and the answer, from (C,) logits.

    Equal logits stand in the order of their classes, equal groups in that of their first classes.
    `viewer/maths/predictions.js` is the same function; both are held to one table of examples.
    """
    if not classes.labels:
        return Results()
    probabilities = softmax(logits, classes.temperature)
    predictions = tuple(
        Prediction(index, classes.labels[index], float(logits[index]), float(probabilities[index]))
        for index in most_probable(logits, k).tolist()
    )
    groups = _groups(probabilities, classes.groups or ())
    known = None
    if classes.threshold is not None:
        score = float(known_or_not(logits.double()))
        known = KnownOrNot(score, classes.threshold, score >= classes.threshold, classes.kept)
    return Results(
        predictions, groups[:k], _answer(predictions[0], groups[:1], known, classes), known
    )


def softmax(logits: Tensor, temperature: float) -> Tensor:
    """The probabilities of classes, in double precision. (..., C) -> (..., C)"""
    return (logits.double() / temperature).softmax(dim=-1)


def most_probable(logits: Tensor, k: int) -> Tensor:
    """Indices of the k largest logits, largest first, ties by index. (..., C) -> (..., k)

    `topk` promises no order of ties.
    """
    return logits.sort(dim=-1, descending=True, stable=True).indices[..., :k]


def _answer(
    best: Prediction, groups: tuple[Group, ...], known: KnownOrNot | None, classes: Classes
) -> Answer:
    kind: Literal["group", "class"] = "class"
    name, probability = best.label, best.probability
    for group in groups:  # the first, if there are any
        # The best class can lie outside of the best group, whose classes share its probability.
        inside = best.index in group.classes
        if not (inside and probability >= classes.holds_its_group * group.probability):
            kind, name, probability = "group", group.name, group.probability
    sure = probability >= classes.not_sure if classes.calibrated else None
    return Answer(kind, name, probability, sure, None if known is None else known.known)


def _groups(probabilities: Tensor, words: tuple[str, ...]) -> tuple[Group, ...]:
    """The groups, most probable first, from (C,) probabilities and one word for each class."""
    members: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        members.setdefault(word, []).append(index)
    places = {word: place for place, word in enumerate(members)}
    sums = probabilities.new_zeros(len(members))
    if words:
        sums.index_add_(0, torch.tensor([places[word] for word in words]), probabilities)
    groups = [
        Group(word, share, tuple(classes))
        for (word, classes), share in zip(members.items(), sums.tolist(), strict=True)
    ]
    return tuple(sorted(groups, key=lambda group: -group.probability))
