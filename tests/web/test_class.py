"""A class in one room: who may vote, what is kept of it, and what a hostile page gets."""

import json
import math
import random
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import httpx
import pytest
import segno

from tests.node import needs_node, node
from tests.running import ROOT, running_app, save_tiny, until
from vitviz.web.compute.turns import ASKING
from vitviz.web.host import address, limits
from vitviz.web.host.address import address_here
from vitviz.web.service.classroom import LESSONS, Classroom, qr_rows

ODD = 1_000  # requests of the hostile client


def voter(number: int) -> str:
    return f"{number:016x}"


HTML = "<img src=x onerror=window.broken=1>"
VALUES = (True, None, -1, 0.5, math.nan, math.inf, 10**4000, 1e300, HTML, "x" * 5000, "\ud800", [])
VALUES += ({}, [1] * 99, [[[]]], {"a": HTML}, "abc", "tally", "vote", "empty", "close", voter(5))


def vote(room, number: int, guess, question: str = "abc", at: int | None = None):
    """`at`: of a guess that a page sends by itself. The reply without its moment."""
    sent = {"do": "vote", "voter": voter(number), "question": question, "guess": guess}
    return without_moments(room.ask(sent | ({} if at is None else {"at": at})))


def without_moments(reply):
    return {name: value for name, value in reply.items() if name not in ("at", "since")}


def teach(room, do: str, question: str = "abc", **others):
    return room.ask({"do": do, "question": question, "teacher": room.secret, **others})


def entries(room) -> int:
    return sum(map(len, room._guesses.values()))


def test_a_class_votes_and_a_new_guess_of_a_voter_replaces_the_old_one():
    room = Classroom()
    for number, guess in enumerate((0, 2, 0.25, [3, 4])):
        assert vote(room, number, guess) == {"counted": True}
    vote(room, 0, 1)
    vote(room, 0, 7, "other")
    assert teach(room, "tally") == {"open": True, "guesses": [1, 2, 0.25, [3, 4]], "since": 0}
    assert teach(room, "tally", "other")["guesses"] == [7]
    assert teach(room, "tally", "third")["guesses"] == []


def test_pupils_wait_for_the_answer_while_the_teacher_shows_an_open_vote():
    now = [100.0]
    room = Classroom(clock=lambda: now[0])

    def waits(question: str = "abc") -> bool:
        return room.ask({"do": "wait", "voter": voter(1), "question": question})["waits"]

    assert vote(room, 1, 5) == {"counted": True}  # nobody polls
    assert not waits()
    teach(room, "tally")
    assert vote(room, 2, 5) == {"counted": True, "waits": True}
    assert waits()
    assert not waits("other")
    now[0] += limits.VOTE_SHOWN_SECONDS - 0.1
    assert waits()
    teach(room, "close")  # with the answer
    assert not waits()
    teach(room, "open")
    assert waits()
    now[0] += limits.VOTE_SHOWN_SECONDS  # the dialog was closed, or the teacher's device is asleep
    assert not waits()
    teach(room, "tally")
    teach(room, "new")
    assert waits()  # it is still shown
    now[0] += limits.VOTE_SHOWN_SECONDS
    assert not waits()
    for wrong in VALUES:
        if not (isinstance(wrong, str) and re.fullmatch("[0-9a-z]{1,8}", wrong)):
            assert "error" in room.ask({"do": "wait", "voter": voter(1), "question": wrong})
    for wrong in (None, "", 5, "x" * 16, [voter(1)]):
        assert "error" in room.ask({"do": "wait", "voter": wrong, "question": "abc"})


