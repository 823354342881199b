"""Origins: the names of the app, and the pages that may send it requests.

A foreign web page can make a visitor's browser send requests to any address that the browser
reaches, even on the visitor's own machine. Two headers reveal such requests, as in Jupyter Server
(`check_host` and `check_origin` in `jupyter_server/base/handlers.py`): `Host` must be a name of
this app, so that an attacker's name that points at it is refused (DNS rebinding); `Origin` must be
a page of the same host. `Sec-Fetch-Site` does the same for requests without `Origin`. Programs
other than browsers send neither, and are allowed.
"""

import ipaddress
import os
import re
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

# A name, or an IPv6 address, and a port (RFC 1123, section 2.1; "_" is common in local networks).
HOST = re.compile(
    r"(\[[\da-f:.]{2,45}\]|[a-z\d_-]{1,63}(?:\.[a-z\d_-]{1,63})*)(?::\d{1,5})?", re.ASCII | re.I
)
SPACES = "SPACE_HOST"  # variable of Hugging Face with the names of a Space


class Origins:
    """The names of one app, and the origins that its host allows.

    hosts    names of the app, without ports; localhost, IP addresses, the name of this machine and
             names that end with .local are always allowed
    allowed  origins of other sites, such as "https://school.example", which may send requests and
             show the app in a frame
    """

    def __init__(self, hosts: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        self.allowed = frozenset(allowed)
        of_space = os.environ.get(SPACES, "").split(",")
        self._hosts = {name.strip().lower() for name in (*hosts, *of_space) if name.strip()}
        self._hosts |= {"localhost", socket.gethostname().lower()}
        self._public: set[str] = {f"https://{name.strip()}" for name in of_space if name.strip()}
        # A Space is public, so DNS rebinding gains nothing; and the names that its proxies use are
        # not documented.
        self.on_space = bool(os.environ.get("SPACE_ID"))

    def add(self, address: str) -> None:
        """Add an address of the app, such as the public link of a tunnel, to its names."""
        parts = urlsplit(address)
        if parts.hostname:
            self._hosts.add(parts.hostname)
            self._public.add(f"{parts.scheme}://{parts.netloc}")

    def serves(self, host: str) -> bool:
        """Whether a `Host` header names this app."""
        if self.on_space:
            return True
        name = _name_of(host)
        return name in self._hosts or name.endswith(".local") or _is_address(name)

    def allows(self, headers: Mapping[str, str], *, following_link: bool = False) -> bool:
        """Whether a request comes from a page of this app, an allowed one, or no page at all.

        following_link  whether a link from another site may lead here: a document, a file
        """
        origin = headers.get("origin")
        if origin is not None:
            return self._is_own(origin, headers.get("host", "")) or origin in self.allowed
        # Browsers send this header to encrypted or local addresses; "none" is the address bar.
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return True
        return following_link and headers.get("sec-fetch-mode") == "navigate"

    def _is_own(self, origin: str, host: str) -> bool:
        return origin.partition("://")[2] == host.lower() != "" or origin in self._public

    def frames(self) -> str:
        """Value of `frame-ancestors` (Content Security Policy): sites that may frame the app."""
        return "*" if self.on_space else " ".join(["'self'", *sorted(self.allowed)])

    def has_guests(self) -> bool:
        """Whether other sites may frame the app, so that its login has to work there."""
        return self.on_space or bool(self.allowed)


def read_origin(text: str) -> str:
    """An origin as browsers write it. Raises `ValueError` for any other text."""
    parts = urlsplit(text.strip().rstrip("/").lower())
    extra = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or extra:
        raise ValueError(text)
    default = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, default) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _name_of(host: str) -> str:
    """The name in a `Host` header; "" for an invalid header."""
    found = HOST.fullmatch(host)
    return found[1].lower().strip("[]") if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
