"""The scheduling gate at which pods wait to be told which of their workload's cards are their own."""

from typing import Any

from events.json_object import JsonObject
from services.jobs.paths import Location, get, put

CARD_GATE = "kuelog.io/cards"
INDEX = "batch.kubernetes.io/job-completion-index"
_GATES = "schedulingGates"


def waits_for_cards(pod: JsonObject) -> bool:
    """Whether a pod waits at the gate."""
    return {"name": CARD_GATE} in _gates(pod, ("spec",))


def gate_closed(value: JsonObject, at: Location) -> JsonObject:
    """With the gate among those of the pod specification at a place."""
    return put(value, (*at, _GATES), [*_others(value, at), {"name": CARD_GATE}])


def gate_open(value: JsonObject, at: Location) -> JsonObject:
    """Without the gate."""
    return put(value, (*at, _GATES), _others(value, at) or None) if get(value, (*at, _GATES)) is not None else value


def told_cards(pod: JsonObject, pins: dict[str, str]) -> JsonObject:
    """A pod that may be scheduled onto these cards, and no others."""
    for name, value in pins.items():
        pod = put(pod, ("metadata", "annotations", name), value)
    return gate_open(pod, ("spec",))


def _gates(value: JsonObject, at: Location) -> list[Any]:
    found = get(value, (*at, _GATES))
    return found if isinstance(found, list) else []


def _others(value: JsonObject, at: Location) -> list[Any]:
    return [one for one in _gates(value, at) if one != {"name": CARD_GATE}]
