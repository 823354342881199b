"""Memory: freed tensors go back to the system, and the objects of the start are not searched."""

import ctypes
import gc
import sys

from . import limits

MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's malloc.h


def return_memory() -> None:
    """Let glibc take blocks from `MEMORY_BLOCK_BYTES` on from the system, and give them back.

    Its own bound rises to 32 MB with the first large block that is freed; smaller ones then stay in
    an arena of each thread, of which Gradio has forty (mallopt(3)). Other systems are left as they
    are.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(MMAP_THRESHOLD, limits.MEMORY_BLOCK_BYTES)


def keep_for_ever() -> None:
    """Exclude all existing objects from later garbage collections (`gc.freeze`).

    After the start there are about a million, of modules and the page. A collection of all takes a
    third of a second of processor time, in which no other thread runs, and one question with many
    lists can trigger it.
    """
    gc.collect()
    gc.freeze()
