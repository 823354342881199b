"""The languages of vitviz: a folder of dictionaries each, and which of them a tag asks for.

A language is a folder here, named by its tag (BCP 47), with the files that `en` has: JSON, from
a key to a text, in which {name} is what is filled in. What a language lacks is said in English.

A `Message` is an English sentence that knows the key and the values it is made of, so `say` can say
it in any language. Nothing is translated by looking at a sentence.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ENGLISH = "en"
TAG_LETTERS = 35  # of the longest tag that is read: RFC 5646, section 4.4.1
SUBJECTS = frozenset(path.stem for path in (FOLDER / ENGLISH).glob("*.json"))


@cache
def languages() -> tuple[str, ...]:
    """The tags of all languages, as their folders are named, in order."""
    return tuple(sorted({path.parent.name for path in FOLDER.glob("*/*.json")}))


@cache
def dictionary(language: str, subject: str) -> dict[str, str]:
    """The texts of a language on a subject, as they stand in its file; none if it has no such."""
    path = FOLDER / language / f"{subject}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def language_of(tag: str) -> str:
    """What is spoken where a tag is asked for: Korean for "ko-KR", English for "kok" (Konkani).

    RFC 4647, section 3.4 (lookup): the longest beginning of the tag that is a language here.
    """
    return spoken(tag) or ENGLISH


def spoken(tag: str) -> str | None:
    """The language that a tag asks for; None if it is none of ours, or longer than any tag is."""
    if len(tag := tag.strip()) > TAG_LETTERS:
        return None
    known = {language.lower(): language for language in languages()}
    parts = tag.lower().replace("_", "-").split("-")
    beginnings = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((known[asked] for asked in beginnings if asked in known), None)


class Message(str):
    """A text of the dictionaries with its values filled in: a `str` in English, for whoever asks.

    `Message("photo.empty", name="'a.png'")` is the text "empty" of `photo.json`. Values are texts,
    numbers, other messages, or tuples of them, which are joined by commas. Raises `KeyError` for
    a text that English has not, or without one of its values: that is a bug.
    """

    key: str
    values: Mapping[str, Any]

    def __new__(cls, key: str, /, **values: Any) -> "Message":
        self = super().__new__(cls, _filled(key, values, ENGLISH))
        self.key, self.values = key, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """How copies and pickles are made."""
        return (self.key,), dict(self.values)

    def with_values(self, changed: Callable[[Any], Any]) -> "Message":
        """The same sentence, each of its values changed."""
        return Message(self.key, **{name: changed(one) for name, one in self.values.items()})


def say(text: str, language: str) -> str:
    """A text in a language; one that is no `Message` stays as it is."""
    if isinstance(text, Message):
        return _filled(text.key, text.values, language)
    return text


def in_others(text: str) -> dict[str, str]:
    """Language -> the text in it, for every language that does not say the same as English."""
    said = {language: say(text, language) for language in languages()}
    return {language: one for language, one in said.items() if one != text}


def _filled(key: str, values: Mapping[str, Any], language: str) -> str:
    if not values:
        return _unfilled(key, language)
    said = _text(key, language).format(
        **{name: _inner(value, language) for name, value in values.items()}
    )
    return with_particles(said)


@cache  # every page of the viewer brings some dozens of such texts, in every language
def _unfilled(key: str, language: str) -> str:
    return with_particles(_text(key, language).format())


def _text(key: str, language: str) -> str:
    subject, _, name = key.partition(".")
    return dictionary(language, subject).get(name) or dictionary(ENGLISH, subject)[name]


# Korean particles after a consonant, and after a vowel. Digits and letters count by their names.
PARTICLES = (("을", "를"), ("은", "는"), ("이", "가"), ("과", "와"))
CLOSED = frozenset("013678LMNRlmnr")
_EITHER = re.compile(
    r"""([^\s'"\u2019”)\]])(['"\u2019”)\]]*)(?:"""
    + "|".join(rf"({a}\({b}\)|{b}\({a}\))" for a, b in PARTICLES)
    + ")"
)


def with_particles(text: str) -> str:
    """A text in which every particle that is written for both cases, as 을(를), fits the word
    before it.
    """

    def fitting(found: re.Match[str]) -> str:
        last, quotes, *either = found.groups()
        syllable = ord(last) - 0xAC00  # one without a final consonant is a multiple of 28
        closed = syllable % 28 != 0 if 0 <= syllable < 11172 else last in CLOSED
        which = next(at for at, one in enumerate(either) if one)
        return last + quotes + PARTICLES[which][0 if closed else 1]

    return _EITHER.sub(fitting, text)


def _inner(value: Any, language: str) -> Any:
    if isinstance(value, tuple):
        return ", ".join(str(_inner(one, language)) for one in value)
    return say(value, language)


def to_file(texts: Iterable[str]) -> dict[str, Any]:
    """What a file keeps beside its texts, in JSON's types: of which message each of them is."""
    return {str(text): _parts(text) for text in texts if isinstance(text, Message)}


def from_file(text: str, kept: Any) -> str:
    """The message that a text was when `to_file` kept it; a text that was none stays one.

    `kept` is what a file says, which can be anything: what does not say this very text is ignored.
    """
    try:
        message = _message(kept[text])
    except (AttributeError, KeyError, TypeError, RecursionError):
        return text
    return message if message == text else text


def _parts(value: Any) -> Any:
    if isinstance(value, Message):
        values = {name: _parts(one) for name, one in value.values.items()}
        return {"key": value.key, "values": values}
    return [_parts(one) for one in value] if isinstance(value, tuple) else value


def _message(parts: Any) -> Any:
    """The inverse of `_parts`. Raises several errors for what that never gave."""
    if isinstance(parts, list):
        return tuple(map(_message, parts))
    if not isinstance(parts, dict):
        return parts
    if parts["key"].partition(".")[0] not in SUBJECTS:  # a path in it would lead anywhere
        raise KeyError(parts["key"])
    return Message(parts["key"], **{name: _message(one) for name, one in parts["values"].items()})
