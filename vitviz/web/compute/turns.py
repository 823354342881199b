"""Turns: a semaphore with a bounded queue and a bounded wait."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ...errors import VitvizError
from ...languages import Message
from ..host import limits


class Turns:
    """`places` can be taken at a time, and `line` further callers can wait for one.

    Each waiting caller blocks one of Gradio's few threads, so the line and the wait are limited.
    """

    def __init__(self, places: int, line: int) -> None:
        self._here = threading.BoundedSemaphore(places + line)
        self._places = threading.BoundedSemaphore(places)

    @contextmanager
    def take(self, seconds: float, refusal: VitvizError) -> Iterator[None]:
        """Take a place until the block ends. Raises `refusal` if none is free in time."""
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
    """Take a turn to compute. Raises `VitvizError` after `COMPUTING_WAIT_SECONDS`."""
    busy = VitvizError(Message("web.busy"))
    return turns.take(limits.COMPUTING_WAIT_SECONDS, busy)
