"""What JetStream says when it does not do what was asked, in our own errors: the stream's limit, the disk, or the bus away."""

from collections.abc import Mapping
from socket import gaierror
from ssl import SSLCertVerificationError
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.errors import AuthorizationError, ConnectionClosedError, Error, NoRespondersError, NoServersError
from nats.js.errors import APIError

from ops.production.log.jetstream.connection import closed_for, domain_of, is_refused
from services.runtime.log_errors import DiskFull, LogFull, LogUnavailable, NotAllowed

UNANSWERED = (OSError, Error)
"""What the client raises when no answer comes: its own errors, timeouts, and those of the connection."""
DEADLINE_S = 5.0
"""How long an answer to a message is waited for."""
_STORE_FAILED, _STORAGE_EXCEEDED = 10077, frozenset({10023, 10047})
_STREAM_FULL = ("maximum bytes exceeded", "maximum messages exceeded")
"""What the server says of a store that has failed because of the stream's own limits and nothing else."""


class AnsweredError(msgspec.Struct, frozen=True):
    """What an answer of the server says where it has not done what was asked."""

    err_code: int = 0
    description: str = ""


def refusal(stream: str, error: Mapping[str, Any]) -> LogUnavailable:
    """Why the bus has not done something, by the error in its answer."""
    code, why = error.get("err_code"), str(error.get("description") or _NOBODY)
    if code == _STORE_FAILED and why in _STREAM_FULL:
        return LogFull(stream=stream)
    if code == _STORE_FAILED or code in _STORAGE_EXCEEDED:
        return DiskFull(stream=stream, problem=why)
    return LogUnavailable(stream=stream, problem=why)


def refused(client: Client, stream: str, problem: APIError) -> LogUnavailable:
    """The same, from an error that the client has decoded already; it makes one of that nobody answers."""
    if problem.err_code is None and (domain := domain_of(client)):
        return LogUnavailable(stream=stream, problem=_NO_SITE.format(domain))
    return refusal(stream, {"err_code": problem.err_code, "description": problem.description})


def unavailable(stream: str, problem: Exception) -> LogUnavailable:
    """The error for a question that was not answered."""
    return LogUnavailable(stream=stream, problem=reason_of(problem))


def unanswered(client: Client, subject: str, stream: str, problem: Exception) -> LogUnavailable:
    """The error for a message that was published to a subject and not answered: perhaps that is not allowed."""
    if is_refused(client, subject):
        return NotAllowed(stream=stream, subject=subject)
    if isinstance(problem, NoRespondersError) and (domain := domain_of(client)):
        return LogUnavailable(stream=stream, problem=_NO_SITE.format(domain))
    return not_taken(client, stream) or unavailable(stream, problem)


def not_taken(client: Client, stream: str) -> LogUnavailable | None:
    """The error while the server has closed the connection or does not take it; None when it takes it."""
    reason = closed_for(client)
    return LogUnavailable(stream=stream, problem=_CLOSING.get(reason, f"it says: {reason}")) if reason else None


def not_stored(client: Client, subject: str, stream: str, problem: Exception, breaks: int) -> LogUnavailable:
    """The same, of a message that a bus which answers questions has not stored; `breaks` of the connection had been before.

    To a message that it can't write, or may not take, nats-server answers nothing at all.
    """
    if is_refused(client, subject):
        return NotAllowed(stream=stream, subject=subject)
    if (closed := not_taken(client, stream)) is not None:
        return closed
    if int(client.stats["reconnects"]) > breaks:
        return LogUnavailable(stream=stream, problem="the connection broke before an answer came")
    if isinstance(problem, TimeoutError):
        return DiskFull(stream=stream, problem=f"it answers, but has stored nothing for {DEADLINE_S:.0f} s")
    return unavailable(stream, problem)


def reason_of(problem: Exception) -> str:
    """What the client raised, in words for a person."""
    if isinstance(problem, APIError):
        return str(problem.description or _NOBODY)
    if isinstance(problem, SSLCertVerificationError):
        return _NOT_BELIEVED.format(problem.verify_message)
    for kind, words in _WORDS:
        if isinstance(problem, kind):
            return words
    return str(problem).removeprefix("nats: ") or type(problem).__name__


_NOBODY = "nobody answers there: JetStream is off, or just starting"
_NO_SITE = (
    "no site {0} is connected to that bus at the moment, nor has its own server the JetStream domain {0}: "
    "leave /{0} out of the address to read the copy that is kept there"
)
_NOT_BELIEVED = (
    "its certificate is not believed ({0}): name the authority that has issued it by KUELOG_BUS_CA, "
    "and the host as the certificate does"
)
_STRANGER = "it does not let in this user with this password"
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "nobody listens there"),
    (gaierror, "no host is called so"),
    (NoRespondersError, _NOBODY),
    (ConnectionClosedError, "the connection is closed"),
    (NoServersError, "no server answers at that address"),
    (AuthorizationError, _STRANGER),
)
_CLOSING = {
    "authorization violation": _STRANGER,
    "maximum connections exceeded": "it takes no more connections at the moment",
}
