"""Error messages as sentences, in the language of the reader; for pages, as HTML in all of them."""

import html

from ..languages import ENGLISH, Message, languages, say
from .languages import preferred

APOLOGY = Message("web.apology")


def sentence(text: str, language: str = ENGLISH) -> str:
    """The message of an error as a sentence: a capital letter in front, a full stop at the end."""
    said = say(text, language).strip() or say(APOLOGY, language)
    return said[0].upper() + said[1:] + ("" if said[-1] in ".!?" else ".")


def in_each(text: str) -> dict[str, str]:
    """The sentence in every language."""
    return {language: sentence(text, language) for language in languages()}


def told_in(text: str, accept_language: str) -> str:
    """The sentence in the language that an Accept-Language header asks for."""
    return sentence(text, preferred(accept_language))


def as_html(text: str) -> str:
    """Gradio shows messages as HTML, and file names in them come from strangers."""
    return html.escape(text, quote=False)


def in_all(text: str) -> str:
    """The sentence as HTML for a page, which shows the one of its languages that it is in.

    Only the page knows that: a visitor can change it there, and no request says so. `hiding` is the
    style that hides the others.
    """
    said = {language: as_html(one) for language, one in in_each(text).items()}
    if len(set(said.values())) == 1:
        return said[ENGLISH]
    return "".join(f'<span class="vv-{language}">{one}</span>' for language, one in said.items())


def hiding() -> str:
    """CSS for `in_all`: on a page in Korean, everything that is not of the class vv-ko is hidden.

    `:lang(zh)` is true of a page in zh-Hant too; the more exact language is the one that is read.
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
