"""Turns: a semaphore with a bounded queue and a bounded wait, shared fairly by addresses."""

import itertools
import threading
from collections import Counter, OrderedDict
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

    A free place goes to the address that has the fewest, among equals to the one that has waited
    longest since its last turn, and of its callers to the first in line: so a visitor waits for one
    turn of another one, and not for all that the other one has asked, even one after the other.
    Each waiting caller blocks one of Gradio's few threads, so the line and the wait are limited. In
    a full line the last caller of the address that has the most gives way to one that has fewer.
    """

    def __init__(self, places: int, line: int) -> None:
        self._places, self._line = places, line
        self._changed = threading.Condition()
        self._waiting: list[_Caller] = []
        self._inside: Counter[str] = Counter()  # callers that have a place, by address
        # When each address last began or ended a turn, in a count of these.
        self._last: OrderedDict[str, int] = OrderedDict()
        self._count = itertools.count(1)

    @contextmanager
    def take(self, seconds: float, refusal: VitvizError) -> Iterator[None]:
        """Take a place until the block ends. Raises `refusal` if none is free in time, or if the
        line is full.
        """
        caller = _Caller(ASKING.get())
        with self._changed:
            if len(self._waiting) + self._inside.total() >= self._places + self._line:
                self._give_way(caller.address, refusal)
            self._waiting.append(caller)
            self._changed.wait_for(
                lambda: caller not in self._waiting or self._is_next(caller), seconds
            )
            is_next = caller in self._waiting and self._is_next(caller)
            if caller in self._waiting:
                self._waiting.remove(caller)
            if is_next:
                self._inside[caller.address] += 1
                self._note(caller.address)
            self._changed.notify_all()
        if not is_next:
            raise refusal
        try:
            yield
        finally:
            with self._changed:
                self._inside -= Counter([caller.address])  # drops addresses with 0
                self._note(caller.address)
                self._changed.notify_all()

    def _note(self, address: str) -> None:
        """Note a turn of an address. It is known when it comes back: else it would be first."""
        limits.keep(self._last, address, next(self._count), limits.ADDRESSES_KNOWN)

    def _give_way(self, address: str, refusal: VitvizError) -> None:
        """Take the last caller of the address with the most places out of the line. Raises
        `refusal` if that one would not have as many afterwards as the address that comes.
        """
        have = self._inside + Counter(one.address for one in self._waiting)
        last = max(reversed(self._waiting), key=lambda one: have[one.address], default=None)
        if last is None or have[last.address] < have[address] + 2:
            raise refusal
        self._waiting.remove(last)
        self._changed.notify_all()

    def _is_next(self, caller: "_Caller") -> bool:
        if self._inside.total() >= self._places:
            return False
        return caller is min(self._waiting, key=self._rank)

    def _rank(self, caller: "_Caller") -> tuple[int, int]:
        return self._inside[caller.address], self._last.get(caller.address, 0)


class _Caller:
    """Somebody in the line."""

    def __init__(self, address: str) -> None:
        self.address = address


def computing(turns: Turns) -> AbstractContextManager[None]:
    """Take a turn to compute. Raises `VitvizError` after `COMPUTING_WAIT_SECONDS`."""
    busy = VitvizError(Message("web.busy"))
    return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)
