"""The objects that services have set aside because they failed on them.

A service asks `is_aside` before it looks at a workload, tree or node, and says `SetAside` when it fails on one.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from events.event import Millis
from events.rules import RULES

ADMITTER = "admitter"
"""The service whose workloads have to leave the line when they are set aside: nobody behind them waits for them."""
LEFT_ALONE = "SetAside"
"""The reason for which workloads that are set aside are parked."""


class Scope(StrEnum):
    """The kind of object that is set aside."""

    WORKLOAD = "workload"
    TREE = "tree"
    NODE = "node"
    CARD = "card"
    POD = "pod"
    FLAVOR = "flavor"


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """One object that one service has set aside, and why."""

    service: str
    scope: Scope
    name: str
    reason: str
    rules: str
    since: Millis
    sequence: int


def is_aside(asides: Mapping[str, Aside], service: str, scope: Scope, name: str) -> bool:
    """Whether a service has set this object aside under the present version of the rules."""
    found = asides.get(aside_key(service, scope, name)) if asides else None
    return found is not None and found.rules == RULES


def asides_of(asides: Mapping[str, Aside], scope: Scope, name: str) -> list[Aside]:
    """The records of all services that have set this object aside."""
    return [one for _, one in sorted(asides.items()) if one.scope is scope and one.name == name]


def aside_key(service: str, scope: Scope, name: str) -> str:
    """The key of a record in `World.aside`."""
    return f"{service}/{scope}/{name}"
