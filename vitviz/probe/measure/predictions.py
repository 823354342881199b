"""Predictions: what the logits of a pass say, and the answer that is made of them."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ...errors import SelectionError
from ...languages import Message
from ...model.json_values import parse
from ...model.loaded import KNOWN_OR_NOT, LARGEST, ModelCard
from ..capture.selection import whole
from .numbers import digits, percent

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

TRUE = 0.5  # least probability of a class that counts as true, where several can be, or of a score
NAMED = 3  # classes or values that one sentence names

# "answer": the model's answer stands. "maybe": its probability is below the one from which the
# model was measured to be right often enough (`ModelCard.certain`); if that was not measured, below
# `TRUE`, so that all other classes together are more probable. "not_sure": its probability is too
# low to name it first (`NOT_SURE`). "none": the model says that the picture shows none of its
# classes.
Level = Literal["answer", "maybe", "not_sure", "none"]


@dataclass(frozen=True, slots=True)
class Classes:
    """The facts about a model's classes that, with the logits, determine an answer.

    `labels` has a name for each class, and is empty for a model that names no classes; `groups` has
    a word for each, or is None. `outputs`: their meaning, one of `model.outputs.OUTPUTS`; groups
    and a threshold are of "one_of" alone. `calibrated`: whether `temperature` was fitted.
    `threshold`: least score of a picture that counts as known; None for a model that was not
    trained for that. `known_by`: that score, one of `model.loaded.KNOWN_BY`. `certain`: least
    probability of an answer that is told plainly; None where nobody measured it. `none`: the class
    of pictures that show none of the others; None without one.
    """

    labels: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    outputs: str = "one_of"
    temperature: float = 1.0
    calibrated: bool = False
    threshold: float | None = None
    known_by: str = KNOWN_OR_NOT
    kept: float = KEPT
    certain: float | None = None
    not_sure: float = NOT_SURE
    holds_its_group: float = HOLDS_ITS_GROUP
    true: float = TRUE
    named: int = NAMED
    none: int | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """One output. `probability`, in [0, 1], is that of `probabilities_of`; None for a value, which
    is the logit itself.
    """

    index: int
    label: str
    logit: float
    probability: float | None

    @property
    def number(self) -> float:
        """The probability; of a value the value."""
        return self.logit if self.probability is None else self.probability

    @property
    def number_text(self) -> str:
        """`number` as people read it."""
        return digits(self.logit) if self.probability is None else percent(self.probability)


@dataclass(frozen=True, slots=True)
class Group:
    """Classes with one common word, as "dog". `probability` is the sum of theirs."""

    name: str
    probability: float
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's answer. `phrases.phrase` is its text, for pages, files and programs.

    kind, name   of "one_of" the most probable group; or the most probable class, if there are no
                 groups or if it holds nearly all of its group (`HOLDS_ITS_GROUP`). Otherwise the
                 first of the predictions
    probability  of that; None of a value
    sure         None if no temperature was fitted: uncalibrated percentages mean nothing; and
                 where `outputs` is not "one_of"
    known        that of `KnownOrNot`: if False, the picture shows none of the classes, and the
                 answer is only the nearest of them; None if the model was not trained to tell
    level        see `Level`; "none" also where no class is true (`TRUE`). Of a score below `TRUE`,
                 `number` is still the probability: a small one means that the model is sure there
                 is none.
    outputs      what the outputs of the model mean
    classes      numbers of the classes that the model answers: of "one_of" the most probable; else
                 those that are true, most probable first; of values ()
    parts        where several classes or values are the answer, the first of them (`NAMED`); where
                 none is true, the nearest; () of "one_of"
    count        how many classes or values are the answer
    """

    kind: Literal["group", "class"]
    name: str
    probability: float | None
    sure: bool | None
    known: bool | None = None
    level: Level = "answer"
    outputs: str = "one_of"
    classes: tuple[int, ...] = ()
    parts: tuple[Prediction, ...] = ()
    count: int = 1

    @property
    def number(self) -> float:
        """The probability; of a value the value."""
        return self.parts[0].logit if self.probability is None else self.probability


