"""Stopping: SIGTERM closes what is open, as Ctrl-C does, in every word of the command line."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

IMPORTS = "<frozen importlib._bootstrap>"
AGAIN_SECONDS = 0.05


class Terminated(BaseException):
    """Raised by SIGTERM, so that whatever is open is closed, and partial files are deleted."""


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, and end the process as it does when that has come through. A
    second one ends it at once. Ctrl-C raises `KeyboardInterrupt`, as ever.

    Both wait for the end of an import: packages written in C swallow what is raised in one, and are
    half there afterwards.
    """

    def asked(number: int, frame: FrameType | None) -> None:
        if os.name != "nt" and _imports(frame):
            again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGTERM, asked)
    if before[signal.SIGINT] is signal.default_int_handler:  # else Ctrl-C is not for this process
        signal.signal(signal.SIGINT, asked)
    try:
        yield
    except Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported where a frame stands."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None
