"""Entrance: the outermost middleware, which checks requests and sets headers of answers.

It precedes Gradio's own middleware, which would allow pages of any site to read answers (CORS).
Each request is checked for its route, the name of the app, the page that sends it, a login, and the
number of open streams.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event

from ...errors import VitvizError
from ...languages import Message
from ..compute.turns import ASKING
from ..host import limits
from ..host.origins import Origins
from .door import RefusedError, address_of, most_bytes, read_body, refused, replayed
from .gradio_inside import is_logged_in, log_out
from .routes import FILES, LOGIN, LOGOUT, Rule, rule_of

# Gradio writes scripts and styles into its document, and compiles functions from text.
PAGE_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:;"
    " style-src 'self' 'unsafe-inline'{styles}; font-src 'self' data:{fonts};"
    " img-src 'self' data: blob:{site}; media-src 'self' data: blob:;"
    " connect-src 'self' data: blob:{site}; worker-src 'self' blob:; object-src 'none';"
    " base-uri 'self'; form-action 'self'; frame-ancestors {frames}"
)
# Sources of the bar that Gradio draws over a Space.
OF_SPACE = {
    "styles": " https://fonts.googleapis.com",
    "fonts": " https://fonts.gstatic.com",
    "site": " https://huggingface.co https://*.huggingface.co",
}
FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors {frames}"
# A name with a port, or nothing: Gradio makes addresses of X-Forwarded-Host.
HOST = re.compile(r"((\[[\w:.]{1,60}\]|[\w.-]{1,255})(:\d{1,5})?)?", re.ASCII)
# A cookie of a login, as Gradio sets it. Others belong to other apps of the host.
COOKIE = re.compile(rb"access-token-[\w-]{1,100}=[\w-]{1,100}")
# Allowed headers for a part of a file: Gradio answers with those of the request, cookies included.
OF_PART = {
    *("content-type", "content-length", "content-range", "content-disposition"),
    *("accept-ranges", "etag", "last-modified", "cache-control"),
}


class _Turns:
    """The turns of an address, and the number of its requests that have or await one."""

    def __init__(self, most: int) -> None:
        self.free = asyncio.Semaphore(most)
        self.requests = 0


class Entrance:
    """The middleware of one app.

    rules  the allowed routes
    root   the path of the app behind a proxy; some proxies leave it in requests
    """

    def __init__(
        self, app: ASGIApp, rules: Sequence[Rule], origins: Origins, root: str = ""
    ) -> None:
        self.app, self.rules, self.origins, self.root = app, rules, origins, root
        self._streams: Counter[str] = Counter()  # open ones, by address
        self._inside: Counter[str] = Counter()  # all other requests
        # Turns of an address for direct requests, for short ones, and (None) to send a long body.
        self._turns: dict[tuple[str, bool | None], _Turns] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, self._with_headers(scope, send))
        else:  # a websocket: the app has none
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._path_of(scope)
        # Everything behind the entrance sees the path that was checked.
        scope = {**scope, "path": path, "headers": _own_cookies(scope["headers"])}
        if path == LOGOUT:  # a class can share one name
            scope["query_string"] = b"all_session=false"
        headers = Headers(scope=scope)
        is_preflight = scope["method"] == "OPTIONS"
        method = (
            headers.get("access-control-request-method", "") if is_preflight else scope["method"]
        )
        rule = rule_of(self.rules, method, path)
        refusal = self._refusal(rule, scope, headers)
        if refusal:
            await refused(scope, *refusal)(scope, receive, send)
        elif is_preflight:
            await Response(status_code=204)(scope, receive, send)
        else:
            assert rule is not None  # it would be a refusal
            address = address_of(scope)
            ASKING.set(address)
            if path == LOGOUT:
                log_out(scope)
            with _counted(self._streams if rule.stays_open else self._inside, address):
                await self._let_in(rule, scope, receive, send)

    async def _let_in(self, rule: Rule, scope: Scope, receive: Receive, send: Send) -> None:
        if rule.stays_open:
            await self.app(scope, receive, send)
        elif rule.is_long:
            await self.app(scope, receive, _in_time(send))
        else:
            await self._take_turn(scope, receive, _in_time(send), is_direct=rule.is_direct)

    def _refusal(
        self, rule: Rule | None, scope: Scope, headers: Headers
    ) -> tuple[int, VitvizError] | None:
        """HTTP status and sentence for a refused request; None if it is allowed."""
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if not self.origins.serves(host):
            return 403, VitvizError(Message("web.other_name", host=repr(host[:100])))
        forwarded = headers.get("x-forwarded-host", "")
        if not all(HOST.fullmatch(name.strip()) for name in forwarded.split(",")):
            return 403, VitvizError(Message("web.other_name", host=repr(forwarded[:100])))
        if rule is None:
            return 404, VitvizError(Message("web.not_here"))
        if not self.origins.allows(headers, following_link=rule.is_linked):
            shown = repr(origin[:100]) if origin else "?"
            return 403, VitvizError(Message("web.other_site", origin=shown))
        if not rule.is_open and scope["method"] != "OPTIONS" and not is_logged_in(scope):
            return 401, VitvizError(Message("web.log_in"))
        if not self._has_room(rule, address_of(scope)):
            return 503, VitvizError(Message("web.many_open"))
        return None

    def _has_room(self, rule: Rule, address: str) -> bool:
        if not rule.stays_open:
            return self._inside[address] < limits.REQUESTS_INSIDE
        own = self._streams[address]
        # Else two addresses would close the app to all others.
        most = limits.STREAMS if own >= limits.STREAMS_OF_PAGE else limits.FIRST_STREAMS
        return own < limits.STREAMS_OF_ADDRESS and self._streams.total() < most

    async def _take_turn(
        self, scope: Scope, receive: Receive, send: Send, *, is_direct: bool
    ) -> None:
        """Answer a request when few others of its address are being answered: otherwise a hundred
        requests of one visitor would delay all others. The turn of a short request ends when its
        answer begins, so nobody waits for a slow connection; the turn of a direct request ends with
        its answer. The body is read before the turn begins, so nobody waits for a slow upload.
        """
        address = address_of(scope)
        most = limits.DIRECT_OF_ADDRESS if is_direct else limits.REQUESTS_OF_ADDRESS
        async with AsyncExitStack() as stack:
            read = None
            if size := _body_of(scope):
                if size > limits.BODY_BYTES:  # few long bodies may lie in memory at a time
                    reading = self._turn((address, None), limits.DIRECT_OF_ADDRESS)
                    read = await stack.enter_async_context(reading)
                try:
                    receive = replayed(await read_body(receive, most_bytes(scope["path"])), receive)
                except RefusedError as refusal:
                    await refused(scope, refusal.status, refusal.error)(scope, receive, send)
                    return
            end = await stack.enter_async_context(self._turn((address, is_direct), most))
            if read:
                read()

            async def sending(message: Event) -> None:
                if not is_direct:
                    end()
                await send(message)

            await self.app(scope, receive, sending)

    @asynccontextmanager
    async def _turn(
        self, key: tuple[str, bool | None], most: int
    ) -> AsyncIterator[Callable[[], None]]:
        """Take a turn until the block ends, or until it calls the function that it gets."""
        turns = self._turns.setdefault(key, _Turns(most))
        turns.requests += 1
        has_turn = False

        def end() -> None:
            nonlocal has_turn
            if has_turn:
                turns.free.release()
            has_turn = False

        try:
            has_turn = await turns.free.acquire()
            yield end
        finally:
            end()
            turns.requests -= 1
            if not turns.requests:
                del self._turns[key]

    def _path_of(self, scope: Scope) -> str:
        path = scope["path"]
        return path.removeprefix(self.root) or "/" if self.root else path

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        """`send` that sets the headers of an answer."""
        request, path = Headers(scope=scope), self._path_of(scope)

        async def sending(message: Event) -> None:
            if message["type"] == "http.response.start":
                self._set_headers(MutableHeaders(scope=message), message["status"], path, request)
            for number, piece in enumerate(_pieces(message)):
                if number:  # let the loop notice a client that has left: asyncio warns of it
                    await asyncio.sleep(0)
                await send(piece)

        return sending

    def _set_headers(
        self, headers: MutableHeaders, status: int, path: str, request: Headers
    ) -> None:
        for name in list(headers):
            if name.startswith("access-control-") or (status == 206 and name not in OF_PART):
                del headers[name]
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "same-origin"
        if path.startswith(("/gradio_api/", "/config")):
            headers.setdefault("Cache-Control", "private, no-store")
        elif path == "/":  # with addresses that headers of the request can choose
            headers.setdefault("Cache-Control", "private, no-cache")
        policy = FILE_POLICY if path.startswith(FILES) else PAGE_POLICY
        extra = OF_SPACE if self.origins.on_space else dict.fromkeys(OF_SPACE, "")
        headers["Content-Security-Policy"] = policy.format(frames=self.origins.frames(), **extra)
        if LOGIN.fullmatch(path) and not self.origins.has_guests():
            _keep_at_home(headers)
        origin = request.get("origin")
        if origin in self.origins.allowed:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Allow-Credentials"] = "true"
            headers.add_vary_header("Origin")
            if wanted := request.get("access-control-request-headers"):
                headers["Access-Control-Allow-Headers"] = wanted
                headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, DELETE"
                headers["Access-Control-Max-Age"] = "600"


def _own_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a request, whose only cookies are those of a login: to unquote one of 30 kB
    takes Python before 3.11.10 three seconds.
    """

    def own(cookies: bytes) -> bytes:
        return b"; ".join(filter(COOKIE.fullmatch, map(bytes.strip, cookies.split(b";"))))

    return [(name, own(value) if name == b"cookie" else value) for name, value in headers]


