"""Scheduling gates: whether a pod waits at one, how it is closed and opened, and what a pod gets when one opens.

Pods wait for their own cards, for the domain of the topology that they go to, and for a slice of their elastic job.
"""

from collections.abc import Mapping
from typing import Any

from events.api.labels import CARDS_GATE, TOPOLOGY_GATE
from events.json_object import JsonMapping, JsonObject, is_array
from events.json_path import Location, get, put

_POD = ("spec",)
_GATES = "schedulingGates"
_SELECTOR = ("spec", "nodeSelector")


def waits_at(pod: JsonMapping, gate: str) -> bool:
    """Whether a pod waits at the gate of this name."""
    return {"name": gate} in _gates(pod, _POD)


def gate_closed(value: JsonObject, gate: str, at: Location = _POD) -> JsonObject:
    """The object with the gate, as the last one, in the pod specification at a path."""
    return put(value, (*at, _GATES), [*_others(value, at, gate), {"name": gate}])


def gate_opened(value: JsonObject, gate: str, at: Location = _POD) -> JsonObject:
    """The object without the gate in the pod specification at a path."""
    if get(value, (*at, _GATES)) is None:
        return value
    return put(value, (*at, _GATES), _others(value, at, gate) or None)


def with_own_cards(pod: JsonObject, pins: Mapping[str, str]) -> JsonObject:
    """The pod with the annotations (`pins`) that keep it to its own cards, and without the gate at which it waited for them."""
    for name, value in pins.items():
        pod = put(pod, ("metadata", "annotations", name), value)
    return gate_opened(pod, CARDS_GATE)


def selects(pod: JsonMapping, selector: Mapping[str, str]) -> bool:
    """Whether the node selector of a pod asks for all of this."""
    return selector.items() <= (get(pod, _SELECTOR) or {}).items()


def sent_to_domain(pod: JsonObject, selector: Mapping[str, str]) -> JsonObject:
    """The pod with the domain in its node selector, and without the gate at which it waited for it."""
    pod = put(pod, _SELECTOR, {**(get(pod, _SELECTOR) or {}), **selector})
    return gate_opened(pod, TOPOLOGY_GATE)


def _gates(value: JsonMapping, at: Location) -> list[Any]:
    found = get(value, (*at, _GATES))
    return list(found) if is_array(found) else []


def _others(value: JsonObject, at: Location, gate: str) -> list[Any]:
    return [one for one in _gates(value, at) if one != {"name": gate}]