class Pupil:
    """A page of a class, as viewer/teaching/room.js asks: `loads` is a reload or a second tab."""

    def __init__(self, number: int) -> None:
        self.number, self.guess, self.seen, self.waits = number, None, False, False
        self.at, self.anew = 0, False  # when the guess was counted; it is from before the vote

    def guesses(self, room, guess: int) -> None:
        """After the answer was seen a guess stays on the device."""
        if self.seen:
            return
        self.guess = guess
        self._sends(room)

    def _sends(self, room, **by) -> None:
        sent = {"do": "vote", "voter": voter(self.number), "question": "abc", "guess": self.guess}
        reply = room.ask(sent | by)
        self.waits, self.anew = reply.get("waits", False), reply.get("anew", False)
        if reply.get("counted"):
            self.at = reply["at"]

    def presses(self, room) -> None:
        """*Send this guess again*."""
        if self.anew and not self.seen:
            self._sends(room)

    def asks(self, room) -> None:
        """Also what a page does first that has been loaded anew."""
        if self.guess is None or self.seen:
            return
        sent = {"do": "wait", "voter": voter(self.number), "question": "abc"}
        reply = room.ask(sent | {"at": self.at})
        self.waits, self.anew = reply["waits"], reply["anew"]
        if reply["waits"] and not reply["counted"] and not reply["anew"]:
            self._sends(room, at=self.at)

    def looks(self) -> None:
        """Press *Show the answer*."""
        self.seen = self.seen or (self.guess is not None and not self.waits)


@pytest.mark.parametrize("seed", range(20))
def test_thirty_pupils_are_counted_exactly_through_reloads_tabs_and_a_restart(seed):
    """The app restarts in the middle with the same word: what it forgot, pages send again."""
    draw = random.Random(seed)
    now = [0.0]
    room = Classroom("word", clock=lambda: now[0])
    pupils = [Pupil(number) for number in range(30)]
    late = set(draw.sample(range(30), 5))  # begin when the answer is told
    teach(room, "tally")
    for at in range(300):
        if at == 150:
            room = Classroom("word", clock=lambda: now[0])
            teach(room, "tally")
        one = draw.choice([one for one in pupils if one.number not in late])
        draw.choice(
            [
                lambda one=one, room=room: one.guesses(room, draw.randrange(9)),
                lambda one=one, room=room: one.asks(room),
                one.looks,
            ]
        )()
        now[0] += 0.1
        teach(room, "tally")  # each second, and a guess with each
    assert not any(one.seen for one in pupils)  # nobody sees the answer while the vote is open
    for one in pupils:  # each page asks every 1.5 s while it waits
        one.asks(room)
    expected = sorted(one.guess for one in pupils if one.guess is not None)
    assert 20 <= len(expected) <= 25
    assert sorted(teach(room, "close")["guesses"]) == expected
    for one in pupils:
        one.asks(room)
        one.looks()
        one.guesses(room, 8)  # again, or late: the vote is closed
    assert sorted(teach(room, "open")["guesses"]) == expected
    assert sum(one.seen for one in pupils) == len(expected)
    for one in pupils:
        if one.seen:
            one.guesses(room, 8)
    assert sorted(teach(room, "tally")["guesses"]) == expected


@pytest.mark.parametrize("do", ["new", "empty"])
@pytest.mark.parametrize("again", [False, True], ids=["", "restart"])
def test_no_guess_from_before_is_counted_by_itself_and_each_once_by_a_press(do, again):
    """`again`: the app restarts while pupils are offline; the teacher's page says what it knows."""
    now = [0.0]
    room = Classroom("word", clock=lambda: now[0], calendar=lambda: now[0])
    teach(room, "tally")
    pupils = [Pupil(number) for number in range(5)]
    lost = room.ask({"do": "called"})["at"]  # a guess on its way, which never arrived
    for one in pupils[:4]:
        one.guesses(room, one.number)
    since = teach(room, do)["since"]
    if again:
        now[0] += 1
        room = Classroom("word", clock=lambda: now[0], calendar=lambda: now[0])
        teach(room, "tally", since=since)
    for _ in range(3):
        for one in pupils:
            one.asks(room)
        assert vote(room, 9, 3, at=lost) == {"counted": False, "anew": True}
        assert teach(room, "tally", since=since)["guesses"] == []
    assert [one.anew for one in pupils] == [True] * 4 + [False]
    assert all(one.waits for one in pupils[:4])
    second = Pupil(0)  # another tab of the first pupil
    second.guess, second.at = pupils[0].guess, pupils[0].at
    second.asks(room)
    pupils[0].presses(room)
    second.presses(room)
    pupils[1].guesses(room, 7)  # another guess, made by hand
    pupils[4].guesses(room, 8)  # a late pupil
    assert sorted(teach(room, "tally")["guesses"]) == [0, 7, 8]
    for one in (pupils[0], second, pupils[1]):
        one.asks(room)
        assert (one.anew, one.waits) == (False, True)
    # A restart brings back these three, and still nobody from before.
    now[0] += 1
    room = Classroom("word", clock=lambda: now[0], calendar=lambda: now[0])
    teach(room, "tally", since=since)
    for one in (*pupils, second):
        one.asks(room)
        one.asks(room)
    assert sorted(teach(room, "tally")["guesses"]) == [0, 7, 8]
    # Another class: nobody at all.
    assert room.ask({"do": "called"})["began"] == 0
    began = teach(room, "new")["since"]
    assert room.ask({"do": "called"})["began"] == began
    teach(room, "empty")
    assert room.ask({"do": "called"})["began"] == began
    for one in (*pupils, second):
        one.asks(room)
    assert teach(room, "tally")["guesses"] == []


