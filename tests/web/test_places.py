"""Places for questions: who has few that are being answered goes before who has many."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from vitviz.web.host import limits
from vitviz.web.page.door import Door, Gate
from vitviz.web.page.places import Places
from vitviz.web.store.cache import Cache

Send = Callable[[dict], Awaitable[None]]
QUESTION, SHORT = "/gradio_api/component_server", "/gradio_api/queue/join"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(limits, "QUESTIONS", 2)
    monkeypatch.setattr(limits, "FIRST_QUESTIONS", 3)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class Visits:
    """Callers of places by name, whose first letter is their address, until they are sent away."""

    def __init__(self) -> None:
        self.places, self.inside = Places(2, 3), list[str]()
        self.ends: dict[str, Callable[[], None]] = {}
        self._leave: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str) -> None:
        for name in names:
            self._leave[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._visit(name))
            await settle()

    async def _visit(self, name: str) -> None:
        async with self.places.take(name[0]) as self.ends[name]:
            self.inside.append(name)
            await self._leave[name].wait()
            self.inside.remove(name)

    async def go(self, name: str) -> None:
        self._leave[name].set()
        await settle()

    async def give_up(self, name: str) -> None:
        self._tasks[name].cancel()
        await settle()


def test_the_only_question_of_an_address_does_not_wait_for_many_of_another():
    async def work() -> None:
        visits = Visits()
        await visits.come("a1", "a2", "a3", "a4", "b1", "b2", "c1")
        assert visits.inside == ["a1", "a2", "b1"]  # c waits, too: there are three in all
        await visits.go("a1")
        assert visits.inside == ["a2", "b1", "c1"]
        await visits.go("a2")
        assert visits.inside == ["b1", "c1", "a3"]  # b2 came before, but b has one
        await visits.go("c1")
        assert visits.inside == ["b1", "a3"]  # the third place is for the first of an address
        await visits.go("b1")
        assert visits.inside == ["a3", "b2"]

    asyncio.run(work())


def test_a_place_that_ended_early_is_not_given_twice():
    async def work() -> None:
        visits = Visits()
        await visits.come("a1", "a2", "a3", "a4")
        visits.ends["a1"]()
        await settle()
        assert visits.inside == ["a1", "a2", "a3"]
        await visits.go("a1")
        assert visits.inside == ["a2", "a3"]

    asyncio.run(work())


def test_who_gives_up_leaves_no_place_taken():
    async def work() -> None:
        visits = Visits()
        await visits.come("a1", "a2", "a3")
        await visits.give_up("a3")
        await visits.give_up("a1")
        visits._leave["a2"].set()
        visits._tasks["a2"].cancel()
        await visits.come("b1", "b2", "c1", "d1")
        assert visits.inside[-3:] == ["b1", "b2", "c1"]

    asyncio.run(work())


def test_a_place_that_comes_as_its_caller_leaves_goes_to_the_next():
    async def work() -> None:
        visits = Visits()
        await visits.come("a1", "a2", "a3", "a4")
        visits._leave["a1"].set()
        await asyncio.sleep(0)  # a1 leaves, and its place is a3's
        await visits.give_up("a3")
        assert visits.inside == ["a2", "a4"]

    asyncio.run(work())


Sending = Callable[[dict], Awaitable[None]]


async def asked(
    door: Door, path: str, send: Sending, body: asyncio.Event | None = None, said: bytes = b""
) -> None:
    """Ask with the body `said`, which arrives with the event."""

    async def receive() -> dict:
        if body:
            await body.wait()
        return {"type": "http.request", "body": said, "more_body": False}

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    await door(scope, receive, send)


def test_a_question_has_a_place_from_its_last_byte_to_the_first_of_its_answer(tmp_path):
    """Else a client that sends or reads slowly would keep others waiting."""
    computed, taken, body, come = (asyncio.Event() for _ in range(4))
    came: list[str] = []

    async def app(scope: dict, _receive: object, send: Sending) -> None:
        came.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})  # of a stream
        await computed.wait()
        await send({"type": "http.response.body", "body": b"x"})

    async def slow(message: dict) -> None:
        if message["type"] == "http.response.body":
            come.set()
            await taken.wait()

    async def work() -> None:
        door = Door(app, Gate(Cache(tmp_path)))
        tasks = [asyncio.create_task(asked(door, QUESTION, slow, body)) for _ in range(3)]
        await settle()
        tasks += [asyncio.create_task(asked(door, QUESTION, slow)) for _ in range(4)]
        await settle()
        assert len(came) == 2  # those whose bodies have not arrived take no place
        tasks += [asyncio.create_task(asked(door, SHORT, slow)) for _ in range(4)]
        await settle()
        assert came[2:] == [SHORT] * 4  # nothing is computed for them
        computed.set()
        await settle()
        assert come.is_set()
        assert len(came) == 8  # the first four wait for their clients, and the others come
        taken.set()
        body.set()
        await asyncio.gather(*tasks)

    asyncio.run(work())


def reached(folder, *asks: tuple[str, bytes]) -> list[str]:
    """The paths of the questions, each with its body, that reach the app while it answers none."""
    came: list[str] = []

    async def app(scope: dict, _receive: object, _send: Sending) -> None:
        came.append(scope["path"])
        await asyncio.Event().wait()

    async def work() -> None:
        door = Door(app, Gate(Cache(folder)))
        tasks = [asyncio.create_task(asked(door, path, settle, said=said)) for path, said in asks]
        await settle()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(work())
    return came


def test_questions_of_a_page_do_not_wait_for_those_of_programs(tmp_path):
    survey, tool = "/gradio_api/run/survey", "/gradio_api/mcp/"
    asks = [(path, b"") for path in (*[survey] * 4, tool, *[QUESTION] * 3)]
    assert reached(tmp_path, *asks) == [*[survey] * 2, *[QUESTION] * 2]


def test_a_vote_waits_for_no_long_question(tmp_path):
    vote, other = (b'{"fn_name": "%b", "data": {}}' % name for name in (b"room", b"rooms"))
    asks = [(QUESTION, body) for body in (b"", b"", b"", vote, other)]
    assert len(reached(tmp_path, *asks)) == 3  # two that compute, and the vote


def test_a_body_in_small_pieces_is_not_copied_for_each(tmp_path):
    copied: list[int] = []

    class Piece(bytes):
        def __radd__(self, before: bytes) -> bytes:
            copied.append(len(before))
            return bytes(before) + bytes(self)

    answers: list[bytes] = []

    async def app(_scope: object, receive: Callable[[], Awaitable[dict]], send: Send) -> None:
        answers.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def work() -> None:
        left = [Piece(b"ab")] * 3000

        async def receive() -> dict:
            return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

        scope = {"type": "http", "method": "POST", "path": QUESTION, "headers": []}

        async def send(_message: dict) -> None:
            pass

        await Door(app, Gate(Cache(tmp_path)))(scope, receive, send)

    asyncio.run(work())
    assert answers == [b"ab" * 3000]
    assert sum(copied) == 0
