"""The door: ASGI middleware that limits HTTP requests, and refuses bad ones with a sentence."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from ...errors import VitvizError
from ...languages import Message
from ...model.json_values import parse
from ..host import limits
from ..host.address import visitor_of
from ..host.error_messages import told_in
from ..host.passwords import WrongPasswords
from ..store.cache import Cache, refusal_of
from .places import Places
from .routes import HEARTBEAT, LOGIN, RULES, TOOL_RULES, TOOLS, UPLOAD, rule_of

Event = MutableMapping[str, Any]  # an ASGI message
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

TOO_LARGE = VitvizError(Message("web.too_large"))
TOO_SLOW = VitvizError(Message("web.too_slow"))
NOT_TAKEN = VitvizError(Message("web.not_taken"))
CLOSING = VitvizError(Message("web.closing"))
MANY_UPLOADS = VitvizError(Message("web.many_uploads"))
MANY_PASSWORDS = VitvizError(Message("web.many_passwords"))

log = logging.getLogger("vitviz.web")


class Gate:
    """State shared by `Door` and `serve`: whether the app is closing, and the running requests."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.closing = False
        self.inside = 0
        self.uploads: Counter[str] = Counter()  # running ones, by address
        self.passwords = WrongPasswords()
        self.last = time.monotonic()  # the last begin or end of a request

    def quiet(self, seconds: float) -> bool:
        """Whether no request runs, and none has run within these seconds."""
        return self.inside == 0 and time.monotonic() - self.last > seconds

    def has_room_for_upload(self, address: str) -> bool:
        """Whether another upload may arrive from an address. The limit is higher for an address
        without a running upload: otherwise two addresses, whose uploads may take minutes, would
        keep all others out.
        """
        own = self.uploads[address]
        most = limits.UPLOADS if own else limits.FIRST_UPLOADS
        return own < limits.UPLOADS_OF_ADDRESS and self.uploads.total() < most


class RefusedError(Exception):
    """Ends a request with a status and a sentence.

    is_read  whether its body was read, or is too large to be read
    """

    def __init__(self, status: int, error: VitvizError, *, is_read: bool = True) -> None:
        super().__init__(str(error))
        self.status, self.error, self.is_read = status, error, is_read


