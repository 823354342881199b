"""Endpoints: the questions of `Programs` as Gradio's API, and as MCP tools for language models."""

import inspect
import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr

from ..errors import VitvizError
from ..probe.explain import EXPLAINERS
from . import limits
from .components import PhotoInput, TrueOrFalse, WholeNumber
from .error_messages import APOLOGY, sentence
from .guard import guard
from .models import Menu
from .orders import Refusal
from .programs import PARAMETERS, Programs

log = logging.getLogger("vitviz.web")

NO_TOOL = "endpoint"  # of a function's attribute `_mcp_type`: Gradio lists it among no tools


class ToolError(gr.Error):
    """What a language model reads: the sentence itself, and not as Python would quote it."""

    def __str__(self) -> str:
        return self.message


def add(programs: Programs, menu: Menu) -> None:
    """Add `/analyze`, which gives a file too, and the endpoints that answer in short."""
    with gr.Group(visible=False):
        _add_analyze(programs, menu)
    for ask in (programs.explain, programs.intervene, programs.compare, programs.models):
        endpoint = _described(ask, guard(ask), dict)
        endpoint._mcp_type = NO_TOOL
        gr.api(endpoint, api_name=ask.__name__, **_queued())


def add_tools(programs: Programs) -> None:
    """Add the tools. To be called first: Gradio numbers what comes later under the same name.

    The API's own page does not list them: a program asks the endpoints, which say the same. They
    are not queued, so Gradio calls them directly and not over HTTP, whose questions are too
    small for a picture. The engine bounds how many compute.
    """
    asks = (programs.analyze, programs.explain, programs.intervene, programs.compare)
    for ask in (*asks, programs.models):
        tool = _described(ask, _as_text(ask), str)
        name = f"mcp_{ask.__name__}"
        gr.api(tool, api_name=name, queue=False, api_visibility="undocumented")


def _queued() -> dict[str, Any]:
    return {"concurrency_limit": limits.WORKERS, "concurrency_id": "analyze"}


def _as_text(ask: Callable[..., Any]) -> Callable[..., str]:
    """The answer as JSON text: Gradio would send a language model a dict as Python writes it."""

    def told(*args: Any, **kwargs: Any) -> str:
        try:
            return json.dumps(ask(*args, **kwargs), ensure_ascii=False)
        except VitvizError as error:
            raise ToolError(sentence(error.message), print_exception=False) from error
        except Exception as error:  # a bug, as in `guard`
            log.exception("the tool %s failed", ask.__name__)
            raise ToolError(sentence(APOLOGY), print_exception=False) from error

    return told


def _described(
    ask: Callable[..., Any], answer: Callable[..., Any], answers: type
) -> Callable[..., Any]:
    """A function that Gradio describes as `ask`: its name, its parameters, what they are."""
    signature = inspect.signature(ask)

    def described(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    told = [f"    {name}: {PARAMETERS[name]}" for name in signature.parameters]
    described.__name__ = ask.__name__
    described.__doc__ = "\n".join([inspect.getdoc(ask), *(["", "Args:", *told] if told else [])])
    described.__annotations__ = {
        **{name: one.annotation for name, one in signature.parameters.items()},
        "return": answers,
    }
    described.__signature__ = signature.replace(return_annotation=answers)
    return described


def _add_analyze(programs: Programs, menu: Menu) -> None:
    """`/analyze`, with hidden inputs and outputs of its own, apart from those of the page."""

    @wraps(programs.answer)  # Gradio documents its parameters in the API
    def analyze(*asked: Any) -> tuple[Any, ...]:
        answer = programs.answer(*asked)
        if isinstance(answer, Refusal):
            raise VitvizError(answer.text)
        return answer

    inputs = [
        PhotoInput(label="photo"),
        gr.Dropdown(menu.choices, value=menu.default, label="model"),
        WholeNumber(0, label="token"),
        WholeNumber(-1, label="layer"),
        WholeNumber(-1, label="head"),
        TrueOrFalse(False, label="untrained"),
        TrueOrFalse(False, label="invert"),
        gr.Dropdown([*EXPLAINERS], value=None, label="explainer"),
        WholeNumber(-1, label="target"),
        gr.JSON(None, label="interventions"),
    ]
    outputs = [gr.JSON(label="summary"), gr.File(label="analysis")]
    guarded = guard(analyze)
    guarded._mcp_type = NO_TOOL
    gr.Button().click(
        guarded,
        inputs,
        outputs,
        api_name="analyze",
        api_description=programs.answer.__doc__,
        **_queued(),
    )
