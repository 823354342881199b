"""Stopping: SIGTERM and SIGHUP close what is open, as Ctrl-C does, in every word."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

IMPORTS = "<frozen importlib._bootstrap>"
AGAIN_SECONDS = 0.05
# Signals that end a process; SIGHUP comes when its terminal is closed; Windows lacks it.
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(BaseException):
    """Raised by `ENDING` signals, so that open files are closed and partial files deleted."""


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `Terminated`, then end the process as these signals do. A second
    signal ends the process at once; an ignored signal, as with nohup, stays ignored. Ctrl-C raises
    `KeyboardInterrupt` as usual.

    Signals wait for the end of an import: packages written in C swallow exceptions during an
    import, and are incomplete afterwards. One that reaches a finalizer, whose exceptions Python
    ignores, is sent again.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if os.name != "nt" and _imports(frame):
            _send_again(number)
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            signal.signal(number, signal.SIG_DFL)
            raise Terminated(number)

    def unraisable(ignored: "sys.UnraisableHookArgs") -> None:
        if isinstance(ignored.exc_value, Terminated):
            (number,) = ignored.exc_value.args
            signal.signal(number, handle)
            _send_again(number)
        elif isinstance(ignored.exc_value, KeyboardInterrupt):
            _send_again(signal.SIGINT)
        else:
            hook(ignored)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGINT)}
    for number in ENDING:
        if before[number] not in (
            signal.SIG_IGN,
            None,
        ):  # None: set from C
            signal.signal(number, handle)
    if before[signal.SIGINT] is signal.default_int_handler:  # else Ctrl-C is not for this process
        signal.signal(signal.SIGINT, handle)
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    except Terminated as terminated:
        (number,) = terminated.args
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _send_again(number: int) -> None:
    """Send this process the signal once more, in a moment."""
    again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _imports(frame: FrameType | None) -> bool:
    """Whether a frame is inside the import of a module."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        frame = frame.f_back
    return frame is not None
