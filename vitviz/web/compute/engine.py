"""The engine, which executes jobs: here in this process, whose passes share its cores."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch

from ..host import limits
from .executor import execute
from .jobs import AnyJob, Result
from .models import Models
from .turns import Turns, computing


class Engine(Protocol):
    """Executes jobs: in this process, in another one, or on another machine."""

    def run(self, job: AnyJob) -> Result:
        """Execute a job. Raises for faults of the machine; bad pictures or models are refused.

        A late file or a page is the only entry in `files` of its result.
        """

    def close(self) -> None:
        """Release resources outside of this process, when the app ends."""


class Local:
    """Executes jobs in the caller's thread; `limits.COMPUTING` of them compute at a time."""

    def __init__(self, models: Models, threads: int | None = None) -> None:
        """`threads`: of each forward pass, see `Cores`."""
        self.models = models
        self._computing = Turns(limits.COMPUTING, limits.COMPUTING_LINE)
        self._cores = Cores(threads)

    def run(self, job: AnyJob) -> Result:
        return execute(job, self.models, self._turn)

    def close(self) -> None:
        """Nothing: threads end with the process."""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with computing(self._computing), self._cores.share():
            yield


class Cores:
    """The cores of the machine, shared by the passes that run at the same time.

    A single pass gets all cores, which is fastest for a single visitor. Under load each pass gets
    one: two threads that wait for each other on busy cores are slower than one (2.6 times, measured
    beside busy neighbours), and as many passes as cores keep all of them busy.
    """

    def __init__(self, threads: int | None = None) -> None:
        """`threads`: a fixed number for each pass."""
        self._threads = threads
        # OMP_NUM_THREADS can give torch fewer threads than cores.
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
        # Newer versions of torch have one number for the process, which running passes read again
        # for each operation; older versions have one for each thread of Python.
        with self._lock:
            self._running += by
            torch.set_num_threads(self._threads or max(1, self._cores // max(1, self._running)))
