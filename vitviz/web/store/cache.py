"""The cache: a folder of this process, with all files from and for visitors.

Gradio deletes only files that it remembers. Files of an earlier process, and uploads that broke
off, would stay for ever, so the cache checks the disk itself.
"""

import errno
import logging
import math
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...errors import FULL, VitvizError
from ...languages import Message
from ..host import limits
from .files import place_of, save_atomic, upload_name
from .store import ExpiredError

try:
    import fcntl
except ImportError:  # Windows: see `_abandoned`
    fcntl = None  # type: ignore[assignment]  # a checker on Linux knows the module alone

PREFIX = "vitviz-cache-"
NAME = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")  # as `mkdtemp` makes it
MARK = "cache-of-vitviz"  # an empty folder in ours; a name alone could be that of anybody's folder
BLOCK_BYTES = 4096  # file systems give a file, and its folder, whole blocks
NO_ROOM, NO_WRITING = Message("web.no_room"), Message("web.no_writing")
UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)  # a disk mounted anew, a locked folder

log = logging.getLogger("vitviz.web")

_made: set[Path] = set()  # folders of this process; GRADIO_TEMP_DIR may name one that is deleted


class _File(NamedTuple):
    age: float
    size: int  # on the disk
    path: str
    folder: str  # of `path`


