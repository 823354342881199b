"""Addresses of this machine: where the app can listen, and where others in the network open it."""

import ipaddress
import socket
from collections.abc import Iterator

from ...errors import VitvizError

# An address of documentation (RFC 5737). Nothing is sent to it: connecting a UDP socket only asks
# the system which of its own addresses it would send from.
ELSEWHERE = ("192.0.2.1", 9)


def check_listens(host: str, port: int | None) -> None:
    """Raise `VitvizError` if nothing can listen at this address. `port` None: any that is free.

    Gradio would wait for ever for an address that is not of this machine, and tell of a port that
    is taken with a traceback.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host.strip("[]"), port or 0), family=family).close()
    except (OSError, UnicodeError) as error:
        place = host if port is None else f"{host}, port {port}"
        why = (getattr(error, "strerror", None) or str(error)).partition(" (")[0]
        raise VitvizError(f"the app cannot listen at {place}: {why}") from error


def address_here(host: str = "0.0.0.0") -> str | None:
    """The address that others use; `host`: the address that is listened on.

    None where there is none: without a network, and for a host that only this machine reaches.
    """
    listens = _read(host)
    if listens is None or not listens.is_unspecified:
        return None if _is_alone(host) else host
    return next((one for one in _own() if not _is_alone(one)), None)


def visitor_of(address: str) -> str:
    """Whom an address belongs to: itself, or the network of an IPv6 address (64 bits), in which
    everybody has as many addresses as they like.
    """
    found = _read(address)
    if not isinstance(found, ipaddress.IPv6Address) or found.ipv4_mapped:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False))


def _own() -> Iterator[str]:
    """Addresses of this machine: the one towards other networks, then those of its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(ELSEWHERE)
            yield asking.getsockname()[0]
        except OSError:  # a network without a way out, or none
            pass
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return
    yield from (str(address[0]) for *_, address in found)


def _is_alone(host: str) -> bool:
    """Whether only this machine reaches itself so."""
    address = _read(host)
    if address is None:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _read(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:  # a name
        return None
