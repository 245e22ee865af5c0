"""A log that was restored from before in a history of several clusters: what ran elsewhere at that moment, and must run on.

Rule: docs/rules/multikueue.md#taken-over
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from events.codec import decode_commit, decode_sighting
from events.json_object import JsonObject, object_at, objects_at
from events.multikueue import RemoteCheckSettled, RemoteWorkloadObserved
from events.subjects import FACTS, LOG, family_of
from events.workload import CheckState, DecidedElsewhere
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import streams_in
from ops.sandbox.simulate.partition_laws import hold_partition
from ops.sandbox.simulate.site import Site
from services.runtime.log_port import Entry


class RestoredLog(msgspec.Struct, frozen=True):
    """What ran elsewhere when a log was restored, and from where on the manager's log tells what became of it."""

    who: str
    """Whose log it was."""
    manager: MemoryBus
    begins: Mapping[str, int]
    """By partition of the manager's, how much of it was there by then."""
    running: Mapping[str, str]
    """By workload that is admitted and whose job runs in a cluster, that cluster."""

    def broken(self) -> Iterator[str]:
        """Those that were evicted for no other reason than that a log was restored."""
        settled = [
            event
            for name in partitions_on(self.manager)
            for entry in self.manager.memory(name).entries[self.begins.get(name, 0) :]
            for event in decode_commit(entry.data).events
            if isinstance(event, RemoteCheckSettled) and event.check.state is CheckState.RETRY
        ]
        first = {event.workload: event.check.message for event in reversed(settled)}
        for workload, message in sorted(first.items()):
            if workload in self.running and self._wrong(workload, message):
                yield f"{workload} ran in {self.running[workload]} when the log of {self.who} was restored: {message}"

    def _wrong(self, workload: str, message: str) -> bool:
        """Whether neither the cluster was lost nor its own queue has put it out there."""
        return not message.startswith("Admitting remote lost") and not self._preempted(workload)

    def _preempted(self, workload: str) -> bool:
        facts = [decode_sighting(entry.data).fact for entry in self.manager.memory(FACTS).entries]
        seen = [one for one in facts if isinstance(one, RemoteWorkloadObserved) and one.workload == workload]
        return any(one.conditions["Evicted"].reason == "Preempted" for one in seen if "Evicted" in one.conditions)


def partitions_on(bus: MemoryBus) -> list[str]:
    """The partitions of trees that a bus has."""
    return sorted(name for name in bus.streams if family_of(name) == LOG)


def broken_in_partitions(
    who: str, entries: Mapping[str, Sequence[Entry]], restored: Iterable[RestoredLog]
) -> Iterator[str]:
    """What the log of a cluster breaks of the laws of each partition. Objects may have told it what it had said and lost."""
    streams, told = streams_in(entries), frozenset[str]()
    if any(one.who == who for one in restored):
        facts = (decode_sighting(entry.data).fact for entry in entries[FACTS])
        told = frozenset(one.workload for one in facts if isinstance(one, DecidedElsewhere))
    for partition in streams.partitions:
        _, _, broken = hold_partition(partition, entries, cards=partition == streams.pool, elsewhere=told)
        yield from (f"{who}: {one}" for one in broken)


def running_elsewhere(sites: Mapping[str, Site], manager: str) -> dict[str, str]:
    """By workload that is admitted on the manager and whose job runs in a cluster, that cluster."""
    found: dict[str, str] = {}
    for (namespace, name), workload in sorted(sites[manager].of("workloads").items()):
        cluster = str(object_at(workload, "status").get("clusterName") or "")
        if not cluster or not is_admitted(workload) or workload["metadata"].get("deletionTimestamp"):
            continue
        copy = sites[cluster].of("workloads").get((namespace, name))
        job = sites[cluster].of("jobs").get((namespace, owner_of(workload)))
        if copy is not None and is_admitted(copy) and job is not None and not job["spec"].get("suspend"):
            found[f"{namespace}/{name}"] = cluster
    return found


def owner_of(workload: JsonObject) -> str:
    """The name of the job of a Workload; empty where it has none."""
    return next((str(one["name"]) for one in objects_at(workload, "metadata", "ownerReferences")), "")


def is_admitted(workload: JsonObject) -> bool:
    """Whether a Workload is admitted, and neither evicted nor over."""
    true = {one["type"] for one in objects_at(workload, "status", "conditions") if one["status"] == "True"}
    return "Admitted" in true and true.isdisjoint({"Evicted", "Finished"})
