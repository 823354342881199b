"""Error messages as sentences: in the reader's language, or for pages as HTML in all languages."""

import html
import re
from collections.abc import Callable
from contextvars import ContextVar

from ...languages import ENGLISH, Message, languages, say, spoken
from . import limits

APOLOGY = Message("web.apology")
# The Accept-Language header of the request that this task or thread answers.
WANTED: ContextVar[str] = ContextVar("wanted", default="")


def sentence(text: str, language: str = ENGLISH) -> str:
    """The message of an error as a sentence: with a capital letter first and a full stop last."""
    words = say(text, language).strip() or say(APOLOGY, language)
    return words[0].upper() + words[1:] + ("" if words[-1] in ".!?" else ".")


def in_each(text: str, translate: Callable[[str, str], str] = sentence) -> dict[str, str]:
    """The sentence in every language; `translate` may be another form of the text."""
    return {language: translate(text, language) for language in languages()}


def told_in(text: str, accept_language: str) -> str:
    """The sentence in the language of an Accept-Language header."""
    return sentence(text, preferred(accept_language))


def in_wanted(text: str) -> str:
    """HTML of the sentence in the language of the request that is answered."""
    return as_html(told_in(text, WANTED.get()))


def preferred(accept_language: str) -> str:
    """The language of highest quality in an Accept-Language header, among those of the app.

    RFC 9110, section 12.5.4: "en-US,ko;q=0.5" is English, "fr,ko;q=0.5" is Korean. Only the first
    `LANGUAGES_READ` entries of the first `LANGUAGE_LETTERS` letters are read: every request has the
    header, and it can be long.
    """
    best, weight = ENGLISH, 0.0
    entries = accept_language[: limits.LANGUAGE_LETTERS].split(",", limits.LANGUAGES_READ)
    for entry in entries[: limits.LANGUAGES_READ]:
        tag, *parameters = (part.strip() for part in entry.split(";"))
        language, quality = spoken(tag), _quality(parameters)
        if language and quality > weight:
            best, weight = language, quality
    return best


def _quality(parameters: list[str]) -> float:
    """The quality value, 0 to 1; 1 if none is given, 0 if it is malformed."""
    given = next((item[2:] for item in parameters if item.lower().startswith("q=")), "1")
    return float(given) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", given) else 0.0


def as_html(text: str) -> str:
    """Escape a message: Gradio shows it as HTML, and visitors choose the file names in it."""
    return html.escape(text, quote=False)


def in_all(text: str, translate: Callable[[str, str], str] = sentence) -> str:
    """The sentence in all languages as HTML; the style of `hiding` shows that of the page.

    Only the page knows its language: a visitor can change it there, and no request has it.
    """
    texts = {name: as_html(words) for name, words in in_each(text, translate).items()}
    if len(set(texts.values())) == 1:
        return texts[ENGLISH]
    return "".join(f'<span class="vv-{name}">{words}</span>' for name, words in texts.items())


def hiding() -> str:
    """CSS for `in_all`: a page in Korean hides the sentences of every class but vv-ko.

    `:lang(zh)` also matches a page in zh-Hant, so zh is hidden where zh-Hant has a sentence.
    """
    hidden = []
    for name in languages():
        hidden += [f".vv-{name}:not(:lang({name}))"] if name != ENGLISH else []
        exacter = [
            other
            for other in languages()
            if other != name and (name == ENGLISH or other.startswith(f"{name}-"))
        ]
        hidden += [f".vv-{name}:lang({other})" for other in exacter]
    return f"{', '.join(hidden)} {{ display: none; }}" if hidden else ""
