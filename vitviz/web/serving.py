"""Serving: from launch to the end, which lets those inside finish and leaves no picture behind."""

import signal
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import limits

if TYPE_CHECKING:
    from .page import App


def serve(demo: "App", options: dict[str, Any]) -> None:
    """Launch, and stay until SIGTERM or Ctrl-C, which ends everything at once.

    SIGTERM, of `docker stop`, systemd or a Space that is built anew, waits for those who are
    inside; then the process ends by that signal. A second one ends it at once, and what is left is
    deleted by the next process.
    """
    from gradio.tunneling import CURRENT_TUNNELS

    asked = threading.Event()

    def close(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        demo.gate.closing = True
        asked.set()

    try:
        demo.launch(prevent_thread_lock=True, **options)
        # Not earlier: where Gradio runs Node beside itself, it listens too, to end Node.
        before = signal.signal(signal.SIGTERM, close)
        asked.wait()
        _let_finish(demo)
    except KeyboardInterrupt:
        demo.gate.closing = True
    finally:
        # Pictures first: closing takes seconds if a page holds on to it, and may be cut short.
        demo.gate.cache.delete()
        demo.close()
        demo.gate.cache.delete()  # what was written meanwhile
    if asked.is_set():  # no thread that still computes holds it up; but nor is a tunnel closed
        for tunnel in CURRENT_TUNNELS:
            tunnel.kill()
        signal.signal(signal.SIGTERM, before)
        signal.raise_signal(signal.SIGTERM)


def _let_finish(demo: "App") -> None:
    """Wait for what was asked for, until its files are fetched, but not for ever."""
    until = time.monotonic() + limits.CLOSING_SECONDS
    while time.monotonic() < until:
        queue = demo._queue  # there is no other way to learn of it
        idle = len(queue) == 0 and queue.get_active_worker_count() == 0
        if idle and demo.gate.quiet(limits.CLOSING_QUIET_SECONDS):
            return
        time.sleep(0.05)