GAP = 1000 * limits.CLASS_GAP_SECONDS


@pytest.mark.parametrize(
    ("heard", "counts"),
    [
        ([0, 0], False),  # a device that was never the teacher's
        ([0, 10 * GAP - 20], True),  # the page of before, which has not noticed the restart
        ([10 * GAP - 20, 10 * GAP + 30], True),  # and when it has
        ([0, 8 * GAP], False),  # of an earlier lesson: it does not know of the new class
        ([8 * GAP, 10 * GAP + 30], False),
        ([0, 10 * GAP + 30], False),  # it heard only the app that has forgotten
    ],
)
def test_after_a_restart_old_guesses_come_back_if_the_teachers_page_was_there(heard, counts):
    now = [9.5 * limits.CLASS_GAP_SECONDS]
    clocks = {"clock": lambda: now[0], "calendar": lambda: now[0]}
    room = Classroom("word", **clocks)
    old, pupil, late = Pupil(1), Pupil(2), Pupil(3)
    teach(room, "tally", heard=[0, 0])
    old.guesses(room, 1)
    since = teach(room, "new")["since"]
    pupil.guesses(room, 2)
    now[0] = 10 * limits.CLASS_GAP_SECONDS
    room = Classroom("word", **clocks)
    known = {"heard": heard, "since": since if counts else 0}
    now[0] += 1
    reply = teach(room, "tally", **known)
    for one in (old, pupil, old, pupil):
        one.asks(room)
    assert (old.anew, pupil.anew) == (True, not counts)
    late.guesses(room, 3)
    assert teach(room, "tally", **known)["guesses"] == ([2, 3] if counts else [3])
    pupil.presses(room)
    assert sorted(teach(room, "tally", **known)["guesses"]) == [2, 3]
    # A page that knows comes later: what is counted stays, and no more comes.
    teach(room, "tally", heard=[10 * GAP - 20, 10 * GAP + 30], since=reply["since"])
    old.asks(room)
    assert sorted(teach(room, "tally", **known)["guesses"]) == [2, 3]


def test_a_teacher_alone_says_since_when_guesses_count():
    room = Classroom("word")
    at = room.ask({"do": "called"})["at"]
    for wrong in (-1, 0.5, True, "1", [], 2**60):
        assert "error" in teach(room, "tally", since=wrong)
        assert "error" in teach(room, "tally", heard=[wrong])
        assert wrong == [] or "error" in teach(room, "tally", heard=wrong)
        assert "error" in vote(room, 1, 5, at=wrong)
        assert "error" in room.ask({"do": "called", "teacher": "word", "since": wrong})
    assert "error" in room.ask({"do": "called", "teacher": "wrong", "since": at})
    assert room.ask({"do": "called"})["since"] == 0
    later = at + 10**9  # of an app whose clock was ahead
    assert room.ask({"do": "called", "teacher": "word", "since": later})["since"] == later
    assert vote(room, 1, 5, at=at) == {"counted": False, "anew": True}
    sent = {"do": "vote", "voter": voter(1), "question": "abc", "guess": 5}
    assert room.ask(sent)["at"] > later


