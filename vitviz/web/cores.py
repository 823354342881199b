"""Cores: how many threads of torch each forward pass gets."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from . import limits


class Cores:
    """The cores of the machine, shared by the passes that run at the same time.

    One pass alone gets all of them, which answers a single visitor soonest. Under load each gets
    one: two threads that wait for each other on busy cores are slower than one (2.6 times, measured
    beside busy neighbours), and as many passes as cores keep them all busy.
    """

    def __init__(self, threads: int | None = None) -> None:
        """`threads`: give each pass as many, whatever else runs."""
        self._threads = threads
        # torch has fewer threads than cores where OMP_NUM_THREADS says so.
        self._cores = min(limits.usable_cores(), torch.get_num_threads())
        self._running = 0
        self._lock = threading.Lock()

    @contextmanager
    def share(self) -> Iterator[None]:
        """Run a pass in the block with its share of the cores."""
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def _change(self, by: int) -> None:
        # Newer versions of torch have one number for the process, which passes that run already
        # read anew for each operation; older ones have one for each thread of Python.
        with self._lock:
            self._running += by
            torch.set_num_threads(self._threads or max(1, self._cores // max(1, self._running)))
