"""Sending: the viewer as a file that browsers keep, and less of what Gradio sends."""

import gzip
import hashlib
import re
import zlib
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...languages import spoken
from ...viewer.bundle import as_file, digits, playing_file, running_file, texts_files
from ..host.error_messages import preferred
from ..store.examples import Example
from .aliases import Aliases
from .first import First
from .gradio_inside import Compressing

KEPT = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


class KeptFile:
    """A file whose name has the hash of its content: what is at an address never changes.

    A script is compressed, once. No such file knows anything about a visitor, so they are open even
    with a login.
    """

    def __init__(self, stem: str, body: bytes, ending: str, media_type: str) -> None:
        self._media_type, self._sent = media_type, {"": body}
        if media_type.startswith("text/"):
            self._sent |= {"gzip": gzip.compress(body, mtime=0)} | _brotli(body)
        # Gradio's own prefix: its server that renders pages passes nothing else on to Python.
        self.path = f"gradio_api/{stem}-{hashlib.sha256(body).hexdigest()[:16]}.{ending}"

    def route(self) -> Route:
        return Route(f"/{self.path}", self._answer)

    def _answer(self, request: Request) -> Response:
        asked = request.headers.get("accept-encoding", "")
        coding = next((one for one in ("br", "gzip") if one in self._sent and one in asked), "")
        headers = KEPT | ({"Content-Encoding": coding} if coding else {})
        return Response(self._sent[coding], headers=headers, media_type=self._media_type)


def _brotli(body: bytes) -> dict[str, bytes]:
    """A fifth smaller than with gzip, by a package that Gradio brings along. At the last step, 11,
    2% smaller still, for seconds of each start.
    """
    try:
        import brotli
    except ImportError:
        return {}
    return {"br": brotli.compress(body, quality=10)}


VIEWER_FILE = KeptFile("vitviz", as_file().encode(), "js", "text/javascript")
TEXTS_FILES = {  # that the viewer does not bring along
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
    *(VIEWER_FILE, RUNNING_FILE, PLAYING_FILE),
    *TEXTS_FILES.values(),
    *DIGITS_FILES.values(),
)


@cache
def weights_file(path: Path) -> KeptFile:
    """The weights of a shipped model, for a page that computes."""
    return KeptFile(path.stem, path.read_bytes(), "safetensors", "application/octet-stream")


@cache
def thumbnail_file(example: Example) -> KeptFile:
    return KeptFile("example", example.thumbnail(), "jpg", "image/jpeg")


class Light:
    """The middleware that sends less of what Gradio answers, and passes on all else as it is.

    The document, what it says of the page, and the events that bring answers are compressed; Gradio
    does so by the ending of an address, and these have none. The document names the files of the
    viewer in its headers, and those of Gradio's page in its body (`hints`), so that browsers ask
    for them before Gradio's scripts have run; one that is asked for nothing has what will be shown
    (`First`) before Gradio's app. A file that a browser has is not sent again: Gradio marks files,
    and does not look whether a browser shows the mark.
    """

    DOCUMENT, APP = "/", b"<gradio-app"
    COMPRESSED = (DOCUMENT, "/config", "/gradio_api/info")
    FILES, EVENTS = "/gradio_api/file=", "/gradio_api/queue/data"
    HASHED = re.compile(r"/([0-9a-f]{64})/[^/]+$")  # the folder of a file in the cache

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
        elif path.startswith(self.FILES):
            hashed = self.HASHED.search(path)
            has = Headers(scope=scope).get("if-none-match", "")
            send = _unless_known(has, hashed and f'"{hashed[1]}"', send)
        elif path == self.EVENTS and "gzip" in Headers(scope=scope).get("accept-encoding", ""):
            send = _piece_by_piece(send)
        await (self.compressing if path in self.COMPRESSED else self.app)(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is compressed, which is the document among others."""
        asked = QueryParams(scope["query_string"]).keys() - {"lang"}
        first = b"" if asked else self.first.html(_language_of(scope))
        if scope["path"] == self.DOCUMENT and (self.hints or first):
            send = _before(self.APP, self.aliases.outward(first) + self.hints, send)
        await self.app(scope, receive, send)


def _piece_by_piece(send: Send) -> Send:
    """`send`, which compresses each piece of a body: no event may wait for the one after it."""
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
    """`send`, which puts a text before the first place of a mark in the first piece of a body."""
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
    """The language in which a document will be shown, unless the browser remembers another."""
    asked = spoken(QueryParams(scope["query_string"]).get("lang", ""))
    return asked or preferred(Headers(scope=scope).get("accept-language", ""))


def _hinting(send: Send, language: str) -> Send:
    files = filter(None, (VIEWER_FILE, TEXTS_FILES.get(language)))
    hints = ", ".join(f"<{file.path}>; rel=preload; as=script" for file in files)

    async def hinting(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("Link", hints)
        await send(message)

    return hinting


def _unless_known(has: str, mark: str | None, send: Send) -> Send:
    """`send`, which leaves the body out where the browser has the file.

    `has`: the mark that the browser shows. `mark`: the hash of the content, which is better than
    Gradio's mark: that one changes whenever the file is used again.
    """
    known = False

    async def sending(message: Message) -> None:
        nonlocal known
        if message["type"] == "http.response.start":
            headers, whole = MutableHeaders(scope=message), message["status"] == 200
            if whole and mark:
                headers["etag"] = mark
            known = whole and has != "" and headers.get("etag") == has
            if known:
                message["status"] = 304
                del headers["content-length"]
        elif known:
            message["body"] = b""
        if not (known and message.get("more_body")):
            await send(message)

    return sending
