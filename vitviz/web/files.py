"""Files in Gradio's cache: written whole or not at all, under names nobody can guess."""

import hashlib
import os
import re
import secrets
import tempfile
import unicodedata
from contextlib import suppress
from pathlib import Path

# Whoever knows a name can fetch the file. The key makes names unpredictable even to those who know
# the contents.
NAME_BYTES = 200  # of the 255 that file systems take; an ending and a partial file's mark follow
_KEY = secrets.token_bytes(32)


def save_atomic(data: bytes, name: str, cache: str | Path) -> str:
    """Put bytes into the cache and return their path. The same bytes share one file.

    Two visitors may write the same file at once, and a third one read it meanwhile: the file
    appears in one step. Writing it again only renews its age, which sweeping goes by.
    """
    folder = Path(cache) / hashlib.blake2b(data, key=_KEY, digest_size=32).hexdigest()
    path = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # also if it is swept away at this moment
        if path.stat().st_size == len(data):
            os.utime(path)
            return str(path)
    handle, partial = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(partial).replace(path)
    finally:
        Path(partial).unlink(missing_ok=True)
    return str(path)


def file_name(*parts: str) -> str:
    """A safe name from names of strangers: letters, marks and digits of any script, dots, dashes.

    A Mac sends names taken apart into strokes and accents; they are put together first.
    `maths/csv.js` of the viewer names files in the same way, both held to it by
    tests/file_names.json. With the ending that callers add, no disk finds it too long.
    """
    words = (_word(Path(part).name) for part in parts)
    name = "-".join(filter(None, words)) or "analysis"
    whole = name.encode()[:NAME_BYTES].decode(errors="ignore")
    return whole.strip("-._") or "analysis"


def _word(name: str) -> str:
    """One part: without its ending, at most 40 characters."""
    text = re.sub(r"\.[^.]{1,5}$", "", unicodedata.normalize("NFC", name))
    kept: list[str] = []
    for letter in text:
        kind = unicodedata.category(letter)[0]
        # A mark needs something to stand on.
        good = kind in "LN" or letter in "._-" or (kind == "M" and kept[-1:] not in ([], ["-"]))
        if good:
            kept.append(letter)
        elif kept[-1:] != ["-"]:
            kept.append("-")
    return "".join(kept).strip("-._")[:40].strip("-._")
