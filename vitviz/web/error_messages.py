"""Error messages as sentences, in the language of the reader; for pages, as HTML in all of them."""

import html

from ..languages import ENGLISH, Message, languages, say
from .languages import preferred

APOLOGY = Message("web.apology")


def sentence(text: str, language: str = ENGLISH) -> str:
    """The message of an error as a sentence: with a capital letter first and a full stop last."""
    said = say(text, language).strip() or say(APOLOGY, language)
    return said[0].upper() + said[1:] + ("" if said[-1] in ".!?" else ".")


def in_each(text: str) -> dict[str, str]:
    """The sentence in every language."""
    return {language: sentence(text, language) for language in languages()}


def told_in(text: str, accept_language: str) -> str:
    """The sentence in the language that an Accept-Language header asks for."""
    return sentence(text, preferred(accept_language))


def as_html(text: str) -> str:
    """Escape a message: Gradio shows it as HTML, and visitors choose the file names in it."""
    return html.escape(text, quote=False)


def in_all(text: str) -> str:
    """The sentence in all languages as HTML; the style of `hiding` shows the one of the page.

    Only the page knows its language: a visitor can change it there, and no request names it.
    """
    said = {language: as_html(one) for language, one in in_each(text).items()}
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
