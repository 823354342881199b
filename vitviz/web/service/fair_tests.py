"""Fair tests for viewers, step by step: visitors take turns, and can stop at any time."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...errors import SelectionError, VitvizError
from ...languages import Message
from ...probe.explain.explainers import EXPLAINERS, chosen
from ..compute.engine import Engine
from ..compute.jobs import FairJob
from ..compute.turns import Turns
from ..host import limits


class BusyError(VitvizError):
    """Raised while others are served; a later retry helps."""

    def __init__(self) -> None:
        super().__init__(Message("web.busy"))


class WantedTest(NamedTuple):
    """The parameters of a test: explainers, the token whose view they take, and the class; or as
    `other` the pass of another picture, as a question: the likeness to it falls.
    """

    keys: tuple[str, ...]
    token: int
    target: int | None
    other: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, question: Any) -> "WantedTest":
        """Check a question, which can be any JSON. Raises `SelectionError`."""
        match question:
            case {"explainers": [*keys], "token": int(token), "target": target} if keys:
                some = tuple(dict.fromkeys(chosen(key).key for key in keys[: len(EXPLAINERS)]))
                match question:
                    case {"target": int()}:
                        return cls(some, token, target)
                    case {"target": "like", "other": {}}:
                        return cls(some, token, None, question["other"])
        raise SelectionError("id, explainers, token and target are needed")


class FairTests:
    """The tests that viewers have begun, by analysis and question: visitors share the analysis of
    the page's own picture.

    Every question does one step, and a viewer asks until it has the result. A viewer that stops
    asking has cancelled; if it asks again later, the test continues.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turns = Turns(limits.TESTING, limits.LINE)
        self._known: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def advance(
        self, key: str, wanted: WantedTest, job_of: Callable[..., FairJob]
    ) -> Mapping[str, Any]:
        """Do a step of the test of the pass `key`: {"done", "all"}, at the end "result".

        `job_of` makes the job of the next step. Raises `BusyError` if no turn is free in time, or
        another step of this test is running; `VitvizError` if the test is refused.
        """
        test = json.dumps((key, wanted), sort_keys=True)
        with self._lock:
            if test in self._running:
                raise BusyError
            self._running.add(test)
            state = self._known.get(test, {})
        try:
            if "result" not in state:
                state = self._step(wanted, state, job_of)
                with self._lock:
                    limits.keep(self._known, test, state, limits.TESTS_KNOWN)
        finally:
            with self._lock:
                self._running.discard(test)
        return {name: state[name] for name in ("done", "all", "seconds", "result") if name in state}

    def _step(
        self, wanted: WantedTest, state: Mapping[str, Any], job_of: Callable[..., FairJob]
    ) -> Mapping[str, Any]:
        done = {name: state[name] for name in ("maps", "columns") if name in state}
        with self._turns.take(limits.TESTING_WAIT_SECONDS, BusyError()):
            result = self._engine.run(job_of(**wanted._asdict(), **done))
        if result.refused:
            raise VitvizError(result.refused.text)
        seconds = state.get("seconds", 0) + result.seconds["pass"]
        return {**result.summary, "seconds": seconds}
