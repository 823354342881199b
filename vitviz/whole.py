"""Files written whole or not at all: a stop or a full disk leaves what was there before."""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

PARTIAL = ".partial"


@contextmanager
def writes_whole(path: str | Path) -> Iterator[Path]:
    """Where to write a file: into a hidden folder beside `path`, of this writer alone. At the end
    it moves to `path`; nothing moves if the body raises.

    Of several writers the last one stays. What is no plain file, such as a pipe, is written as it
    is. Raises `OSError` if the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        yield path
        return
    _forget_killed(path)
    names = {"prefix": f".{path.name}.{os.getpid()}.", "suffix": PARTIAL}
    with TemporaryDirectory(**names, dir=path.parent, ignore_cleanup_errors=True) as folder:
        partial = Path(folder, path.name)
        yield partial
        partial.replace(path)


def write_text(path: str | Path, text: str) -> None:
    """Write a text, in UTF-8, with the ends of lines that it has. Raises `OSError` if it cannot."""
    with writes_whole(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def _forget_killed(path: Path) -> None:
    """Delete what writers of this file left behind that were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        found = re.fullmatch(r"(\d{1,9})\.\w+", left.name[len(path.name) + 2 : -len(PARTIAL)])
        if found and not _runs(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether a process runs on this machine; on Windows, which cannot be asked, all do."""
    try:
        if os.name != "nt":
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        return True
    return True
