"""All that leans on Gradio's inside: what it does not document, and may change in any version.

Each piece says what it leans on and what happens without it. All of it was seen in Gradio 6.31.0;
tests/test_gradio_inside.py names what an installed Gradio lacks, and lets no other file lean on it.
"""

import json
import logging
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.blocks import BlocksConfig
from gradio.brotli_middleware import BrotliMiddleware
from gradio.data_classes import ImageData
from gradio.exceptions import ComponentProcessingError, InvalidPathError
from gradio.i18n import I18nData as I18nData  # what `gr.I18n` gives, for annotations
from gradio.tunneling import CURRENT_TUNNELS
from gradio.utils import get_upload_folder
from gradio_client.utils import is_file_obj_with_meta, is_http_url_like, traverse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from ...languages import Message
from ..compute.engine import Engine
from ..host import limits
from ..host.error_messages import as_html, in_all, sentence, told_in
from ..host.origins import Origins
from ..service.classroom import Classroom
from ..store.store import Upload
from .door import Gate, address_of

log = logging.getLogger("vitviz.web")

BUSY = Message("web.busy")
NOT_TAKEN = Message("web.not_taken")
NOT_UPLOADED = Message("web.not_uploaded")


class _Undescribed(BlocksConfig):
    """The blocks of the app, of which no session has a description of its own.

    Gradio copies `Blocks.default_config` for each session and calls its `config_for_block` for each
    component, in 5 ms and 100 kB, and keeps in it what the page shows. Only its deep links read
    that, and the page has none. Without this, a session costs that time and memory again.
    """

    def __copy__(self) -> BlocksConfig:
        of_session: Any = super().__copy__()
        of_session.config_for_block = lambda *_: {}
        return of_session


