"""Turns: so many at a time, and nobody waits for ever or in a line without end."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ..errors import VitvizError
from ..languages import Message
from . import limits


class Turns:
    """`places` may be taken at a time, `line` more may wait for one.

    Whoever waits holds one of the few threads that answer everybody.
    """

    def __init__(self, places: int, line: int) -> None:
        self._here = threading.BoundedSemaphore(places + line)
        self._places = threading.BoundedSemaphore(places)

    @contextmanager
    def take(self, seconds: float, refusal: VitvizError) -> Iterator[None]:
        """A place until the block ends. `refusal` is raised if none is free in time."""
        if not self._here.acquire(blocking=False):
            raise refusal
        try:
            if not self._places.acquire(timeout=seconds):
                raise refusal
            try:
                yield
            finally:
                self._places.release()
        finally:
            self._here.release()


def computing(turns: Turns) -> AbstractContextManager[None]:
    """Computing, when it is one's turn. Raises `VitvizError` if that does not come soon."""
    busy = VitvizError(Message("web.busy"))
    return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)
