"""The door: ASGI middleware that bounds HTTP requests, and refuses what is wrong in a sentence."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import PlainTextResponse

from ...errors import VitvizError
from ...languages import Message
from ...model.json_values import parse
from ..host import limits
from ..host.error_messages import told_in
from ..store.cache import FULL, NO_ROOM, Cache

Event = MutableMapping[str, Any]  # an ASGI message
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

TOO_LARGE = VitvizError(Message("web.too_large"))
NOT_TAKEN = VitvizError(Message("web.not_taken"))
TOOLS = ("/gradio_api/mcp", "/gradio_api/mcp/http")
CLOSING = VitvizError(Message("web.closing"))

log = logging.getLogger("vitviz.web")


class Gate:
    """State shared by `Door` and `serve`: whether the app ends, and how many requests run."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.closing = False
        self.inside = 0
        self.uploads = 0  # of them
        self.last = time.monotonic()  # when a request began or ended

    def quiet(self, seconds: float) -> bool:
        """Whether no request is running or has ended within these seconds."""
        return self.inside == 0 and time.monotonic() - self.last > seconds


class Door:
    """The middleware. Without it, Gradio reads a body of any length before it checks anything.

    The body of an upload is bounded by the size of a picture, that of a call of a tool by
    `TOOL_BYTES`, that of any other request by `BODY_BYTES`. The partial file of an upload that
    breaks off or takes too long is deleted. Functions of ours answer with sentences whatever they
    are asked; for what names no function, or is no request at all, Gradio has status 500 and a
    traceback in the log, which the door replaces by a sentence and a line.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], gate: Gate) -> None:
        self.app, self.gate = app, gate

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        # Gradio keeps a heartbeat request open as long as the page.
        if scope["type"] != "http" or "/heartbeat/" in scope["path"]:
            await self.app(scope, receive, send)
            return
        self.gate.inside += 1
        self.gate.last = time.monotonic()
        try:
            await self._let_in(scope, receive, send)
        finally:
            self.gate.inside -= 1
            self.gate.last = time.monotonic()

    async def _let_in(self, scope: Event, receive: Receive, send: Send) -> None:
        headers = {key.lower(): value for key, value in scope["headers"]}

        async def refuse(status: int, error: VitvizError) -> None:
            wanted = headers.get(b"accept-language", b"").decode("latin-1")
            said = told_in(error.message, wanted)
            # The rest of a body that is too large is not read.
            response = PlainTextResponse(said, status, {"Connection": "close"})
            await response(scope, receive, send)

        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            if "/gradio_api/" in scope["path"]:
                await self._answered(scope, receive, send, refuse)
            else:
                await self.app(scope, receive, send)
            return
        if self.gate.closing:
            await _pass_over(receive)
            await refuse(503, CLOSING)
            return
        path = scope["path"].rstrip("/")
        upload, tool = path.endswith("/gradio_api/upload"), path.endswith(TOOLS)
        most = limits.TOOL_BYTES if tool else limits.BODY_BYTES
        most += limits.UPLOAD_BYTES if upload else 0
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            await refuse(413, TOO_LARGE)
            return
        if upload:
            try:
                await run_in_threadpool(self.gate.cache.check_room)
            except VitvizError as error:
                await _pass_over(receive)
                await refuse(507, error)
                return
            receive = _bounded(receive, most)
        else:
            body = await _read(receive, most)
            if body is None:
                await refuse(413, TOO_LARGE)
                return
            if tool and not _is_json(body):
                await refuse(400, NOT_TAKEN)
                return
            receive = _replayed(body, receive)
        self.gate.uploads += upload
        try:
            answered = await self._answered(scope, receive, send, refuse)
        finally:
            self.gate.uploads -= upload
        if upload and not answered and not self.gate.uploads:
            self.gate.cache.forget_arriving()

    async def _answered(
        self, scope: Event, receive: Receive, send: Send, refuse: Callable[..., Awaitable[None]]
    ) -> bool:
        """Let Gradio answer; whether it did, and raised nothing."""
        begun = False

        async def sending(message: Event) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            if begun and isinstance(error.__cause__, HTTPException):
                # A stream of Gradio's has told in its last event what was not found.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return False
            if begun:
                raise
            if isinstance(error, OSError) and error.errno in FULL:
                await refuse(507, VitvizError(NO_ROOM))
                return False
            told, debugging = repr(error)[:200], log.isEnabledFor(logging.DEBUG)
            log.warning("%.80r was not taken: %s", scope["path"], told, exc_info=debugging)
            await refuse(400, NOT_TAKEN)
            return False
        return True


def _is_json(body: bytes) -> bool:
    try:
        parse(body.decode())
    except ValueError:
        return False
    return True


async def _pass_over(receive: Receive) -> None:
    """Let the body arrive, for a few seconds, and keep nothing of it.

    Who still sends when the connection closes sees it break, and not the sentence of the refusal.
    """
    try:
        async with asyncio.timeout(limits.PASS_OVER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return


async def _read(receive: Receive, most: int) -> bytes | None:
    """Read a body; None if it is longer than `most` bytes. One that breaks off ends there."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    first = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> Event:
        return next(first, None) or await receive()

    return replay


def _bounded(receive: Receive, most: int) -> Receive:
    """Bound `receive` in bytes and time with the error on which Gradio deletes the partial file."""
    until, left, done = time.monotonic() + limits.UPLOAD_SECONDS, most, False

    async def bounded() -> Event:
        nonlocal left, done
        if done:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0, until - time.monotonic()))
        except TimeoutError:
            raise MultiPartException("The upload took too long.") from None
        if message["type"] == "http.disconnect":
            raise MultiPartException("The upload broke off.")
        left -= len(message.get("body", b""))
        if left < 0:
            raise MultiPartException("Larger than the maximum allowed size.")
        done = not message.get("more_body", False)
        return message

    return bounded
