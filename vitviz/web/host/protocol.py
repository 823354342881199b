"""Protocol: HTTP/1.1 as uvicorn reads it, with bounds on what its event loop parses at once.

uvicorn parses up to 256 kB in one step, by h11, in Python: a body of chunks of one byte keeps all
other visitors waiting for seconds, a head of 16,000 lines for tenths of one. No client of the app
sends chunks: browsers, gradio_client, @gradio/client, MCP clients and nginx say the length of a
body. Refused requests get status 400 from uvicorn, and their connections are closed.
"""

import re
from typing import Any

import h11
from uvicorn import config
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import limits

END_OF_HEAD = re.compile(rb"\n\r?\n")


class Connection(h11.Connection):
    """A connection that reads heads of limited size, and bodies of known length only.

    Raises `h11.RemoteProtocolError` for others.
    """

    def next_event(self) -> Any:
        if self.their_state is h11.IDLE:
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.Request):
            for name, _ in event.headers:
                if name == b"transfer-encoding":
                    raise h11.RemoteProtocolError("the length of a body is needed", 411)
        return event

    def _check_head(self) -> None:
        data, _ = self.trailing_data
        end = END_OF_HEAD.search(data)
        size = end.start() if end else len(data)
        if size > limits.HEAD_BYTES or data.count(b"\n", 0, size) > limits.HEAD_LINES:
            raise h11.RemoteProtocolError("the head of the request is too large", 431)


class Protocol(H11Protocol):
    """uvicorn's protocol on a `Connection`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = Connection(h11.SERVER, limits.HEAD_BYTES)


def bound() -> None:
    """Let uvicorn take `Protocol` where it chooses a protocol itself, as Gradio lets it."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:{Protocol.__name__}"