def _body_of(scope: Scope) -> float:
    """The length of the body that a request announces; inf if it says none; 0 without a body, and
    for one that the door refuses unread.
    """
    headers = Headers(scope=scope)
    if "transfer-encoding" in headers:
        return math.inf
    length = headers.get("content-length", "0")
    size = int(length) if length.isdecimal() else 0
    return size if size <= most_bytes(scope["path"]) else 0


@contextmanager
def _counted(counts: Counter[str], address: str) -> Iterator[None]:
    counts[address] += 1
    try:
        yield
    finally:
        counts[address] -= 1
        if not counts[address]:
            del counts[address]


def _pieces(message: Event) -> Iterator[Event]:
    """A message, with a long body in pieces: uvicorn waits for a client between messages, but keeps
    all of one in memory, for each client that reads slowly.
    """
    body, size = message.get("body", b""), limits.ANSWER_PIECE_BYTES
    for at in range(0, max(1, len(body)), size):
        if len(body) <= size:
            yield message
        else:
            more = message.get("more_body", False) or at + size < len(body)
            yield {**message, "body": body[at : at + size], "more_body": more}


def _in_time(send: Send) -> Send:
    """`send` that drops what a client does not take in time: uvicorn closes the connection then.

    A file that is being sent keeps its bytes on the disk after it was deleted, as long as the
    client reads, or does not.
    """
    until: float | None = None  # in the time of the event loop
    is_late = False

    async def sending(message: Event) -> None:
        nonlocal until, is_late
        if until is None:
            until = asyncio.get_running_loop().time() + limits.ANSWER_SECONDS
        try:
            async with asyncio.timeout_at(until):
                if not is_late:
                    await send(message)
        except TimeoutError:
            is_late = True

    return sending


def _keep_at_home(headers: MutableHeaders) -> None:
    """Let browsers send the cookies of a login only with requests of the app's own pages."""
    cookies = headers.getlist("set-cookie")
    del headers["set-cookie"]
    for cookie in cookies:
        headers.append("set-cookie", cookie.replace("SameSite=none", "SameSite=lax"))
