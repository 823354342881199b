"""Turns: a semaphore with a bounded queue and a bounded wait, shared fairly by addresses."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from ...errors import VitvizError
from ...languages import Message
from ..host import limits

# The address of the visitor whom this task or thread answers; "" if nobody knows.
ASKING: ContextVar[str] = ContextVar("asking", default="")


class Turns:
    """`places` can be taken at a time, and `line` further callers can wait for one.

    A free place goes to the address that has the fewest, and among equals to the first in line: so
    a visitor waits for one turn of another one, and not for all that the other one has asked. Each
    waiting caller blocks one of Gradio's few threads, so the line and the wait are limited.
    """

    def __init__(self, places: int, line: int) -> None:
        self._places, self._line = places, line
        self._changed = threading.Condition()
        self._waiting: list[_Caller] = []
        self._inside: Counter[str] = Counter()  # callers that have a place, by address

    @contextmanager
    def take(self, seconds: float, refusal: VitvizError) -> Iterator[None]:
        """Take a place until the block ends. Raises `refusal` if none is free in time."""
        caller = _Caller(ASKING.get())
        with self._changed:
            if len(self._waiting) + self._inside.total() >= self._places + self._line:
                raise refusal
            self._waiting.append(caller)
            is_next = self._changed.wait_for(lambda: self._is_next(caller), seconds)
            self._waiting.remove(caller)
            if is_next:
                self._inside[caller.address] += 1
            self._changed.notify_all()
        if not is_next:
            raise refusal
        try:
            yield
        finally:
            with self._changed:
                self._inside -= Counter([caller.address])  # drops addresses with 0
                self._changed.notify_all()

    def _is_next(self, caller: "_Caller") -> bool:
        if self._inside.total() >= self._places:
            return False
        return caller is min(self._waiting, key=lambda one: self._inside[one.address])


class _Caller:
    """Somebody in the line."""

    def __init__(self, address: str) -> None:
        self.address = address


def computing(turns: Turns) -> AbstractContextManager[None]:
    """Take a turn to compute. Raises `VitvizError` after `COMPUTING_WAIT_SECONDS`."""
    busy = VitvizError(Message("web.busy"))
    return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)
