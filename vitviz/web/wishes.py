"""Wishes: what pages ask for, and which answers are still to be shown when they are ready."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from . import limits


class Wish(NamedTuple):
    """One of the things that a page asked for, counted from 1."""

    page: str | None
    number: int


class Delivery(Enum):
    """What becomes of an answer that is ready.

    DROPPED   the page shows the answer to a later wish, and goes on doing so
    BESIDE    it is shown; the controls say what a later wish asked for, which is under way
    SHOWN     it is shown, and the controls still say what was asked for
    RESTORED  it is shown; the controls say something else, because a later wish has failed
    """

    DROPPED = "dropped"
    BESIDE = "beside"
    SHOWN = "shown"
    RESTORED = "restored"


@dataclass
class _Page:
    begun: int = 0
    delivered: int = 0
    shown: Any = None
    under_way: set[int] = field(default_factory=set)


class Wishes:
    """What each page has asked for and what it shows; of very many pages, of the latest ones.

    An answer is shown unless the answer to a later wish was: a slow one never replaces a newer one,
    and one that fails takes nothing away from those before it. Who has no page, a program or a
    test, asks for one thing at a time.
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def wish(self, page: str | None) -> Iterator[Wish]:
        """Another wish of a page, known by its session; it is under way until the block ends."""
        with self._lock:
            known = self._pages.setdefault(page, _Page()) if page is not None else _Page()
            known.begun += 1
            wish = Wish(page, known.begun)
            known.under_way.add(wish.number)
            if page is not None:
                self._pages.move_to_end(page)
            while len(self._pages) > limits.PAGES_KNOWN:
                self._pages.popitem(last=False)
        try:
            yield wish
        finally:
            with self._lock:
                known.under_way.discard(wish.number)

    def deliver(self, wish: Wish, shown: Any) -> Delivery:
        """Decide about an answer, and if it is shown remember `shown`, all in one step.

        Whoever calls this has done whatever can fail or take long.
        """
        with self._lock:
            known = self._pages.get(wish.page)
            if known is None:  # without a page, or forgotten
                return Delivery.SHOWN
            if wish.number < known.delivered:
                return Delivery.DROPPED
            known.delivered, known.shown = wish.number, shown
            if self._later(known, wish):
                return Delivery.BESIDE
            return Delivery.SHOWN if wish.number == known.begun else Delivery.RESTORED

    def failed(self, wish: Wish, shown: Any) -> Any | None:
        """What the page of a failed wish shows; None if its controls are a later wish's business.

        `shown` is what the page says it shows: it can be older than the last delivery.
        """
        with self._lock:
            known = self._pages.get(wish.page)
            if known is None:
                return shown
            if wish.number < known.delivered or self._later(known, wish):
                return None
            return known.shown or shown

    @staticmethod
    def _later(known: _Page, wish: Wish) -> bool:
        return any(number > wish.number for number in known.under_way)
