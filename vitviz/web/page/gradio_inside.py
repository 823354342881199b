"""All uses of Gradio's internals: undocumented, so any version may change them.

Each use says what it relies on and what happens without it. All were checked with Gradio 6.31.0;
tests/test_gradio_inside.py names what an installed Gradio lacks, and forbids internals elsewhere.
"""

import asyncio
import json
import logging
import os
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import gradio as gr
from gradio.blocks import BlocksConfig
from gradio.brotli_middleware import BrotliMiddleware
from gradio.data_classes import ImageData
from gradio.events import EventListener
from gradio.exceptions import ComponentProcessingError, InvalidPathError
from gradio.i18n import I18nData as I18nData  # what `gr.I18n` gives, for annotations
from gradio.tunneling import CURRENT_TUNNELS
from gradio.utils import LRUCache, get_upload_folder
from gradio_client.utils import is_file_obj_with_meta, is_http_url_like, traverse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from ...languages import Message
from ..compute.engine import Engine
from ..compute.turns import ASKING
from ..host import limits
from ..host.error_messages import WANTED, in_all, in_wanted, told_in
from ..host.origins import Origins
from ..service.classroom import Classroom
from ..store.store import Upload
from .door import Gate, address_of
from .routes import SESSION

log = logging.getLogger("vitviz.web")

BUSY = Message("web.busy")
NOT_TAKEN = Message("web.not_taken")
NOT_UPLOADED = Message("web.not_uploaded")


class _Undescribed(BlocksConfig):
    """The blocks of the app, without a description for each session.

    Gradio copies `Blocks.default_config` for each session and calls its `config_for_block` for each
    component, in 5 ms and 100 kB, to store the state of the page. Only deep links read that state,
    and the page has none. Without this class, each session costs that time and memory.
    """

    def __copy__(self) -> BlocksConfig:
        of_session: Any = super().__copy__()
        of_session.config_for_block = lambda *_: {}
        return of_session


class _Sessions(LRUCache):
    """The message queues of sessions. Deleting a session twice, or writing to a deleted one, is no
    error.

    Gradio deletes a session when a stream of it is cut off. Without this class, the second stream
    of a session leaves a traceback in the log. Gradio also drops the oldest of many sessions: a
    message to a dropped session, whose event still waited, stopped the whole queue for good.
    """

    def __missing__(self, _session: str) -> asyncio.Queue[Any]:
        return asyncio.Queue()  # nobody reads it

    def __delitem__(self, session: str) -> None:
        if session in self:
            super().__delitem__(session)


