"""The laws of devices that are claimed: what is counted is charged, none is held twice, and in the end the log has what the cluster has."""

from collections.abc import Iterator, Sequence

from events.admission import QuotaReserved
from events.catalogue import AnyEvent
from events.claims import ResourceClaimObserved
from events.codec import NotOurs, decode_sighting
from events.control import ObjectRemoved
from ops.sandbox.embedded_cluster.controllers.resource_claims import CLAIMS
from ops.sandbox.embedded_cluster.nodes.device_allocation import SLICES
from ops.sandbox.embedded_cluster.store import ObjectChange, Store
from projections.claims.counted import counts_claims
from projections.claims.held_devices import DevicePlace, held_twice
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.object_versions import FoldedFacts
from projections.world import World
from services.runtime.log_port import Entry


class ClaimCharges:
    """Hears every event of the decisions of a partition, and notes who is charged otherwise than its claims come to."""

    def __init__(self, world: World) -> None:
        self.broken: list[str] = []
        self._world = world

    def hear(self, event: AnyEvent, position: LogPosition) -> None:
        """One event; the whole commit is folded already."""
        workload = self._world.workloads.get(event.workload) if isinstance(event, QuotaReserved) else None
        if workload is None or not isinstance(event, QuotaReserved):
            return
        claimed = {one.name: one.claims.charged for one in workload.spec.pod_sets if one.claims is not None}
        for one in event.assignments:
            for resource, each in claimed.get(one.name, {}).items():
                if one.usage.get(resource, 0) != each * one.count:
                    what = f"charges {event.workload} {one.usage.get(resource, 0)} of {resource}"
                    self.broken.append(
                        f"{position.partition}/{position.sequence} {what}, and its pods claim {each * one.count}"
                    )


def devices_held_twice(facts: Sequence[Entry], changes: Sequence[ObjectChange]) -> Iterator[str]:
    """Every moment of the log at which two claims have one device whole, by these changes of the claims in the cluster.

    A watcher that was paused tells of what it had seen, also of a claim that was gone before another watcher could see it:
    it is on the log until that other one has heard it, and tells that it is gone. Until then such a claim holds nothing.
    """
    world, folded = World(), FoldedFacts()
    ended = {one.object["metadata"]["uid"]: one.version for one in changes if one.type == "DELETED"}
    twice: list[DevicePlace] = []
    newest = 0
    for entry in facts:
        try:
            sighting = decode_sighting(entry.data)
        except NotOurs:
            continue
        fact = sighting.fact
        told_late = isinstance(fact, ResourceClaimObserved) and ended.get(fact.uid, newest + 1) <= newest
        newest = max(newest, sighting.about.version if sighting.about is not None else 0)
        about_claims = isinstance(fact, ResourceClaimObserved) or (
            isinstance(fact, ObjectRemoved) and fact.kind == "ResourceClaim"
        )
        if not folded.folds(sighting) or not about_claims or told_late:
            continue
        evolve(world, fact, LogPosition(partition="FACTS", sequence=entry.sequence, at=sighting.at))
        world.settle()
        before, twice = twice, held_twice(world)
        for one in twice:
            if one not in before:
                yield f"FACTS/{entry.sequence}: device {one} is held by two claims"


def left_of_claims(world: World, store: Store) -> Iterator[str]:
    """When all has come to rest no claim holds anything, and slices are on the log as they are in the cluster."""
    for key, claim in sorted(world.resource_claims.items()):
        if claim.devices:
            yield f"claim {key} still holds {', '.join(one.device for one in claim.devices)} on the log"
    for (namespace, name), _ in sorted(store.of(CLAIMS).items()):
        yield f"claim {namespace}/{name} is still in the cluster"
    if not counts_claims(world.settings):
        return
    published = {
        name: tuple(sorted(one["name"] for one in value["spec"].get("devices") or ()))
        for (_, name), value in store.of(SLICES).items()
    }
    known = {name: one.devices for name, one in world.resource_slices.items()}
    if known != published:
        yield f"slices publish {published}, and the log has {known}"
