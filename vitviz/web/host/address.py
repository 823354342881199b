"""Addresses of this machine: to listen on, and for others in the network to open."""

import ipaddress
import socket
from collections.abc import Iterator

from ...errors import VitvizError

# An address for documentation (RFC 5737). Nothing is sent to it: connecting a UDP socket only
# makes the system choose the own address that it would send from.
ELSEWHERE = ("192.0.2.1", 9)


def check_listens(host: str, port: int | None) -> None:
    """Raise `VitvizError` if nothing can listen at this address. `port` None: any free port.

    Gradio would wait for ever for an address of another machine, and print a traceback for an
    occupied port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port or 0), family=family).close()
    except (OSError, UnicodeError) as error:
        place = host if port is None else f"{host}, port {port}"
        why = (getattr(error, "strerror", None) or str(error)).partition(" (")[0]
        raise VitvizError(f"the app cannot listen at {place}: {why}") from error


def address_here(host: str = "0.0.0.0") -> str | None:
    """The address that others use to reach the app; `host`: the address on which it listens.

    None without a network, and for a host that only this machine reaches.
    """
    listens = _read(host)
    if listens is None or not listens.is_unspecified:
        return None if _is_alone(host) else host
    return next((address for address in _own() if not _is_alone(address)), None)


def visitor_of(address: str) -> str:
    """The visitor of an address: the address itself, or the network (64 bits) of an IPv6 address,
    since a visitor can use any number of addresses in it.
    """
    found = _read(address)
    if not isinstance(found, ipaddress.IPv6Address) or found.ipv4_mapped:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False))


def _own() -> Iterator[str]:
    """Addresses of this machine: the one towards other networks, then those of its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
            yield probe.getsockname()[0]
        except OSError:  # no network, or no way out of it
            pass
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return
    yield from (str(address[0]) for *_, address in found)


def _is_alone(host: str) -> bool:
    """Whether only this machine itself can use an address."""
    address = _read(host)
    if address is None:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _read(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:  # a name
        return None