class App(gr.Blocks):
    """Gradio's blocks, which keep less of each request, and refuse with sentences."""

    gate: Gate
    engine: Engine
    origins: Origins
    warm: Callable[[], None]  # called once, before it is launched
    classroom: Classroom | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.default_config = _Undescribed(self)  # before it has any component

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Give a request that leaves out the last inputs their defaults.

        Gradio calls this with the list that it goes on with. Its own refuses, though only its
        clients fill them in: requests by hand, or from before an input was added, do not.
        """
        inputs.extend(block.value for block in block_fn.inputs[len(inputs) :])

    async def preprocess_data(
        self, block_fn: Any, inputs: list[Any], *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Refuse links, paths that were not uploaded, and values of a wrong type, with a sentence.

        Gradio calls this before each function. Its own would download what a link names, of any
        size, for anybody; to the others it answers {"error": null}, and logs a traceback.
        """
        try:
            if block_fn.fn is None:  # only the page's script has something to do
                raise ValueError(block_fn)
            traverse(inputs, _no_link, is_file_obj_with_meta)
            return await super().preprocess_data(block_fn, inputs, *args, **kwargs)
        except gr.Error as error:  # of Gradio's own components, such as a choice not in the list
            error.print_exception = False
            raise
        except Exception as error:  # its own kinds, and what a path of 300 characters raises in it
            if not isinstance(error, InvalidPathError | ValidationError | ComponentProcessingError):
                log.warning("a value was not taken: %.200r", error)
            refusal = NOT_UPLOADED if isinstance(error, InvalidPathError) else NOT_TAKEN
            said = in_all(refusal) if _of_page(block_fn) else as_html(sentence(refusal))
            raise gr.Error(said, print_exception=False) from error

    def get_api_info(self, all_endpoints: bool = False, page: str | None = None) -> Any:
        """What the API's page lists; with the tools, which it does not, while Gradio looks for them
        to make its server of tools: before `mcp_server_obj` is set. Without it, there is no tool.
        """
        looking = getattr(self, "mcp_server_obj", None) is None
        return super().get_api_info(all_endpoints or looking, page)

    def queue(self, **options: Any) -> "App":
        """Let the queue say that it is full in the visitor's language, by putting another `push`
        into `_queue`. To status 503 Gradio's page answers with an English sentence of its own, so a
        page gets 429.
        """
        # Gradio would make statistics of its last 10,000 requests after each one, in 4 to 9 ms, for
        # a page that is switched off. It reads these when it makes its queue.
        os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
        os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))
        super().queue(**options)
        inside: Any = self._queue
        push = inside.push

        async def pushed(body: Any, request: Any, username: str | None) -> tuple[bool, Any, str]:
            self._forget()
            state = "queue_full"
            if self._has_room_for(address_of(request.scope)):
                done, event, state = await push(body=body, request=request, username=username)
            if state != "queue_full":
                self._take_turns()
                return done, event, state
            if _of_page(self.fns.get(body.fn_index)):
                raise HTTPException(429, in_all(BUSY))
            return False, told_in(BUSY, request.headers.get("accept-language", "")), state

        inside.push = pushed
        start = inside.get_events
        inside.get_events = lambda: self._start_for_all(start)
        return self

    def _has_room_for(self, address: str) -> bool:
        """Whether an address has not filled its share of the queue."""
        waiting = Counter(
            address_of(event.request.scope)
            for line in self._queue.event_queue_per_concurrency_id.values()
            for event in line.queue
        )
        return waiting[address] < limits.QUEUE_SIZE * limits.QUEUE_SHARE

    def _start_for_all(self, start: Callable[[], Any]) -> Any:
        """Start the next event by `get_events` of the queue, but leave a worker for others: events
        of an address that has all other workers wait.
        """
        queue, most = self._queue, max(1, limits.WORKERS - 1)
        running = Counter(
            address_of(event.request.scope) for job in queue.active_jobs if job for event in job
        )
        lines = list(queue.event_queue_per_concurrency_id.values())
        waiting = [line.queue for line in lines]
        for line in lines:
            line.queue = [
                event for event in line.queue if running[address_of(event.request.scope)] < most
            ]
        started = start()
        for line, before in zip(lines, waiting, strict=True):
            line.queue = [event for event in before if event not in (started or [[]])[0]]
        return started

    def _take_turns(self) -> None:
        """Let addresses take turns in each line of the queue: who asked for much waits for who
        asked for little. Gradio takes the first event; requests of one address keep their order.
        """
        for line in self._queue.event_queue_per_concurrency_id.values():
            before: Counter[str] = Counter()
            turns: list[tuple[int, Any]] = []
            for event in line.queue:
                address = address_of(event.request.scope)
                turns.append((before[address], event))
                before[address] += 1
            line.queue[:] = [event for _, event in sorted(turns, key=lambda turn: turn[0])]

    def _forget(self) -> None:
        """Forget what Gradio keeps of each request for ever; without it, memory grows.

        These are the queues of sessions that wait for no answer any more or have gone, and the
        names of files for Gradio to delete (`temp_file_sets`), which our cache does.
        """
        queue = self._queue
        messages, waiting = queue.pending_messages_per_session, queue.pending_event_ids_session
        for session, events in list(waiting.items()):
            if not events or session not in messages:
                del waiting[session]
                messages.pop(session, None)
        for names in self.temp_file_sets:
            names.clear()

    def launch(self, *args: Any, **options: Any) -> Any:
        """Launch it where Gradio does not reach its own page soon, or through a proxy.

        Gradio asks its page twice. The first question waits, but goes to a proxy that the
        environment names. The second one, of `_frontend`, waits three seconds; where a busy machine
        takes longer, an app that answers was ended with the advice to open a public link.
        """
        named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
        host = str(options.get("server_name") or "").strip("[]")
        os.environ["no_proxy"] = ",".join(filter(None, (named, "localhost", host)))
        return super().launch(*args, _frontend=False, **options)

    def idle(self) -> bool:
        """Whether no request waits or runs, which only `_queue` knows; else a stop cuts them."""
        return len(self._queue) == 0 and self._queue.get_active_worker_count() == 0


def _no_link(file: dict[str, Any]) -> None:
    if is_http_url_like(file["path"]):
        raise InvalidPathError


def _of_page(block_fn: Any) -> bool:
    """Whether only our page calls a function; it shows a text that has all languages in its own."""
    return getattr(block_fn, "api_visibility", "") == "private"


class StillHTML(gr.HTML):
    """`gr.HTML` that looks up no events in its script.

    Its `__getattr__` searches the script for each missing name, in every session. Without this,
    each visit waits for searches of our long one.
    """

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name, name=name, obj=self)


class PhotoInput(gr.Image):
    """The picture input of the page, which leaves reading the file to `open_photo`.

    Gradio's own would open it first. Bad files would then fail without a sentence, and animation,
    transparency and EXIF rotation would be lost before `open_photo` can note them.
    """

    def get_block_name(self) -> str:
        """The name by which Gradio's page finds the component; a name of our own shows nothing."""
        return "image"

    def preprocess(self, payload: ImageData | None) -> Any:
        """Take only files in `GRADIO_CACHE`: Gradio checks only paths with its type mark, and any
        file of the host could be read.
        """
        if payload is None:
            return None  # else an `Upload`, where gr.Image has a picture
        path, folder = Path(payload.path or ""), Path(self.GRADIO_CACHE).resolve()
        if not payload.path or not path.resolve().is_relative_to(folder):
            raise gr.Error(in_all(NOT_UPLOADED), print_exception=False)
        return Upload(payload.path, payload.orig_name or path.name)


class Compressing(BrotliMiddleware):
    """Compresses all that it is given. Gradio's own asks for an ending in the address, which the
    document has not.
    """

    def _is_compressible_file_type(self, scope: Scope) -> bool:
        return True


