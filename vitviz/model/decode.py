"""Decode: opens one photo in a process of its own, which can be ended when it takes too long.

`decode` starts `python -m vitviz.model.decode`, which reads a line of JSON and a file from stdin,
and writes a line of JSON and the pixels of the picture to stdout.
"""

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

from PIL import Image

from ..errors import ImageError
from ..languages import Message, from_file, to_file
from .photo import Photo, open_photo

HOUSE = Path(__file__).resolve().parents[2]  # where Python finds this package
COMMAND = (sys.executable, "-m", "vitviz.model.decode")
BAND_BYTES = 2**20  # pixel data read and pasted per step: other threads wait during a step
NICE = 5  # niceness of the decoder process, so that other processes run first


class TooSlowError(ImageError):
    """Raised if a photo is not decoded in time."""


def decode(data: bytes, name: str, seconds: float, stretch: bool = False) -> Photo:
    """`open_photo` of bytes, in a process of its own that is killed after these seconds.

    Raises `ImageError` as `open_photo` does, `TooSlowError` if it takes longer, and `OSError` if no
    process can be started.
    """
    paths = [str(HOUSE), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [*COMMAND, str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a decoder can write there without an end
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    with process:
        try:
            return _received(process, data, name, stretch)
        except (OSError, ValueError, EOFError) as error:  # it has ended before its answer did
            if late.is_set():
                raise TooSlowError(f"{name!r} takes longer than {seconds:g} s to open") from error
            # It ran out of memory, or a decoder broke it.
            raise ImageError(Message("photo.not_decoded", name=repr(name))) from error
        finally:
            timer.cancel()
            process.kill()
            with suppress(OSError):  # what it did not read is of no use
                _pipe(process.stdin).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe, "decode asks for both"
    return pipe


def _received(process: subprocess.Popen[bytes], data: bytes, name: str, stretch: bool) -> Photo:
    """The photo that a process answers with; `ImageError` if it refuses it."""
    to_it, from_it = _pipe(process.stdin), _pipe(process.stdout)
    to_it.write(json.dumps([name, stretch]).encode() + b"\n" + data)
    to_it.close()
    about = json.loads(from_it.readline())
    texts = [from_file(text, about["messages"]) for text in about["texts"]]
    if about["refused"]:
        raise ImageError(texts[0])
    image = Image.new(about["mode"], tuple(about["size"]))
    width, height = image.size
    row_bytes = width * len(Image.new(image.mode, (1, 1)).tobytes())
    rows = max(1, BAND_BYTES // row_bytes)
    for top in range(0, height, rows):
        size = (width, min(rows, height - top))
        band = from_it.read(row_bytes * size[1])
        if len(band) < row_bytes * size[1]:
            raise EOFError(f"{name!r} ends in row {top} of {height}")
        image.paste(Image.frombytes(image.mode, size, band), (0, top))
    return Photo(image, about["name"], tuple(texts))


def _answer() -> None:
    """Decode stdin, and write the answer."""
    (name, stretch), out = json.loads(sys.stdin.buffer.readline()), sys.stdout.buffer
    about: dict[str, object]
    try:
        photo = open_photo(sys.stdin.buffer.read(), name, stretch=stretch)
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
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        import resource
    except ImportError:  # Windows
        return
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


if __name__ == "__main__":
    _end_after(float(sys.argv[1]))
    _answer()
