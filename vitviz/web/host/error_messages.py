"""Error messages as sentences, in the language of the reader; for pages, as HTML in all of them."""

import html
import re
from collections.abc import Callable

from ...languages import ENGLISH, Message, languages, say, spoken
from . import limits

APOLOGY = Message("web.apology")


def sentence(text: str, language: str = ENGLISH) -> str:
    """The message of an error as a sentence: with a capital letter first and a full stop last."""
    said = say(text, language).strip() or say(APOLOGY, language)
    return said[0].upper() + said[1:] + ("" if said[-1] in ".!?" else ".")


def in_each(text: str, told: Callable[[str, str], str] = sentence) -> dict[str, str]:
    """The sentence in every language, or what else is `told`."""
    return {language: told(text, language) for language in languages()}


def told_in(text: str, accept_language: str) -> str:
    """The sentence in the language that an Accept-Language header asks for."""
    return sentence(text, preferred(accept_language))


def preferred(accept_language: str) -> str:
    """The language of highest quality in an Accept-Language header, of those the app has.

    RFC 9110, section 12.5.4: "en-US,ko;q=0.5" is English, "fr,ko;q=0.5" is Korean. Only its first
    `LANGUAGES_READ` entries are read: it comes with every request, and can be of any length.
    """
    best, weight = ENGLISH, 0.0
    for entry in accept_language.split(",", limits.LANGUAGES_READ)[: limits.LANGUAGES_READ]:
        tag, *parameters = (part.strip() for part in entry.split(";"))
        language, quality = spoken(tag), _quality(parameters)
        if language and quality > weight:
            best, weight = language, quality
    return best


def _quality(parameters: list[str]) -> float:
    """The quality value, 0 to 1; 1 if none is given, 0 if it is malformed."""
    given = next((one[2:] for one in parameters if one.lower().startswith("q=")), "1")
    return float(given) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", given) else 0.0


def as_html(text: str) -> str:
    """Escape a message: Gradio shows it as HTML, and visitors choose the file names in it."""
    return html.escape(text, quote=False)


def in_all(text: str, told: Callable[[str, str], str] = sentence) -> str:
    """The sentence in all languages as HTML; the style of `hiding` shows the one of the page.

    Only the page knows its language: a visitor can change it there, and no request names it.
    """
    said = {language: as_html(one) for language, one in in_each(text, told).items()}
    if len(set(said.values())) == 1:
        return said[ENGLISH]
    return "".join(f'<span class="vv-{language}">{one}</span>' for language, one in said.items())


def hiding() -> str:
    """CSS for `in_all`: a page in Korean hides the sentences of every class but vv-ko.

    `:lang(zh)` also matches a page in zh-Hant, so zh is hidden where zh-Hant has a sentence.
    """
    hidden = []
    for one in languages():
        hidden += [f".vv-{one}:not(:lang({one}))"] if one != ENGLISH else []
        exacter = [
            other
            for other in languages()
            if other != one and (one == ENGLISH or other.startswith(f"{one}-"))
        ]
        hidden += [f".vv-{one}:lang({other})" for other in exacter]
    return f"{', '.join(hidden)} {{ display: none; }}" if hidden else ""
