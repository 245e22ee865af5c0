"""What a cycle has come to, said alike of Kueue's scheduler and of kuelog."""

from collections.abc import Mapping
from typing import Any

import msgspec

from events.json_object import JsonObject
from events.quantity import parse_quantity


class Told(msgspec.Struct, frozen=True):
    """Why somebody is preempted, or waits."""

    reason: str
    message: str


class Held(msgspec.Struct, frozen=True):
    """What a pod set has of quota."""

    name: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, str]
    places: dict[str, int] = {}
    """How many of its pods lie in which domain, where they are placed by topology."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """By the names of workloads: who holds what, who has to make room, and what those are told that wait."""

    holds: dict[str, list[Held]] = {}
    preempted: dict[str, Told] = {}
    evicted: list[str] = []
    """Who is stopped for a host that has failed."""
    finished: list[str] = []
    """Slices whose place another has taken."""
    pending: dict[str, Told] = {}
    decided: list[str] = []
    """Whom kuelog has decided about; Kueue does not say it."""
    error: str = ""
    """Why there is no answer."""


def answer_of(told: JsonObject) -> Answer:
    """What the program says of Kueue's scheduler."""
    return Answer(
        holds={
            name: [_held(one, told["places"].get(name, {})) for one in sets]
            for name, sets in (told["holds"] or {}).items()
        },
        preempted=_told(told["preempted"]),
        evicted=sorted(told["evicted"] or ()),
        finished=sorted(told["finished"] or ()),
        pending=_told(told["pending"]),
        error=told["error"],
    )


def _held(assignment: Mapping[str, Any], places: Mapping[str, dict[str, int]]) -> Held:
    usage: dict[str, str] = assignment.get("resourceUsage") or {}
    return Held(
        assignment["name"],
        assignment.get("count", 0),
        assignment.get("flavors") or {},
        {resource: str(parse_quantity(amount)) for resource, amount in usage.items()},
        places.get(assignment["name"], {}),
    )


def _told(conditions: Mapping[str, JsonObject] | None) -> dict[str, Told]:
    return {name: Told(one["reason"], one["message"]) for name, one in (conditions or {}).items()}