def test_a_full_class_that_was_emptied_takes_no_old_guess_of_another_question():
    room = Classroom()
    at = room.ask({"do": "called"})["at"]
    for number in range(limits.VOTERS):
        vote(room, number, 1)
    teach(room, "empty", "another")
    assert vote(room, 1, 1, at=at) == {"counted": False, "anew": True}
    assert vote(room, 1, 1) == {"counted": True}


def test_a_vote_is_closed_opened_and_emptied_by_the_teacher_alone():
    room = Classroom()
    vote(room, 1, 5)
    assert without_moments(teach(room, "close")) == {"open": False, "guesses": [5]}
    told = vote(room, 2, 5)
    assert told["error"] == ("The vote on this question is closed: your guess was not counted.")
    assert re.search("[가-힣]", told["errors"]["ko"])
    assert vote(room, 2, 5, "other") == {"counted": True}  # that one is open
    assert without_moments(teach(room, "open")) == {"open": True, "guesses": [5]}
    assert vote(room, 3, 6)["counted"]
    assert without_moments(teach(room, "empty")) == {"open": True, "guesses": []}
    assert teach(room, "tally", "other")["guesses"] == [5]
    assert list(room._guesses) == [voter(2)]  # who has no guess is forgotten
    for wrong in ("", room.secret[:-1], room.secret + "x", None, 5, [room.secret], "\ud800", "é"):
        for do in ("tally", "close", "open", "empty", "address", "new"):
            sent = {"do": do, "question": "other", "query": "", "teacher": wrong}
            assert room.ask(sent)["error"].startswith("Only the teacher's page may do this")
    assert without_moments(teach(room, "tally", "other")) == {"open": True, "guesses": [5]}


def test_another_class_begins_without_guesses_and_with_open_votes():
    room = Classroom()
    vote(room, 1, 5)
    vote(room, 2, 6, "other")
    teach(room, "close", "other")
    begun = room.ask({"do": "new", "teacher": room.secret})
    assert without_moments(begun) == {"open": True, "guesses": []}
    assert (room._guesses, len(room._closed)) == ({}, 0)
    assert vote(room, 2, 6, "other")["counted"]


def call(room, lesson, step, number: object = "0a1b2c3d", **others):
    sent = {"do": "call", "lesson": lesson, "step": step, "call": number, "teacher": room.secret}
    return room.ask({**sent, **others})


def where_is(room):
    return room.ask({"do": "called"})["call"]


def test_the_teacher_calls_a_class_to_a_step_until_another_class_begins():
    room = Classroom()
    assert where_is(room) is None
    called = {"lesson": "matter", "step": 3, "call": "0a1b2c3d"}
    assert call(room, "matter", 3)["call"] == called
    assert where_is(room) == called  # also for who comes late
    vote(room, 1, 5)
    teach(room, "empty")
    assert where_is(room) == called
    # A page knows by the run that an app was started again, and says it once more.
    again = Classroom(room.secret)
    assert room.ask({"do": "called"})["run"] == room.ask({"do": "called"})["run"]
    assert again.ask({"do": "called"})["run"] != room.ask({"do": "called"})["run"]
    assert where_is(again) is None
    call(room, "cut", 0, "ffffffff")
    assert where_is(room) == {"lesson": "cut", "step": 0, "call": "ffffffff"}
    room.ask({"do": "new", "teacher": room.secret})
    assert where_is(room) is None


def test_no_pupil_calls_and_nothing_but_a_step_of_a_lesson_is_called_to():
    room = Classroom()
    call(room, "ask", 2)
    before = where_is(room)
    for wrong in (*VALUES, "", room.secret[:-1]):
        refused = call(room, "ask", 3, teacher=wrong)
        assert refused["error"].startswith("Only the teacher's page may do this")
        assert "error" in call(room, "ask", 3, wrong)
        assert "error" in call(room, wrong, 3)
        assert "error" in call(room, "ask", wrong)
    for lesson, step in (("ask", 9), ("ask", -1), ("ask", 2.0), ("ask", 10**400), ("own", 1)):
        assert "error" in call(room, lesson, step)
    assert "error" in room.ask({"do": "call", "teacher": room.secret, "call": "0a1b2c3d"})
    assert where_is(room) == before


