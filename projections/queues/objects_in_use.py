"""Which queues, flavors, topologies and checks are kept from being deleted: those that something still needs (Kueue's `resource-in-use`)."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from events.quota import AdmissionCheckObserved, ClusterQueueObserved, FlavorObserved
from events.topology import TopologyObserved
from projections.quota.state import QuotaState

Holdable: TypeAlias = ClusterQueueObserved | FlavorObserved | TopologyObserved | AdmissionCheckObserved


class FinalizerWanted(msgspec.Struct, frozen=True):
    """Whether an object is to bear the finalizer."""

    kind: str
    name: str
    uid: str
    wanted: bool


def wanted_finalizers(world: QuotaState) -> Iterator[FinalizerWanted]:
    """All objects that don't bear the finalizer as they should, at the cost of looking at each once.

    It is put on at sight, and taken off one that is being deleted: a cluster queue once no workload has quota reserved in
    it, a flavor or a check once no cluster queue names it, a topology once no flavor does (docs/rules/queues.md#in-use).
    """
    yield from _holds(
        "ClusterQueue", world.cluster_queues, {name for name in world.cluster_queues if world.holders(name)}
    )
    yield from _holds("ResourceFlavor", world.flavors, _flavors_named(world.cluster_queues))
    yield from _holds("Topology", world.topologies, {one.topology for one in world.flavors.values()})
    yield from _holds("AdmissionCheck", world.checks, _checks_named(world.cluster_queues))


def _holds(kind: str, objects: Mapping[str, Holdable], needed: set[str]) -> Iterator[FinalizerWanted]:
    for name, found in sorted(objects.items()):
        if found.held and found.terminating and name not in needed:
            yield FinalizerWanted(kind, name, found.uid, wanted=False)
        elif not found.held and not found.terminating:
            yield FinalizerWanted(kind, name, found.uid, wanted=True)


def _flavors_named(cluster_queues: Mapping[str, ClusterQueueObserved]) -> set[str]:
    return {name for queue in cluster_queues.values() for name in queue.flavors}


def _checks_named(cluster_queues: Mapping[str, ClusterQueueObserved]) -> set[str]:
    return {rule.name for queue in cluster_queues.values() for rule in queue.checks}
