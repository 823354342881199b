"""The store: keeps files from and for visitors, for about an hour.

`Cache` implements it on the local disk; other stores must implement the protocol `Store`.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ...errors import VitvizError
from ...languages import Message
from .files import last_part


class ExpiredError(VitvizError):
    """Raised if the bytes at an address were deleted."""

    def __init__(self) -> None:
        super().__init__(Message("web.expired"))


class Store(Protocol):
    """Keeps bytes by an address that nobody can guess and that only the store interprets."""

    def put(self, data: bytes, name: str) -> str:
        """Keep bytes and return their address. `name`: the file name for a browser.

        Raises `VitvizError` if there is no room.
        """

    def put_all(self, files: Iterable[tuple[bytes, str]]) -> list[str]:
        """Keep several files like `put`, all or none."""

    def get(self, address: str) -> bytes:
        """The bytes at an address. Raises `ExpiredError` if there are none."""

    def __contains__(self, address: str) -> bool:
        """Whether there are bytes at an address, at this moment."""

    def check_room(self) -> None:
        """Make room for more. Raises `VitvizError` if there is none."""


class Upload(NamedTuple):
    """A picture that a visitor sent. `name` is untrusted, and only for display."""

    address: str
    name: str

    @classmethod
    def sent(cls, address: str, name: str = "") -> "Upload":
        """A picture as a request names it; without a name it has that of its file.

        Folders are removed from the name: page/aliases.py has replaced aliases in the request by
        paths of the host, and such a path would leak if the name is cut or written into a file.
        Half of a surrogate pair, which JSON can hold, is replaced, since it cannot be encoded.
        """
        name = name.encode(errors="replace").decode()
        return cls(address, last_part(name) or last_part(address))
