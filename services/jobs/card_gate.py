"""The scheduling gate at which pods wait until it is decided which of their workload's cards are their own."""

from typing import Any

from events.api.labels import CARDS_GATE
from events.json_object import JsonMapping, JsonObject, is_array
from services.jobs.paths import Location, get, put

_GATES = "schedulingGates"


def waits_for_cards(pod: JsonMapping) -> bool:
    """Whether a pod waits at the gate."""
    return {"name": CARDS_GATE} in _gates(pod, ("spec",))


def gate_closed(value: JsonObject, at: Location, gate: str = CARDS_GATE) -> JsonObject:
    """The object with the gate, or another, added to the pod specification at a path."""
    return put(value, (*at, _GATES), [*_others(value, at, gate), {"name": gate}])


def gate_open(value: JsonObject, at: Location, gate: str = CARDS_GATE) -> JsonObject:
    """The object without the gate, or another, in the pod specification at a path."""
    return (
        put(value, (*at, _GATES), _others(value, at, gate) or None) if get(value, (*at, _GATES)) is not None else value
    )


def with_own_cards(pod: JsonObject, pins: dict[str, str]) -> JsonObject:
    """The pod with the annotations (`pins`) that keep it to its own cards, and without the gate."""
    for name, value in pins.items():
        pod = put(pod, ("metadata", "annotations", name), value)
    return gate_open(pod, ("spec",))


def _gates(value: JsonMapping, at: Location) -> list[Any]:
    found = get(value, (*at, _GATES))
    return list(found) if is_array(found) else []


def _others(value: JsonObject, at: Location, gate: str) -> list[Any]:
    return [one for one in _gates(value, at) if one != {"name": gate}]
