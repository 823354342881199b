"""The Hugging Face hub: whether it answers, and which of its files this disk holds.

The offline mode of the hub's own client is not used. It is a switch of the whole process, and one
thread may have to read the cache while another downloads.
"""

import urllib.error
import urllib.request
from pathlib import Path


def is_there() -> bool:
    """Whether the hub may be used (`HF_HUB_OFFLINE`) and answers."""
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
    """The path of the first of these files that the hub's cache holds for a model.

    `model_id` is "owner/name" or "owner/name@revision". Nothing goes over the network. Raises
    `LocalEntryNotFoundError` if the cache holds none of the files.
    """
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository, _, revision = model_id.partition("@")
    for name in names:
        found = try_to_load_from_cache(
            repository, name, constants.HF_HUB_CACHE, revision=revision or None
        )
        if isinstance(found, str):  # else None, or the marker for "not on the hub"
            return Path(found)
    raise LocalEntryNotFoundError(f"the cache has none of {', '.join(names)} of {model_id}")


class Repository:
    """The files of one model on the hub; from the cache alone if the hub does not answer now.

    `model_id`: see `cached`. Raises `LocalEntryNotFoundError` if not even the cache has its
    config.json.
    """

    def __init__(self, model_id: str) -> None:
        self.model_id, self.online = model_id, is_there()
        if not self.online:
            cached(model_id, "config.json")

    def find(self, name: str) -> Path | None:
        """The path of a file, downloaded first; None if it is not there.

        Raises as the hub's client does.
        """
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

        repository, _, revision = self.model_id.partition("@")
        try:
            if self.online:
                return Path(hf_hub_download(repository, name, revision=revision or None))
            return cached(self.model_id, name)
        except EntryNotFoundError as error:
            if self.online and isinstance(error, LocalEntryNotFoundError):  # the network broke off
                raise
            return None
