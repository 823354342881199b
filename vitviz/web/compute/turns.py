"""Turns: a semaphore with a bounded queue and a bounded wait, shared fairly by addresses."""

import os
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...errors import VitvizError
from ...languages import Message
from ..host import limits

# The address of the visitor whom this task or thread answers; "" if nobody knows.
ASKING: ContextVar[str] = ContextVar("asking", default="")


class Turns:
    """A semaphore: `places` callers at a time (a number, or a function that returns it), while up
    to `line` further callers wait.

    A free place goes to the address with the fewest places. Among addresses with equally many it
    goes to the one with the largest wait / sqrt(length of its turns), where the wait counts from
    its last turn. Callers of one address are served in order. So a visitor waits for one turn of
    another visitor, not for all requests of that visitor, even if they arrive one after the other;
    and a small photo does not wait for a long turn of each of sixteen others. With wait / length
    ("highest response ratio next", Brinch Hansen 1971) a long turn would wait for several turns of
    each address. Each waiting caller blocks one of Gradio's few threads, so the line and the wait
    are limited. If the line is full, the last caller of the address with the most callers is
    refused in favour of a caller whose address has fewer.
    """

    def __init__(self, places: int | Callable[[], int], line: int) -> None:
        self._places = places if callable(places) else lambda: places
        self._line = line
        self.begin()
        _EVERY.add(self)

    def begin(self) -> None:
        """Be empty: at the start, and in a fork, which has none of the threads that hold places."""
        self._changed = threading.Condition()
        self._waiting: list[_Caller] = []
        self._inside: Counter[str] = Counter()  # callers that have a place, by address
        self._last: OrderedDict[str, _Last] = OrderedDict()  # by address

    @contextmanager
    def take(self, seconds: float, refusal: VitvizError) -> Iterator[None]:
        """Take a place until the block ends. Raises `refusal` if none is free in time, or if the
        line is full.
        """
        caller = _Caller(ASKING.get())
        with self._changed:
            if len(self._waiting) + self._inside.total() >= self._places() + self._line:
                self._give_way(caller.address, refusal)
            self._waiting.append(caller)
            self._fill()
            self._changed.wait_for(lambda: caller not in self._waiting, seconds)
            if not caller.has_place:
                if caller in self._waiting:
                    self._waiting.remove(caller)
                raise refusal
        began = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self._inside -= Counter([caller.address])  # drops addresses with 0
                self._note(caller.address, time.monotonic() - began)
                self._fill()

    def _note(self, address: str, seconds: float) -> None:
        """Note a turn of an address that has ended. The latest count most."""
        before = self._last.get(address)
        seconds = (seconds + before.seconds) / 2 if before else seconds
        last = _Last(time.monotonic(), max(seconds, limits.SHORT_TURN_SECONDS))
        limits.keep(self._last, address, last, limits.ADDRESSES_KNOWN)

    def _give_way(self, address: str, refusal: VitvizError) -> None:
        """Remove the last waiting caller of the address with the most callers (served or waiting),
        so that a caller of `address` can wait. Raises `refusal` if `address` would then have more
        callers than that address.
        """
        have = self._inside + Counter(one.address for one in self._waiting)
        last = max(reversed(self._waiting), key=lambda one: have[one.address], default=None)
        if last is None or have[last.address] < have[address] + 2:
            raise refusal
        self._waiting.remove(last)
        self._changed.notify_all()

    def _fill(self) -> None:
        """Assign free places to waiting callers, whenever a caller arrives or leaves.

        Callers do not compare ranks themselves: ranks change with time, so two callers could each
        find the other one ahead, and both wait although a place is free.
        """
        now, first = time.monotonic(), _Last(0, limits.SHORT_TURN_SECONDS)

        def rank(caller: _Caller) -> tuple[int, float]:
            last = self._last.get(caller.address, first)
            waited = now - max(caller.came, last.ended)
            return self._inside[caller.address], -waited / last.seconds**0.5

        while self._waiting and self._inside.total() < self._places():
            caller = min(self._waiting, key=rank)
            caller.has_place = True
            self._waiting.remove(caller)
            self._inside[caller.address] += 1
        self._changed.notify_all()


_EVERY: weakref.WeakSet[Turns] = weakref.WeakSet()


def _begin_all() -> None:
    for turns in _EVERY:
        turns.begin()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_begin_all)


class _Caller:
    """Somebody in the line."""

    def __init__(self, address: str) -> None:
        self.address, self.came = address, time.monotonic()
        self.has_place = False


class _Last(NamedTuple):
    """When the last turn of an address ended, and how long its turns take."""

    ended: float
    seconds: float


def computing(turns: Turns) -> AbstractContextManager[None]:
    """Take a turn to compute. Raises `VitvizError` after `COMPUTING_WAIT_SECONDS`."""
    busy = VitvizError(Message("web.busy"))
    return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)