class _Sent:
    """A wrapper that hides the data of an event from Gradio, which would resolve every path in it,
    of any length, on its event loop, and log a traceback. The store reads only its own files.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


class App(gr.Blocks):
    """Gradio's blocks that store less of each request, and refuse with sentences."""

    gate: Gate
    engine: Engine
    origins: Origins
    warm: Callable[[], None]  # called once, before it is launched
    classroom: Classroom | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.default_config = _Undescribed(self)  # before it has any component

    async def process_api(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Note who asks, for `Turns`. Gradio's queue answers requests in a task of its own, which
        does not know it.
        """
        asked = getattr(options.get("request"), "request", None)
        if asked is not None:
            ASKING.set(address_of(asked.scope))
            WANTED.set(asked.headers.get("accept-language", ""))
        if (event := options.get("event_data")) is not None:
            options["event_data"] = gr.EventData(event.target, _Sent(event._data))
        # Gradio cancels an event without waiting for its thread, which goes on with its photo in
        # memory: its worker must not be free before.
        answering = asyncio.ensure_future(super().process_api(*args, **options))
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):  # tools cancel again and again
                while not answering.done():
                    with suppress(asyncio.CancelledError):  # so do pages, each time by request
                        await asyncio.wait([answering])
            if not answering.cancelled():
                answering.exception()  # nobody else reads it, and Python would log that
            raise

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Fill in defaults for the last inputs of a request that leaves them out.

        Gradio calls this with the list that it uses afterwards. Its own version refuses such
        requests; only its clients fill in defaults, but not requests by hand or by older programs.
        """
        inputs.extend(block.value for block in block_fn.inputs[len(inputs) :])

    async def preprocess_data(
        self, block_fn: Any, inputs: list[Any], *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Refuse links, paths that were not uploaded, and values of a wrong type, with a sentence.

        Gradio calls this before each function. Its own version would download any link, of any
        size, for anybody; in the other cases it answers {"error": null} and logs a traceback.
        """
        try:
            if block_fn.fn is None:  # an event that only runs a script
                raise ValueError(block_fn)
            traverse(inputs, _no_link, is_file_obj_with_meta)
            return await super().preprocess_data(block_fn, inputs, *args, **kwargs)
        except gr.Error as error:  # from Gradio's components, such as an unknown choice
            error.print_exception = False
            raise
        except Exception as error:  # its own types, and the error of an overlong path
            if not isinstance(error, InvalidPathError | ValidationError | ComponentProcessingError):
                log.warning("a value was not taken: %.200r", error)
            refusal = NOT_UPLOADED if isinstance(error, InvalidPathError) else NOT_TAKEN
            text = in_all(refusal) if _of_page(block_fn) else in_wanted(refusal)
            raise gr.Error(text, print_exception=False) from error

    async def postprocess_data(
        self, block_fn: Any, predictions: Any, *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Give out files of the cache and the examples alone.

        Gradio calls this after each function. Its own version would copy any file of the working
        and the temporary folder into the cache, and download any link.
        """
        folders = [Path(get_upload_folder()).resolve(), *map(Path, self.allowed_paths)]
        traverse(predictions, lambda file: _only_of(folders, file), is_file_obj_with_meta)
        return await super().postprocess_data(block_fn, predictions, *args, **kwargs)

    def get_api_info(self, all_endpoints: bool = False, page: str | None = None) -> Any:
        """The endpoints for the API's page, and also the tools while Gradio builds its server of
        tools: before `mcp_server_obj` is set. Without this, there are no tools.
        """
        looking = getattr(self, "mcp_server_obj", None) is None
        return super().get_api_info(all_endpoints or looking, page)

    def queue(self, **options: Any) -> "App":
        """Let a full queue answer in the visitor's language, by replacing `push` of `_queue`. A
        page gets status 429, since for 503 Gradio shows an English sentence of its own.
        """
        # After each request Gradio would compute statistics of its last 10,000, in 4 to 9 ms, for a
        # page that is switched off. It reads these variables when it creates its queue.
        os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
        os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))
        super().queue(**options)
        inside: Any = self._queue
        inside.pending_messages_per_session = _Sessions(
            inside.pending_messages_per_session.max_size
        )
        push = inside.push

        async def pushed(body: Any, request: Any, username: str | None) -> tuple[bool, Any, str]:
            self._forget()
            named, wanted = body.session_hash, request.headers.get("accept-language", "")
            if named is not None and not SESSION.fullmatch(named):
                return False, told_in(NOT_TAKEN, wanted), "error"
            state = "queue_full"
            if self._has_room_for(address_of(request.scope)):
                done, event, state = await push(body=body, request=request, username=username)
            if state != "queue_full":
                self._take_turns()
                return done, event, state
            if _of_page(self.fns.get(body.fn_index)):
                raise HTTPException(429, in_all(BUSY))
            return False, told_in(BUSY, wanted), state

        inside.push = pushed
        start = inside.get_events
        inside.get_events = lambda: self._start_for_all(start)
        return self

    def _has_room_for(self, address: str) -> bool:
        """Whether an address has room left in its share of the queue. The limit is higher for an
        address without a waiting request: otherwise two addresses would keep all others out.
        """
        waiting = Counter(
            address_of(event.request.scope)
            for line in self._queue.event_queue_per_concurrency_id.values()
            for event in line.queue
        )
        own, size = waiting[address], limits.QUEUE_SIZE
        most = size if own else size * limits.FIRST_QUEUE
        return own < size * limits.QUEUE_SHARE and waiting.total() < most

    def _start_for_all(self, start: Callable[[], Any]) -> Any:
        """Start the next event by `get_events` of the queue, but keep workers free for others.

        In each line an address runs at most `WORKERS` - 1 events. It starts another one only while
        fewer than `WORKERS` run in all, its first one while fewer than `FIRST_WORKERS` run.
        Otherwise a few addresses, whose photos may each take 20 seconds to open, would keep all
        others waiting.
        """
        queue, most = self._queue, max(1, limits.WORKERS - 1)
        running: dict[str, Counter[str]] = defaultdict(Counter)
        for event in (event for job in queue.active_jobs if job for event in job):
            running[event.concurrency_id][address_of(event.request.scope)] += 1

        def may_start(event: Any) -> bool:
            others = running[event.concurrency_id]
            own = others[address_of(event.request.scope)]
            workers = limits.WORKERS if own else limits.FIRST_WORKERS
            return own < most and others.total() < workers

        lines = list(queue.event_queue_per_concurrency_id.values())
        waiting = [line.queue for line in lines]
        for line in lines:
            line.queue = [event for event in line.queue if may_start(event)]
        started = start()
        for line, before in zip(lines, waiting, strict=True):
            line.queue = [event for event in before if event not in (started or [[]])[0]]
        return started

    def _take_turns(self) -> None:
        """Let addresses take turns in each line of the queue, so that many requests of one address
        do not delay others. Gradio takes the first event; requests of an address keep their order.
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
        """Delete data of each request that Gradio would keep for ever; without this, memory grows.

        These are queues of sessions that are gone or wait for nothing, and names of files for
        Gradio to delete (`temp_file_sets`), which our cache does.
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
        """Launch with threads of its own for what computes, and even if Gradio's check of its own
        page is slow, or would use a proxy.

        With the default of 40, Gradio's functions share Starlette's threads, which documents need.

        Gradio requests its page twice. The first request waits, but goes through a proxy of the
        environment. The second one, of `_frontend`, waits three seconds; on a busy machine a
        working app was ended with the advice to open a public link.
        """
        named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
        host = str(options.get("server_name") or "").strip("[]")
        os.environ["no_proxy"] = ",".join(filter(None, (named, "localhost", host)))
        # One for each request that may run, so that none waits; twice: for pages and for programs.
        threads = 2 * (limits.FIRST_QUESTIONS + limits.FIRST_WORKERS)
        options |= {"_frontend": False, "max_threads": threads}
        return super().launch(*args, **options)

    def idle(self) -> bool:
        """Whether no request waits or runs, which only `_queue` knows; a stop would cut them."""
        return len(self._queue) == 0 and self._queue.get_active_worker_count() == 0


