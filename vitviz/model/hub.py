"""The Hugging Face hub: whether it answers, and asking it only then."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

_hub_lock = threading.Lock()


@contextmanager
def offline_unless_it_answers() -> Iterator[None]:
    """Inside, timm and the hub's client use only their cache if the hub does not answer.

    Left alone, the client retries for most of a minute.
    """
    from huggingface_hub import constants

    with _hub_lock:
        before = constants.HF_HUB_OFFLINE
        constants.HF_HUB_OFFLINE = before or not answers(constants.ENDPOINT)
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before


def answers(url: str) -> bool:
    """Whether anything comes back from an address within three seconds."""
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=3).close()
    except urllib.error.HTTPError:  # an error page is an answer too
        return True
    except OSError:
        return False
    return True
