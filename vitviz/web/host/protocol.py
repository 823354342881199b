"""Protocol: HTTP/1.1 as uvicorn reads it, with bounds on what its event loop parses at once.

uvicorn parses up to 256 kB in one step, by h11, in Python: a body of chunks of one byte keeps all
other visitors waiting for seconds, a head of 16,000 lines for tenths of one. No client of the app
sends chunks: browsers, gradio_client, @gradio/client, MCP clients and nginx say the length of a
body. Refused requests get status 400 from uvicorn, and their connections are closed.

The app knows a request when its head is whole. uvicorn keeps a connection without one for ever, and
any number of them: some 50 kB of memory each.
"""

import asyncio
import re
from collections import Counter
from typing import Any, ClassVar

import h11
from uvicorn import config
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import limits
from .address import visitor_of
from .descriptors import most_descriptors

PROXY = "127.0.0.1"  # the proxy whose X-Forwarded-For uvicorn trusts
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
        first = data[: limits.HEAD_BYTES].lstrip().partition(b"\n")[0]
        if len(first) > limits.FIRST_LINE_BYTES or first.count(b"&") >= limits.PARAMETERS:
            raise h11.RemoteProtocolError("the address of the request is too long", 414)


class Protocol(H11Protocol):
    """uvicorn's protocol on a `Connection`, of which an address has a limited number. It ends when
    the head of its next request takes longer than `HEAD_SECONDS`.
    """

    _open: ClassVar[Counter[str]] = Counter()  # connections by address

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = Connection(h11.SERVER, limits.HEAD_BYTES)
        self.ws_protocol_class = None  # the app has no websockets
        self._address = ""
        self._ending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = visitor_of((self.client or ("", 0))[0])
        self._open[self._address] += 1
        if self._is_one_too_many():
            transport.abort()
        self._limit_time()

    def _is_one_too_many(self) -> bool:
        """Whether this connection is beyond those of its address, or takes a descriptor that files
        need: with none left, uploads fail and nobody can connect.
        """
        descriptors = most_descriptors()
        if self._open.total() > limits.CONNECTIONS_SHARE * descriptors:
            return True
        # A proxy on this machine has the connections of all, and bounds them itself.
        most = min(limits.CONNECTIONS_OF_ADDRESS, limits.ADDRESS_SHARE * descriptors)
        return self._address != PROXY and self._open[self._address] > most

    def connection_lost(self, exc: Exception | None) -> None:
        self._open[self._address] -= 1
        if not self._open[self._address]:
            del self._open[self._address]
        if self._ending:
            self._ending.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_time()

    def _limit_time(self) -> None:
        """Limit the time while no request is being answered."""
        if self.cycle and not self.cycle.response_complete:
            if self._ending:
                self._ending.cancel()
            self._ending = None
        elif self._ending is None:
            self._ending = self.loop.call_later(limits.HEAD_SECONDS, self.transport.abort)


def bound() -> None:
    """Let uvicorn take `Protocol` where it chooses a protocol itself, as Gradio lets it."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:{Protocol.__name__}"
