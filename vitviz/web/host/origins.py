"""Origins: the names under which the app is reached, and the pages that may send it requests.

A web page of somebody else can let a visitor's browser send requests to any address that the
browser reaches, also to one on the visitor's own machine. Two headers tell such requests apart, as
in Jupyter Server (`check_host` and `check_origin` in `jupyter_server/base/handlers.py`): `Host`
must be a name of this app, or else a name that an attacker lets point at it (DNS rebinding) would
count as its own; `Origin` must be the page of this very host. `Sec-Fetch-Site` says the same of
requests without `Origin`. A program that is no browser sends neither, and is let in.
"""

import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

SPACES = "SPACE_HOST"  # the names of a Space; Hugging Face sets it


class Origins:
    """The names of one app, and the origins that its host allows.

    hosts    names of the app, without ports; beside them localhost, IP addresses, the name of this
             machine and names that end with .local are always its own
    allowed  origins of other sites, such as "https://school.example"; they may ask, and may show
             the app in a frame
    """

    def __init__(self, hosts: Iterable[str] = (), allowed: Iterable[str] = ()) -> None:
        self.allowed = frozenset(allowed)
        of_space = os.environ.get(SPACES, "").split(",")
        self._hosts = {name.strip().lower() for name in (*hosts, *of_space) if name.strip()}
        self._hosts |= {"localhost", socket.gethostname().lower()}
        self._public: set[str] = {f"https://{name.strip()}" for name in of_space if name.strip()}
        # Whoever reaches a Space reaches it anyway: a name that points at it gains nothing, and the
        # names that its proxies use are not documented.
        self.on_space = bool(os.environ.get("SPACE_ID"))

    def add(self, address: str) -> None:
        """Let an address of the app, such as the public link of a tunnel, be one of its names."""
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
        # Browsers send it to addresses that are encrypted or local; "none" is the address bar.
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return True
        return following_link and headers.get("sec-fetch-mode") == "navigate"

    def _is_own(self, origin: str, host: str) -> bool:
        return origin.partition("://")[2] == host.lower() != "" or origin in self._public

    def frames(self) -> str:
        """The value of `frame-ancestors` (Content Security Policy): who may show it in a frame."""
        return "*" if self.on_space else " ".join(["'self'", *sorted(self.allowed)])

    def has_guests(self) -> bool:
        """Whether pages of other sites may show the app, so that its login has to work there."""
        return self.on_space or bool(self.allowed)


def read_origin(text: str) -> str:
    """An origin as browsers write it. Raises `ValueError` for what is none."""
    parts = urlsplit(text.strip().rstrip("/").lower())
    extra = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.hostname or extra:
        raise ValueError(text)
    default = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, default) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _name_of(host: str) -> str:
    """The name in a `Host` header; "" for one that cannot be read."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