class Cache:
    """A `Store` in a folder, for uploads and files made from them, kept for about an hour.

    The process locks the folder as long as it runs, and marks it. A marked folder without a lock
    belongs to an ended process, and the next process deletes it. Files of other programs are never
    touched.
    """

    def __init__(self, base: str | Path) -> None:
        """Create the folder in `base`, or beside `base` if that is the folder of another cache.

        Raises `VitvizError` if that fails.
        """
        self._handle: int | None = None
        self._lock = threading.Lock()
        self._sweeping = threading.Lock()
        self._due = threading.Event()  # for a sweep
        self._measured = float("-inf")
        self._written = 0  # bytes since the last measurement
        self._oldest = 0.0  # age of the oldest file that the last sweep left
        given = Path(base).resolve()
        self._base = given.parent if given in _made or _is_of_app(given) else given
        try:
            self._base.mkdir(parents=True, exist_ok=True)
            _delete_abandoned(self._base)  # first: a killed app may have filled the disk
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._base))
            _made.add(self.folder)
            try:
                self.hold()
            except OSError:
                _delete(self.folder)
                raise
        except OSError as error:
            where = f"the folder {self._base} for pictures cannot be used: {error.strerror}"
            raise VitvizError(f"{where}; GRADIO_TEMP_DIR names another") from error

    def put(self, data: bytes, name: str) -> str:
        return self.put_all([(data, name)])[0]

    def put_all(self, files: Iterable[tuple[bytes, str]]) -> list[str]:
        """Write files and return their paths. Equal bytes with equal names share a path.

        Raises `VitvizError` if the disk is full. After this and any other error the new files are
        deleted, unless another request has written the same file since.
        """
        done: list[str] = []
        new: dict[Path, int] = {}  # path -> modification time
        try:
            for data, name in files:
                path = place_of(data, name, self.folder)
                is_new = save_atomic(data, path)
                done.append(str(path))
                if is_new:
                    with self._lock:
                        self._written += _room_of(len(data))
                    new[path] = path.stat().st_mtime_ns
        except BaseException as error:
            for path, written in new.items():
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime_ns == written:
                        path.unlink()
            if refusal := refusal_of(error):
                raise refusal from error
            raise
        return done

    def take(self, upload: BinaryIO, name: str) -> str:
        """Write an upload and return its path.

        name  the visitor's name of the file, any text
        """
        path = place_of(upload, upload_name(name), self.folder)
        if save_atomic(upload, path):
            with self._lock:
                self._written += _room_of(path.stat().st_size)
        return str(path)

    def get(self, address: str) -> bytes:
        """Read a file of the folder. Raises `ExpiredError` for any other or a missing file."""
        if address not in self:
            raise ExpiredError
        try:
            return Path(address).read_bytes()
        except FileNotFoundError as error:  # swept since the check
            raise ExpiredError from error

    def __contains__(self, address: str) -> bool:
        if len(address) > limits.ADDRESS_LETTERS:  # resolving takes quadratic time
            return False
        try:
            path = Path(address).resolve()
            return path.is_relative_to(self.folder) and path.is_file()
        except (OSError, ValueError):  # too long, or with invalid characters
            return False

    def hold(self) -> None:
        """Create and lock the folder again if it was deleted, for example by a cleaner of /tmp."""
        with self._lock:
            while not self._held():
                if self._handle is not None:
                    handle, self._handle = self._handle, None
                    os.close(handle)  # never closed twice: its number can be reused
                self.folder.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.folder, os.O_RDONLY) if fcntl else None
                if self._handle is not None:
                    fcntl.flock(self._handle, fcntl.LOCK_EX)
                with suppress(FileNotFoundError):  # deleted again meanwhile
                    (self.folder / MARK).mkdir(exist_ok=True)  # locked before: it is in use

    def _held(self) -> bool:
        """Whether the folder exists, is the locked folder, and has its mark."""
        try:
            there = self.folder.stat()
        except FileNotFoundError:
            return False
        if not _is_marked(self.folder):
            return False
        return not fcntl or (
            self._handle is not None and os.path.samestat(os.fstat(self._handle), there)
        )

    def check_room(self) -> None:
        """Make room for another file. Raises `VitvizError` if the disk has none.

        The size of the cache is measured every `CACHE_MEASURE_SECONDS`, beside all requests, and at
        once whenever a share of its limit was written, so it exceeds the limit by little more than
        that share. The reserve of the disk is checked each time.
        """
        with self._lock:
            full = self._written > limits.CACHE_BYTES * limits.CACHE_MEASURE_SHARE
            late = time.monotonic() - self._measured > limits.CACHE_MEASURE_SECONDS
            if full or late:
                self._measured, self._written = time.monotonic(), 0
        if full:
            self.sweep()
        elif late:
            self._due.set()
        self.check_disk()

    def check_disk(self) -> None:
        """Raise `VitvizError` if the disk has no room for more, or takes nothing; nothing is
        measured or deleted.
        """
        try:
            self.hold()
            room, entries, takes = self._disk()
        except OSError as error:
            if refusal := refusal_of(error):
                raise refusal from error
            raise
        if not takes:
            raise VitvizError(NO_WRITING)
        if room < limits.DISK_RESERVE_BYTES or entries < limits.DISK_RESERVE_FILES:
            raise VitvizError(NO_ROOM)

    def _disk(self) -> tuple[int, float, bool]:
        """Free bytes and entries (inodes) of the disk, and whether it takes anything."""
        room = shutil.disk_usage(self.folder).free
        if not hasattr(os, "statvfs"):  # Windows
            return room, math.inf, True
        about = os.statvfs(self.folder)
        # Some file systems make entries as they need them, and say that they have none.
        entries = about.f_favail if about.f_files > 0 else math.inf
        return room, entries, not about.f_flag & os.ST_RDONLY

    def sweep(self) -> None:
        """Delete old, surplus and partial files, empty folders, and folders of ended processes.

        Where the disk comes near its reserve, the oldest files are surplus, too. Two sweeps at once
        would both count what one of them deletes, and delete as much again.
        """
        with self._sweeping:
            self._sweep()

    def _sweep(self) -> None:
        self.hold()
        _delete_abandoned(self._base, but=self.folder)
        top = str(self.folder)
        files = sorted(_files(top), reverse=True)  # oldest first
        total = sum(file.size for file in files)
        room, entries, _ = self._disk()
        most = _most(limits.CACHE_BYTES, total, room - limits.DISK_RESERVE_BYTES)
        number = _most(limits.CACHE_FILES, len(files), entries - limits.DISK_RESERVE_FILES)
        surplus = len(files) - number
        oldest = 0.0
        for place, file in enumerate(files):
            # A complete upload has its own folder; an arriving one has just been modified.
            loose = file.folder == top and file.age > limits.CACHE_SWEEP_SECONDS
            old = place < surplus or file.age > limits.CACHE_AGE_SECONDS
            if loose or old or total > most:
                if _age(Path(file.path)) < file.age:
                    continue  # it was written again meanwhile
                Path(file.path).unlink(missing_ok=True)
                total -= file.size
            else:
                oldest = max(oldest, file.age)
        self._oldest = oldest
        filled = {file.folder for file in files}
        for inner in self.folder.iterdir():
            if inner.name == MARK or str(inner) in filled:
                continue
            if _age(inner) > limits.CACHE_SWEEP_SECONDS:
                with suppress(OSError):  # it is no folder, or not empty
                    inner.rmdir()

    def sweep_for_ever(self) -> None:
        """Sweep now, when files are old, every `CACHE_SWEEP_SECONDS` and when `check_room` finds it
        due, in a thread that ends with the process.
        """

        def work() -> None:
            while True:
                try:
                    self.sweep()
                except OSError:  # the next sweep tries again
                    log.exception("the cache could not be swept")
                left = limits.CACHE_AGE_SECONDS - self._oldest
                pause = max(limits.CACHE_MEASURE_SECONDS, left)
                self._due.wait(min(limits.CACHE_SWEEP_SECONDS, pause))
                self._due.clear()

        threading.Thread(target=work, name="vitviz-sweep", daemon=True).start()

    def delete(self) -> None:
        """Delete the folder, when the app ends."""
        _delete(self.folder)