@needs_node
def test_a_class_can_be_called_to_every_step_of_the_lessons():
    index = json.dumps((ROOT / "vitviz/viewer/lessons/index.js").as_uri())
    counts = "LESSONS.map(({ id, steps }) => [id, steps.length])"
    script = f"const {{ LESSONS }} = await import({index}); console.log(JSON.stringify({counts}))"
    assert dict(json.loads(node("--input-type=module", "-e", script))) == LESSONS


def test_a_class_is_full_and_there_is_room_when_it_was_emptied():
    room = Classroom()
    replies = [vote(room, number, 1) for number in range(300)]
    assert [reply.get("counted", False) for reply in replies] == [True] * 200 + [False] * 100
    assert replies[-1]["error"] == (
        "The class is full: 200 pages have sent guesses; yours was not counted."
    )
    assert vote(room, 7, 2) == {"counted": True}  # who is in it can think again
    assert len(teach(room, "tally")["guesses"]) == 200
    teach(room, "empty", "another")  # whatever question it was filled with
    assert vote(room, 299, 1)["counted"]


@contextmanager
def asked_from(address: str):
    token = ASKING.set(address)
    yield
    ASKING.reset(token)


def test_nobody_shuts_others_out_of_a_class_with_made_up_voters():
    room = Classroom()
    with asked_from("stranger"):
        assert all(vote(room, 1000 + number, 9)["counted"] for number in range(200))
        assert "error" in vote(room, 2000, 9)
    for number in range(30):  # each pupil has a device of their own
        with asked_from(f"pupil {number}"):
            assert vote(room, number, number) == {"counted": True}
            assert room.ask({"do": "wait", "voter": voter(number), "question": "abc"})["counted"]
        with asked_from("stranger"):
            assert "error" in vote(room, 3000 + number, 9)  # it does not come back in
            assert vote(room, 1000, 9) == {"counted": True}  # its first ones stay
    assert sorted(teach(room, "tally")["guesses"]) == sorted([*range(30), *[9] * 170])
    teach(room, "empty")
    for number in range(300):  # all behind one address: they are as many as a class has room for
        with asked_from("school"):
            assert ("counted" in vote(room, number, 1)) == (number < 200)
    for number in (500, 501):
        with asked_from("elsewhere"):
            assert vote(room, number, 1)["counted"]
    assert len(teach(room, "tally")["guesses"]) == len(room._addresses) == 200
    teach(room, "new")
    with asked_from("school"):
        assert vote(room, 1, 1)["counted"]
    assert room._addresses == {voter(1): "school"}


def test_in_a_full_class_of_one_device_each_nobody_gives_way():
    room = Classroom()
    for number in range(201):
        with asked_from(f"pupil {number}"):
            assert ("counted" in vote(room, number, 1)) == (number < 200)
    with asked_from("pupil 0"):
        assert "error" in vote(room, 900, 1)


def test_of_one_voter_the_oldest_questions_are_forgotten():
    room = Classroom()
    for number in range(100):
        vote(room, 1, number, f"q{number}")
        teach(room, "close", f"q{number}")
    assert entries(room) == len(room._closed) == limits.VOTER_GUESSES == 60
    assert teach(room, "tally", "q39")["guesses"] == []
    assert teach(room, "tally", "q40")["guesses"] == [40]


@pytest.mark.parametrize(
    "guess",
    [
        *(True, None, "B", HTML, "", {}, [], [[1]], [1.5], [True], ["1"], [None]),
        *(math.nan, math.inf, -math.inf, 10**10, -(10**400), 1e300, [1] * 60, [10**9] * 10),
    ],
    ids=lambda guess: repr(guess)[:20],
)
def test_a_guess_is_a_choice_a_number_or_patches(guess):
    room = Classroom()
    assert vote(room, 1, guess)["error"].startswith("A class takes a choice, a number or patches")
    assert entries(room) == 0


