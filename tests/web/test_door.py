"""The door: what is refused before Gradio reads it, and the end of uploads that break off."""

import asyncio
import errno
import json
import re
from unittest.mock import patch

import pytest
from starlette.exceptions import HTTPException

from vitviz.web.host import limits
from vitviz.web.host.passwords import WrongPasswords
from vitviz.web.page import door
from vitviz.web.page.door import Door, Gate, _ending
from vitviz.web.store.cache import Cache

QUESTION, UPLOAD = "/gradio_api/component_server", "/gradio_api/upload"


class App:
    """A stand-in for Gradio, which reads the whole body and answers its length."""

    async def __call__(self, scope, receive, send):
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(body)).encode()})


@pytest.fixture
def gate(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    return Gate(Cache(tmp_path))


def ask(gate, path, chunks, app=None, method="POST", cut=False, headers=()):
    """Send a request through the door. Returns (status, answer, number of chunks read)."""
    sent, waiting = [], list(chunks)

    async def receive():
        if not waiting and cut:
            return {"type": "http.disconnect"}
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting) or cut}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
    asyncio.run(Door(app or App(), gate)(scope, receive, send))
    status = sent[0]["status"] if sent else None
    text = b"".join(m.get("body", b"") for m in sent).decode()
    return status, text, len(chunks) - len(waiting)


@pytest.mark.parametrize("kind", [b"multipart/form-data; boundary=x", b"Multipart/mixed"])
def test_a_form_is_for_uploads_and_logins_alone(gate, kind):
    """Gradio left a file in the temporary folder for ever when a form broke off."""
    headers = [(b"content-type", kind)]
    assert ask(gate, QUESTION, [b"abc"], headers=headers)[0] == 400
    assert ask(gate, "/login", [b"abc"], headers=headers)[0] == 200
    assert ask(gate, UPLOAD, [b"abc"], headers=headers)[0] == 200


def test_what_is_short_passes_as_it_came(gate):
    assert ask(gate, QUESTION, [b"abc", b"", b"defg"]) == (200, "7", 3)
    assert ask(gate, "/", [], method="GET") == (200, "0", 0)


def test_a_long_body_is_refused_before_it_is_read(gate):
    length = [(b"content-length", b"9000000")]
    status, text, read = ask(gate, QUESTION, [b"[" * 9_000_000], headers=length)
    assert (status, read) == (413, 0)
    assert text == "This request is larger than what is taken here."


