"""The port to CEL: whether an expression about devices can be compiled, and whether a device meets it.

What an expression comes to is never asked again of what is on the log: a library of another version changes no replay.
"""

from typing import Protocol

from events.api.claims import ApiDevice


class SelectorFailed(Exception):
    """An expression can't be evaluated on a device; the message says why."""


class Selectors(Protocol):
    """Compiles and evaluates CEL expressions about devices."""

    def problem(self, expression: str) -> str:
        """Why an expression can't be compiled; empty when it can."""
        ...

    def meets(self, expression: str, driver: str, device: ApiDevice) -> bool:
        """Whether a device meets an expression that can be compiled. Raises `SelectorFailed`."""
        ...


class NoSelectors:
    """Where no device class is mapped no expression is ever looked at."""

    def problem(self, expression: str) -> str:  # noqa: ARG002 - whatever it says
        """Why none can be compiled: nothing is mapped."""
        return "no device class is mapped (resources.deviceClassMappings)"

    def meets(self, expression: str, driver: str, device: ApiDevice) -> bool:
        """Not asked, because none can be compiled."""
        raise SelectorFailed(self.problem(expression))
