"""The cache: a folder of this process alone, with everything that visitors sent or were shown.

Gradio deletes what it remembers having written, so what another process left behind, or an upload
that broke off, would stay for ever. Here what lies on the disk counts.
"""

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import VitvizError
from ..languages import Message
from . import limits
from .files import save_atomic
from .store import ExpiredError

try:
    import fcntl
except ImportError:  # Windows: see `_abandoned`
    fcntl = None

PREFIX = "vitviz-"

log = logging.getLogger("vitviz.web")


class _File(NamedTuple):
    age: float
    size: int
    path: Path


class Cache:
    """A `Store` in a folder, for uploads and what is made of them; nothing in it lives for long.

    It lies beside those of other programs, which are never touched. While the process lives it
    holds a lock on the folder. Without one it belongs to nobody and is deleted by the next to
    start.
    """

    def __init__(self, base: str | Path) -> None:
        """Make the folder in `base`, or beside `base` if that is the folder of another cache."""
        given = Path(base).resolve()
        self._base = given.parent if given.name.startswith(PREFIX) else given
        self._base.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._base))
        self._handle: int | None = None
        self._lock = threading.Lock()
        self._measured = float("-inf")
        self.hold()

    def put(self, data: bytes, name: str) -> str:
        """Write a file and return its path. The same bytes under the same name share one."""
        return save_atomic(data, name, self.folder)

    def get(self, address: str) -> bytes:
        """Read a file of the folder, and no other. Raises `ExpiredError` if it is not there."""
        if address not in self:
            raise ExpiredError
        try:
            return Path(address).read_bytes()
        except FileNotFoundError as error:  # swept at this moment
            raise ExpiredError from error

    def __contains__(self, address: str) -> bool:
        path = Path(address).resolve()
        return path.is_relative_to(self.folder) and path.is_file()

    def hold(self) -> None:
        """See to it that the folder is there and ours: somebody may tidy up where it lies."""
        with self._lock:
            while not self._held():
                if self._handle is not None:
                    os.close(self._handle)
                self.folder.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.folder, os.O_RDONLY) if fcntl else None
                if self._handle is not None:
                    fcntl.flock(self._handle, fcntl.LOCK_EX)

    def _held(self) -> bool:
        """Whether the folder is there, and the one that is locked."""
        try:
            there = self.folder.stat()
        except FileNotFoundError:
            return False
        return not fcntl or (
            self._handle is not None and os.path.samestat(os.fstat(self._handle), there)
        )

    def check_room(self) -> None:
        """See to it that there is room for another file. Raises `VitvizError` where there is none.

        What is in the cache is measured now and then only, so it can grow beyond its bound for some
        seconds, but never into the reserve of the disk.
        """
        self.hold()
        with self._lock:
            due = time.monotonic() - self._measured > limits.CACHE_MEASURE_SECONDS
            if due:
                self._measured = time.monotonic()
        if due:
            self.sweep()
        if shutil.disk_usage(self.folder).free < limits.DISK_RESERVE_BYTES:
            raise VitvizError(Message("web.no_room"))

    def sweep(self) -> None:
        """Delete what is too old, too much, empty or broken off, and folders of ended processes."""
        self.hold()
        for other in self._base.glob(f"{PREFIX}*"):
            if other != self.folder and _abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        files = sorted(_files(self.folder), reverse=True)  # oldest first
        total = sum(file.size for file in files)
        for file in files:
            # A whole upload has a folder of its own; one that arrives is written all the time.
            loose = file.path.parent == self.folder and file.age > limits.CACHE_SWEEP_SECONDS
            if loose or file.age > limits.CACHE_AGE_SECONDS or total > limits.CACHE_BYTES:
                file.path.unlink(missing_ok=True)
                total -= file.size
        for inner in self.folder.iterdir():
            if inner.is_dir() and _age(inner) > limits.CACHE_SWEEP_SECONDS:
                with suppress(OSError):  # it is not empty
                    inner.rmdir()

    def sweep_for_ever(self) -> None:
        """Sweep now and every so often, in a thread that ends with the process."""

        def work() -> None:
            while True:
                try:
                    self.sweep()
                except OSError:  # the next one may find a better disk
                    log.exception("the cache could not be swept")
                time.sleep(limits.CACHE_SWEEP_SECONDS)

        threading.Thread(target=work, name="vitviz-sweep", daemon=True).start()

    def delete(self) -> None:
        """Delete everything, at the end."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    """Whether no process holds a folder.

    In the moment before a lock is taken, and where there are none, age decides.
    """
    if _age(folder) < 2 or not folder.is_dir():
        return False
    if fcntl is None:
        return all(file.age > limits.CACHE_AGE_SECONDS for file in _files(folder))
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # another user's
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _files(folder: Path) -> Iterator[_File]:
    now = time.time()
    for inside, _, names in os.walk(folder):
        for name in names:
            path = Path(inside, name)
            with suppress(FileNotFoundError):  # deleted meanwhile
                found = path.lstat()
                yield _File(now - found.st_mtime, found.st_size, path)


def _age(path: Path) -> float:
    """Seconds since something changed; 0 for what is not there any more."""
    with suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime
    return 0.0
