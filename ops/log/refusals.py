"""What JetStream says when it does not do what was asked, in our own errors: the stream's limit, the disk, or the bus away."""

from collections.abc import Mapping
from typing import Any

from nats.errors import Error

from services.log_errors import DiskFull, LogFull, LogUnavailable

UNANSWERED = (OSError, Error)
"""What the client raises when no answer comes: its own errors, timeouts, and those of the connection."""
_STORE_FAILED, _STORAGE_EXCEEDED = 10077, frozenset({10023, 10047})
_STREAM_FULL = ("maximum bytes exceeded", "maximum messages exceeded")
"""What the server says of a store that has failed because of the stream's own limits and nothing else."""


def refusal(stream: str, error: Mapping[str, Any]) -> LogUnavailable:
    """Why the bus has not done something, by the error in its answer."""
    code, told = error.get("err_code"), str(error.get("description"))
    if code == _STORE_FAILED and told in _STREAM_FULL:
        return LogFull(stream=stream)
    if code == _STORE_FAILED or code in _STORAGE_EXCEEDED:
        return DiskFull(stream=stream, problem=told)
    return LogUnavailable(stream=stream, problem=told)


def unavailable(stream: str, problem: Exception) -> LogUnavailable:
    """Of a question to which no answer came."""
    return LogUnavailable(stream=stream, problem=str(problem) or type(problem).__name__)
