"""What is told when something fails: sentences, in the language of whoever reads them."""

import html

from ..errors import VitvizError
from ..korean import in_korean
from .languages import preferred

APOLOGY = (
    "Something went wrong on our side. It has been logged; please try another picture or model."
)


def sentence(error: VitvizError) -> str:
    """The text of an error as a sentence: a capital letter in front, a full stop at the end."""
    text = str(error).strip()
    if not text:
        return APOLOGY
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def told_in(text: str, accept_language: str) -> str:
    """A sentence in the language of an Accept-Language header, English or Korean."""
    return in_korean(text) if preferred(accept_language) == "ko" else text


def as_html(text: str) -> str:
    """Gradio shows messages as HTML, and file names in them come from strangers."""
    return html.escape(text, quote=False)


def in_both(text: str) -> str:
    """A sentence as HTML for a page, which shows the one of its two languages that it is in.

    Only the page knows that: a visitor can change it there, and no request says so. page.css hides
    the other one.
    """
    english, korean = as_html(text), as_html(in_korean(text))
    if english == korean:
        return english
    return f'<span class="vv-en">{english}</span><span class="vv-ko">{korean}</span>'