def test_the_address_is_one_that_pupils_reach(monkeypatch):
    found = address_here()
    assert found is None or not found.startswith(("127.", "0."))
    assert address_here("192.168.7.9") == "192.168.7.9"
    assert address_here("school.local") == "school.local"
    assert [address_here(one) for one in ("127.0.0.1", "localhost", "::1")] == [None] * 3
    monkeypatch.setattr(address, "_own", lambda: iter(["127.0.1.1", "0.0.0.0", "10.1.2.3"]))
    assert address_here() == address_here("::") == "10.1.2.3"
    room = Classroom()
    told = room.opened("0.0.0.0", 7860)
    assert told.splitlines()[1::2] == [
        "  http://10.1.2.3:7860/",
        f"  http://10.1.2.3:7860/?teacher={room.secret}",
    ]
    assert room.opened("[fd00::7]", 80).splitlines()[1] == "  http://[fd00::7]:80/"
    monkeypatch.setattr(address, "_own", lambda: iter(["127.0.0.1"]))
    told = room.opened("0.0.0.0", 7860)
    assert "no address of this machine was found" in told
    assert f"http://127.0.0.1:7860/?teacher={room.secret}" in told  # for the teacher, on it
    assert "No address" in teach(room, "address", query="")["error"]


def test_without_a_way_out_the_name_of_the_machine_tells_its_address(monkeypatch):
    class Alone(socket.socket):
        def connect(self, _address):
            raise OSError("network is unreachable")

    names = [(socket.AF_INET, None, 0, "", (one, 0)) for one in ("127.0.1.1", "192.168.4.1")]
    monkeypatch.setattr(socket, "socket", Alone)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: names)
    assert address_here() == "192.168.4.1"


def test_the_qr_code_leads_to_the_step_and_is_that_of_segno():
    room = Classroom()
    room.opened("192.168.7.9", 7860)
    query = "model=photos&example=red-panda&lesson=ask&step=2"
    way = teach(room, "address", query=query)
    assert way["address"] == "http://192.168.7.9:7860/"
    ours = segno.make_qr(f"http://192.168.7.9:7860/?{query}", error="m")
    assert way["rows"] == ["".join(map(str, row)) for row in ours.matrix]
    assert set("".join(way["rows"])) == {"0", "1"}
    finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    assert [row[:7] for row in way["rows"][:7]] == finder
    assert teach(room, "address", query="")["rows"] == qr_rows("http://192.168.7.9:7860/")
    for odd in (HTML, "a" * 201, "a b", "한", None, 5):
        assert teach(room, "address", query=odd)["error"]


def test_threads_at_once_lose_no_vote():
    room = Classroom()
    start = threading.Barrier(8)

    def many(seed: int) -> None:
        start.wait()
        for number in range(200):
            vote(room, number, seed, f"q{seed % 2}")
            teach(room, "tally", f"q{number % 2}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))
    assert [len(teach(room, "tally", one)["guesses"]) for one in ("q0", "q1")] == [200, 200]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of an app with a class and a login, and what it printed at the start."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "visitors").write_text("ada:lovelace\n")
    environ = {"VITVIZ_CLASS": "true", "VITVIZ_LOGIN": str(folder / "visitors")}
    with running_app(folder, save_tiny(folder, "cls"), environ=environ) as url:
        until(lambda: "teacher=" in (folder / "app.log").read_text())
        yield url, folder / "app.log"


def client_of(url: str, login: bool = True, **options) -> httpx.Client:
    client = httpx.Client(base_url=url, timeout=60, **options)
    if login:
        client.post("/login", data={"username": "ada", "password": "lovelace"})
    return client


class Served:
    """The room of a running app, as its pages ask it."""

    def __init__(self, url: str, log, login: bool = True) -> None:
        self.secret = re.search(r"teacher=(\S+)", log.read_text())[1]
        with closing(client_of(url)) as client:
            components = client.get("/config").json()["components"]
        self.viewer = next(c["id"] for c in components if c["props"].get("elem_id") == "vv-viewer")
        self.client = client_of(url, login)

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_) -> None:
        self.client.close()

    def send(self, data) -> httpx.Response:
        sent = {"data": data, "component_id": self.viewer, "fn_name": "room", "session_hash": "x"}
        body = json.dumps(sent).encode("utf-8", "surrogatepass")
        headers = {"Content-Type": "application/json"}
        return self.client.post("/gradio_api/component_server/", content=body, headers=headers)

    def ask(self, data):
        return self.send(data).json()


