"""Sending: the viewer as a file that browsers cache, and smaller answers of Gradio."""

import gzip
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from threading import Lock

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...languages import languages, spoken
from ...model.key import ModelKey, read_size
from ...payload.bundle import digits, gradio_file, playing_file, running_file, texts_files
from ..host import limits
from ..host.error_messages import preferred
from ..service.page_weights import PageWeights
from ..store.examples import Example
from .aliases import Aliases
from .first import First
from .gradio_inside import Compressing

WEIGHTS = "gradio_api/weights"
MOST_PRESSED_HARD = 200_000  # bytes of a text or a style
KEPT = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


class KeptFile:
    """A file with the hash of its content in its name, so the content of an address never changes.

    Scripts are compressed once, when they are first asked for: all of them together would make the
    start of the app a fifth longer. These files know nothing about a visitor, so they are open even
    with a login.
    """

    def __init__(self, stem: str, body: bytes, ending: str, media_type: str) -> None:
        self._media_type, self._sent = media_type, {"": body}
        self._codings = CODINGS if media_type.startswith("text/") else {}
        self._compressing = Lock()
        # Gradio's own prefix: a proxy that passes only its addresses on passes these, too.
        self.path = f"gradio_api/{stem}-{hashlib.sha256(body).hexdigest()[:16]}.{ending}"

    def route(self) -> Route:
        return Route(f"/{self.path}", self._answer)

    def _answer(self, request: Request) -> Response:
        accepted = request.headers.get("accept-encoding", "")
        coding = next((name for name in self._codings if name in accepted), "")
        headers = KEPT | ({"Content-Encoding": coding} if coding else {})
        with self._compressing:
            if coding not in self._sent:
                self._sent[coding] = self._codings[coding](self._sent[""])
        return Response(self._sent[coding], headers=headers, media_type=self._media_type)


def _codings() -> dict[str, Callable[[bytes], bytes]]:
    """Compressors by their HTTP content coding, the one with the smallest output first.

    Brotli comes with a package that Gradio depends on, and is a fifth smaller than gzip. Quality 11
    saves another 2%. For texts and styles that takes a twentieth of a second more; for the viewer
    it would delay the first visit of a server by half a second.
    """
    gzipped: dict[str, Callable[[bytes], bytes]] = {"gzip": partial(gzip.compress, mtime=0)}
    try:
        import brotli
    except ImportError:
        return gzipped

    def by_size(data: bytes) -> bytes:
        return brotli.compress(data, quality=11 if len(data) <= MOST_PRESSED_HARD else 10)

    return {"br": by_size} | gzipped


CODINGS = _codings()


VIEWER_FILES = {  # each with the texts of its language
    language: KeptFile("vitviz", gradio_file(language).encode(), "js", "text/javascript")
    for language in languages()
}
TEXTS_FILES = {  # for a page whose language is changed
    name: KeptFile(f"vitviz-{name}", text.encode(), "js", "text/javascript")
    for name, text in texts_files().items()
}


RUNNING_FILE = KeptFile("vitviz-running", running_file().encode(), "js", "text/javascript")
PLAYING_FILE = KeptFile("vitviz-play", playing_file().encode(), "js", "text/javascript")
DIGITS_FILES = {
    name.partition(".")[0]: KeptFile(f"digits-{name.partition('.')[0]}", sheet, "png", "image/png")
    for name, sheet in digits().items()
}
OUR_FILES = (
    *(RUNNING_FILE, PLAYING_FILE),
    *VIEWER_FILES.values(),
    *TEXTS_FILES.values(),
    *DIGITS_FILES.values(),
)


@cache
def weights_file(path: Path) -> KeptFile:
    """The weights of a shipped model, for a page that computes itself."""
    return KeptFile(path.stem, path.read_bytes(), "safetensors", "application/octet-stream")


def weights_route(weights: PageWeights) -> Route:
    """The route of `WEIGHTS`: models that are not shipped, or of another size. Browsers keep the
    file, and ask with its tag whether it is still the same.
    """
    # Who waits for a model to be loaded must not occupy the threads that answer all others; one is
    # left for those whose file is there, or who find the line full.
    waiting = CapacityLimiter(1 + limits.OPERATING_LINE + 1)

    async def answer(request: Request) -> Response:
        return await run_sync(sent, request, limiter=waiting)

    def sent(request: Request) -> Response:
        given = request.query_params
        size = read_size(given["size"]) if given.get("size") else None
        file = weights.get(ModelKey(given.get("model", ""), image_size=size))
        headers = {"Cache-Control": "private, no-cache", "ETag": file.tag}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.data, headers=headers, media_type="application/octet-stream")

    return Route(f"/{WEIGHTS}", answer)


@cache
def thumbnail_file(example: Example) -> KeptFile:
    return KeptFile("example", example.thumbnail(), "jpg", "image/jpeg")


