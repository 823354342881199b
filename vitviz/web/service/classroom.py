"""A class in one room: its guesses in a lesson, kept in memory and shown to its teacher."""

import hmac
import json
import math
import re
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ...errors import VitvizError
from ...languages import Message
from ..compute.turns import ASKING
from ..host import limits
from ..host.address import address_here
from ..host.limits import keep
from .questions import refused

NOT_TAKEN = Message("web.not_taken")
NOT_TEACHER = Message("web.class_teacher")
NO_ADDRESS = Message("web.class_no_address")
VOTER = re.compile("[0-9a-f]{16}")  # a random number of the page
QUESTION = re.compile("[0-9a-z]{1,8}")  # a hash of lesson, step, model and picture
CALL = re.compile("[0-9a-f]{8}")  # a random number of the teacher's page
QUERY = re.compile(r"[\w.~%=&-]{0,200}", re.ASCII)  # of a link to a step
LARGEST = 10**9  # of a number that is guessed
LATEST = 2**53  # of a moment; JavaScript holds whole numbers up to here
TOLD = """\
A class can vote in lessons. Its pupils, on the same network, open
  {pupils}
and its teacher, who tells nobody this address,
  {teacher}"""
UNREACHABLE = """\
A class can vote in lessons, but no address of this machine was found that its pupils could open:
connect it to the network of the room, or name its address there with --host, and start again. The
teacher opens, and tells nobody,
  {teacher}"""

# Steps of each lesson that a class can be called to, as viewer/lessons/index.js has them.
LESSONS = {
    "cut": 8,
    "where": 5,
    "shuffle": 6,
    "ask": 8,
    "number": 7,
    "gather": 7,
    "block": 6,
    "thirds": 7,
    "school": 6,
    "when": 6,
    "matter": 8,
    "black": 5,
    "hide": 6,
    "transplant": 6,
    "fooled": 7,
    "unknown": 5,
    "cheats": 7,
    "notes": 7,
    "learn": 7,
    "taken": 4,
    "data": 6,
}

Guess = int | float | list[int]


