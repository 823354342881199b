"""The protocol of a running app: what it refuses to parse, so that nobody waits for a stranger."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import h11
import pytest
import uvicorn

from tests.running import free_port, until
from vitviz.web.host import limits, protocol
from vitviz.web.host.protocol import Connection

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"


def events(*pieces: bytes) -> list[object]:
    """The events of a connection that receives these pieces."""
    connection, found = Connection(h11.SERVER, limits.HEAD_BYTES), []
    for piece in pieces:
        connection.receive_data(piece)
        while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            found.append(event)
    return found


def test_an_ordinary_request_is_read_whole_and_in_pieces() -> None:
    request = HEAD + b"Content-Length: 3\r\n\r\nabc"
    for pieces in ([request], [request[:9], request[9:30], request[30:]]):
        first, *_, last = events(*pieces)
        assert first.target == b"/"
        assert isinstance(last, h11.EndOfMessage)
    lines = b"".join(b"a%d: b\r\n" % at for at in range(limits.HEAD_LINES - 3))
    assert isinstance(events(HEAD + lines + b"\r\n")[0], h11.Request)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (HEAD + b"a:\r\n" * limits.HEAD_LINES + b"\r\n", 431),
        (HEAD + b"a:\n" * limits.HEAD_LINES + b"\n", 431),
        (HEAD + b"a: " + b"b" * limits.HEAD_BYTES + b"\r\n\r\n", 431),
        (HEAD + b"a: " + b"b" * limits.HEAD_BYTES, 431),  # and goes on
        (b"GET /?" + b"a&" * limits.HEAD_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
        (b"GET /?" + b"a" * limits.FIRST_LINE_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"\r\nGET /?" + b"a&" * limits.PARAMETERS + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /?" + b"a" * limits.FIRST_LINE_BYTES, 414),  # and goes on
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 9, 411),
        (HEAD + b"transfer-encoding: Chunked\r\nContent-Length: 3\r\n\r\nabc", 411),
    ],
)
def test_what_takes_long_to_parse_is_refused(request_: bytes, status: int) -> None:
    with pytest.raises(h11.RemoteProtocolError) as refused:
        events(request_)
    assert refused.value.error_status_hint == status


def test_the_second_request_of_a_connection_is_checked_too() -> None:
    connection = Connection(h11.SERVER, limits.HEAD_BYTES)
    connection.receive_data(HEAD + b"\r\n")
    assert isinstance(connection.next_event(), h11.Request)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.start_next_cycle()
    connection.receive_data(HEAD + b"a:\r\n" * limits.HEAD_LINES + b"\r\n")
    with pytest.raises(h11.RemoteProtocolError):
        connection.next_event()


def test_uvicorn_takes_it_where_it_chooses_a_protocol_itself(monkeypatch) -> None:
    """As Gradio lets it: it hands no protocol over."""
    with served(monkeypatch, answer) as port:
        good, chunks, many = (
            answered(port, HEAD + more)
            for more in (
                b"Connection: close\r\n\r\n",
                b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 20_000,
                b"a:\r\n" * 10_000 + b"\r\n",
            )
        )
    assert good.startswith(b"HTTP/1.1 200")
    assert b"answer" in good
    assert chunks.startswith(b"HTTP/1.1 400")
    assert many.startswith(b"HTTP/1.1 400")


async def answer(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"answer"})


@contextmanager
def served(monkeypatch, app) -> Iterator[int]:
    """The port of a server in which uvicorn chooses the protocol."""
    monkeypatch.setattr(uvicorn.config, "HTTP_PROTOCOLS", {**uvicorn.config.HTTP_PROTOCOLS})
    protocol.bound()
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", lifespan="off"))
    server.config.load()
    assert server.config.http_protocol_class is protocol.Protocol
    running = threading.Thread(target=server.run)
    running.start()
    try:
        while not server.started:
            assert running.is_alive()
            running.join(0.01)
        yield port
    finally:
        server.should_exit = True
        running.join()


SLOW = HEAD + b"Content-Length: 9\r\n\r\n"


@pytest.mark.parametrize("begun", [b"", HEAD, HEAD + b"\r\n" + HEAD, SLOW])
def test_a_connection_without_a_whole_head_ends(monkeypatch, begun: bytes) -> None:
    """Also after an answer, and while a body arrives that its answer did not wait for."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    with (
        served(monkeypatch, answer) as port,
        socket.create_connection(("127.0.0.1", port), timeout=0.1) as connection,
    ):
        connection.sendall(begun)
        began, is_open = time.monotonic(), True
        while is_open and time.monotonic() - began < 30:
            try:
                connection.sendall(b"a" if begun else b"")
                is_open = connection.recv(2**16) != b""
            except TimeoutError:
                pass
            except ConnectionError:
                is_open = False
        assert not is_open
        assert time.monotonic() - began > 0.4


