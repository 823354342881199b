"""Files written whole or not at all: a stop or a full disk leaves what was there before."""

import glob
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

PARTIAL = ".partial"


def at_home(path: str | os.PathLike[str]) -> Path:
    """A path whose first "~" is the home of its user, if there is one."""
    with suppress(RuntimeError):  # nobody has such a home
        return Path(path).expanduser()
    return Path(path)


def is_there(path: Path, kind: Callable[[Path], bool] = Path.exists) -> bool:
    """`kind(path)`, such as `path.is_file()`; False for a name that no disk can hold, and inside a
    folder that may not be entered.
    """
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


@contextmanager
def writes_whole(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to, in a hidden folder beside `path` for this writer alone. At the end
    the file moves to `path`, unless the body raises.

    With several writers, the last one wins. A path that is no plain file, such as a pipe, is
    written directly. Raises `OSError` if the file cannot be written.
    """
    path = at_home(path)
    if path.exists() and not path.is_file():
        yield path
        return
    with partial_folder(path) as folder:
        partial = folder / path.name
        yield partial
        partial.replace(path)


@contextmanager
def partial_folder(path: Path) -> Iterator[Path]:
    """A hidden folder beside `path` for this writer alone, deleted at the end. Folders of killed
    writers of `path` are deleted before. Raises `OSError` if it cannot be made.
    """
    for left, process in _partials(path):
        if not _runs(process):
            shutil.rmtree(left, ignore_errors=True)
    names = {"prefix": f".{path.name}.{os.getpid()}.", "suffix": PARTIAL}
    with TemporaryDirectory(**names, dir=path.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def others_write(path: Path, folder: Path) -> list[Path]:
    """The partial folders of other writers of `path` than that of `folder`."""
    return [other for other, _ in _partials(path) if other != folder]


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8 with its own line ends. Raises `OSError` if it cannot be written."""
    with writes_whole(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def _partials(path: Path) -> Iterator[tuple[Path, int]]:
    """The partial folders of a path, and the processes that made them."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        found = re.fullmatch(r"(\d{1,9})\.\w+", left.name[len(path.name) + 2 : -len(PARTIAL)])
        if found:
            yield left, int(found[1])


def _runs(process: int) -> bool:
    """Whether a process runs on this machine; always true on Windows, which cannot tell."""
    try:
        if os.name != "nt":
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True
