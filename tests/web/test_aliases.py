"""Aliases: no path of the host is sent, and what is asked by an alias finds its file."""

import asyncio
import json
from pathlib import Path

import pytest

from vitviz.web.page.aliases import Aliased, Aliases

FOLDERS = [Path("/srv/a b/vitviz-x"), Path("/srv/이름/é"), Path("C:\\Users\\Ada\\vitviz-x")]


def through(folder: Path, body: bytes, path="/gradio_api/queue/join", media="application/json"):
    """Path and body that reach an app that echoes, and the body that its visitor gets."""
    heard, sent = [], []

    async def app(scope, receive, send):
        message = await receive()
        heard.append((scope["path"], message["body"]))
        headers = [(b"content-type", media.encode())]
        if media == "application/json":
            headers.append((b"content-length", str(len(message["body"])).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": message["body"]})

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(Aliased(app, Aliases({"cache": folder}))(scope, receive, send))
    start, answer = sent
    length = dict(start["headers"]).get(b"content-length")
    assert length is None or int(length) == len(answer["body"])
    return heard[0], answer["body"]


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
@pytest.mark.parametrize("by_number", [True, False])
@pytest.mark.parametrize("media", ["application/json", "text/event-stream", "text/html"])
def test_a_path_is_an_alias_outside_and_a_path_again_inside(folder, by_number, media):
    path = f"{folder}/0f/a.png"
    aliases = Aliases({"cache": folder})
    written = json.dumps({"path": path}, ensure_ascii=by_number).encode()
    outside = aliases.outward(written)
    assert json.loads(outside)["path"] == "/vitviz/cache/0f/a.png"
    (_, inside), answered = through(folder, outside, media=media)
    assert json.loads(inside)["path"] == path
    assert answered == outside
    (_, inside), _ = through(folder, outside.replace(b"/", b"\\/"))  # as PHP writes JSON
    assert json.loads(inside)["path"] == path
    assert aliases.path("/vitviz/cache/0f/a.png") == path


def test_a_file_is_asked_for_by_its_alias_and_nothing_else_is_changed(tmp_path):
    for asked, heard in (
        ("/vitviz/cache/0f/a.png", f"{tmp_path}/0f/a.png"),
        ("/vitviz/cachet/a.png", "/vitviz/cachet/a.png"),
        ("/etc/passwd", "/etc/passwd"),
    ):
        (path, _), _ = through(tmp_path, b"", f"/gradio_api/file={asked}")
        assert path == f"/gradio_api/file={heard}"
    body = f"{tmp_path}/a".encode()
    assert through(tmp_path, body, "/gradio_api/upload", "image/png") == (
        ("/gradio_api/upload", body),
        body,
    )


def test_an_address_in_a_document_is_an_alias_too(tmp_path):
    folder = tmp_path / "a b"
    link = (
        b'<link href="gradio_api/file=' + str(folder).replace(" ", "%20").encode() + b'/0f/a.png">'
    )
    outside = Aliases({"cache": folder}).outward(link)
    assert outside == b'<link href="gradio_api/file=/vitviz/cache/0f/a.png">'