def refusal_of(error: BaseException) -> VitvizError | None:
    """The sentence for a disk that is full or takes nothing; None for any other error."""
    number = error.errno if isinstance(error, OSError) else None
    if number in FULL:
        return VitvizError(NO_ROOM)
    return VitvizError(NO_WRITING) if number in UNWRITABLE else None


def _most(limit: int, ours: int, spare: float) -> float:
    """The room that the cache may take of this disk: bytes, or files.

    limit  room that the cache may take of any disk
    ours   room that the cache takes now
    spare  room that the cache could take in addition; below 0, what the disk lacks of its reserve

    A share of the room is left free, for writes before the next measurement. If the disk would lack
    room even without the cache, the result is `limit`: deleting files of the cache would not help.
    """
    available = ours + spare
    if available <= 0:
        return limit
    return min(limit, available - min(limit * limits.CACHE_MEASURE_SHARE, available / 2))


def _is_of_app(folder: Path) -> bool:
    """Whether a folder is that of a cache, by its name and its mark."""
    return bool(NAME.fullmatch(folder.name)) and _is_marked(folder)


def _is_marked(folder: Path) -> bool:
    try:
        return (folder / MARK).is_dir() and not folder.is_symlink()
    except PermissionError:  # the folder of another user
        return False


def _delete_abandoned(base: Path, but: Path | None = None) -> None:
    """Delete the folders of ended processes."""
    for other in base.glob(f"{PREFIX}*"):
        if other != but and _is_of_app(other) and _abandoned(other):
            _delete(other)


def _delete(folder: Path) -> None:
    """Delete a folder of ours, its mark last: a deletion that is broken off is done again."""
    with suppress(OSError):  # it is gone
        for inner in _unmarked(folder):
            if inner.is_dir() and not inner.is_symlink():
                shutil.rmtree(inner, ignore_errors=True)
                continue
            with suppress(OSError):
                inner.unlink()
        if not _unmarked(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _unmarked(folder: Path) -> list[Path]:
    return [inner for inner in folder.iterdir() if inner.name != MARK]


def _abandoned(folder: Path) -> bool:
    """Whether no process has a lock on a folder.

    A folder younger than two seconds may not be locked yet. Without file locks (Windows), the age
    of the files decides.
    """
    if _age(folder) < 2 or not folder.is_dir():
        return False
    if fcntl is None:
        return all(file.age > limits.CACHE_AGE_SECONDS for file in _files(str(folder)))
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # the folder of another user
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _files(folder: str) -> Iterator[_File]:
    """All files in a folder and its subfolders; a full cache has more than 10,000."""
    with suppress(OSError), os.scandir(folder) as entries:  # deleted meanwhile
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
                continue
            with suppress(FileNotFoundError):  # deleted meanwhile
                status = entry.stat(follow_symlinks=False)
                size = _room_of(status.st_size)
                yield _File(time.time() - status.st_mtime, size, entry.path, folder)


def _room_of(size: int) -> int:
    """Bytes of the disk that a file of this size takes, with the folder that it lies in."""
    return (-(-size // BLOCK_BYTES) + 1) * BLOCK_BYTES


def _age(path: Path) -> float:
    """Seconds since the last change; 0 if the path does not exist any more."""
    with suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime
    return 0.0
