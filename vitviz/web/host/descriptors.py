"""Descriptors: open files and connections, of which a process has a bounded number."""

import logging
import time
from contextlib import suppress

from . import limits

try:
    import resource
except ImportError:  # Windows has no such bound
    resource = None  # type: ignore[assignment]  # a checker on Linux knows the module alone

EXHAUSTED = "out of system resource"  # in what asyncio logs when it can accept no connection


def raise_descriptors() -> None:
    """Let this process have `DESCRIPTORS`, or as many as the system allows; systemd gives a service
    1,024 by default.
    """
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = limits.DESCRIPTORS if hard == unlimited else min(limits.DESCRIPTORS, hard)
    if soft != unlimited and soft < wanted:
        with suppress(OSError, ValueError):  # the system allows fewer than it says (macOS)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Rarely(logging.Filter):
    """Lets one line a minute through of those that asyncio logs, with a traceback and thousands of
    times a second, while no descriptor is left.
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
