"""Uploads: puts each picture that arrives into a folder that nobody can guess.

Gradio's own route takes a thousand files and fields at once, keeps fields of any length in memory,
and derives the name of a folder from the content of its file: anybody with the same picture would
know the folder, and could find out under which name somebody else sent it.
"""

import json
from collections.abc import AsyncGenerator
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...errors import VitvizError
from ...languages import Message
from ..host import limits
from ..store.cache import Cache
from .door import address_of

NOT_A_FILE = Message("web.one_file", most=limits.UPLOAD_PARTS)
DONE = f"data: {json.dumps({'msg': 'done'})}\n\n"


class NotUploadedError(VitvizError):
    """Raised for a request that is not a form with a file, or that breaks off."""


class _Form(MultiPartParser):
    """Starlette's parser, which refuses a form with more boundaries than it may have parts, or with
    a space after one.

    A boundary inside a file, which goes on where its line should end, takes the parser some
    microseconds: 48 uploads full of them would keep the app busy for minutes. So does each space
    after a boundary, which no client writes. Clients choose a boundary that their files lack.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(
            request.headers,
            self._messages(request),
            max_files=limits.UPLOAD_PARTS,
            max_fields=limits.UPLOAD_PARTS,
            max_part_size=limits.UPLOAD_FIELD_BYTES,
        )

    async def _messages(self, request: Request) -> AsyncGenerator[bytes, None]:
        _, options = parse_options_header(request.headers["content-type"])
        boundary, found, tail = b"\r\n--" + options[b"boundary"], 0, b""
        async for message in request.stream():
            seen = tail + message  # a boundary can begin in one message and end in the next
            found += seen.count(boundary) - tail.count(boundary)
            spaced = boundary + b" " in seen or boundary + b"\t" in seen
            if spaced or found > 2 * limits.UPLOAD_PARTS:  # files and fields
                raise MultiPartException("too many boundaries, or a space after one")
            yield message
            tail = seen[-len(boundary) :]


def upload_routes(cache: Cache) -> list[Route]:
    """The routes of an upload and of its progress, in place of Gradio's.

    Files of an address are stored one after the other, so that they do not use up the threads that
    answer others.
    """
    turns: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()

    async def upload(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0]
        if kind.strip().lower() != "multipart/form-data":
            raise NotUploadedError(NOT_A_FILE)
        try:
            form = await _Form(request).parse()
        except (MultiPartException, ClientDisconnect) as error:  # too many parts; it broke off
            raise NotUploadedError(NOT_A_FILE) from error
        try:
            files = [part for part in form.getlist("files") if isinstance(part, UploadFile)]
            if not files:
                raise NotUploadedError(NOT_A_FILE)
            turn = turns.setdefault(address_of(request.scope), CapacityLimiter(1))
            paths = [
                await run_sync(cache.take, file.file, file.filename or "", limiter=turn)
                for file in files
            ]
        finally:
            await form.close()
        return JSONResponse(paths)

    async def progress(_request: Request) -> Response:
        """Answer "done": Gradio's page asks, but the app shows no progress of uploads."""
        return Response(DONE, media_type="text/event-stream")

    return [
        Route("/gradio_api/upload", upload, methods=["POST"]),
        Route("/gradio_api/upload/", upload, methods=["POST"]),
        Route("/gradio_api/upload_progress", progress),
    ]
