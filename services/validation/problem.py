"""What is wrong with a field of an object: the same words for lint, the watcher and the API."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from events.json_object import JsonObject


class Severity(StrEnum):
    """An error: the object is refused. A warning: it is accepted, but may not mean what was intended."""

    ERROR = "error"
    WARNING = "warning"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: where, what, what happens because of it, and what to write instead."""

    field: str
    code: str
    what: str
    consequence: str = ""
    instead: str = ""
    severity: Severity = Severity.ERROR
    origin: str = ""
    """The rule of Kubernetes that was broken, by its own name, e.g. `format=k8s-label-key`."""
    value: str = ""
    """The value as it was found."""

    @property
    def message(self) -> str:
        """What is wrong, its consequence and the remedy, as one text."""
        text = self.what if not self.consequence else f"{self.what}: {self.consequence}"
        return f"{text}. Instead: {self.instead}" if self.instead else text


def invalid(field: str, value: object, what: str, instead: str = "", *, origin: str = "") -> Problem:
    """The problem of a value that breaks a rule (`Invalid value` of the API)."""
    return Problem(field=field, code="Invalid", what=what, instead=instead, origin=origin, value=str(value))


def warning(field: str, code: str, what: str, consequence: str, instead: str) -> Problem:
    """What is accepted, and may not mean what was intended."""
    return Problem(
        field=field, code=code, what=what, consequence=consequence, instead=instead, severity=Severity.WARNING
    )


def required(field: str, what: str, instead: str = "") -> Problem:
    """The problem of a value that is missing (`Required value` of the API)."""
    return Problem(field=field, code="Required", what=what, instead=instead)


def forbidden(field: str, what: str, instead: str = "") -> Problem:
    """The problem of a field that may not be set here (`Forbidden` of the API)."""
    return Problem(field=field, code="Forbidden", what=what, instead=instead)


def duplicate(field: str, value: object, instead: str) -> Problem:
    """A value that may be there only once."""
    return Problem(field=field, code="Duplicate", what=f"{value} is given twice", instead=instead, value=str(value))


def not_supported(field: str, value: object, known: Sequence[str]) -> Problem:
    """A value outside of a closed list."""
    return Problem(
        field=field,
        code="NotSupported",
        what=f"{value!r} is not known here",
        instead=f"one of {', '.join(known)}" if known else "nothing: there is no value that would do",
        value=str(value),
    )


def not_found(field: str, value: object, instead: str = "") -> Problem:
    """A reference to something that is not there."""
    return Problem(field=field, code="NotFound", what=f"there is no {value}", instead=instead, value=str(value))


def too_long(field: str, value: str, most: int) -> Problem:
    """The problem of a text that is too long (`Too long` of the API)."""
    return Problem(
        field=field,
        code="TooLong",
        what=f"{len(value)} characters",
        instead=f"at most {most} characters",
        value=value,
    )


def immutable(field: str, value: object) -> Problem:
    """A field that may not change any more."""
    return invalid(field, value, "field is immutable", "the value that it had")


class ObjectWithProblems(msgspec.Struct, frozen=True):
    """An object in another form than it was written in, and what was found on the way."""

    value: JsonObject
    problems: list[Problem]
