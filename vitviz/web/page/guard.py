"""Guard: turns every exception of a function into `gr.Error`, which Gradio shows."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

from ...errors import VitvizError
from ..host.error_messages import APOLOGY, as_html, in_all, told_in

log = logging.getLogger("vitviz.web")
P = ParamSpec("P")
T = TypeVar("T")


def guard(function: Callable[P, T], *, page: bool = False) -> Callable[P, T]:
    """Turn a `VitvizError` into its sentence, any other exception into an apology and a log entry.

    `page`: the function answers our page, which gets the sentence in all languages. A program gets
    the language of its Accept-Language header.
    """

    def tell(text: str, args: tuple[object, ...]) -> gr.Error:
        shown = in_all(text) if page else as_html(_translated(text, _request(args)))
        return gr.Error(shown, print_exception=False)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except gr.Error:
            raise
        except VitvizError as error:
            raise tell(error.message, args) from error
        except Exception as error:  # a bug: an apology for the visitor, the traceback in the log
            log.exception("%s failed", function.__name__)
            raise tell(APOLOGY, args) from error

    return guarded


def _translated(text: str, request: gr.Request | None) -> str:
    """The sentence in the language of the request's Accept-Language header."""
    return told_in(text, request.headers.get("accept-language", "") if request else "")


def _request(args: tuple[object, ...]) -> gr.Request | None:
    """The request among the arguments, which Gradio passes to functions with a parameter for it."""
    return next((argument for argument in args if isinstance(argument, gr.Request)), None)
