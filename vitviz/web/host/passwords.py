"""Wrong passwords: each one from an address in a row delays the next login longer."""

import time
from collections import OrderedDict
from typing import NamedTuple

from . import limits
from .limits import keep


class _Row(NamedTuple):
    wrong: int
    until: float  # earliest check of the next password, in seconds of time.monotonic()


class WrongPasswords:
    """Wrong passwords in a row by address, for the last `LOGIN_ADDRESSES` addresses.

    After the first wrong password the next one waits for a second, then two, four and so on, at
    most `LOGIN_SECONDS`. A password counts as wrong until it proves right, so simultaneous
    passwords wait for one another.
    """

    def __init__(self) -> None:
        self._rows: OrderedDict[str, _Row] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until a password of an address may be checked. Above `LOGIN_SECONDS` it must be
        refused, and is not counted.
        """
        now = time.monotonic()
        wrong, until = self._rows.get(address, _Row(0, now))
        seconds = max(0.0, until - now)
        if seconds <= limits.LOGIN_SECONDS:
            pause = min(2.0 ** min(wrong, 30), limits.LOGIN_SECONDS)  # 2.0**1024 is an error
            row = _Row(wrong + 1, now + seconds + pause)
            keep(self._rows, address, row, limits.LOGIN_ADDRESSES)
        return seconds

    def forget(self, address: str) -> None:
        """End the row of an address, whose password was right."""
        self._rows.pop(address, None)