def test_a_body_that_does_not_tell_its_length_is_read_up_to_the_bound(gate):
    most = limits.BODY_BYTES
    assert ask(gate, QUESTION, [b" " * most])[:2] == (200, str(most))
    status, _, read = ask(gate, QUESTION, [b" " * 1000] * 1000)
    assert (status, read) == (413, most // 1000 + 1)


@pytest.mark.parametrize("length", [b"-1", b"many", b"1e9"])
def test_a_length_that_is_no_number_is_refused(gate, length):
    assert ask(gate, QUESTION, [b""], headers=[(b"content-length", length)])[0] == 413


def test_an_upload_may_have_the_size_of_a_picture_but_no_more(gate, monkeypatch):
    monkeypatch.setattr(limits, "UPLOAD_BYTES", 100_000)
    assert ask(gate, UPLOAD, [b"x" * 50_000] * 2)[:2] == (200, "100000")
    status, text, read = ask(gate, UPLOAD, [b"x" * 50_000] * 9)
    assert (status, text, read) == (413, "This request is larger than what is taken here.", 4)
    assert ask(gate, UPLOAD, [b""], headers=[(b"content-length", b"300000")])[0] == 413
    assert ask(gate, "/not" + UPLOAD + "/either", [b"x" * 50_000] * 2)[0] == 413


@pytest.mark.parametrize(
    ("path", "limit"), [(UPLOAD, "UPLOAD_SECONDS"), (QUESTION, "BODY_SECONDS")]
)
def test_a_body_that_never_ends_is_ended(gate, monkeypatch, path, limit):
    monkeypatch.setattr(limits, limit, 0)
    sent = []

    async def trickle():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(Door(App(), gate)(scope, trickle, send))
    assert sent[0]["status"] == 408


def test_uploads_at_a_time_are_bounded_in_all_and_for_each_address(gate, monkeypatch):
    monkeypatch.setattr(limits, "UPLOADS", 3)
    monkeypatch.setattr(limits, "FIRST_UPLOADS", 4)
    monkeypatch.setattr(limits, "UPLOADS_OF_ADDRESS", 2)
    statuses = {}

    async def upload(address, others):
        """An upload during which others arrive."""

        async def app(scope, receive, send):
            if others:
                await upload(*others)
            await reply_with(send)

        async def send(message):
            if message["type"] == "http.response.start":
                statuses[address, len(others)] = message["status"]

        scope = {"type": "http", "method": "POST", "path": UPLOAD, "headers": []}
        message = {"type": "http.request", "body": b"x", "more_body": False}
        await Door(app, gate)(scope | {"client": (address, 1)}, reply(message), send)

    def nested(*addresses):
        return (addresses[0], nested(*addresses[1:]) if addresses[1:] else ())

    cases = {"aaa": 503, "aab": 200, "aabb": 503, "aabc": 200, "abcd": 200, "abcde": 503}
    for addresses, last in cases.items():
        statuses.clear()
        asyncio.run(upload(*nested(*addresses)))
        assert next(iter(statuses.values())) == last, addresses  # the innermost answers first
        assert not gate.uploads


def test_long_questions_for_tools_are_read_one_after_the_other_with_pauses(gate, monkeypatch):
    """95 pictures from 16 addresses, read at once, let /healthz wait for four seconds. Short
    questions wait for none, and addresses take turns: a tool's answer came after 47 s.
    """
    now, events = [0.0], []

    def read(body):
        events.append(body[:2].decode())
        now[0] += 3
        return True

    async def pause(seconds):
        events.append(seconds)
        await settled(0)
        events.append("next")

    settled = asyncio.sleep
    monkeypatch.setattr(door, "_is_json", read)
    monkeypatch.setattr("vitviz.web.page.door.time.monotonic", lambda: now[0])
    monkeypatch.setattr("vitviz.web.page.door.asyncio.sleep", pause)

    async def app(scope, receive, send):
        await reply_with(send)

    async def send(message):
        """Take an answer that nobody looks at."""

    async def all_at_once():
        one = Door(app, gate)
        scope = {"type": "http", "method": "POST", "path": "/gradio_api/mcp/", "headers": []}
        questions = []
        for name in ("a1", "a2", "a3", "b1"):
            length = limits.BODY_BYTES + (name != "a3")
            body = name.encode().ljust(length)
            message = {"type": "http.request", "body": body, "more_body": False}
            questions.append(one(scope | {"client": (name[0], 1)}, reply(message), send))
        await asyncio.gather(*questions)

    asyncio.run(all_at_once())
    pause_of = [3 * limits.TOOL_PAUSES, "next"]
    assert events.pop(2) == "a3"  # while others wait for the first pause
    assert events == ["a1", *pause_of, "b1", *pause_of, "a2", *pause_of]


def test_documents_are_made_one_after_the_other_and_addresses_take_turns(gate):
    """90 documents of one address, four at a time, let another's analysis wait for 10 s."""
    inside, most, order = 0, 0, []

    async def app(scope, receive, send):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        order.append((scope["client"][0], scope["path"]))
        inside -= 1
        await reply_with(send)

    door = Door(app, gate)

    async def get(address, path):
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        await door(scope | {"client": (address, 1)}, reply({"type": "http.request"}), ignore)

    async def ignore(_message):
        pass

    paths = ("/", "/config", "/gradio_api/mcp/schema", "/gradio_api/info")

    async def all_at_once():
        many = [get("10.0.0.1", path) for path in paths]
        await asyncio.gather(*many, get("10.0.0.2", "/"), get("10.0.0.1", "/static/a.svg"))

    asyncio.run(all_at_once())
    made = [one for one in order if "static" not in one[1]]
    assert most == 2  # a document, and the file beside it
    assert made[1] == ("10.0.0.2", "/")
    assert order.index(("10.0.0.1", "/static/a.svg")) < 2  # it waits for none


async def reply_with(send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_each_wrong_password_lets_the_next_one_of_its_address_wait_longer(gate, monkeypatch):
    now, slept = [0.0], []
    monkeypatch.setattr("vitviz.web.host.passwords.time.monotonic", lambda: now[0])

    async def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("vitviz.web.page.door.asyncio.sleep", sleep)

    def log_in(address, status):
        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/login", "headers": []}
        message = {"type": "http.request", "body": b"x", "more_body": False}
        asyncio.run(Door(app, gate)(scope | {"client": (address, 1)}, reply(message), send))
        return sent[0]["status"]

    for _ in range(9):
        assert log_in("10.0.0.1", 400) == 400
    assert slept == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    slept.clear()
    assert log_in("10.0.0.2", 400) == 400  # another address does not wait
    assert log_in("2001:db8::1", 400) == log_in("2001:db8::2", 400) == 400  # one network
    assert slept == [0, 0, 1]
    slept.clear()
    assert (log_in("10.0.0.1", 200), log_in("10.0.0.1", 400)) == (200, 400)
    assert slept == [59, 0]  # a right one ends the row


def test_passwords_that_come_at_once_wait_for_one_another_and_the_last_are_refused(monkeypatch):
    monkeypatch.setattr("vitviz.web.host.passwords.time.monotonic", lambda: 0.0)
    passwords = WrongPasswords()
    waits = [passwords.wait("a") for _ in range(10)]
    assert waits == [0, 1, 3, 7, 15, 31, 63, 63, 63, 63]  # the row ends at 60
    assert passwords.wait("b") == 0
    passwords.forget("a")
    assert passwords.wait("a") == 0


def test_a_row_of_wrong_passwords_has_no_end_that_is_an_error():
    """After 1,024 of them no right one was let in any more: the wait is no float then."""
    passwords, now = WrongPasswords(), 0.0
    with patch("vitviz.web.host.passwords.time.monotonic", lambda: now):
        for _ in range(1100):
            assert passwords.wait("a") <= limits.LOGIN_SECONDS
            now += limits.LOGIN_SECONDS
        passwords.forget("a")
        assert passwords.wait("a") == 0


def test_a_tool_whose_connection_is_kept_open_still_has_its_place():
    """The comment that a stream gets after 15 seconds gave it back."""
    ended, sent = [], []

    async def send(message):
        sent.append(message)

    async def stream():
        sending = _ending(send, lambda: ended.append(len(sent)))
        await sending({"type": "http.response.start", "status": 200, "headers": []})
        for body in (b"", b": ping - 2026\r\n\r\n", b"event: message\r\n"):
            await sending({"type": "http.response.body", "body": body, "more_body": True})

    asyncio.run(stream())
    assert ended == [3]  # before the event


def test_where_the_disk_is_full_no_upload_is_taken(gate, monkeypatch):
    monkeypatch.setattr(limits, "DISK_RESERVE_BYTES", 10**18)
    status, text, read = ask(gate, UPLOAD, [b"x"], headers=[(b"accept-language", b"ko-KR")])
    assert (status, read) == (507, 1)
    assert re.search("[가-힣]", text)
    assert ask(gate, QUESTION, [b"x"])[0] == 200


def test_a_disk_that_fills_up_while_an_upload_arrives_is_told_and_no_status_500(gate):
    async def full(scope, receive, send):
        await receive()
        raise OSError(errno.ENOSPC, "No space left on device")

    status, text, _ = ask(gate, UPLOAD, [b"x"], full)
    assert (status, text[:27]) == (507, "This server has no room for")


def reply(message):
    """What is awaited with any arguments, and gives this."""

    async def replies(*_):
        return message

    return replies


@pytest.mark.parametrize("path", ["/gradio_api/stream", "/"])  # /?page=x has no page
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_only_asked_for_and_fails_is_refused_too(gate, method, path, caplog):
    async def broken(scope, receive, send):
        raise KeyError

    status, text, _ = ask(gate, path, [], broken, method)
    assert (status, text) == (400, "The request has a value that cannot be used here.")
    assert len(caplog.records) == 1


def test_what_gradio_cannot_read_is_refused_with_a_sentence_and_a_line_in_the_log(gate, caplog):
    async def broken(scope, receive, send):
        raise KeyError("x" * 9000)

    status, text, _ = ask(gate, QUESTION, [b"{}"], broken, headers=[(b"accept-language", b"ko")])
    assert (status, bool(re.search("[가-힣]", text))) == (400, True)
    (line,) = caplog.records
    assert line.exc_info in (None, False)
    assert len(line.getMessage()) < 300


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_without_an_answer_is_refused(gate, method):
    """The server of tools ends without one for a GET with a Last-Event-ID: status 500."""

    async def silent(scope, receive, send):
        pass

    path = "/gradio_api/mcp/"
    refused = (400, "The request has a value that cannot be used here.")
    assert ask(gate, path, [b"{}"], silent, method)[:2] == refused


def test_an_answer_that_has_begun_fails_as_it_did(gate):
    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(gate, QUESTION, [b"{}"], broken)


def test_a_stream_about_a_session_that_is_not_there_says_so_and_ends(gate):
    """Gradio says it in the stream, and then raises it: two tracebacks in the log each time."""

    async def told(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"404: Not Found", "more_body": True})
        raise RuntimeError("response already started") from HTTPException(404)

    for path in ("/gradio_api/queue/data", "/gradio_api/call/explain/x"):
        assert ask(gate, path, [], told, "GET")[:2] == (200, "404: Not Found")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[" * 50_000,
        b"9" * 5000,
        b"[" + b"[]," * 650_000 + b"[]]",
        b"[" + b"1," * 40_000 + b"1]",
    ],
)
def test_a_call_of_a_tool_that_is_no_json_is_refused_before_its_server_reads_it(gate, body):
    for path in ("/gradio_api/mcp/", "/gradio_api/mcp/http/"):
        assert ask(gate, path, [body])[:2] == (
            400,
            "The request has a value that cannot be used here.",
        )
        assert ask(gate, path, [b'{"id": 1}'])[0] == 200


