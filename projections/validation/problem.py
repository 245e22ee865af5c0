"""What is wrong with a field of an object: the same words for lint, the watcher and the API."""

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """An error stops the object; a warning tells of a meaning that may not be the one intended."""

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

    @property
    def message(self) -> str:
        """All of it in one sentence or two."""
        told = self.what if not self.consequence else f"{self.what}: {self.consequence}"
        return f"{told}. Instead: {self.instead}" if self.instead else told
