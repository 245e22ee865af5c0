"""Whom a connection to the bus takes for the bus where it is encrypted: who shows a certificate of an authority that is believed.

`tls://` asks for encryption; to `nats://` a server that wants it gets it too. Rule: docs/security.md#bus-in-tls
"""

import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from services.runtime.log_errors import LogUnavailable

AUTHORITY = "KUELOG_BUS_CA"
"""The environment variable that names a file with the authority of the bus, in PEM; those of the system without it."""
_PLAIN, _ENCRYPTED = ("nats", "ws"), ("tls", "wss")


def believed(addresses: Sequence[str], where: str) -> ssl.SSLContext | None:
    """Who is believed to be one of these servers; None where the server alone says whether it is encrypted. Raises `LogUnavailable`.

    `where` are the addresses as they may be told.
    """
    schemes = {scheme for scheme, mark, _ in (one.partition("://") for one in addresses) if mark}
    for scheme in sorted(schemes - {*_PLAIN, *_ENCRYPTED}):
        problem = f"{scheme}:// leads to no bus: write nats://HOST:PORT, or tls://HOST:PORT where it is encrypted"
        raise LogUnavailable(stream=where, problem=problem)
    if any(_has_no_port(one) for one in addresses):
        raise LogUnavailable(stream=where, problem="its port is no number from 1 to 65535: write nats://HOST:4222")
    named = os.environ.get(AUTHORITY, "")
    if schemes.isdisjoint(_ENCRYPTED) and not Path(named).is_file():
        return None
    if not schemes.isdisjoint(_ENCRYPTED) and not schemes.isdisjoint(_PLAIN):
        problem = "one of these servers is to be encrypted and another one not: write tls:// before each"
        raise LogUnavailable(stream=where, problem=problem)
    try:
        found = ssl.create_default_context(cafile=named or None)
    except (OSError, ValueError, ssl.SSLError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        said = f"{AUTHORITY}={named} holds no authority to believe ({why}): name a file of its certificates in PEM"
        raise LogUnavailable(stream=where, problem=said) from problem
    return found


def _has_no_port(address: str) -> bool:
    try:
        return urlsplit(address if "://" in address else f"//{address}").port == 0
    except ValueError:
        return True


def is_asked_for(addresses: Sequence[str]) -> bool:
    """Whether these addresses lead to a bus in TLS and to nothing else."""
    return any(one.startswith(tuple(f"{scheme}://" for scheme in _ENCRYPTED)) for one in addresses)


__all__ = ["AUTHORITY", "believed", "is_asked_for"]
