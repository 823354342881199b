"""Guard: whatever a function raises becomes the one kind of error that Gradio shows."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

from ..errors import VitvizError
from .error_messages import APOLOGY, as_html, in_all, told_in

log = logging.getLogger("vitviz.web")
P = ParamSpec("P")
T = TypeVar("T")


def guard(function: Callable[P, T], *, page: bool = False) -> Callable[P, T]:
    """Turn whatever `function` raises into `gr.Error`: our sentence, or an apology and a log entry.

    `page`: it answers a page of ours. A program is told in the language that it asks for.
    """

    def tell(text: str, args: tuple[object, ...]) -> gr.Error:
        said = in_all(text) if page else as_html(_told(text, _request(args)))
        return gr.Error(said, print_exception=False)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except gr.Error:
            raise
        except VitvizError as error:
            raise tell(error.message, args) from error
        except (
            Exception
        ) as error:  # whatever it is, the visitor gets an answer and we get the traceback
            log.exception("%s failed", function.__name__)
            raise tell(APOLOGY, args) from error

    return guarded


def _told(text: str, request: gr.Request | None) -> str:
    """The sentence in the language that the visitor's browser asks for."""
    return told_in(text, request.headers.get("accept-language", "") if request else "")


def _request(args: tuple[object, ...]) -> gr.Request | None:
    """Gradio adds it to the arguments of a function that has a place for it."""
    return next((argument for argument in args if isinstance(argument, gr.Request)), None)