class Assets:
    """The middleware that keeps files of Gradio's page in memory, as they are sent: Gradio reads
    and compresses them anew for each visitor, and each of a class that arrives asks for seventy.
    """

    FOLDERS = ("/assets/", "/static/")  # of Gradio's package, so their files never change

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._kept: OrderedDict[tuple[str, str], tuple[Message, bytes]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_file = scope["type"] == "http" and scope["path"].startswith(self.FOLDERS)
        headers = Headers(scope=scope) if is_file else Headers()
        is_part = "range" in headers or "if-none-match" in headers
        if not is_file or scope["method"] != "GET" or is_part:
            await self.app(scope, receive, send)
            return
        accepted = headers.get("accept-encoding", "")
        key = scope["path"], next((name for name in ("br", "gzip") if name in accepted), "")
        if key not in self._kept:
            await self.app(scope, receive, self._keeping(key, send))
            return
        self._kept.move_to_end(key)
        start, body = self._kept[key]
        await send({**start, "headers": [*start["headers"]]})  # whoever sends it adds others
        await send({"type": "http.response.body", "body": body})

    def _keeping(self, key: tuple[str, str], send: Send) -> Send:
        """`send` that keeps a file once all of it has come."""
        start: Message = {}
        body = bytearray()

        async def keeping(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message, headers=[*message["headers"]])
            else:
                body.extend(message.get("body", b""))
                if start["status"] == 200 and not message.get("more_body"):
                    MutableHeaders(scope=start)["content-length"] = str(len(body))
                    self._keep(key, start, bytes(body))
            await send(message)

        return keeping

    def _keep(self, key: tuple[str, str], start: Message, body: bytes) -> None:
        self._kept[key] = start, body
        while sum(len(kept) for _, kept in self._kept.values()) > limits.ASSETS_BYTES:
            self._kept.popitem(last=False)  # the one that nobody has asked for the longest


class Light:
    """The middleware that makes some answers of Gradio smaller.

    The document, its config and the events with answers are compressed; Gradio itself compresses by
    the ending of an address, which these lack. The document names the files of the viewer in its
    headers, and those of Gradio's page in its body (`hints`), so that browsers load them before
    Gradio's scripts run. A document without parameters contains `First` before Gradio's app.
    """

    DOCUMENT, APP = "/", b"<gradio-app"
    COMPRESSED = (DOCUMENT, "/config", "/gradio_api/info")
    EVENTS = "/gradio_api/queue/data"

    def __init__(
        self, app: ASGIApp, first: First, hints: bytes = b"", aliases: Aliases | None = None
    ) -> None:
        self.app, self.first, self.hints = app, first, hints
        self.aliases = aliases or Aliases({})
        self.compressing = Compressing(self._open, quality=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path == self.DOCUMENT:
            send = _hinting(send, _language_of(scope))
        elif path == self.EVENTS and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            send = _piece_by_piece(send)
        await (self.compressing if path in self.COMPRESSED else self.app)(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose answer is compressed, the document among them."""
        names = QueryParams(scope["query_string"]).keys() - {"lang"}
        # Those with two underscores are of a page around it, such as that of Hugging Face.
        parameters = [name for name in names if not name.startswith("__")]
        first = b"" if parameters else self.first.html(_language_of(scope))
        if scope["path"] == self.DOCUMENT and (self.hints or first):
            send = _before(self.APP, self.aliases.outward(first) + self.hints, send)
        await self.app(scope, receive, send)


def _piece_by_piece(send: Send) -> Send:
    """`send` that compresses a body piece by piece: events must not wait for later ones."""
    pressing = zlib.compressobj(5, wbits=31)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["content-encoding"] = "gzip"
            del headers["content-length"]
        else:
            end = zlib.Z_SYNC_FLUSH if message.get("more_body") else zlib.Z_FINISH
            message["body"] = pressing.compress(message.get("body", b"")) + pressing.flush(end)
        await send(message)

    return sending


def _before(mark: bytes, text: bytes, send: Send) -> Send:
    """`send` that inserts a text before the first `mark` in the first piece of a body."""
    start: list[Message] = []

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.append(message)  # its length is not known yet
            return
        if start:
            body = message.get("body", b"")
            message["body"] = body.replace(mark, text + mark, 1)
            headers, more = MutableHeaders(scope=start[0]), len(message["body"]) - len(body)
            if "content-length" in headers:
                headers["content-length"] = str(int(headers["content-length"]) + more)
            await send(start.pop())
        await send(message)

    return sending


def _language_of(scope: Scope) -> str:
    """The language of a document, unless the browser remembers another."""
    wanted = spoken(QueryParams(scope["query_string"]).get("lang", ""))
    return wanted or preferred(Headers(scope=scope).get("accept-language", ""))


def _hinting(send: Send, language: str) -> Send:
    hint = f"<{VIEWER_FILES[language].path}>; rel=preload; as=script"

    async def hinting(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("Link", hint)
        await send(message)

    return hinting