def _no_link(file: dict[str, Any]) -> None:
    if is_http_url_like(file["path"]):
        raise InvalidPathError


def _only_of(folders: Sequence[Path], file: dict[str, Any]) -> None:
    """Refuse a file that lies in none of the folders."""
    path = Path(file["path"]).resolve()
    if not any(path.is_relative_to(folder) for folder in folders):
        raise gr.Error(in_all(NOT_UPLOADED), print_exception=False)


def _of_page(block_fn: Any) -> bool:
    """Whether only our page calls a function. It can choose from a text in all languages."""
    return getattr(block_fn, "api_visibility", "") == "private"


def events(*names: str) -> list[EventListener]:
    """The events of a component that its script triggers by these names."""
    return [EventListener(name) for name in names]


class StillHTML(gr.HTML):
    """`gr.HTML` that does not search its script for events.

    Its `__getattr__` searches the script for each missing name, in every session. Without this
    class, each visit waits for searches of our long script.
    """

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name, name=name, obj=self)


class PhotoInput(gr.Image):
    """The picture input of the page, which leaves the decoding to `open_photo`.

    Gradio's own input decodes first. Bad files would then fail without a sentence, and animation,
    transparency and EXIF rotation would be lost before `open_photo` can see them.
    """

    def get_block_name(self) -> str:
        """The name of the component for Gradio's page; a name of our own would show nothing."""
        return "image"

    def preprocess(self, payload: ImageData | None) -> Any:
        """Take only files in `GRADIO_CACHE`. Gradio checks only paths with its type mark; without
        this, any file of the host could be read.
        """
        if payload is None:
            return None  # else an `Upload`, where gr.Image has a picture
        path, folder = Path(payload.path or ""), Path(self.GRADIO_CACHE).resolve()
        if not payload.path or not path.resolve().is_relative_to(folder):
            raise gr.Error(in_all(NOT_UPLOADED), print_exception=False)
        return Upload.sent(payload.path, payload.orig_name or "")


class Compressing(BrotliMiddleware):
    """Compresses every answer. Gradio's own version checks the ending of the address, which the
    document lacks.
    """

    def _is_compressible_file_type(self, scope: Scope) -> bool:
        return True


def hints(demo: gr.Blocks) -> bytes:
    """HTML that preloads the files of Gradio's page for the components of an app.

    Its scripts import them in several rounds: the page, its blocks, then each component; a slow
    link waits for every round. The output of its bundler has all of them. If it cannot be read,
    nothing is preloaded.
    """
    assets = Path(gr.__file__).parent / "templates/frontend/assets"
    # Every page is in a column, which is not among the blocks.
    shown = {"column", *(block.get_block_name() for block in demo.blocks.values())}
    try:
        files = list(dict.fromkeys(_asked_for(assets, shown)))
    except (OSError, ValueError, IndexError):  # the output of another bundler
        files = []
    kinds = {".js": 'rel="modulepreload"', ".css": 'rel="preload" as="style"'}
    return "".join(
        f'<link {kinds[suffix]} href="assets/{file}" crossorigin fetchpriority="low">'
        for file in files
        if (suffix := Path(file).suffix) in kinds
    ).encode()


