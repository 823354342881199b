"""What is told when something fails: our sentence, or an apology and an entry in the log."""

import html
import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

from ..errors import VitvizError
from ..korean import in_korean

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
    wanted = request.headers.get("accept-language", "") if request else ""
    return in_korean(text) if wanted.lower().startswith("ko") else text


def as_html(text: str) -> str:
    """Gradio shows messages as HTML, and file names in them come from strangers."""
    return html.escape(text, quote=False)


def guard(function: Callable[P, T]) -> Callable[P, T]:
    """Turn whatever `function` raises into the one kind of error that Gradio shows: `gr.Error`."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except gr.Error:
            raise
        except VitvizError as error:
            text = told(sentence(error), _request(args))
            raise gr.Error(as_html(text), print_exception=False) from error
        except (
            Exception
        ) as error:  # whatever it is, the visitor gets an answer and we get the traceback
            log.exception("%s failed", function.__name__)
            raise gr.Error(told(APOLOGY, _request(args)), print_exception=False) from error

    return guarded


def _request(args: tuple[object, ...]) -> gr.Request | None:
    """Gradio adds it to the arguments of a function that has a place for it."""
    return next((argument for argument in args if isinstance(argument, gr.Request)), None)
