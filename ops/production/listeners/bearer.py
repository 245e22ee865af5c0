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
    return is_loopback(request.remote) or (token is not None and is_secret(bearer_token(request), token))


def bearer_token(request: web.Request) -> str:
    """The token that a request bears; empty where it bears none."""
    header = request.headers.get("Authorization", "")
    return header[len(_SCHEME) :].strip() if header[: len(_SCHEME)].lower() == _SCHEME else ""


def is_secret(shown: str, file: Path) -> bool:
    """Whether a text is what stands in a file; never, where that is missing or empty."""
    try:
        wanted = file.read_bytes().strip()
    except OSError:
        return False
    return bool(wanted) and hmac.compare_digest(shown.encode(errors="surrogateescape"), wanted)
