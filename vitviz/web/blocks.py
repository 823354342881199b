"""Gradio's blocks, with sentences where Gradio itself refuses a request."""

import os
from typing import Any

import gradio as gr
from gradio.blocks import BlocksConfig
from gradio.exceptions import ComponentProcessingError, InvalidPathError
from gradio_client.utils import is_file_obj_with_meta, is_http_url_like, traverse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from ..languages import Message
from .components import NOT_UPLOADED
from .door import Gate
from .engine import Engine
from .error_messages import as_html, in_all, sentence, told_in

BUSY = Message("web.busy")
NOT_TAKEN = Message("web.not_taken")


class _Undescribed(BlocksConfig):
    """The blocks of the app, of which no session has a description of its own.

    Gradio describes every component anew for each session, in 5 ms and 100 kB, and keeps in it what
    the page shows. Only its deep links read that, and the page has none.
    """

    def __copy__(self) -> BlocksConfig:
        of_session = super().__copy__()
        of_session.config_for_block = lambda *_: {}
        return of_session


class App(gr.Blocks):
    """Gradio's blocks, which keep less of each request.

    A request that leaves out the last inputs gets their defaults: Gradio's clients fill them in;
    requests by hand, or from before an input was added, do not.
    """

    gate: Gate
    engine: Engine

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.default_config = _Undescribed(self)  # before it has any component

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        inputs.extend(block.value for block in block_fn.inputs[len(inputs) :])

    async def preprocess_data(
        self, block_fn: Any, inputs: list[Any], *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Refuse links, paths that were not uploaded, and values of a wrong type, with a sentence.

        Gradio would download what a link names, of any size, for anybody. To the others it answers
        {"error": null}, and writes a traceback into the log.
        """
        try:
            traverse(inputs, _no_link, is_file_obj_with_meta)
            return await super().preprocess_data(block_fn, inputs, *args, **kwargs)
        except gr.Error as error:  # of Gradio's own components, such as a choice not in the list
            error.print_exception = False
            raise
        except (InvalidPathError, ValidationError, ComponentProcessingError) as error:
            refusal = NOT_UPLOADED if isinstance(error, InvalidPathError) else NOT_TAKEN
            said = in_all(refusal) if _of_page(block_fn) else as_html(sentence(refusal))
            raise gr.Error(said, print_exception=False) from error

    def get_api_info(self, all_endpoints: bool = False, page: str | None = None) -> Any:
        """What the API's page lists; with the tools, which it does not, while Gradio looks for them
        to make its server of tools.
        """
        looking = getattr(self, "mcp_server_obj", None) is None
        return super().get_api_info(all_endpoints or looking, page)

    def queue(self, **options: Any) -> "App":
        """Let the queue say that it is full in the visitor's language.

        To status 503 Gradio's page answers with an English sentence of its own, so a page gets 429.
        """
        # Gradio would make statistics of its last 10,000 requests after each one, in 4 to 9 ms, for
        # a page that is switched off. It reads these when it makes its queue.
        os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
        os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))
        super().queue(**options)
        push = self._queue.push

        async def told(body: Any, request: Any, username: str | None) -> tuple[bool, Any, str]:
            self._forget()
            done, event, state = await push(body=body, request=request, username=username)
            if state != "queue_full":
                return done, event, state
            if _of_page(self.fns.get(body.fn_index)):
                raise HTTPException(429, in_all(BUSY))
            return done, told_in(BUSY, request.headers.get("accept-language", "")), state

        self._queue.push = told
        return self

    def _forget(self) -> None:
        """Forget what Gradio keeps of each request for ever.

        These are the queues of sessions that wait for no answer any more or have gone, and the
        names of files for Gradio to delete, which our cache does.
        """
        queue = self._queue
        messages, waiting = queue.pending_messages_per_session, queue.pending_event_ids_session
        for session, events in list(waiting.items()):
            if not events or session not in messages:
                del waiting[session]
                messages.pop(session, None)
        for names in self.temp_file_sets:
            names.clear()


def _no_link(file: dict[str, Any]) -> None:
    if is_http_url_like(file["path"]):
        raise InvalidPathError


def _of_page(block_fn: Any) -> bool:
    """Whether only our page calls a function; it shows a text that has all languages in its own."""
    return getattr(block_fn, "api_visibility", "") == "private"
