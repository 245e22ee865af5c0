"""Whether a flavor can be considered for pods at all, whatever the quota (docs/rules/flavors.md#taints)."""

from collections.abc import Mapping, Sequence

import msgspec

from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas
from events.topology import TopologyObserved, TopologyRequest
from projections.nodes.affinity import matches_nodes, untolerated
from projections.quota.effective_requests import pod_requests


class PlanRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings and the workload say about which flavors and resources count."""

    ignore_undeclared: bool = False
    """A resource that no group of the queue covers is not counted instead of refused."""
    topology: bool = True
    """Pods that ask for a topology get flavors that have one, and only they do."""
    topologies: Mapping[str, TopologyObserved] = {}
    """By name."""
    allowed: tuple[str, ...] | None = None
    """The only flavors that the workload may use; None leaves them all."""
    fungibility: bool = True
    """The queue says when the search for a flavor ends (docs/rules/flavors.md#search-all)."""


class FlavorSuitability:
    """The flavors of one resource group for one group of pod sets."""

    def __init__(
        self,
        flavors: Mapping[str, FlavorObserved],
        queue: ClusterQueueObserved,
        pod_sets: Sequence[PodSet],
        wanted: Sequence[str],
        covered: Sequence[str],
        rules: PlanRules,
    ) -> None:
        self._flavors, self._pod_sets, self._wanted, self._rules = flavors, pod_sets, wanted, rules
        self._covered = covered
        """All resources of the group, whether they are counted for these pods or not."""
        self._only_topology = only_topology(queue, flavors)

    def obstacle(self, quotas: FlavorQuotas) -> str:
        """Why these pods may not use the flavor; empty when they may."""
        name = quotas.flavor
        flavor = self._flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        allowed = self._rules.allowed
        if allowed is not None and name not in allowed:
            return f"flavor {name} is not among those that the workload may use"
        offered = {one.resource for one in quotas.quotas}
        absent = next((resource for resource in self._wanted if resource not in offered), None)
        if absent is not None:
            return f"flavor {name} does not provide resource {absent}"
        return next((why for one in self._pod_sets if (why := self._of_pod_set(flavor, one))), "")

    def has_topology(self, flavor: str) -> bool:
        """Whether the flavor places pods by topology."""
        found = self._flavors.get(flavor)
        return found is not None and bool(found.topology)

    def _of_pod_set(self, flavor: FlavorObserved, pod_set: PodSet) -> str:
        if self._rules.topology:
            problem = self._topology(flavor, pod_set)
            if problem:
                return problem
        taint = untolerated(flavor, pod_set.shape)
        if taint is not None:
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {flavor.name}"
        if not matches_nodes(flavor, pod_set.shape, frozenset(flavor.node_labels)):
            return f"flavor {flavor.name} doesn't match node affinity"
        return ""

    def _topology(self, flavor: FlavorObserved, pod_set: PodSet) -> str:
        """Whether the flavor is for pods that ask for a topology as these do (docs/rules/topology.md#flavors)."""
        request = pod_set.topology
        if request is None or not asks_for_topology(request):
            implied = self._only_topology or not flavor.topology
            return "" if implied else f'Flavor "{flavor.name}" supports only TopologyAwareScheduling'
        if not flavor.topology:
            only_counted = pod_requests(pod_set.shape).keys().isdisjoint(self._covered)
            return "" if only_counted else f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        topology = self._rules.topologies.get(flavor.topology)
        if topology is None:
            return f'Flavor "{flavor.name}" information missing in TAS cache'
        if not _has_levels(topology.levels, request):
            return f'Flavor "{flavor.name}" does not contain the requested level'
        return ""


def _has_levels(levels: Sequence[str], request: TopologyRequest) -> bool:
    """Whether a topology has all levels that a request names; one that names none has none that suits."""
    named = (request.required or request.preferred, *(one.topology for one in request.slices))
    asked = [level for level in named if level]
    return (bool(asked) or request.unconstrained is True) and all(level in levels for level in asked)


def asks_for_topology(request: TopologyRequest | None) -> bool:
    """Whether pods say where they want to lie relative to each other; that they are numbered does not say it.

    Rule: docs/rules/topology.md#explicit-request
    """
    return request is not None and bool(
        request.required or request.preferred or request.unconstrained is not None or request.slices
    )


def only_topology(queue: ClusterQueueObserved, flavors: Mapping[str, FlavorObserved]) -> bool:
    """Whether every flavor of a queue has a topology: its pods are placed in one although they don't ask for it."""
    return bool(queue.flavors) and all(
        (found := flavors.get(name)) is not None and found.topology for name in queue.flavors
    )