def _asked_for(assets: Path, shown: set[str]) -> Iterator[str]:
    """The names of these files, in the order in which they are imported."""
    page = (assets.parent / "index.html").read_text("utf-8")
    opening = [*_imported(assets, *re.findall(r"assets/(index-[\w-]+\.js)", page))]
    core = next((file for _, file, _ in opening if file.startswith("core-")), "")
    index = next((file for _, file, _ in opening if file.startswith("Index-")), "")
    blocks = [item for item in _imported(assets, index) if item[1].startswith("Blocks-")]
    components = [item for item in _imported(assets, core) if item[0] in shown]
    for _, file, needs in (*opening, *blocks, *components):
        yield from (file, *needs)


# `{image:{component:()=>`, or `import(...), ... needs([3,1,2])` in Vite's output. The import of an
# `example` is skipped: it comes with its component.
_IMPORT = re.compile(
    r"[{,](\w+):\{(?=\w+:\(\)=>)"
    r"|(?<!example:\(\)=>\w\(\(\)=>)import\(`\./([\w-]+\.js)`\)"
    r"[^`]*?__vite__mapDeps\(\[([\d,]*)\]\)"
)


def _imported(assets: Path, script: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """The dynamic imports of a script: the component before it in the list of components, the file,
    and the files that it needs in turn.
    """
    text = (assets / script).read_text("utf-8")
    listed = re.search(r"m\.f=(\[[^\]]*\])", text)
    names = [name.removeprefix("./") for name in json.loads(listed[1])] if listed else []
    component = ""
    for found in _IMPORT.finditer(text):
        component = found[1] or component
        if found[2]:
            yield component, found[2], [names[int(at)] for at in found[3].split(",") if at]


def leave_in_place(thumbnails: gr.Dataset, paths: Sequence[str], addresses: Sequence[str]) -> None:
    """Let thumbnails refer to the original files, and show pictures at our own addresses: `samples`
    has copies that Gradio made in the cache, which is swept.
    """
    for sample, path, address in zip(thumbnails.samples, paths, addresses, strict=True):
        sample[0] |= {"path": path, "url": address}


def sent_with(event: gr.EventData) -> Any:
    """The data that the viewer sent with an event. `_data` is the value itself: attributes of the
    event raise if the value is no object or lacks a name.
    """
    return event._data.value if isinstance(event._data, _Sent) else event._data


class ToolError(gr.Error):
    """An error of a tool. The server of tools sends its `str` to a language model: the sentence
    itself, without Python's quotes.
    """

    def __str__(self) -> str:
        return self.message


def no_tool(endpoint: Any) -> None:
    """Keep a function out of the server of tools, which takes functions whose `_mcp_type` is "tool"
    or missing. Without this, each endpoint would also be a tool.
    """
    endpoint._mcp_type = "endpoint"


def is_logged_in(scope: Scope) -> bool:
    """Whether a request has the cookie of a login, or the app has no login. Without this check,
    routes that Gradio leaves open, and our own, would answer anybody.
    """
    app = scope["app"]
    return app.auth is None or any(token in app.tokens for token in _tokens(scope))


def log_out(scope: Scope) -> None:
    """End the session of a request. Gradio would end that of its secure cookie alone, which a
    browser does not send without https, or those of all who share the name.
    """
    for token in _tokens(scope):
        scope["app"].tokens.pop(token, None)


def _tokens(scope: Scope) -> list[str | None]:
    """The tokens in the two cookies of a login; None for one that did not come."""
    name, cookies = scope["app"].cookie_id, Request(scope).cookies
    return [cookies.get(f"access-token-{kind}{name}") for kind in ("", "unsecure-")]


def outermost(
    middleware: Callable[[ASGIApp], ASGIApp],
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """A lifespan that puts a middleware before all others when the app starts: Gradio puts its own
    before those that it is given.
    """

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        app.middleware_stack = middleware(app.middleware_stack)
        yield

    return lifespan


def upload_folder() -> str:
    """The folder of Gradio's uploads (environment or default), in which our cache lies."""
    return get_upload_folder()


def end_tunnels() -> None:
    """End the processes of public links: signals do not reach them."""
    for tunnel in CURRENT_TUNNELS:
        tunnel.kill()
