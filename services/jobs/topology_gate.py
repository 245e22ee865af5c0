"""The scheduling gate at which pods wait until their node selector names the domain of the topology that they go to."""

from collections.abc import Mapping

from events.api.labels import TOPOLOGY_GATE
from events.json_object import JsonMapping, JsonObject
from services.jobs.paths import get, put

_GATES = ("spec", "schedulingGates")
_SELECTOR = ("spec", "nodeSelector")


def waits_for_domain(pod: JsonMapping) -> bool:
    """Whether a pod waits at the gate."""
    return {"name": TOPOLOGY_GATE} in (get(pod, _GATES) or ())


def selects(pod: JsonMapping, selector: Mapping[str, str]) -> bool:
    """Whether the node selector of a pod asks for all of this."""
    return selector.items() <= (get(pod, _SELECTOR) or {}).items()


def sent_to_domain(pod: JsonObject, selector: Mapping[str, str]) -> JsonObject:
    """The pod with the domain in its node selector, and without the gate."""
    others = [one for one in get(pod, _GATES) or () if one != {"name": TOPOLOGY_GATE}]
    pod = put(pod, _SELECTOR, {**(get(pod, _SELECTOR) or {}), **selector})
    return put(pod, _GATES, others or None)