@dataclass(frozen=True, slots=True)
class KnownOrNot:
    """Whether a picture shows one of the classes at all, as its model was trained to tell.

    score      the score of the picture, see `known_or_not`; of a taught head the largest of its
               probabilities, without temperature
    threshold  the model's; the picture counts as known from it on
    known      whether the score reaches the threshold, and the first class is not "none of these"
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
    named, one_of = card.head == "classes", card.outputs == "one_of"
    return Classes(
        labels=card.labels or () if named else (),
        groups=groups_of(card) if named and one_of else None,
        outputs=card.outputs,
        temperature=card.temperature,
        calibrated="temperature" in card.details,
        threshold=card.threshold if named and one_of else None,
        known_by=card.known_by,
        certain=card.certain if named and one_of else None,
        none=card.none if named and one_of else None,
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
    """The k most probable classes and groups, best first, and the answer, from (C,) logits; values
    stand in the order of the outputs.

    Equal logits stand in the order of their classes, equal groups in that of their first classes.
    `viewer/maths/predictions.js` is the same function; both are held to one table of examples.
    """
    if not classes.labels:
        return Results()
    probabilities = probabilities_of(logits, classes.outputs, classes.temperature)

    def predicted(index: int) -> Prediction:
        share = None if probabilities is None else float(probabilities[index])
        return Prediction(index, classes.labels[index], float(logits[index]), share)

    order = most_probable(logits, max(k, classes.named), classes.outputs)
    predictions = tuple(map(predicted, order.tolist()))
    if classes.outputs != "one_of":
        return Results(predictions[:k], (), _separate(predictions, logits, classes))
    assert probabilities is not None
    groups = _groups(probabilities, classes.groups or ())
    best, known = predictions[0], None
    if classes.threshold is not None:
        exact = logits.double()
        largest = classes.known_by == LARGEST
        score = float(exact.softmax(-1).amax() if largest else known_or_not(exact))
        enough = score >= classes.threshold and best.index != classes.none
        known = KnownOrNot(score, classes.threshold, enough, classes.kept)
        if not enough:  # the nearest of the things
            best = next(each for each in predictions if each.index != classes.none)
    return Results(predictions[:k], groups[:k], _answer(best, groups[:1], known, classes), known)


def probabilities_of(logits: Tensor, outputs: str, temperature: float = 1.0) -> Tensor | None:
    """The probabilities of classes, in double precision. (..., C) -> (..., C)

    Of "one_of" the softmax of logits / temperature, of "any_of" and "score" the sigmoid of each;
    None of values, which have none.
    """
    if outputs == "value":
        return None
    scaled = logits.double() / temperature
    return scaled.softmax(dim=-1) if outputs == "one_of" else scaled.sigmoid()


def most_probable(logits: Tensor, k: int, outputs: str = "one_of") -> Tensor:
    """Indices of the k largest logits, largest first, ties by index; of values those of the first
    k. (..., C) -> (..., k)

    `topk` promises no order of ties.
    """
    if outputs == "value":
        return torch.arange(logits.shape[-1])[:k].expand(*logits.shape[:-1], -1)
    return logits.sort(dim=-1, descending=True, stable=True).indices[..., :k]


def _answer(
    best: Prediction, groups: tuple[Group, ...], known: KnownOrNot | None, classes: Classes
) -> Answer:
    kind: Literal["group", "class"] = "class"
    name, probability = best.label, best.probability
    assert probability is not None
    for group in groups:  # the first, if there are any
        # The best class can lie outside of the best group, whose classes share its probability.
        inside = best.index in group.classes
        if not (inside and probability >= classes.holds_its_group * group.probability):
            kind, name, probability = "group", group.name, group.probability
    sure = probability >= classes.not_sure if classes.calibrated else None
    level: Level = "answer"
    if known is not None and not known.known:
        level = "none"
    elif sure is False:
        level = "not_sure"
    elif probability < (classes.true if classes.certain is None else classes.certain):
        level = "maybe"
    within = None if known is None else known.known
    return Answer(kind, name, probability, sure, within, level, classes=(best.index,))


def _separate(predictions: tuple[Prediction, ...], logits: Tensor, classes: Classes) -> Answer:
    """The answer of a model whose outputs are "any_of", "score" or "value"."""
    first, outputs = predictions[0], classes.outputs
    parts = predictions[: classes.named]
    probabilities = probabilities_of(logits, outputs, classes.temperature)
    if probabilities is None:
        count = len(classes.labels)
        return Answer("class", first.label, None, None, outputs=outputs, parts=parts, count=count)
    order = most_probable(logits, len(logits)).tolist()
    true = tuple(index for index in order if probabilities[index] >= classes.true)
    count = max(1, len(true))
    level: Level = "answer" if true else "none"
    return Answer(
        "class",
        first.label,
        first.probability,
        sure=None,
        level=level,
        outputs=outputs,
        classes=true,
        parts=parts[:count],
        count=count,
    )


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
