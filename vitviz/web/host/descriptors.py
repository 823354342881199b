"""Descriptors: the limit of a process for open files and connections."""

import logging
import time
from contextlib import suppress

from . import limits

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # a checker on Linux knows the module alone

EXHAUSTED = "out of system resource"  # in asyncio's log when it cannot accept a connection


def raise_descriptors() -> None:
    """Raise the limit of this process to `DESCRIPTORS`, or as far as the system allows; systemd's
    default for a service is 1,024.
    """
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = limits.DESCRIPTORS if hard == unlimited else min(limits.DESCRIPTORS, hard)
    if soft != unlimited and soft < wanted:
        with suppress(OSError, ValueError):  # the system allows fewer than it says (macOS)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_descriptors() -> int:
    """The limit of this process, at most `DESCRIPTORS`."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else limits.DESCRIPTORS
    return min(soft, limits.DESCRIPTORS) if soft >= 0 else limits.DESCRIPTORS  # -1: no limit


class Rarely(logging.Filter):
    """Limits asyncio's log to one line a minute while no descriptor is left: otherwise it has
    thousands of tracebacks a second.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        if EXHAUSTED not in record.getMessage():
            return True
        if time.monotonic() - self._last < limits.EXHAUSTED_LOG_SECONDS:
            return False
        self._last = time.monotonic()
        record.exc_info = None
        record.msg, record.args = "no connection can be accepted: %s", ("all descriptors are used",)
        return True
