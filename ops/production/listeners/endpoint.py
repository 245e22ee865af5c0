"""Where something is served, and to whom."""

import ipaddress
from pathlib import Path

import msgspec

LAST_PORT = 65_535
LOOPBACK = "127.0.0.1"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where something is served, and the file with the token that requests from other machines have to show."""

    port: int = 0
    """0 when it is not served at all."""
    address: str = LOOPBACK
    token: Path | None = None


def is_loopback(address: str | None) -> bool:
    """Whether an address is only reached from this machine, or from this pod."""
    if address == "localhost":
        return True
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback
