"""Files in Gradio's cache: written atomically, under paths that nobody can guess."""

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

NAME_BYTES = 200  # file systems allow 255; the rest is for suffixes
# A file can be fetched by anybody who knows its path. The key of the hash makes the path
# unpredictable even to those who know the contents.
_KEY = secrets.token_bytes(32)


def place_of(data: bytes | BinaryIO, name: str, cache: str | Path) -> Path:
    """The path of bytes, or of an open file, in the cache. Equal bytes with equal names share a
    path.

    The path depends on the name, too: otherwise anybody with the same picture could find out other
    names in its folder.
    """
    named = hashlib.sha256(name.encode()).digest()[:16]
    known = data if isinstance(data, bytes) else b""
    content = hashlib.blake2b(known, key=_KEY, digest_size=32, person=named)
    if not isinstance(data, bytes):
        data.seek(0)
        while piece := data.read(2**20):
            content.update(piece)
    return Path(cache) / content.hexdigest() / name


def save_atomic(data: bytes | BinaryIO, path: Path) -> bool:
    """Write bytes, or an open file, to a path of the cache (`place_of`). Returns whether the file
    is new.

    The file appears atomically, because several requests may write and read it at once. A second
    write only sets its modification time, by which the cache is swept.
    """
    size = len(data) if isinstance(data, bytes) else data.seek(0, os.SEEK_END)
    with suppress(FileNotFoundError):  # or it was swept since `stat`
        if path.stat().st_size == size:
            os.utime(path)
            return False
    handle, partial = _partial(path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if isinstance(data, bytes):
                file.write(data)
            else:
                data.seek(0)
                shutil.copyfileobj(data, file)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
    return True


def _partial(folder: Path) -> tuple[int, str]:
    """Create a file in a folder. The folder may be missing: a sweep deletes empty folders."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return tempfile.mkstemp(dir=folder)


def file_name(*parts: str) -> str:
    """A safe file name from untrusted names: letters, marks, digits of any script and "._-".

    Names are normalised to NFC, because macOS sends NFD. `maths/csv.js` of the viewer follows the
    same rule; tests/file_names.json tests both. The name leaves room for the suffix that callers
    add.
    """
    words = (_word(Path(part).name) for part in parts)
    name = "-".join(filter(None, words)) or "analysis"
    whole = name.encode()[:NAME_BYTES].decode(errors="ignore")
    return whole.strip("-._") or "analysis"


def last_part(name: str) -> str:
    """A name without folders, of any system; "" for that of a folder with its last slash."""
    return re.split(r"[/\\]", name)[-1]


def upload_name(name: str) -> str:
    """The name of an upload as a file name: without folders and characters that some system forbids
    in names, but with its ending.
    """
    last = last_part(unicodedata.normalize("NFC", name))
    plain = "".join(letter for letter in last if letter.isprintable() and letter not in '<>:"|?*')
    stem, dot, ending = plain.rstrip(" .").rpartition(".")
    if not dot or len(ending) > 5:
        stem, ending = stem + dot + ending, ""
    short = stem.encode()[:NAME_BYTES].decode(errors="ignore").strip(" .") or "photo"
    return f"{short}.{ending}" if ending else short


def _word(name: str) -> str:
    """One part of the name, without its suffix; at most 40 characters."""
    text = re.sub(r"\.[^.]{1,5}$", "", unicodedata.normalize("NFC", name))
    letters: list[str] = []
    for letter in text:
        kind = unicodedata.category(letter)[0]
        # A combining mark needs a letter before it.
        good = kind in "LN" or letter in "._-" or (kind == "M" and letters[-1:] not in ([], ["-"]))
        if good:
            letters.append(letter)
        elif letters[-1:] != ["-"]:
            letters.append("-")
    return "".join(letters).strip("-._")[:40].strip("-._")