class Classroom:
    """The guesses of a class, until the app ends; without names or texts, and never on a disk.

    A voter is a number of a browser, or of a self-check that is handed in there, with one guess for
    each question. In a full class the last voter of the address that has the most gives way to one
    of an address with fewer, so that nobody can keep others out with made-up voters. Only those who
    know `secret` can see the guesses, close, reopen or empty a vote, call the class to a step of a
    lesson, and begin with another class. While their page shows an open vote, pupils who have voted
    wait for the answer.

    A guess that a page repeats by itself carries the moment at which it was made. If that was
    before the vote was emptied, or before another class began, the guess is not counted until its
    pupil sends it again. A moment is a whole number of milliseconds, and no two are the same.

    A restart loses these moments. The teacher's page reports them again, with the moment of its
    last contact before the restart. If that contact was more than `limits.CLASS_GAP_SECONDS` before
    the restart, as on another device, guesses from before the restart are not counted either until
    their pupils send them again.
    """

    def __init__(
        self,
        secret: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], float] = time.time,
    ) -> None:
        """`secret`: the teacher's word; None: a new one. `clock` and `calendar` give seconds; the
        calendar goes on while the app is not running.
        """
        self._clock = clock
        self._calendar = calendar
        self._started = int(1000 * calendar())  # moment
        self._last = 0  # moment
        self._began = 0  # moment: when this class began
        self._emptied: OrderedDict[str, int] = OrderedDict()  # question -> moment
        self.secret = secret or secrets.token_urlsafe(12)
        self.address: str | None = None  # for pupils, with a slash; None if none is known
        self._lock = threading.Lock()
        self._guesses: dict[str, OrderedDict[str, Guess]] = {}  # voter -> question -> guess
        self._addresses: dict[str, str] = {}  # of these voters
        self._closed: OrderedDict[str, bool] = OrderedDict()  # questions, by the teacher
        self._shown: OrderedDict[str, float] = OrderedDict()  # when the teacher's page asked last
        self._run = secrets.token_hex(4)  # tells the pages that the app has started again
        self._call: dict[str, str | int] | None = None  # "lesson", "step", "call": see _bring

    def opened(self, host: str, port: int) -> str:
        """Remember where the app listens. Returns a text for the host, with the addresses."""
        found = address_here(host.strip("[]"))
        self.address = found and f"http://{f'[{found}]' if ':' in found else found}:{port}/"
        teacher = f"{self.address or f'http://127.0.0.1:{port}/'}?teacher={self.secret}"
        return (TOLD if self.address else UNREACHABLE).format(pupils=self.address, teacher=teacher)

    def ask(self, request: Any) -> dict[str, Any]:
        """Answer or refuse a request, any JSON: the vote of a page, or an action of a teacher."""
        try:
            match request:
                case {"do": "vote", "voter": voter, "question": question, "guess": guess}:
                    place = _matched(VOTER, voter), _matched(QUESTION, question)
                    return self._vote(*place, guess, _moment(request.get("at")))
                case {"do": "wait", "voter": voter, "question": question}:
                    place = _matched(VOTER, voter), _matched(QUESTION, question)
                    return self._wait(*place, _moment(request.get("at")))
                case {"do": "address", "teacher": teacher, "query": query}:
                    self._check(teacher)
                    return self._way(_matched(QUERY, query))
                case {"do": "called", "teacher": teacher, "since": since}:
                    self._check(teacher)
                    return self._called(_moment(since) or 0)
                case {"do": "called"}:
                    return self._called()
                case {"do": "call", "teacher": teacher, "call": call, **place}:
                    self._check(teacher)
                    return self._bring(place, _matched(CALL, call))
                case {"do": "new", "teacher": teacher}:
                    self._check(teacher)
                    return self._begin()
                case {"do": "tally" | "close" | "open" | "empty" as do, **others}:
                    self._check(others.get("teacher"))
                    question = _matched(QUESTION, others.get("question"))
                    since = _moment(others.get("since")) or 0
                    return self._teach(do, question, since, _moments(others.get("heard")))
            raise VitvizError(NOT_TAKEN)
        except VitvizError as error:
            return refused(error.message)

    def _check(self, teacher: Any) -> None:
        known = isinstance(teacher, str) and hmac.compare_digest(
            teacher.encode("utf-8", "replace"), self.secret.encode()
        )
        if not known:
            raise VitvizError(NOT_TEACHER)

    def _vote(self, voter: str, question: str, guess: Any, at: int | None) -> dict[str, Any]:
        """Count a guess. `at`: when it was made, if its page sends it by itself."""
        counted = _guess(guess)
        with self._lock:
            if question in self._closed:
                raise VitvizError(Message("web.class_closed"))
            if at is not None and at < self._since(question):
                return {"counted": False, "anew": True, "at": self._now()}
            if voter not in self._guesses:
                self._admit(voter, ASKING.get())
            known = self._guesses.setdefault(voter, OrderedDict())
            keep(known, question, counted, limits.VOTER_GUESSES)
            now = self._now()
        return {"counted": True, "at": now} | ({"waits": True} if self._waits(question) else {})

    def _admit(self, voter: str, address: str) -> None:
        """Remember a new voter's address, and in a full class drop another voter or refuse."""
        self._addresses = {known: self._addresses[known] for known in self._guesses}
        if len(self._guesses) >= limits.VOTERS:
            numbers = Counter(self._addresses.values())
            largest, most = numbers.most_common(1)[0]
            if most <= numbers[address] + 1:
                raise VitvizError(Message("web.class_full", most=limits.VOTERS))
            last = next(
                known for known in reversed(self._guesses) if self._addresses[known] == largest
            )
            del self._guesses[last], self._addresses[last]
        self._addresses[voter] = address

    def _wait(self, voter: str, question: str, at: int | None) -> dict[str, Any]:
        """Whether this pupil waits, and whether their guess is counted: after a restart none is.
        "anew": the guess is not counted, and its moment `at` (0 without one) is before the vote was
        emptied or another class began.
        """
        with self._lock:
            counted = question in self._guesses.get(voter, {})
            anew = not counted and (at or 0) < self._since(question)
            now = self._now()
        return {"waits": self._waits(question), "counted": counted, "anew": anew, "at": now}

    def _now(self) -> int:
        """A new moment, later than all before, even if the clock of an earlier run was ahead."""
        self._last = max(int(1000 * self._calendar()), self._last + 1)
        return self._last

    def _since(self, question: str) -> int:
        """The moment from which on guesses of a question count."""
        return max(self._began, self._emptied.get(question, 0))

    def _waits(self, question: str) -> bool:
        """Whether pupils wait for the answer: the teacher's page shows the vote, and it is open."""
        with self._lock:
            shown = self._shown.get(question, -math.inf)
            is_open = question not in self._closed
        return is_open and self._clock() - shown < limits.VOTE_SHOWN_SECONDS

    def _teach(self, do: str, question: str, since: int, heard: list[int] | None) -> dict[str, Any]:
        """Do a teacher's action. Returns the state after it: {"open", "guesses", "since"}.

        `since`: the "since" that the teacher's page received last, which a restart of the app has
        lost. `heard`: moments of the page's last contact with each of the latest runs of the app;
        None: not reported.
        """
        with self._lock:
            if question not in self._shown and heard is not None:
                last = max((moment for moment in heard if moment < self._started), default=0)
                if self._started - last > 1000 * limits.CLASS_GAP_SECONDS:
                    since = max(since, self._started)
            if since > self._since(question):
                self._last = max(self._last, since)
                keep(self._emptied, question, since, limits.VOTER_GUESSES)
            keep(self._shown, question, self._clock(), limits.VOTER_GUESSES)
            if do == "close":
                keep(self._closed, question, True, limits.VOTER_GUESSES)
            elif do == "open":
                self._closed.pop(question, None)
            elif do == "empty":
                self._empty(question)
            found = [known[question] for known in self._guesses.values() if question in known]
            is_open = question not in self._closed
            return {"open": is_open, "guesses": found, "since": self._since(question)}

    def _begin(self) -> dict[str, Any]:
        """Begin with another class: no guesses, and every vote is open."""
        with self._lock:
            self._guesses = {}  # `_shown` stays: else waiting pupils read that the answer is open
            self._closed.clear()
            self._emptied.clear()
            self._began = self._now()
            self._call = None
            return {"open": True, "guesses": [], "since": self._began}

    def _bring(self, place: Any, call: str) -> dict[str, Any]:
        """Call the class to a step: 0 is what a lesson asks before its steps.

        `call`: id of the call. A page that has followed a call does not follow it again, even if
        the teacher's page repeats the call after a restart.
        """
        match place:
            case {"lesson": str(lesson), "step": step} if type(step) is int:
                if 0 <= step <= LESSONS.get(lesson, -1):
                    with self._lock:
                        self._call = {"lesson": lesson, "step": step, "call": call}
                    return self._called()
        raise VitvizError(NOT_TAKEN)

    def _called(self, since: int = 0) -> dict[str, Any]:
        """The call of the class, for every page: {"run", "call", "at", "since", "began"}. "call" is
        None if the class is called to no step. "since" is the moment when a vote was emptied last,
        or the class began; the teacher's page sends it back (`since`) after a restart.
        """
        with self._lock:
            self._began = max(self._began, since)
            self._last = max(self._last, since)
            since = max((self._began, *self._emptied.values()))
            now = self._now()
            state = {"call": self._call, "at": now, "since": since, "began": self._began}
            return {"run": self._run} | state

    def _empty(self, question: str) -> None:
        """Forget the guesses of a question, and voters without another guess. If the class is full,
        forget all: nobody must be able to lock a class out with made-up voters.
        """
        full = len(self._guesses) >= limits.VOTERS
        if full:
            self._began = self._now()
        keep(self._emptied, question, self._now(), limits.VOTER_GUESSES)
        for known in self._guesses.values():
            known.pop(question, None)
        self._guesses = (
            {} if full else {voter: known for voter, known in self._guesses.items() if known}
        )

    def _way(self, query: str) -> dict[str, Any]:
        """The link for pupils: {"address", "rows"}, rows of a QR code, "0" and "1" in each."""
        if self.address is None:
            raise VitvizError(NO_ADDRESS)
        return {"address": self.address, "rows": qr_rows(f"{self.address}?{query}".rstrip("?"))}


