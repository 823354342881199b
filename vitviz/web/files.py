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
    """A safe file name from strangers' names: letters of any script, digits, dots, dashes.

    A Mac sends names taken apart into strokes and accents; they are put together first.
    """
    stems = (unicodedata.normalize("NFC", Path(part).stem) for part in parts)
    words = (re.sub(r"[^\w.-]+", "-", stem).strip("-._")[:40] for stem in stems)
    return "-".join(filter(None, words)) or "analysis"
