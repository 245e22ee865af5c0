"""The scheduling gate at which pods wait to be told which of their workload's cards are their own."""

from typing import Any

from services.jobs.paths import Location, Plain, get, put

CARD_GATE = "kuelog.io/cards"
INDEX = "batch.kubernetes.io/job-completion-index"
_GATES = "schedulingGates"


def waits_for_cards(pod: Plain) -> bool:
    """Whether a pod waits at the gate."""
    return {"name": CARD_GATE} in _gates(pod, ("spec",))


def gate_closed(value: Plain, at: Location) -> Plain:
    """With the gate among those of the pod specification at a place."""
    return put(value, (*at, _GATES), [*_others(value, at), {"name": CARD_GATE}])


def gate_open(value: Plain, at: Location) -> Plain:
    """Without the gate."""
    return put(value, (*at, _GATES), _others(value, at) or None) if get(value, (*at, _GATES)) is not None else value


def told_cards(pod: Plain, pins: dict[str, str]) -> Plain:
    """A pod that may be scheduled onto these cards, and no others."""
    for name, value in pins.items():
        pod = put(pod, ("metadata", "annotations", name), value)
    return gate_open(pod, ("spec",))


def _gates(value: Plain, at: Location) -> list[Any]:
    found = get(value, (*at, _GATES))
    return found if isinstance(found, list) else []


def _others(value: Plain, at: Location) -> list[Any]:
    return [one for one in _gates(value, at) if one != {"name": CARD_GATE}]
