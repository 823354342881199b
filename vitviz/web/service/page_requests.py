"""The order of each page's requests, which decides whether an answer is still shown."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from ..host import limits


class PageRequest(NamedTuple):
    """A request of a page for an analysis; `number` counts the requests of the page from 1."""

    page: str | None
    number: int


class Delivery(Enum):
    """Effect of an answer on its page.

    DROPPED   the answer is not shown: the page shows the answer to a later request
    BESIDE    it is shown; the controls belong to a later request, which is under way
    SHOWN     it is shown; the controls still match the request
    RESTORED  it is shown; the controls are reset, because a later request has failed
    """

    DROPPED = "dropped"
    BESIDE = "beside"
    SHOWN = "shown"
    RESTORED = "restored"


@dataclass
class _Page:
    begun: int = 0
    delivered: int = 0
    shown: Any = None  # by the last answer that was delivered
    wanted: Any = None  # by the last request
    under_way: set[int] = field(default_factory=set)


class PageRequests:
    """The requests and the shown answer of the `PAGES_KNOWN` pages with the latest requests.

    An answer is dropped if a later request of the same page was answered already. A request that
    fails does not drop the answers to earlier ones. Requests without a page (of a program or a
    test) are independent of each other.
    """

    def __init__(self) -> None:
        self._pages: OrderedDict[str, _Page] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def begin(self, page: str | None) -> Iterator[PageRequest]:
        """Count a request of a page, by its session; it is under way until the block ends."""
        with self._lock:
            known = self._known(page) or _Page()
            known.begun += 1
            request = PageRequest(page, known.begun)
            known.under_way.add(request.number)
            if page is not None:
                limits.keep(self._pages, page, known, limits.PAGES_KNOWN)
        try:
            yield request
        finally:
            with self._lock:
                known.under_way.discard(request.number)

    def deliver(self, request: PageRequest, shown: Any) -> Delivery:
        """Decide whether an answer is shown, and if so remember `shown`, under one lock.

        Call it after everything that can fail or take long.
        """
        with self._lock:
            known = self._known(request.page)
            if known is None:  # without a page, or forgotten
                return Delivery.SHOWN
            if request.number < known.delivered:
                return Delivery.DROPPED
            known.delivered, known.shown = request.number, shown
            if self._later(known, request):
                return Delivery.BESIDE
            return Delivery.SHOWN if request.number == known.begun else Delivery.RESTORED

    def note(self, request: PageRequest, wanted: Any) -> None:
        """Note what a request will show, if it is not refused."""
        with self._lock:
            if known := self._known(request.page):
                known.wanted = wanted

    def last(self, page: str | None) -> Any | None:
        """The last answer that a page got; before its first answer, what it requested last; None
        for an unknown page.
        """
        with self._lock:
            known = self._known(page)
            return (known.shown or known.wanted) if known else None

    def failed(self, request: PageRequest, shown: Any) -> Any | None:
        """The state that the page of a failed request shows; None if a later request sets its
        controls.

        `shown`: the state at the time of the request, which can be older than the last delivery.
        """
        with self._lock:
            known = self._known(request.page)
            if known is None:
                return shown
            if request.number < known.delivered or self._later(known, request):
                return None
            return known.shown or shown

    def _known(self, page: str | None) -> _Page | None:
        return None if page is None else self._pages.get(page)

    @staticmethod
    def _later(known: _Page, request: PageRequest) -> bool:
        return any(number > request.number for number in known.under_way)
