"""What is told when something fails: our sentence, or an apology and an entry in the log."""

import html
import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

from ..errors import VitvizError
from ..korean import in_korean
from .languages import preferred

APOLOGY = (
    "Something went wrong on our side. It has been logged; please try another picture or model."
)

log = logging.getLogger("vitviz.web")
P = ParamSpec("P")
T = TypeVar("T")


def sentence(error: VitvizError) -> str:
    """The text of an error as a sentence: a capital letter in front, a full stop at the end."""
    text = str(error).strip()
    if not text:
        return APOLOGY
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def told(text: str, request: gr.Request | None) -> str:
    """A sentence in the language that the visitor's browser asks for, English or Korean."""
    return told_in(text, request.headers.get("accept-language", "") if request else "")


def told_in(text: str, accept_language: str) -> str:
    """The same for an Accept-Language header."""
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


def guard(function: Callable[P, T], *, page: bool = False) -> Callable[P, T]:
    """Turn whatever `function` raises into the one kind of error that Gradio shows: `gr.Error`.

    `page`: it answers a page of ours. A program is told in the language that it asks for.
    """

    def tell(text: str, args: tuple[object, ...]) -> gr.Error:
        said = in_both(text) if page else as_html(told(text, _request(args)))
        return gr.Error(said, print_exception=False)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except gr.Error:
            raise
        except VitvizError as error:
            raise tell(sentence(error), args) from error
        except (
            Exception
        ) as error:  # whatever it is, the visitor gets an answer and we get the traceback
            log.exception("%s failed", function.__name__)
            raise tell(APOLOGY, args) from error

    return guarded


def _request(args: tuple[object, ...]) -> gr.Request | None:
    """Gradio adds it to the arguments of a function that has a place for it."""
    return next((argument for argument in args if isinstance(argument, gr.Request)), None)
