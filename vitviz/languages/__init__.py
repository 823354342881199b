"""The languages of vitviz: a folder of dictionaries each, found by language tags.

A language is a folder here, named by its tag (BCP 47), with the files that `en` has: JSON, from
a key to a text, in which {name} is a place for a value. A text that a language lacks is English.

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
    """The texts of a language on a subject, as in its file; {} if there is no such file."""
    path = FOLDER / language / f"{subject}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def language_of(tag: str) -> str:
    """The language for a tag: Korean for "ko-KR", English for "kok" (Konkani).

    RFC 4647, section 3.4 (lookup): the longest beginning of the tag that is a language here.
    """
    return spoken(tag) or ENGLISH


def spoken(tag: str) -> str | None:
    """The language for a tag; None if it is not supported, or if the tag is too long."""
    if len(tag := tag.strip()) > TAG_LETTERS:
        return None
    known = {language.lower(): language for language in languages()}
    parts = tag.lower().replace("_", "-").split("-")
    beginnings = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((known[beginning] for beginning in beginnings if beginning in known), None)


class Message(str):
    """A text of the dictionaries with its values filled in: as a `str` it is English.

    `Message("photo.empty", name="'a.png'")` is the text "empty" of `photo.json`. Values are texts,
    numbers, other messages, or tuples of them, which are joined by commas. Raises `KeyError` for
    a text that English lacks, or if one of its values is missing: that is a bug.
    """

    key: str
    values: Mapping[str, Any]

    def __new__(cls, key: str, /, **values: Any) -> "Message":
        self = super().__new__(cls, _filled(key, values, ENGLISH))
        self.key, self.values = key, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Arguments for copies and pickles."""
        return (self.key,), dict(self.values)

    def with_values(self, changed: Callable[[Any], Any]) -> "Message":
        """The same sentence, each of its values changed."""
        return Message(self.key, **{name: changed(value) for name, value in self.values.items()})


def say(text: str, language: str) -> str:
    """A text in a language; a text that is no `Message` is returned unchanged."""
    if isinstance(text, Message):
        return _filled(text.key, text.values, language)
    return text


def in_others(text: str) -> dict[str, str]:
    """{language: text} for every language whose text differs from the English one."""
    translations = {language: say(text, language) for language in languages()}
    return {
        language: translation
        for language, translation in translations.items()
        if translation != text
    }


def _filled(key: str, values: Mapping[str, Any], language: str) -> str:
    if not values:
        return _unfilled(key, language)
    filled = _text(key, language).format(
        **{name: _inner(value, language) for name, value in values.items()}
    )
    return with_particles(filled)


@cache  # every page of the viewer brings some dozens of such texts, in every language
def _unfilled(key: str, language: str) -> str:
    return with_particles(_text(key, language).format())


def _text(key: str, language: str) -> str:
    subject, _, name = key.partition(".")
    return dictionary(language, subject).get(name) or dictionary(ENGLISH, subject)[name]


# Korean particles after a consonant, and after a vowel; viewer/text/particles.js has the same.
PARTICLES = (("을", "를"), ("은", "는"), ("이", "가"), ("과", "와"), ("으로", "로"), ("이라", "라"))
_EITHER = re.compile(
    r"""([A-Za-z]*[^\s'"\u2019”)\]])(['"\u2019”)\]]*)(?:"""
    + "|".join(
        rf"(\({a[0]}\){b})" if a.endswith(b) else rf"({a}\({b}\)|{b}\({a}\)(?!라))"
        for a, b in PARTICLES
    )
    + ")"
)
# Digits and letters whose Korean names end in ㄹ, and in another consonant.
LIQUID, CLOSED = frozenset("178LRlr"), frozenset("036MNmn")
# English words that are pronounced as words, not letter by letter; and the word endings that keep
# a final consonant in Korean.
_WORD = re.compile(r"(?=.*[aeiouy])[a-z]+", re.IGNORECASE)
_ENDS = re.compile(r"(?:^|[^aeiou])[aeiou](?:ck|[ptk])$|ook$|[mn]e?$|ng$")


def with_particles(text: str) -> str:
    """Resolve particles written for both cases, such as 을(를), by the word before them."""

    def fitting(found: re.Match[str]) -> str:
        word, quotes, *either = found.groups()
        which = next(at for at, particle in enumerate(either) if particle)
        closed, vowel = PARTICLES[which]
        end = _end_of(word)
        return word + quotes + (vowel if not end or (end == "ㄹ" and vowel == "로") else closed)

    return _EITHER.sub(fitting, text)


def _end_of(word: str) -> str:
    """The consonant at the end of a word: "ㄹ", "*" for any other, "" for none."""
    last = word[-1]
    syllable = ord(last) - 0xAC00
    if 0 <= syllable < 11172:  # one without a final consonant is a multiple of 28, ㄹ is the eighth
        return "ㄹ" if syllable % 28 == 8 else "*" if syllable % 28 else ""
    if len(word) > 1 and last.islower() and _WORD.fullmatch(word):
        return "ㄹ" if re.search("le?$", word) else "*" if _ENDS.search(word) else ""
    return "ㄹ" if last in LIQUID else "*" if last in CLOSED else ""


def _inner(value: Any, language: str) -> Any:
    if isinstance(value, tuple):
        return ", ".join(str(_inner(item, language)) for item in value)
    return say(value, language)


def to_file(texts: Iterable[str]) -> dict[str, Any]:
    """The messages among some texts, in JSON's types, to be stored in a file beside the texts."""
    return {str(text): _parts(text) for text in texts if isinstance(text, Message)}


def from_file(text: str, kept: Any) -> str:
    """Restore the message that `to_file` stored for a text; other texts are returned unchanged.

    `kept` comes from a file and can be anything: an entry that does not give this text is ignored.
    """
    try:
        message = _message(kept[text])
    except (AttributeError, KeyError, TypeError, RecursionError):
        return text
    return message if message == text else text


def _parts(value: Any) -> Any:
    if isinstance(value, Message):
        values = {name: _parts(item) for name, item in value.values.items()}
        return {"key": value.key, "values": values}
    return [_parts(item) for item in value] if isinstance(value, tuple) else value


def _message(parts: Any) -> Any:
    """The inverse of `_parts`. Raises several errors for other values."""
    if isinstance(parts, list):
        return tuple(map(_message, parts))
    if not isinstance(parts, dict):
        return parts
    if parts["key"].partition(".")[0] not in SUBJECTS:  # a path in it would lead anywhere
        raise KeyError(parts["key"])
    return Message(parts["key"], **{name: _message(part) for name, part in parts["values"].items()})
