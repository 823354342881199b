"""Endpoints: the questions of `Programs` as Gradio's API, and as MCP tools for language models."""

import inspect
import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr
from gradio import FileData

from ...errors import VitvizError
from ..host import limits
from ..host.error_messages import APOLOGY, sentence
from ..service.programs import PARAMETERS, Programs
from .gradio_inside import ToolError, no_tool
from .guard import guard

log = logging.getLogger("vitviz.web")


def add(programs: Programs) -> None:
    """Add `/analyze`, which also returns a file, and the endpoints with short answers."""

    @wraps(programs.answer)
    def analyze(*args: Any) -> tuple[Any, ...]:
        summary, file = programs.answer(*args)
        return summary, {"path": file, "meta": {"_type": "gradio.FileData"}}

    _add("analyze", analyze, tuple[dict, FileData])
    for ask in _in_short(programs):
        _add(ask.__name__, ask, dict)


def _in_short(programs: Programs) -> tuple[Callable[..., dict[str, Any]], ...]:
    questions = (programs.explain, programs.intervene, programs.compare)
    return (*questions, programs.survey, programs.models)


def _add(name: str, ask: Callable[..., Any], answers: Any) -> None:
    endpoint = _described(ask, guard(ask), answers)
    no_tool(endpoint)
    # A line of their own: surveys can take minutes, and pages would wait for them.
    line = {"concurrency_limit": limits.FIRST_WORKERS, "concurrency_id": "programs"}
    gr.api(endpoint, api_name=name, **line)


def add_tools(programs: Programs) -> None:
    """Add the tools. Call it before `add`: Gradio appends numbers to repeated names.

    The API's page does not list them: programs use the endpoints, which answer the same. They are
    not queued, so Gradio calls them directly and not over HTTP, whose requests are too small for a
    picture. The engine limits how many compute.
    """
    for ask in (programs.analyze, *_in_short(programs)):
        tool = _described(ask, _as_text(ask), str)
        name = f"mcp_{ask.__name__}"
        gr.api(tool, api_name=name, queue=False, api_visibility="undocumented")


def _as_text(ask: Callable[..., Any]) -> Callable[..., str]:
    """The answer as JSON text: Gradio would send a language model the `str` of a dict."""

    def answered(*args: Any, **kwargs: Any) -> str:
        try:
            return json.dumps(ask(*args, **kwargs), ensure_ascii=False)
        except VitvizError as error:
            raise ToolError(sentence(error.message), print_exception=False) from error
        except Exception as error:  # a bug, as in `guard`
            log.exception("the tool %s failed", ask.__name__)
            raise ToolError(sentence(APOLOGY), print_exception=False) from error

    return answered


def _described(
    ask: Callable[..., Any], answer: Callable[..., Any], answers: Any
) -> Callable[..., Any]:
    """A function that Gradio describes like `ask`: name, parameters and their descriptions."""
    signature = inspect.signature(ask)

    def described(*args: Any, **kwargs: Any) -> Any:
        return answer(*args, **kwargs)

    lines = [f"    {name}: {PARAMETERS[name]}" for name in signature.parameters]
    described.__name__ = ask.__name__
    described.__doc__ = "\n".join(
        [inspect.getdoc(ask) or "", *(["", "Args:", *lines] if lines else [])]
    )
    described.__annotations__ = {
        **{name: item.annotation for name, item in signature.parameters.items()},
        "return": answers,
    }
    vars(described)["__signature__"] = signature.replace(return_annotation=answers)
    return described