def test_a_request_that_is_being_answered_has_its_time(monkeypatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.1)

    async def late(scope, receive, send) -> None:
        await asyncio.sleep(1)
        await answer(scope, receive, send)

    with served(monkeypatch, late) as port:
        assert b"answer" in answered(port, HEAD + b"Connection: close\r\n\r\n")


@pytest.mark.parametrize(("descriptors", "of_address"), [(100, 2), (8, 4000)])
def test_an_address_has_few_connections_and_a_proxy_many(
    monkeypatch, descriptors, of_address
) -> None:
    """With 1,024 descriptors, 1,200 connections without a request left none for others."""
    monkeypatch.setattr(protocol, "most_descriptors", lambda: descriptors)
    monkeypatch.setattr(limits, "CONNECTIONS_OF_ADDRESS", of_address)
    whole = HEAD + b"\r\n"

    def is_answered(connection: socket.socket) -> bool:
        try:
            connection.sendall(whole)
            return connection.recv(2**16).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False

    with served(monkeypatch, answer) as port, ExitStack() as opened:

        def connect(address: str) -> socket.socket:
            here = ("127.0.0.1", port)
            connection = socket.create_connection(here, 60, (address, 0))
            return opened.enter_context(connection)

        open_ = [connect("127.0.0.2") for _ in range(3)]
        assert [is_answered(one) for one in open_] == [True, True, False]
        assert is_answered(connect("127.0.0.3"))
        room = descriptors == 100
        assert [is_answered(connect(protocol.PROXY)) for _ in range(4)] == [True] * 3 + [room]
        open_[0].close()
        until(lambda: is_answered(connect("127.0.0.2")))


def test_there_are_no_websockets(monkeypatch) -> None:
    """Such a connection would be another protocol's, without these bounds."""
    monkeypatch.setitem(uvicorn.config.WS_PROTOCOLS, "auto", f"{__name__}:NoProtocol")
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with served(monkeypatch, answer) as port:
        assert b"answer" in answered(port, HEAD + upgrade + key)


class NoProtocol:
    def __init__(self, **_options: object) -> None:
        raise ConnectionError("a websocket is wanted")


def answered(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        parts = []
        try:
            while part := connection.recv(2**16):
                parts.append(part)
        except ConnectionResetError:  # it was closed with some of the request unread
            pass
        return b"".join(parts)


def test_a_running_app_has_it(monkeypatch) -> None:
    """`vitviz serve` sets it before Gradio starts a server."""
    from vitviz.errors import VitvizError
    from vitviz.web import command

    order: list[str] = []
    monkeypatch.setattr(protocol, "bound", lambda: order.append("bound"))
    monkeypatch.setattr(command, "check_listens", lambda *_: None)

    def build(settings) -> SimpleNamespace:
        order.append("build")
        raise VitvizError("enough")

    monkeypatch.setattr(command, "build_app", build)
    with pytest.raises(VitvizError, match="enough"):
        command.serve_page([])
    assert order == ["bound", "build"]
