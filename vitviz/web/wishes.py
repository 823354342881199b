"""Wishes: what a page asked for last, so that an earlier answer that comes later is not shown."""

import threading
from collections import OrderedDict
from typing import NamedTuple

from . import limits


class Wish(NamedTuple):
    """One of the things that a page asked for, counted from 1."""

    page: str | None
    number: int


class Wishes:
    """How many wishes each page has had; of very many pages, of the latest ones.

    Who has no page, a program or a test, asks for one thing at a time.
    """

    def __init__(self) -> None:
        self._latest: OrderedDict[str | None, int] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, page: str | None) -> Wish:
        """Another wish of a page, known by its session."""
        with self._lock:
            wish = Wish(page, self._latest.pop(page, 0) + 1)
            self._latest[page] = wish.number
            while len(self._latest) > limits.PAGES_KNOWN:
                self._latest.popitem(last=False)
        return wish

    def outdated(self, wish: Wish) -> bool:
        """Whether the page has wished for something else since."""
        return wish.page is not None and self._latest.get(wish.page, 0) > wish.number

    def withdraw(self, wish: Wish) -> None:
        """It cannot be met: the wish before it is the latest again."""
        with self._lock:
            if self._latest.get(wish.page) == wish.number:
                self._latest[wish.page] = wish.number - 1