def test_the_app_prints_addresses_that_pupils_can_open(served):
    url, log = served
    printed = log.read_text()
    assert "0.0.0.0" not in printed
    if address_here():
        assert f"  http://{address_here()}:{url.rsplit(':')[-1]}/\n" in printed
        assert "127.0.0.1" not in printed
    assert len(re.findall("teacher=", printed)) == 1


def test_who_has_no_password_of_the_app_has_no_vote(served):
    with Served(*served, login=False) as room:
        answer = room.send({"do": "tally", "question": "abc", "teacher": room.secret})
    assert answer.status_code == 401


def odd_request(chance: random.Random, at: int):
    """What no page of ours sends: values without sense, or one of 300 voters who guess at will."""
    names = ("do", "voter", "question", "guess", "teacher", "query")
    match at % 5:
        case 0:
            right = {"do": "vote", "voter": voter(at % 300), "question": f"q{at % 90}"}
            return {**right, "guess": at if at % 2 else chance.choice(VALUES)}
        case 1:
            do = chance.choice(("empty", "close", "open", "tally", "address"))
            return {"do": do, "question": "abc", "query": "", "teacher": chance.choice(VALUES)}
        case 2:
            return chance.choice(VALUES)
    return {name: chance.choice(VALUES) for name in names if chance.random() < 0.9}


def test_a_running_app_knows_the_addresses_of_a_class(served):
    with Served(*served) as stranger, Served(*served) as pupil:
        elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
        pupil.client.close()
        pupil.client = client_of(served[0], transport=elsewhere)
        teach(stranger, "new")
        for number in range(1000, 1000 + limits.VOTERS):
            assert stranger.ask(
                {"do": "vote", "voter": voter(number), "question": "abc", "guess": 1}
            )["counted"]
        assert "error" in vote(stranger, 2000, 1)
        assert vote(pupil, 1, 2) == {"counted": True}
        teach(stranger, "new")


def is_counted(said) -> bool:
    """Whether a vote was counted. Whatever else was sent is refused in a sentence."""
    counted = isinstance(said, dict) and said.get("counted") is True
    assert counted or re.fullmatch(r"[A-Z].*\.", said["error"]), said
    return counted


def test_whatever_a_room_is_asked_it_counts_or_refuses():
    room, chance = Classroom(), random.Random(4)
    said = [room.ask(odd_request(chance, at)) for at in range(10 * ODD)]
    assert sum(map(is_counted, said)) > ODD // 2
    assert 0 < entries(room) <= limits.VOTERS * limits.VOTER_GUESSES


def test_a_hostile_client_changes_nothing_and_fills_nothing(served):
    def odd(seed: int) -> list:
        chance, seen = random.Random(seed), []
        with Served(*served) as mine:
            for at in range(ODD // 4):
                sent = odd_request(chance, at)
                seen.append((sent, mine.send(sent)))
        return seen

    with Served(*served) as room, ThreadPoolExecutor(4) as pool:
        assert vote(room, 1, 3) == {"counted": True}
        seen = [pair for part in pool.map(odd, range(4)) for pair in part]
        assert len(seen) == ODD
        for sent, answer in seen:
            assert answer.status_code == 200, (sent, answer.text)
            assert answer.headers["content-type"] == "application/json"
            assert "<" not in answer.text
        assert sum(is_counted(answer.json()) for _, answer in seen) > ODD // 20
        assert without_moments(teach(room, "tally")) == {"open": True, "guesses": [3]}
        tallies = [teach(room, "tally", f"q{number}")["guesses"] for number in range(90)]
        assert 0 < max(map(len, tallies)) <= limits.VOTERS
        assert sum(map(len, tallies)) <= limits.VOTERS * limits.VOTER_GUESSES
        assert all(type(one) in (int, float) for tally in tallies for one in tally)
        assert "Traceback" not in served[1].read_text()
        assert vote(room, 1, 4)["counted"]  # and the class goes on
        assert without_moments(teach(room, "empty")) == {"open": True, "guesses": []}
        # Python reads no number of so many digits: it is refused before it comes here.
        huge = room.client.post("/gradio_api/component_server/", content=b"1" * 5000)
        assert huge.status_code in (400, 422)
        assert room.send("x" * limits.BODY_BYTES).status_code == 413
