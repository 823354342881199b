"""The answer of a pass in words."""

from ...languages import ENGLISH, Message
from ...model.loaded import ModelCard
from .numbers import digits, percents
from .predictions import Answer


def phrase(answer: Answer, card: ModelCard, language: str = ENGLISH) -> Message:
    """The answer as the headline of the page tells it, with names of the model in a language.

    `text/answer.js` of the viewer is the same function.
    """
    if not card.trained:
        return Message("viewer.noAnswer")
    numbers = [part.number for part in answer.parts]
    texts = [*map(digits, numbers)] if answer.outputs == "value" else percents(numbers)
    listed = ", ".join(
        f"{_called(part.label, 'labels', card, language)} {text}"
        for part, text in zip(answer.parts, texts, strict=True)
    )
    if (more := answer.count - len(answer.parts)) > 0:
        listed = Message("viewer.answerMore", listed=listed, count=more)
    if answer.outputs == "value":
        return Message("viewer.answerValues", listed=listed)
    if answer.outputs == "any_of" and answer.level == "none":
        count = f"{card.config.num_classes:,}"
        return Message("viewer.answerNoneTrue", count=count, nearest=listed)
    if answer.outputs == "any_of":
        return Message("viewer.answerSeveral", listed=listed)
    if answer.level == "none" and answer.outputs == "one_of":
        return not_taught(answer, card)
    if answer.level == "not_sure":
        return Message("viewer.notSure")
    name = named(answer, card, language)
    share = percents([answer.number])[0]
    if answer.level == "maybe":
        return Message("viewer.maybe", name=name, share=share)
    return Message("viewer.answer", name=name, share=share)


def named(answer: Answer, card: ModelCard, language: str = ENGLISH) -> str:
    """The class or group of an answer, by its name in a language."""
    return _called(answer.name, "groups" if answer.kind == "group" else "labels", card, language)


def _called(label: str, kind: str, card: ModelCard, language: str) -> str:
    english, own = (card.words.get(tag, {}).get(kind, {}) for tag in (ENGLISH, language))
    return {**(english if kind == "groups" else {}), **own}.get(label, label)


def not_taught(answer: Answer, card: ModelCard) -> Message:
    """The sentence for a picture that shows none of the classes, with the nearest of them.

    It has no percentage, which would say that the model is sure of what it has just refused.
    """
    names = card.words.get(ENGLISH, {}).get("groups" if answer.kind == "group" else "labels", {})
    name = names.get(answer.name, answer.name)  # "a dog" for "dog"
    things = card.config.num_classes - (card.none is not None)
    none = Message("viewer.notTaught", count=f"{things:,}")
    guess = Message("viewer.notTaughtGuess", name=name)
    return Message("viewer.notTaughtLine", none=none, guess=guess)
