"""Refusals of the embedded API in Kubernetes' own shape: a Status with reason, message, code and causes."""

from collections.abc import Sequence
from typing import Any


class ApiFailure(Exception):
    """A request that is refused; `body` is the Status object that the client gets."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        causes: Sequence[tuple[str, str]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.retry_after = code, retry_after
        details: dict[str, Any] = {}
        if causes:
            details["causes"] = [
                {"reason": "FieldValueInvalid", "field": field, "message": told} for field, told in causes
            ]
        if retry_after is not None:
            details["retryAfterSeconds"] = retry_after
        self.body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        }


def not_found(plural: str, name: str) -> ApiFailure:
    """There is no such object."""
    return ApiFailure(404, "NotFound", f'{plural} "{name}" not found')


def already_exists(plural: str, name: str) -> ApiFailure:
    """There is such an object already."""
    return ApiFailure(409, "AlreadyExists", f'{plural} "{name}" already exists')


def conflict(plural: str, name: str) -> ApiFailure:
    """Somebody else has changed the object since it was read."""
    return ApiFailure(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {plural} "{name}": the object has been modified; please apply your changes '
        "to the latest version and try again",
    )


def invalid(kind: str, name: str, causes: Sequence[tuple[str, str]]) -> ApiFailure:
    """The object breaks the rules of its kind."""
    told = ", ".join(f"{field}: {message}" for field, message in causes)
    return ApiFailure(422, "Invalid", f'{kind} "{name}" is invalid: {told}', causes=causes)


def denied(webhook: str, status: dict[str, Any]) -> ApiFailure:
    """A webhook does not let it in; in its own words."""
    causes = [(str(one["field"]), str(one["message"])) for one in (status.get("details") or {}).get("causes") or ()]
    told = f'admission webhook "{webhook}" denied the request: {status["message"]}'
    return ApiFailure(int(status["code"]), str(status["reason"]), told, causes=causes)


def bad_request(message: str) -> ApiFailure:
    """The request can't be understood."""
    return ApiFailure(400, "BadRequest", message)


def whole(text: object, field: str) -> int:
    """A whole number that came as text or as a number, of a length that can be one. Raises 400 with its field."""
    sign, digits = (-1, text[1:]) if isinstance(text, str) and text.startswith("-") else (1, text)
    if isinstance(digits, str) and digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return sign * int(digits)
    if isinstance(text, int) and not isinstance(text, bool) and abs(text) < 10**_MOST_DIGITS:
        return text
    raise bad_request(f"{field}: {str(text)[:_SHOWN]!r} is no whole number")


def gone(message: str) -> ApiFailure:
    """The history that was asked for is not kept any more."""
    return ApiFailure(410, "Expired", message)


_MOST_DIGITS = 18
_SHOWN = 60
