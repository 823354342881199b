"""Aliases: short names for folders of the host in requests and answers.

Gradio names a file by its path on the disk, which would show visitors where the app is installed
and who runs it. The path of a file in the cache becomes "/vitviz/cache/..." on the way out, and the
path again on the way in.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .routes import FILES, UPLOAD

TEXTS = ("application/json", "text/event-stream")


class Aliases:
    """The aliases of some folders. `folders`: folders by their short names."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        paths = {f"/vitviz/{word}": str(folder) for word, folder in folders.items()}
        self._paths = paths
        # Some writers of JSON escape slashes, too, such as PHP's.
        self._inward = {
            written: _in_json(path)
            for alias, path in paths.items()
            for written in (_in_json(alias), _in_json(alias).replace(b"/", b"\\/"))
        }
        # Letters outside ASCII are plain or escaped in JSON, and percent-encoded in an address.
        self._outward = {
            written: alias.encode()
            for alias, path in paths.items()
            for written in (_in_json(path), _in_json(path, by_number=True), quote(path).encode())
        }

    def outward(self, text: bytes) -> bytes:
        """A text of an answer, with aliases in place of paths of the host."""
        return _replaced(text, self._outward)

    def inward(self, text: bytes) -> bytes:
        """JSON of a request, with paths in place of aliases."""
        return _replaced(text, self._inward)

    def path(self, file: str) -> str:
        """The path of a requested file."""
        for alias, path in self._paths.items():
            if file.startswith((f"{alias}/", f"{alias}\\")):
                return path + file.removeprefix(alias)
        return file


class Aliased:
    """The innermost middleware, which applies the aliases to requests and answers."""

    def __init__(self, app: ASGIApp, aliases: Aliases) -> None:
        self.app, self.aliases = app, aliases

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith(FILES):
            scope = {**scope, "path": FILES + self.aliases.path(path.removeprefix(FILES))}
        elif not UPLOAD.fullmatch(path):
            receive = self._read(receive)
        # A file is sent in pieces; the document, which names files, in one.
        texts = TEXTS if path.startswith(FILES) else (*TEXTS, "text/html")
        await self.app(scope, receive, self._sent(send, texts))

    def _read(self, receive: Receive) -> Receive:
        """`receive` without aliases, for a body in a single message (`door.py`)."""

        async def reading() -> Message:
            message = await receive()
            if body := message.get("body"):
                message = {**message, "body": self.aliases.inward(body)}
            return message

        return reading

    def _sent(self, send: Send, texts: tuple[str, ...]) -> Send:
        """`send` with aliases, for answers that can name a file. A name is never split: events and
        JSON arrive in a single message.
        """
        start: list[Message] = []
        is_text = False

        async def sending(message: Message) -> None:
            nonlocal is_text
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_text = headers.get("content-type", "").startswith(texts)
                if is_text and "content-length" in headers:
                    start.append(message)  # its length is not known yet
                    return
            elif is_text:
                body = self.aliases.outward(message.get("body", b""))
                message = {**message, "body": body}
                if start:
                    MutableHeaders(scope=start[0])["content-length"] = str(len(body))
                    await send(start.pop())
            await send(message)

        return sending


def _in_json(path: str, *, by_number: bool = False) -> bytes:
    return json.dumps(path, ensure_ascii=by_number)[1:-1].encode()


def _replaced(text: bytes, names: Mapping[bytes, bytes]) -> bytes:
    for name, other in names.items():
        text = text.replace(name, other)
    return text
