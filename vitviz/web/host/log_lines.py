"""Log lines: what requests of strangers can write into the log, line by line."""

import logging
import time
from collections import Counter

from . import limits

LOGGERS = ("uvicorn.error",)  # those that do not hand their lines on to the handlers of the root


class Bounded(logging.Filter):
    """Bounds warnings and errors: each has at most `LOG_LETTERS` printable letters, and each place
    of the code writes at most `LOG_LINES` a minute. Lines below a warning, which a host asks for,
    and tracebacks stay whole.

    Without it each malformed request for a tool is 6 kB of log, with values of the request.
    """

    def __init__(self) -> None:
        super().__init__()
        self._minute = -1
        self._lines: Counter[tuple[str, int]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._lines = minute, Counter()
        place = (record.pathname, record.lineno)
        self._lines[place] += 1
        if self._lines[place] > limits.LOG_LINES:
            return False
        text = " ".join(record.getMessage()[: limits.LOG_LETTERS].split())
        if self._lines[place] == limits.LOG_LINES:
            text += " (no more of these in this minute)"
        record.msg, record.args = "%s", (text if text.isprintable() else repr(text),)
        return True


def bound_log() -> None:
    """Bound what the handlers of the root and the loggers beside it write."""
    for place in (*logging.getLogger().handlers, *map(logging.getLogger, LOGGERS)):
        place.addFilter(Bounded())  # each counts its own lines
