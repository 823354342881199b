"""Places: a fair queue, in which addresses with fewer running questions go first.

A question takes one of Gradio's threads, in which it may wait for its turn to compute. Without
places, threads go to the first that comes: a hundred questions of many addresses kept a document
waiting for 20 seconds.
"""

import asyncio
import itertools
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..host import limits


class Places:
    """Places of one app for questions that have arrived.

    A free place goes to the address with the fewest places; among equals, to the one whose last
    place was given longest ago. An address that has a place gets another one while fewer than
    `most` are taken, an address without a place while fewer than `first` are. Nobody is refused:
    `Entrance` bounds what an address may ask at a time.
    """

    def __init__(self, most: int, first: int) -> None:
        self._most, self._first = most, first
        self._inside: Counter[str] = Counter()  # by address
        # Address -> the number of its latest place; places are numbered in the order of giving.
        self._last: OrderedDict[str, int] = OrderedDict()
        self._count = itertools.count(1)
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def take(self, address: str) -> AsyncIterator[Callable[[], None]]:
        """Take a place until the block ends, or until it calls the function that it gets."""
        caller = address, asyncio.get_running_loop().create_future()
        self._waiting.append(caller)
        self._fill()
        ended = False

        def end() -> None:
            nonlocal ended
            if caller in self._waiting:
                self._waiting.remove(caller)
            elif not ended:
                self._inside -= Counter([address])  # drops addresses with 0
                self._fill()
            ended = True

        try:
            await caller[1]
            yield end
        finally:
            end()

    def _fill(self) -> None:
        """Give free places to those that wait."""
        while self._waiting:
            caller = min(self._waiting, key=self._rank)
            address, coming = caller
            most = self._most if self._inside[address] else self._first
            if self._inside.total() >= most:
                return
            self._waiting.remove(caller)
            self._inside[address] += 1
            limits.keep(self._last, address, next(self._count), limits.ADDRESSES_KNOWN)
            if not coming.done():  # else its client has left, and `end` follows
                coming.set_result(None)

    def _rank(self, caller: tuple[str, object]) -> tuple[int, int]:
        return self._inside[caller[0]], self._last.get(caller[0], 0)
