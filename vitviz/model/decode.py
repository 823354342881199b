"""Decode: opens one photo in a process of its own, which can be ended when it takes too long.

`decode` starts `python -m vitviz.model.decode`, which reads a line of JSON and a file from stdin,
and writes a line of JSON and the pixels of the picture to stdout.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from PIL import Image

from ..errors import ImageError
from ..languages import Message, from_file, to_file
from .photo import Photo, open_photo

HOUSE = Path(__file__).resolve().parents[2]  # where Python finds this package


class TooSlowError(ImageError):
    """Raised if a photo is not decoded in time."""


def decode(data: bytes, name: str, seconds: float) -> Photo:
    """`open_photo` of bytes, in a process of its own that is killed after these seconds.

    Raises `ImageError` as `open_photo` does, `TooSlowError` if it takes longer, and `OSError` if no
    process can be started.
    """
    paths = [str(HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "vitviz.model.decode", str(seconds)]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(name).encode() + b"\n" + data,
            capture_output=True,
            timeout=seconds,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
        )
    except subprocess.TimeoutExpired as error:
        raise TooSlowError(f"{name!r} takes longer than {seconds:g} s to open") from error
    head, _, pixels = done.stdout.partition(b"\n")
    if done.returncode or not head:  # it ran out of memory, or a decoder broke it
        broken = ImageError(Message("photo.not_decoded", name=repr(name)))
        broken.add_note(f"{done.returncode}: {done.stderr.decode(errors='replace')[-1000:]}")
        raise broken
    about = json.loads(head)
    texts = [from_file(text, about["messages"]) for text in about["texts"]]
    if about["refused"]:
        raise ImageError(texts[0])
    image = Image.frombytes(about["mode"], tuple(about["size"]), pixels)
    return Photo(image, about["name"], tuple(texts))


def _answer() -> None:
    """Decode stdin, and write the answer."""
    name, out = json.loads(sys.stdin.buffer.readline()), sys.stdout.buffer
    about: dict[str, object]
    try:
        photo = open_photo(sys.stdin.buffer.read(), name)
    except ImageError as error:
        about = {"refused": True, "texts": [error.message], "messages": to_file([error.message])}
        out.write(json.dumps(about).encode() + b"\n")
        return
    about = {"refused": False, "texts": photo.notes, "messages": to_file(photo.notes)}
    about |= {"mode": photo.image.mode, "size": photo.image.size, "name": photo.name}
    out.write(json.dumps(about).encode() + b"\n")
    out.write(photo.image.tobytes())


def _end_after(seconds: float) -> None:
    """Limit the CPU time of this process: if the app is killed, nothing else ends it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


if __name__ == "__main__":
    _end_after(float(sys.argv[1]))
    _answer()
