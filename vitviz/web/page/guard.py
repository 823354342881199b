"""Guard: turns every exception of a function into `gr.Error`, which Gradio shows."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import gradio as gr

from ...errors import VitvizError
from ..host.error_messages import APOLOGY, in_all, in_wanted

log = logging.getLogger("vitviz.web")
P = ParamSpec("P")
T = TypeVar("T")


def guard(function: Callable[P, T], *, page: bool = False) -> Callable[P, T]:
    """Turn a `VitvizError` into its sentence, any other exception into an apology and a log entry.

    `page`: the function answers our page, which gets the sentence in all languages. A program gets
    the language of its Accept-Language header.
    """

    def tell(text: str) -> gr.Error:
        return gr.Error(in_all(text) if page else in_wanted(text), print_exception=False)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except gr.Error:
            raise
        except VitvizError as error:
            raise tell(error.message) from error
        except Exception as error:  # a bug: an apology for the visitor, the traceback in the log
            log.exception("%s failed", function.__name__)
            raise tell(APOLOGY) from error

    return guarded
