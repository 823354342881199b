"""The store: where everything lies that visitors sent or were shown, for about an hour.

`Cache` is one, on the disk of this machine. Another one needs what is in `Store`.
"""

from typing import NamedTuple, Protocol

from ..errors import VitvizError
from ..languages import Message


class ExpiredError(VitvizError):
    """What lay at an address is there no more."""

    def __init__(self) -> None:
        super().__init__(Message("web.expired"))


class Store(Protocol):
    """Bytes by their address, which nobody can guess and only the store can read."""

    def put(self, data: bytes, name: str) -> str:
        """Keep bytes and return their address. `name` is what a browser saves them as."""

    def get(self, address: str) -> bytes:
        """The bytes at an address. Raises `ExpiredError` if there are none."""

    def __contains__(self, address: str) -> bool:
        """Whether there are bytes at an address, at this moment."""

    def check_room(self) -> None:
        """See to it that there is room for more. Raises `VitvizError` where there is none."""


class Upload(NamedTuple):
    """A picture as a visitor sent it. `name` is theirs: only to be shown."""

    address: str
    name: str
