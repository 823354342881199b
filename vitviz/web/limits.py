"""Every bound of the web app in one place: what a host may want to change.

The limits of a picture itself (bytes, pixels, formats) are those of `vitviz.model.photo`: they hold
behind every door.
"""

import os
from pathlib import Path

from ..model.photo import MAX_BYTES


def usable_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Cores this process may use: those it is allowed on, or fewer where a container's quota says.

    So many passes at a time: two on two busy cores answered about as many visitors as one that has
    both (0.9 to 1.04 times, measured), but a small model does not wait behind a large one. More
    than there are cores would only take memory.
    """
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    cores = len(allowed(0))
    try:
        microseconds, period = quota.read_text().split()
        return max(1, min(cores, int(microseconds) // int(period)))
    except (OSError, ValueError):  # no such file outside of Linux; "max" is no quota
        return cores


UPLOAD_BYTES = MAX_BYTES  # of one file; larger uploads are cut off while they arrive
UPLOAD_SECONDS = 600  # until a file has arrived
BODY_BYTES = 64_000  # of any other request; a question is some hundred bytes
QUEUE_SIZE = 64  # requests that may wait; the next one is told to come back later
DRAWING_WAIT_SECONDS = 30  # for figures that others have asked for; one is drawn at a time
LINE = 8  # that may wait for a turn of one kind; Gradio has 40 threads for everything
COMPUTING_WAIT_SECONDS = 30  # for a forward pass or a rollout, while others compute
LOADING_WAIT_SECONDS = 120  # for a model that is being loaded, perhaps downloaded, for another
COMPUTING = usable_cores()  # forward passes at a time, and as many rollouts
WORKERS = min(COMPUTING + 2, 24)  # requests at a time: some may wait for a download meanwhile
MODELS_KEPT = 3  # loaded models in memory; the one not used for longest is dropped
CACHE_SWEEP_SECONDS = 600  # between two sweeps of the cache; what broke off is swept after as long
CACHE_AGE_SECONDS = 3600  # uploads, and the files of an analysis, live this long
CACHE_BYTES = 4 * 10**9  # of all of them; what has been there for longest goes first
CACHE_MEASURE_SECONDS = 30  # how often they are measured while they come in
DISK_RESERVE_BYTES = 10**9  # of the cache's disk that must stay free; below it nothing is taken in
ANALYSES_KNOWN = 1000  # that a viewer may ask about; their files live in the cache
SESSIONS_KNOWN = 200  # whose state Gradio keeps; a page that it forgot shows its picture as before
PILLOW_BLOCK_BYTES = 64 * 2**20  # of pixels in one piece, which goes back to the system when freed
PAGES_KNOWN = 1000  # of which we know what they asked for last
CLOSING_SECONDS = 8  # for those inside when the app ends; `docker stop` kills after ten
CLOSING_QUIET_SECONDS = 1  # a page fetches its files right after its answer
TOP_CLASSES = 5  # predictions in the answer of the API
