"""Which requests are trusted: those from this machine, and those with the bearer token in a file."""

import hmac
from pathlib import Path

from aiohttp import web

from ops.production.listeners.endpoint import is_loopback

_SCHEME = "bearer "


def trusted(request: web.Request, token: Path | None) -> bool:
    """Whether the request comes from this machine, or bears the token.

    The file is read for each request, so that a new token counts at once; one that is missing or empty lets nobody in.
    """
    return is_loopback(request.remote) or (token is not None and _bears(request, token))


def _bears(request: web.Request, token: Path) -> bool:
    header = request.headers.get("Authorization", "")
    if header[: len(_SCHEME)].lower() != _SCHEME:
        return False
    try:
        wanted = token.read_bytes().strip()
    except OSError:
        return False
    shown = header[len(_SCHEME) :].strip().encode(errors="surrogateescape")
    return bool(wanted) and hmac.compare_digest(shown, wanted)
