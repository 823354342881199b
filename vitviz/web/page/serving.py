"""Serving: launches the app; at the end, lets running requests finish and deletes all pictures."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from ...errors import VitvizError
from ..host import limits
from ..host.memory import keep_for_ever

if TYPE_CHECKING:
    from .gradio_inside import App


def serve(demo: "App", options: dict[str, Any], begun: Callable[[], None] = lambda: None) -> None:
    """Load the first model, launch the app, and serve until SIGTERM or Ctrl-C. `begun` is called
    when the app has an address.

    Ctrl-C, and SIGHUP of a closed terminal, end the app at once. SIGTERM (from `docker stop`,
    systemd or a rebuilt Space) waits for running requests, and then ends the process by that
    signal. A second SIGTERM ends it at once; the next process then deletes its files. Raises
    `VitvizError` if it cannot be launched.
    """
    import httpx

    from .gradio_inside import end_tunnels  # Gradio takes seconds to import

    stopping = threading.Event()

    def close(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        demo.gate.closing = True
        stopping.set()

    try:
        demo.warm()
        try:
            demo.launch(prevent_thread_lock=True, **options)
        # No free port, a full disk, or a ZeroGPU Space that does not reach its lender.
        except (OSError, httpx.HTTPError) as error:
            raise VitvizError(f"the page cannot be served: {error}") from error
        keep_for_ever()
        begun()
        # After `launch`, which could set a handler of Gradio's own.
        before = signal.signal(signal.SIGTERM, close)
        # The handler runs in this thread, but a signal to another thread does not wake it: poll.
        while not stopping.wait(limits.SIGNAL_SECONDS):
            pass
        _let_finish(demo)
    except KeyboardInterrupt:
        demo.gate.closing = True
    finally:
        # Pictures first: `close` takes seconds while a page is open, and may be interrupted.
        demo.gate.cache.delete()
        demo.close(verbose=False)  # the terminal may be closed
        demo.engine.close()
        demo.gate.cache.delete()  # files written meanwhile
        end_tunnels()  # signals do not end them
    # By signal: it does not wait for threads that still compute.
    if stopping.is_set():
        signal.signal(signal.SIGTERM, before)
        signal.raise_signal(signal.SIGTERM)


def _let_finish(demo: "App") -> None:
    """Wait until requests are answered and files fetched, for at most `CLOSING_SECONDS`."""
    until = time.monotonic() + limits.CLOSING_SECONDS
    while time.monotonic() < until:
        if demo.idle() and demo.gate.quiet(limits.CLOSING_QUIET_SECONDS):
            return
        time.sleep(0.05)