@lru_cache(maxsize=16)
def qr_rows(text: str) -> list[str]:
    """The modules of a QR code without its margin: "1" is dark. [] if segno is not installed."""
    try:
        import segno
    except ImportError:
        return []
    code = segno.make_qr(text, error="m")
    return ["".join("01"[module & 1] for module in row) for row in code.matrix]


def _matched(pattern: re.Pattern[str], value: Any) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise VitvizError(NOT_TAKEN)
    return value


def _moment(value: Any) -> int | None:
    if value is not None and not (type(value) is int and 0 <= value <= LATEST):
        raise VitvizError(NOT_TAKEN)
    return value


def _moments(value: Any) -> list[int] | None:
    if value is None:
        return None
    if type(value) is not list or len(value) > 2:
        raise VitvizError(NOT_TAKEN)
    return [_moment(moment) or 0 for moment in value]


def _guess(value: Any) -> Guess:
    """Check a guess: the index of an option, a number, or the indices of patches."""
    numbers = value if type(value) is list else [value]
    kinds = (int,) if type(value) is list else (int, float)  # True is no number here
    fits = 0 < len(numbers) <= limits.VOTE_BYTES and all(
        type(number) in kinds and abs(number) <= LARGEST for number in numbers
    )
    if not fits or len(json.dumps(value)) > limits.VOTE_BYTES:
        raise VitvizError(Message("web.class_guess"))
    return value
