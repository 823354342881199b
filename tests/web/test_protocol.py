"""The protocol of a running app: what it refuses to parse, so that nobody waits for a stranger."""

import socket
import threading
from types import SimpleNamespace

import h11
import pytest
import uvicorn

from tests.running import free_port
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
    monkeypatch.setattr(uvicorn.config, "HTTP_PROTOCOLS", {**uvicorn.config.HTTP_PROTOCOLS})
    protocol.bound()

    async def app(scope, receive, send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"answer"})

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
        good, chunks, many = (
            answered(port, HEAD + more)
            for more in (
                b"Connection: close\r\n\r\n",
                b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 20_000,
                b"a:\r\n" * 10_000 + b"\r\n",
            )
        )
    finally:
        server.should_exit = True
        running.join()
    assert good.startswith(b"HTTP/1.1 200")
    assert b"answer" in good
    assert chunks.startswith(b"HTTP/1.1 400")
    assert many.startswith(b"HTTP/1.1 400")


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
