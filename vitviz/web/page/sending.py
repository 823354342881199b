"""Sending: the viewer as a file that browsers keep, and less of what Gradio sends."""

import gzip
import hashlib
import re
from functools import cache

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...viewer.bundle import as_file
from ..store.examples import Example

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
    """An eighth smaller than with gzip, by a package that Gradio brings along."""
    try:
        import brotli
    except ImportError:
        return {}
    return {"br": brotli.compress(body, quality=9)}


VIEWER_FILE = KeptFile("vitviz", as_file().encode(), "js", "text/javascript")


@cache
def thumbnail_file(example: Example) -> KeptFile:
    return KeptFile("example", example.thumbnail(), "jpg", "image/jpeg")


class Light:
    """The middleware that sends less of what Gradio answers, and passes on all else as it is.

    The document and what it says of the page are compressed; Gradio does so by the ending of an
    address, and these have none. The document names the file of the viewer in its headers, so that
    browsers ask for it before Gradio's scripts have run. A file that a browser has is not sent
    again: Gradio marks files, and does not look whether a browser shows the mark.
    """

    DOCUMENT = "/"
    COMPRESSED = (DOCUMENT, "/config", "/gradio_api/info")
    FILES = "/gradio_api/file="
    HASHED = re.compile(r"/([0-9a-f]{64})/[^/]+$")  # the folder of a file in the cache

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.compressing = app, GZipMiddleware(app, compresslevel=5)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path == self.DOCUMENT:
            send = _hinting(send)
        elif path.startswith(self.FILES):
            hashed = self.HASHED.search(path)
            has = Headers(scope=scope).get("if-none-match", "")
            send = _unless_known(has, hashed and f'"{hashed[1]}"', send)
        await (self.compressing if path in self.COMPRESSED else self.app)(scope, receive, send)


def _hinting(send: Send) -> Send:
    async def hinting(message: Message) -> None:
        if message["type"] == "http.response.start":
            link = f"<{VIEWER_FILE.path}>; rel=preload; as=script"
            MutableHeaders(scope=message).append("Link", link)
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