def hints(demo: gr.Blocks) -> bytes:
    """HTML that asks for the files of Gradio's page which show the components of an app.

    Its scripts name them round after round: the page, its blocks, then each component; a slow link
    waits for every round. What its bundler wrote tells them before. Without it nothing is hinted.
    """
    assets = Path(gr.__file__).parent / "templates/frontend/assets"
    # Every page is laid out in a column, which is no block of its own.
    shown = {"column", *(block.get_block_name() for block in demo.blocks.values())}
    try:
        files = list(dict.fromkeys(_asked_for(assets, shown)))
    except (OSError, ValueError, IndexError):  # it was made by another bundler
        files = []
    kinds = {".js": 'rel="modulepreload"', ".css": 'rel="preload" as="style"'}
    return "".join(
        f'<link {kinds[suffix]} href="assets/{file}" crossorigin fetchpriority="low">'
        for file in files
        if (suffix := Path(file).suffix) in kinds
    ).encode()


def _asked_for(assets: Path, shown: set[str]) -> Iterator[str]:
    """The names of these files, each behind those that name it."""
    page = (assets.parent / "index.html").read_text("utf-8")
    opening = [*_imported(assets, *re.findall(r"assets/(index-[\w-]+\.js)", page))]
    core = next((file for _, file, _ in opening if file.startswith("core-")), "")
    index = next((file for _, file, _ in opening if file.startswith("Index-")), "")
    blocks = [one for one in _imported(assets, index) if one[1].startswith("Blocks-")]
    components = [one for one in _imported(assets, core) if one[0] in shown]
    for _, file, needs in (*opening, *blocks, *components):
        yield from (file, *needs)


# `{image:{component:()=>`, or `import(...), ... needs([3,1,2])` as Vite writes it. An `example`
# comes with the components that show one.
_IMPORT = re.compile(
    r"[{,](\w+):\{(?=\w+:\(\)=>)"
    r"|(?<!example:\(\)=>\w\(\(\)=>)import\(`\./([\w-]+\.js)`\)"
    r"[^`]*?__vite__mapDeps\(\[([\d,]*)\]\)"
)


def _imported(assets: Path, script: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """What a script imports when it is needed: the component that stands before it in the list of
    components, the file, and all that this needs in turn.
    """
    text = (assets / script).read_text("utf-8")
    told = re.search(r"m\.f=(\[[^\]]*\])", text)
    names = [name.removeprefix("./") for name in json.loads(told[1])] if told else []
    component = ""
    for found in _IMPORT.finditer(text):
        component = found[1] or component
        if found[2]:
            yield component, found[2], [names[int(at)] for at in found[3].split(",") if at]


def leave_in_place(thumbnails: gr.Dataset, paths: Sequence[str], addresses: Sequence[str]) -> None:
    """Let thumbnails stand for the files themselves, and show what is at an address of ours: Gradio
    has copied the files into the cache, which is swept, and the copies stand in `samples`.
    """
    for sample, path, address in zip(thumbnails.samples, paths, addresses, strict=True):
        sample[0] |= {"path": path, "url": address}


def sent_with(event: gr.EventData) -> Any:
    """What the viewer sent with an event. It can be no object, or lack a name, and then raises as
    an attribute of the event; `_data` is the value itself.
    """
    return event._data


class ToolError(gr.Error):
    """What a language model reads, for which the server of tools takes `str` of an error: the
    sentence itself, and not as Python would quote it.
    """

    def __str__(self) -> str:
        return self.message


def no_tool(endpoint: Any) -> None:
    """Keep a function out of the server of tools, which takes those whose `_mcp_type` is "tool" or
    missing. Without it, each endpoint would be a tool beside the one that is made for models.
    """
    endpoint._mcp_type = "endpoint"


def is_logged_in(scope: Scope) -> bool:
    """Whether a request has the cookie of a login, or the app asks for none. Without it, routes
    that Gradio leaves open, and ours, would answer anybody.
    """
    app, cookies = scope["app"], Request(scope).cookies
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return app.auth is None or any(cookies.get(name) in app.tokens for name in names)


def outermost(
    middleware: Callable[[ASGIApp], ASGIApp],
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """A lifespan that puts a middleware before all others of an app when it starts: those that
    Gradio adds itself stand before those that it is given.
    """

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        app.middleware_stack = middleware(app.middleware_stack)
        yield

    return lifespan


def upload_folder() -> str:
    """Where Gradio puts uploads, by the environment or its default, in which our cache begins."""
    return get_upload_folder()


def end_tunnels() -> None:
    """End the processes of public links: a signal does not, and they would outlive this one."""
    for tunnel in CURRENT_TUNNELS:
        tunnel.kill()
