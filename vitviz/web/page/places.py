"""Places: who has few questions that are being answered goes before who has many.

A question takes one of Gradio's threads, in which it may wait for its turn to compute. Without
places, threads go to the first that comes: a hundred questions of many addresses kept a document
waiting for 20 seconds.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..host import limits


class Places:
    """Places of one app for questions that have arrived.

    A free place goes to the address that has the fewest, among equals to the first that came.
    `QUESTIONS` can be taken, and `FIRST_QUESTIONS` where those beyond are the only ones of their
    addresses. Nobody is refused: `Entrance` bounds what an address may ask at a time.
    """

    def __init__(self) -> None:
        self._inside: Counter[str] = Counter()  # by address
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
            caller = min(self._waiting, key=lambda one: self._inside[one[0]])
            address, coming = caller
            most = limits.QUESTIONS if self._inside[address] else limits.FIRST_QUESTIONS
            if self._inside.total() >= most:
                return
            self._waiting.remove(caller)
            self._inside[address] += 1
            if not coming.done():  # else its client has left, and `end` follows
                coming.set_result(None)
