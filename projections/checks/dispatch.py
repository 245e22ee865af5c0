"""Where a workload is to be tried, or runs, besides here: what was decided, and which copies count.

Rule: docs/rules/multikueue.md#dispatch
"""

from collections.abc import Mapping

import msgspec

from events.citation import CitedCommit
from events.event import Millis
from events.multikueue import RemoteWorkloadObserved
from projections.checks.multikueue import connected
from projections.configuration import Configuration
from projections.feature_gates import enabled
from projections.workloads.lifecycle import EVICTED, FINISHED, Workload
from projections.workloads.pod_sets_digest import pod_sets_digest
from projections.workloads.slices import REPLACED

ROUND: Millis = 300_000
"""How long the clusters that the incremental dispatcher has nominated are given before it nominates more."""


OUT_OF_SYNC = "OutOfSync"
"""Why a copy has ended there that its cluster has held against the job and found to be something else."""


class OpenedGate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A copy that may preempt since then."""

    cluster: str
    copy: str
    """The UID of the copy."""
    at: Millis


class Dispatch(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What was decided about the clusters of a workload that holds quota."""

    check: str
    clusters: tuple[str, ...] = ()
    """Where it is to be tried; none once a cluster is chosen."""
    tried: tuple[str, ...] = ()
    """Where it was tried when a cluster was chosen: there it is tried again if the choice falls through."""
    asked: tuple[str, ...] = ()
    """The clusters that are asked beforehand, in the order of the list; none once it is tried anywhere."""
    later: tuple[str, ...] = ()
    """Where it is tried next if none of those admits it in time."""
    why: str = ""
    """Why it was tried just there, where clusters were asked beforehand."""
    nominated_at: Millis = 0
    """When it was sent there, or these were asked."""
    named: tuple[str, ...] = ()
    """Where somebody else's dispatcher wants it to be tried, until a cluster is chosen."""
    cluster: str = ""
    """Where it runs, or is to run."""
    decision: str = ""
    """What chose the cluster, as `partition/sequence`; empty where only its object names it so far."""
    cited: CitedCommit | None = None
    """The commit of that cluster's own log on which the choice rests."""
    synced: bool = False
    """Its job is there."""
    refused: str = ""
    """Why its job can't be made there."""
    taken_over: bool = False
    """It ran there already when this log came to know of it: the choice was made on a log that is lost."""
    unseen: bool = False
    """How its copy stands there was not seen since then: what was seen before may be older than the choice."""
    opened: tuple[OpenedGate, ...] = ()
    """The copies that may preempt, where it is one cluster after the other that may."""
    follows: str = ""
    """The slice of its elastic job by whose copy that job runs in the only one of `clusters` until its own is admitted there."""
    part_of: str = ""
    """The UID of the object whose workloads go to one cluster together; empty where it has this one only."""

    @property
    def runs_in(self) -> str:
        """The cluster in which its job is or is to be, by its own copy or by that of the slice before; empty where none is chosen."""
        return self.cluster or (self.clusters[0] if self.follows else "")


def runs_elsewhere(dispatches: Mapping[str, Dispatch], workload: str) -> bool:
    """Whether a cluster is chosen in which the pods of a workload run, so that they take no node here."""
    found = dispatches.get(workload)
    return found is not None and bool(found.runs_in)


def stays_elsewhere(dispatches: Mapping[str, Dispatch], workload: Workload) -> bool:
    """Whether it was let in and its job is in another cluster: there it stays until it ends or loses its quota, also when no check says so any more.

    Rule: docs/rules/multikueue.md#changed-checks
    """
    found = dispatches.get(workload.key)
    return workload.admitted and found is not None and (found.synced or bool(found.follows))


def first_with(copies: Mapping[str, RemoteWorkloadObserved], condition: str) -> str:
    """The cluster whose copy shows a condition longest, by the clusters' own clocks; empty when none does."""
    found = [(one.conditions[condition].since, name) for name, one in copies.items() if condition in one.conditions]
    return min(found)[1] if found else ""


def reachable(world: Configuration, copies: Mapping[str, RemoteWorkloadObserved]) -> dict[str, RemoteWorkloadObserved]:
    """The copies in clusters that are connected; what stands in others is not known."""
    return {name: one for name, one in sorted(copies.items()) if connected(world, name)}


def asks_alike(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether what stands in a cluster for a workload has its queue, pods and priority, be it a copy or a question."""
    return (
        copy.queue == workload.named_queue
        and copy.counts == counts_of(workload)
        and _asks_for_same_pods(workload, copy)
        and copy.priority == workload.spec.priority
    )


def in_sync(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy asks for what the workload asks for, or can be made to without ending it."""
    return (
        copy.active
        and copy.queue == workload.named_queue
        and (copy.counts == counts_of(workload) or _may_shrink(workload, copy))
        and _may_run_as_long(workload, copy)
        and _asks_for_same_pods(workload, copy)
        and (_same_priority(workload, copy) or _may_change_class(workload, copy))
    )


def is_outdated(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy that is in sync has another priority, or more pods of an elastic job, than the workload has by now.

    Rule: docs/rules/multikueue.md#outdated
    """
    return copy.counts != counts_of(workload) or not _same_priority(workload, copy)


def counts_of(workload: Workload) -> dict[str, int]:
    """By pod set, how many pods a workload asks for."""
    return {one.name: one.count for one in workload.spec.pod_sets}


def _may_shrink(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    wanted = counts_of(workload)
    return (
        workload.spec.elastic
        and copy.counts.keys() == wanted.keys()
        and all(copy.counts[name] >= count for name, count in wanted.items())
    )


def _may_run_as_long(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy may run as long as the workload, whose object goes by what was said until it was admitted."""
    return workload.admitted or copy.max_execution in (None, workload.spec.max_execution or 0)


def _asks_for_same_pods(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy was made with the pods that the workload asks for by now; that of an elastic job changes its size, and who runs asks for no others."""
    return workload.admitted or workload.spec.elastic or copy.asks in ("", pod_sets_digest(workload))


def _same_priority(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether a copy has the priority of a workload, and no other class than its object here.

    An object that holds quota goes on without a class that its job has got since, or with one that this has lost, and copies are made of it.
    """
    named = workload.spec.workload_class
    other = named is not None and copy.priority_class not in ("", named.name)
    return copy.priority == workload.spec.priority and not other


def _may_change_class(workload: Workload, copy: RemoteWorkloadObserved) -> bool:
    """Whether its priority may change in place: as in Kueue, that of a WorkloadPriorityClass, of which pods know nothing."""
    return workload.spec.workload_class is not None and bool(copy.priority_class)


def has_ended(copy: RemoteWorkloadObserved) -> bool:
    """Whether what ran by a copy is over there, or never began and will not: not one that has ended for what it is itself, or whose pods were evicted.

    Rule: docs/rules/multikueue.md#ended-there
    """
    over = copy.conditions.get(FINISHED)
    return over is not None and over.reason not in (OUT_OF_SYNC, REPLACED) and EVICTED not in copy.conditions


def lost_at(world: Configuration, cluster: str) -> Millis | None:
    """When what runs in a cluster that can't be reached is given up; 0 for one that there is no object of, None while it is reached."""
    rule, found = world.settings.multikueue, world.multikueue_clusters.get(cluster)
    if found is None or rule is None:
        return 0
    return None if found.active else found.since + rule.worker_lost_timeout


def orchestrated(world: Configuration) -> bool:
    """Whether copies preempt in one cluster after the other."""
    return enabled(world.settings, "MultiKueueOrchestratedPreemption")