@pytest.mark.parametrize("path", [QUESTION, "/gradio_api/queue/join", "/gradio_api/mcp/"])
def test_many_values_or_lists_are_refused_before_gradio_walks_over_them(gate, path):
    """95 requests of 74 lists, each nested 400 deep, let /healthz wait for 5.5 s."""
    nested = b"[" + (b"[" * 400 + b"]" * 400 + b",") * 74 + b"0]"
    assert ask(gate, path, [nested])[0] == 400
    assert ask(gate, path, [b"[" + b"1," * 30_000 + b"1]"])[0] == 400
    patches = {"kind": "remove", "patches": [*range(1369)]}
    assert ask(gate, path, [json.dumps({"interventions": [patches] * 7}).encode()])[0] == 200
    few = {"kind": "remove", "patches": [1]}
    assert ask(gate, path, [json.dumps({"interventions": [few] * 64}).encode()])[0] == 200


def test_while_the_app_ends_nothing_new_begins_but_files_can_be_fetched(gate):
    gate.closing = True
    for path in (QUESTION, UPLOAD):
        # The whole body is let in and dropped: a connection that breaks would hide the sentence.
        status, text, read = ask(gate, path, [b"x", b"y", b"z"])
        assert (status, text[:29], read) == (503, "This server is being restarte", 3)
    assert ask(gate, "/gradio_api/file=x", [], method="GET")[0] == 200


