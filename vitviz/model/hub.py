"""The Hugging Face hub: whether it answers, and what of it lies on this disk already.

Nothing here is a switch of the whole process, as the client's own offline mode is: one thread may
read the cache while another downloads.
"""

import urllib.error
import urllib.request
from pathlib import Path


def is_there() -> bool:
    """Whether the hub may be asked (`HF_HUB_OFFLINE`) and answers."""
    from huggingface_hub import constants

    return not constants.HF_HUB_OFFLINE and answers(constants.ENDPOINT)


def answers(url: str) -> bool:
    """Whether anything comes back from an address within three seconds."""
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=3).close()
    except urllib.error.HTTPError:  # an error page is an answer too
        return True
    except OSError:
        return False
    return True


def cached(model_id: str, *names: str) -> Path:
    """The first of these files of a model, "owner/name" or "owner/name@revision", in the cache.

    Asks nobody and waits for nobody. Raises `LocalEntryNotFoundError` if none of them is there.
    """
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository, _, revision = model_id.partition("@")
    for name in names:
        found = try_to_load_from_cache(
            repository, name, constants.HF_HUB_CACHE, revision=revision or None
        )
        if isinstance(found, str):  # neither None nor the mark for "the hub does not have it"
            return Path(found)
    raise LocalEntryNotFoundError(f"the cache has none of {', '.join(names)} of {model_id}")
