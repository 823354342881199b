"""Uploads: puts each picture that arrives into a folder that nobody can guess.

Gradio's own route takes a thousand files and fields at once, keeps fields of any length in memory,
and derives the name of a folder from the content of its file: anybody with the same picture would
know the folder, and could find out under which name somebody else sent it.
"""

import json

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...errors import VitvizError
from ...languages import Message
from ..host import limits
from ..store.cache import Cache

NOT_A_FILE = Message("web.one_file", most=limits.UPLOAD_PARTS)
DONE = f"data: {json.dumps({'msg': 'done'})}\n\n"


class NotUploadedError(VitvizError):
    """Raised for a request that is not a form with a file, or that breaks off."""


def upload_routes(cache: Cache) -> list[Route]:
    """The routes of an upload and of its progress, in place of Gradio's."""

    async def upload(request: Request) -> Response:
        try:
            async with request.form(
                max_files=limits.UPLOAD_PARTS,
                max_fields=limits.UPLOAD_PARTS,
                max_part_size=limits.UPLOAD_FIELD_BYTES,
            ) as form:
                files = [part for part in form.getlist("files") if isinstance(part, UploadFile)]
                if not files:
                    raise NotUploadedError(NOT_A_FILE)
                paths = [
                    await run_in_threadpool(cache.take, file.file, file.filename or "")
                    for file in files
                ]
        except (HTTPException, ClientDisconnect) as error:  # no form, too many parts; it broke off
            raise NotUploadedError(NOT_A_FILE) from error
        return JSONResponse(paths)

    async def progress(_request: Request) -> Response:
        """Answer "done": Gradio's page asks, but the app shows no progress of uploads."""
        return Response(DONE, media_type="text/event-stream")

    return [
        Route("/gradio_api/upload", upload, methods=["POST"]),
        Route("/gradio_api/upload/", upload, methods=["POST"]),
        Route("/gradio_api/upload_progress", progress),
    ]
