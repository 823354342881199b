"""Stopping: SIGTERM and SIGHUP close what is open, as Ctrl-C does, in every word."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

IMPORTS = "<frozen importlib._bootstrap>"
AGAIN_SECONDS = 0.05
# What ends a process; SIGHUP comes when its terminal is closed, and Windows has none.
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(BaseException):
    """Raised by `ENDING`, so that whatever is open is closed, and partial files are deleted."""


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Terminated`, and end the process as they do when that has come
    through. A second one ends it at once; one that is ignored, as with nohup, stays so. Ctrl-C
    raises `KeyboardInterrupt`, as ever.

    All wait for the end of an import: packages written in C swallow what is raised in one, and are
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
            signal.signal(number, signal.SIG_DFL)
            raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGINT)}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, asked)
    if before[signal.SIGINT] is signal.default_int_handler:  # else Ctrl-C is not for this process
        signal.signal(signal.SIGINT, asked)
    try:
        yield
    except Terminated as terminated:
        (number,) = terminated.args
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported where a frame stands."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None