class Door:
    """The middleware. Without it, Gradio reads a body of any length before it checks anything.

    The limit of a body is the size of a picture for uploads, `TOOL_BYTES` for tool calls and
    `BODY_BYTES` for all other requests. Our own functions answer every request with a sentence. For
    a request without a function, or a malformed one, Gradio has status 500 and a traceback in the
    log, which the door replaces by a sentence and a line.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], gate: Gate) -> None:
        self.app, self.gate = app, gate
        # Separate places for our page (True) and for programs, whose surveys can take minutes.
        self._places = {
            of_page: Places(limits.QUESTIONS, limits.FIRST_QUESTIONS) for of_page in (False, True)
        }
        self._documents = Places(limits.DOCUMENTS, limits.DOCUMENTS)
        self._reading = Places(1, 1)  # long questions for tools are read one after the other

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        # Gradio keeps a heartbeat request open as long as the page.
        if scope["type"] != "http" or HEARTBEAT.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return
        self.gate.inside += 1
        self.gate.last = time.monotonic()
        try:
            await self._let_in(scope, receive, send)
        except RefusedError as refusal:
            if not refusal.is_read:
                await _pass_over(receive)
            await refused(scope, refusal.status, refusal.error)(scope, receive, send)
        finally:
            self.gate.inside -= 1
            self.gate.last = time.monotonic()

    async def _let_in(self, scope: Event, receive: Receive, send: Send) -> None:
        rule = rule_of((*RULES, *TOOL_RULES), scope["method"], scope["path"])
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            if rule is None or not rule.is_made:
                await self._answer(scope, receive, send)
                return
            async with self._documents.take(address_of(scope)) as end:
                await self._answer(scope, receive, _ending(send, end))
            return
        if self.gate.closing:
            raise RefusedError(503, CLOSING, is_read=False)
        is_upload, is_tool, is_login = (
            bool(path.fullmatch(scope["path"])) for path in (UPLOAD, TOOLS, LOGIN)
        )
        most = most_bytes(scope["path"])
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            raise RefusedError(413, TOO_LARGE)
        if is_upload:
            await self._upload(scope, _bounded(receive, most), send)
            return
        body = await read_body(receive, most)
        kind = Headers(scope=scope).get("content-type", "").lower()
        if kind.startswith("multipart") and not is_login:
            raise RefusedError(400, NOT_TAKEN)  # Gradio would leave its files on the disk
        most = limits.TOOL_VALUES if is_tool else limits.BODY_VALUES
        if not is_login and _has_many_values(body, most):
            raise RefusedError(400, NOT_TAKEN)
        if is_tool:
            await self._check_json(body, address_of(scope))
        ask = self._log_in if is_login else self._answer
        if rule is None or not rule.is_direct or (rule.is_of_page and _is_vote(body)):
            await ask(scope, replayed(body, receive), send)
            return
        async with self._places[rule.is_of_page].take(address_of(scope)) as end:
            await ask(scope, replayed(body, receive), _ending(send, end))

    async def _check_json(self, body: bytes, address: str) -> None:
        """Refuse a body that is not JSON.

        Parsing blocks the event loop, here and again in the tools. So bodies above `BODY_BYTES` are
        parsed one at a time, with a pause of `TOOL_PAUSES` times the parsing time after each:
        without it, long bodies of many addresses kept others waiting for seconds. Shorter bodies
        do not wait for long ones.
        """
        if len(body) <= limits.BODY_BYTES:
            is_json = _is_json(body)
        else:
            async with self._reading.take(address):
                began = time.monotonic()
                is_json = _is_json(body)
                await asyncio.sleep(limits.TOOL_PAUSES * (time.monotonic() - began))
        if not is_json:
            raise RefusedError(400, NOT_TAKEN)

    async def _upload(self, scope: Event, receive: Receive, send: Send) -> None:
        try:
            await run_in_threadpool(self.gate.cache.check_room)
        except VitvizError as error:
            raise RefusedError(507, error, is_read=False) from error
        address = address_of(scope)
        if not self.gate.has_room_for_upload(address):
            raise RefusedError(503, MANY_UPLOADS, is_read=False)
        self.gate.uploads[address] += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self.gate.uploads -= Counter([address])  # drops addresses with 0

    async def _log_in(self, scope: Event, receive: Receive, send: Send) -> None:
        """Delay a login, longer after each wrong password."""
        passwords, address = self.gate.passwords, address_of(scope)
        seconds = passwords.wait(address)
        if seconds > limits.LOGIN_SECONDS:  # other logins of this address wait already
            raise RefusedError(429, MANY_PASSWORDS)
        await asyncio.sleep(seconds)

        async def sending(message: Event) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                passwords.forget(address)
            await send(message)

        await self._answer(scope, receive, sending)

    async def _answer(self, scope: Event, receive: Receive, send: Send) -> None:
        """Let Gradio answer. Raises `RefusedError` if it fails before it has begun."""
        begun = False

        async def sending(message: Event) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            if begun and isinstance(error.__cause__, HTTPException):
                # The last event of Gradio's stream has already said what was not found.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            if begun or isinstance(error, RefusedError):
                raise
            if isinstance(error, VitvizError):
                raise RefusedError(400, error) from error
            if refusal := refusal_of(error):
                raise RefusedError(507, refusal) from error
            text, debugging = repr(error)[:200], log.isEnabledFor(logging.DEBUG)
            log.warning("%.80r was not taken: %s", scope["path"], text, exc_info=debugging)
            raise RefusedError(400, NOT_TAKEN) from error
        if not begun:  # the server of tools, for a GET with a Last-Event-ID
            raise RefusedError(400, NOT_TAKEN)


def most_bytes(path: str) -> int:
    """The longest body of a request of a path."""
    if UPLOAD.fullmatch(path):
        return limits.BODY_BYTES + limits.UPLOAD_BYTES
    return limits.TOOL_BYTES if TOOLS.fullmatch(path) else limits.BODY_BYTES


def refused(scope: Event, status: int, error: VitvizError) -> PlainTextResponse:
    """A refusal in the language of the request. It closes the connection, since the rest of a body
    that is too large is not read.
    """
    wanted = Headers(scope=scope).get("accept-language", "")
    return PlainTextResponse(told_in(error.message, wanted), status, {"Connection": "close"})


def _has_many_values(body: bytes, most: int) -> bool:
    """Whether a body has more than `most` JSON values, or `JSON_LISTS` lists and objects, counted
    before it is parsed: unlike a large picture, they would take seconds to parse and to check.
    """
    lists = body.count(b"[") + body.count(b"{")
    return lists > limits.JSON_LISTS or lists + body.count(b",") > most


def _is_vote(body: bytes) -> bool:
    """Whether a question of a page is for its class (function "room"), which answers from memory:
    such a question takes no place, so it does not wait behind long questions.
    """
    if b'"room"' not in body:
        return False
    try:
        asked = parse(body.decode())
    except ValueError:
        return False
    return isinstance(asked, dict) and asked.get("fn_name") == "room"


def _is_json(body: bytes) -> bool:
    try:
        parse(body.decode())
    except ValueError:
        return False
    return True


async def _pass_over(receive: Receive) -> None:
    """Read and discard the body, for a few seconds.

    A client that is still sending when the connection closes would see a broken connection in place
    of the refusal.
    """
    try:
        async with asyncio.timeout(limits.PASS_OVER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return


async def read_body(receive: Receive, most: int) -> bytes:
    """Read a body; a body that breaks off is returned as it is. Raises `RefusedError` if it is
    longer than `most` bytes, or takes longer than `BODY_SECONDS`.
    """
    body, more = bytearray(), True  # bytes would be copied for each piece, which can be one byte
    try:
        async with asyncio.timeout(limits.BODY_SECONDS):
            while more:
                message = await receive()
                body.extend(message.get("body", b""))
                if len(body) > most:
                    raise RefusedError(413, TOO_LARGE)
                more = message.get("more_body", False)
    except TimeoutError as error:
        raise RefusedError(408, TOO_SLOW) from error
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Event:
        return first.pop() if first else await receive()  # nothing holds it any longer

    return replay


def _ending(send: Send, end: Callable[[], None]) -> Send:
    """`send` that calls `end` at the first bytes of the body, so that nobody waits for a client
    that reads slowly. The start of a response is too early: the stream of a tool starts before its
    answer is computed.
    """

    async def sending(message: Event) -> None:
        body = message.get("body", b"")
        if body and not body.startswith(b":"):  # a comment, which keeps a stream open
            end()
        await send(message)

    return sending


def _bounded(receive: Receive, most: int) -> Receive:
    """`receive` that raises `RefusedError` for a body that is too long or takes too long."""
    until, left, done = time.monotonic() + limits.UPLOAD_SECONDS, most, False

    async def bounded() -> Event:
        nonlocal left, done
        if done:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0, until - time.monotonic()))
        except TimeoutError as error:
            raise RefusedError(408, TOO_SLOW) from error
        left -= len(message.get("body", b""))
        if left < 0:
            raise RefusedError(413, TOO_LARGE)
        done = not message.get("more_body", False)
        return message

    return bounded


def address_of(scope: Event) -> str:
    """The address of a request's client; a proxy on this machine sets it (X-Forwarded-For)."""
    return visitor_of((scope.get("client") or ("", 0))[0])
