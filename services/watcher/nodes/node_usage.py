"""What pods that are not placed by topology hold of the nodes of flavors with a topology.

Rule: docs/rules/topology.md#other-pods

Pods are counted only where there is such a flavor. A node's fact rests on all pods that were seen so far: nothing is said
before they were listed, and several watchers that have seen the same pods say the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from events.amount import UNLIMITED, Requests
from events.api.labels import (
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_LAYERS,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_UNCONSTRAINED_TOPOLOGY,
)
from events.api.pods import ApiContainer, ApiPod
from events.catalogue import Fact
from events.control import ObjectRemoved
from events.device import NodeObserved, NodeUsageObserved
from events.json_object import JsonObject
from events.pod_set import ContainerShape, PodShape
from events.quota import FlavorObserved
from projections.devices.holdings.card_holdings import TERMINAL
from projections.quota.effective_requests import PODS, pod_requests
from projections.topology.domains.flavor_nodes import bears
from services.watcher.fields.quantities import readable_amounts
from services.watcher.object_keys import USAGE_PART, known

PLACED_BY_TOPOLOGY = (
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_UNCONSTRAINED_TOPOLOGY,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_LAYERS,
)
"""Annotations of pods whose place is part of their workload's admission; the others are counted here."""


class _Held(msgspec.Struct, frozen=True):
    node: str
    requests: Requests


class NodeUsage:
    """The pods that are counted, and the nodes about which there may be something to say."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self._flavors: dict[str, Mapping[str, str]] = {}
        """The node labels of each flavor with a topology."""
        self._pods: dict[str, _Held] = {}
        """By `namespace/name`."""
        self._totals: dict[str, Requests] = {}
        self._dirty: dict[str, None] = {}
        self.counted = False
        """Whether all pods were counted once, and every change of one since."""
        self._passed_over = False

    @property
    def needed(self) -> bool:
        """Whether any flavor has a topology."""
        return bool(self._flavors)

    @property
    def missed(self) -> bool:
        """Whether pods went by without being counted, and are needed by now: they have to be listed again."""
        return self.needed and self._passed_over and not self.counted

    def note(self, fact: Fact) -> None:
        """Take note of a fact that was reported about a flavor or a node."""
        match fact:
            case FlavorObserved():
                self._note_flavor(fact.name, fact.node_labels if fact.topology else None)
            case ObjectRemoved(kind="ResourceFlavor"):
                self._note_flavor(fact.name, None)
            case NodeObserved():
                self._dirty[fact.name] = None
            case NodeUsageObserved() if not self.counted:
                self._dirty[fact.node] = None  # From now on who tells of it says whether it is compared again.
            case _:
                pass

    def see(self, value: JsonObject) -> None:
        """Count a pod as it is now; what is no pod is not counted."""
        if self.counted and (pod := _pod_of(value)) is not None:
            self._put(pod)

    def lose(self, namespace: str, name: str) -> None:
        """Take away what a pod that is gone used of its node."""
        self._set(f"{namespace}/{name}", None)

    def count_all(self, values: Iterable[JsonObject]) -> None:
        """These are all pods there are; they are counted only if that is needed."""
        if not self.needed:
            self._passed_over = True
            return
        self.counted = True
        gone = set(self._pods)
        for pod in (found for value in values if (found := _pod_of(value)) is not None):
            gone.discard(_key(pod))
            self._put(pod)
        for key in sorted(gone):
            self._set(key, None)

    def news(self, but: Callable[[str], bool]) -> list[NodeUsageObserved]:
        """What nodes hold otherwise than was reported, by name; that of nodes `but` is kept for later."""
        found = [one for one in self.take_news() if not known(self._facts, one)]
        later = [one.node for one in found if but(one.node)]
        for node in later:
            self.look_again(node)
        return [one for one in found if one.node not in later]

    def take_news(self) -> Sequence[NodeUsageObserved]:
        """What nodes hold about which there may be something new to say, by name."""
        if not self.counted:
            return ()
        dirty, self._dirty = self._dirty, {}
        return [
            NodeUsageObserved(node=name, requests=self._total(name)) for name in sorted(dirty) if self._is_offered(name)
        ]

    def look_again(self, node: str) -> None:
        """Have what a node holds compared again with what was reported."""
        self._dirty[node] = None

    def _total(self, node: str) -> Requests:
        return {resource: min(amount, UNLIMITED) for resource, amount in sorted(self._totals.get(node, {}).items())}

    def _is_offered(self, name: str) -> bool:
        node = self._facts.get(f"Node//{name}")
        return isinstance(node, NodeObserved) and any(bears(node.labels, labels) for labels in self._flavors.values())

    def _note_flavor(self, name: str, labels: Mapping[str, str] | None) -> None:
        if self._flavors.get(name) == labels:
            return
        if labels is None:
            del self._flavors[name]
            return
        self._flavors[name] = labels
        self._dirty.update(dict.fromkeys(self._totals))
        for place in self._facts:
            if place.startswith("Node//") and place.endswith(USAGE_PART):
                self._dirty[place.removeprefix("Node//").removesuffix(USAGE_PART)] = None

    def _put(self, pod: ApiPod) -> None:
        counts = pod.spec.node_name and pod.status.phase not in TERMINAL and not _is_placed(pod)
        held = _Held(pod.spec.node_name, {**_requests(pod), PODS: 1}) if counts else None
        self._set(_key(pod), held)

    def _set(self, key: str, held: _Held | None) -> None:
        before = self._pods.get(key)
        if before == held:
            return
        if before is not None:
            self._add(before, -1)
            del self._pods[key]
        if held is not None:
            self._add(held, 1)
            self._pods[key] = held

    def _add(self, held: _Held, times: int) -> None:
        totals = self._totals.setdefault(held.node, {})
        for resource, amount in held.requests.items():
            total = totals.get(resource, 0) + amount * times
            if total:
                totals[resource] = total
            else:
                totals.pop(resource, None)
        if not totals:
            del self._totals[held.node]
        self._dirty[held.node] = None


def _pod_of(value: JsonObject) -> ApiPod | None:
    try:
        return msgspec.convert(value, ApiPod)
    except (msgspec.ValidationError, RecursionError):
        return None


def _key(pod: ApiPod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _is_placed(pod: ApiPod) -> bool:
    annotations = pod.metadata.annotations or {}
    return any(name in annotations for name in PLACED_BY_TOPOLOGY)


def _requests(pod: ApiPod) -> Requests:
    """What the pod asks for; a quantity that can't be read decides nothing here."""
    spec = pod.spec
    shape = PodShape(
        containers=_containers(spec.containers),
        init_containers=_containers(spec.init_containers or ()),
        pod_requests=readable_amounts(spec.resources.requests if spec.resources else None),
        overhead=readable_amounts(spec.overhead),
    )
    return {resource: amount for resource, amount in pod_requests(shape).items() if amount > 0}


def _containers(found: tuple[ApiContainer, ...]) -> tuple[ContainerShape, ...]:
    return tuple(
        ContainerShape(
            name=one.name,
            requests=readable_amounts(one.resources.requests if one.resources else None),
            limits=readable_amounts(one.resources.limits if one.resources else None),
            restartable=one.restart_policy == "Always",
        )
        for one in found
    )