def test_a_body_that_does_not_end_is_refused_all_the_same(gate, monkeypatch):
    gate.closing = True
    monkeypatch.setattr(limits, "PASS_OVER_SECONDS", 0.01)
    sent = []

    async def receive():
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": UPLOAD, "headers": []}
    asyncio.run(Door(App(), gate)(scope, receive, send))
    assert sent[0]["status"] == 503


def test_who_is_inside_is_counted_but_not_who_only_has_a_page_open(gate):
    seen = {}

    async def app(scope, receive, send):
        seen[scope["path"]] = gate.inside

    for path in ("/gradio_api/queue/data", "/gradio_api/heartbeat/x"):
        ask(gate, path, [], app, method="GET")
    assert seen == {"/gradio_api/queue/data": 1, "/gradio_api/heartbeat/x": 0}
    assert gate.inside == 0

    async def broken(scope, receive, send):
        raise ZeroDivisionError

    assert ask(gate, "/", [], broken, method="GET")[0] == 400
    assert gate.inside == 0
    assert not gate.quiet(1000)
    assert gate.quiet(-1)


def test_questions_of_the_viewer_are_far_below_the_bound():
    question = {"id": "0" * 32, "token": 1369, "layer": 23, "head_fusion": "mean", "x": "y" * 500}
    assert len(json.dumps(question)) < limits.BODY_BYTES / 50
