"""The life of each workload as a list of moments, folded from the log: what happened, when, and where it stands."""

from collections.abc import Sequence

import msgspec

from events.admission import (
    AdmissionRefused,
    PreemptionRequested,
    QuotaReserved,
    SecondPassFailed,
    TopologyAssigned,
    UnhealthyNodesChanged,
    WorkloadAdmitted,
)
from events.catalogue import AnyEvent
from events.device import DevicesRefused, DevicesReleased, DevicesReserved
from events.event import Millis
from events.multikueue import ClusterChosen, ClustersNominated, EstimatesAsked, RemoteGateOpened, WorkloadEndedElsewhere
from events.pod import PodEndForced
from events.pod_set import PodSet
from events.preemption import PreemptionOrdered
from events.slices import (
    WorkloadSliceDropped,
    WorkloadSliceReplaced,
    WorkloadSliceResized,
    WorkloadSliceSubmitted,
)
from events.upkeep import (
    DeactivationOrdered,
    WorkloadDiscarded,
    WorkloadFailedToStart,
    WorkloadOrphaned,
)
from events.variants import MigrationOrdered, PreemptionGateOpened, VariantDropped, VariantSubmitted, VariantSwitched
from events.workload import (
    AdoptedStatus,
    DecidedElsewhere,
    EvictionOrdered,
    JobUnsuspended,
    PodSetAssignment,
    PodsGone,
    PodsReady,
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadParked,
    WorkloadQueued,
    WorkloadSubmitted,
    job_behind,
)
from projections.log_position import LogPosition


class WorkloadMoment(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened to a workload."""

    at: Millis
    partition: str
    sequence: int
    what: str
    detail: str = ""
    event: AnyEvent


class Timeline:
    """All moments by workload, in the order in which they were folded."""

    def __init__(self) -> None:
        self.moments: dict[str, list[WorkloadMoment]] = {}
        self.jobs: dict[str, str] = {}
        """The job behind each workload, as `namespace/name`."""

    def fold(self, event: AnyEvent, position: LogPosition) -> None:
        """Take note of an event if it is about a workload."""
        if isinstance(event, WorkloadSubmitted | WorkloadOwned | WorkloadSliceSubmitted | VariantSubmitted):
            self.jobs[event.workload] = job_behind(event.workload, event.owner)
        described = describe(event)
        key = getattr(event, "workload", "")
        if described is not None and isinstance(key, str):
            what, detail = described
            moment = WorkloadMoment(
                at=position.at,
                partition=position.partition,
                sequence=position.sequence,
                what=what,
                detail=detail,
                event=event,
            )
            self.moments.setdefault(key, []).append(moment)

    def of_job(self, job: str) -> list[WorkloadMoment]:
        """The moments of a job given as `namespace/name`."""
        return [moment for key, name in self.jobs.items() if name == job for moment in self.moments.get(key, ())]


def sizes(pod_sets: Sequence[PodSet]) -> str:
    """How many pods of each set there are to be."""
    return ", ".join(f"{one.count} of {one.name}" for one in pod_sets)


def _placed(assignments: Sequence[PodSetAssignment]) -> str:
    places = _places(assignments)
    return f": {places}" if places else ""


def _places(assignments: Sequence[PodSetAssignment]) -> str:
    """How many pods lie in each domain, where they are placed by topology; nothing where none are."""
    found = [
        f"{domain.count} pod(s) of {one.name} on {'/'.join(domain.values)}"
        for one in assignments
        if one.topology is not None
        for domain in one.topology.assignment.domains
    ]
    rest = len(found) - _MOST_DOMAINS
    return ", ".join(found[:_MOST_DOMAINS]) + (f" and {rest} more domains" if rest > 0 else "")


_MOST_DOMAINS = 8
"""So many are named in one line."""


def describe(event: AnyEvent) -> tuple[str, str] | None:  # noqa: C901, PLR0911, PLR0912 - one case per event
    """A short name of an event for people, and its detail; None for events that say nothing about a workload's life."""
    match event:
        case WorkloadSubmitted():
            where = _where(event.adopted) if event.adopted is not None else ""
            return "submitted", f"queue {event.spec.queue}, priority {event.spec.priority}{where}"
        case WorkloadOwned():
            return "owned by its job", f"{event.owner.kind} {event.owner.name}"
        case WorkloadSliceSubmitted():
            return "slice submitted", f"{sizes(event.spec.pod_sets)}, in place of {event.replaces}"
        case WorkloadSliceResized():
            return "resized", sizes(event.pod_sets)
        case WorkloadSliceReplaced() | WorkloadSliceDropped():
            return "slice replaced", f"by {event.by}"
        case VariantSubmitted():
            return "variant submitted", f"{event.flavor}, of {event.parent}"
        case VariantDropped():
            return "variant dropped", event.flavor
        case VariantSwitched():
            return ("set active" if event.active else "set inactive"), event.message
        case PreemptionGateOpened():
            return "may preempt", event.gate
        case MigrationOrdered():
            return "evicted", f"FlavorMigration: {event.message}"
        case WorkloadQueued():
            return "queued", event.cluster_queue
        case WorkloadParked():
            return "parked", f"{event.reason}: {event.message}"
        case AdmissionRefused():
            return "waits", f"{event.reason}: {event.message}"
        case PreemptionRequested():
            return "asks for room", ", ".join(victim.workload for victim in event.victims)
        case QuotaReserved():
            flavors = sorted({flavor for one in event.assignments for flavor in one.flavors.values()})
            borrowing = ", borrowing" if event.borrow_level else ""
            return (
                "quota reserved",
                f"{event.cluster_queue}, {', '.join(flavors)}{borrowing}{_placed(event.assignments)}",
            )
        case TopologyAssigned():
            return "placed", _places(event.assignments) or "by the cluster in which it runs"
        case SecondPassFailed():
            return "finds no place", event.message
        case UnhealthyNodesChanged():
            return ("host failed", ", ".join(event.nodes)) if event.nodes else ("hosts are well again", "")
        case PodEndForced():
            return "pod ended by force", f"{event.pod}, which hung on {event.node} out of reach"
        case DevicesReserved():
            nodes = sorted({placement.node for placement in event.placements})
            return "cards reserved", f"{len(event.placements)} pod(s) on {', '.join(nodes)}"
        case DevicesRefused():
            return "cards refused", f"{event.reason}: {event.message}"
        case ClustersNominated():
            return "sent to", ", ".join(event.clusters) + (f": {event.why}" if event.why else "")
        case EstimatesAsked():
            return "asked beforehand", ", ".join(event.clusters)
        case RemoteGateOpened():
            return "may preempt there", event.cluster
        case ClusterChosen():
            cited = f", by {event.cited.place} of its log" if event.cited is not None else ""
            why = "it ran there already, taken over" if event.taken_over else "admitted its copy first"
            return "cluster chosen", f"{event.cluster}: {why}{cited}"
        case WorkloadAdmitted():
            return "admitted", event.cluster_queue
        case PodsReady():
            return ("running", "") if event.ready else ("not ready", "")
        case PreemptionOrdered():
            return "preempted", f"{event.reason} by {event.preemptor}"
        case EvictionOrdered():
            return "evicted", f"{event.reason}: {event.message}"
        case DeactivationOrdered():
            return "to be deactivated", f"{event.cause}: {event.message}"
        case WorkloadOrphaned():
            return "orphaned", ""
        case WorkloadFailedToStart():
            return "failed to start", event.message
        case WorkloadDiscarded():
            return "discarded", event.reason
        case WorkloadDeactivated():
            return "deactivated", event.cause
        case DecidedElsewhere():
            return "decided elsewhere", f"{event.status.cluster_queue or 'waits'}{_where(event.status)}"
        case JobUnsuspended():
            return "unsuspended by somebody else", ""
        case PodsGone():
            return "pods gone", ""
        case QuotaReleased():
            return "quota released", event.reason
        case DevicesReleased():
            return "cards released", event.proof
        case WorkloadFinished() | WorkloadEndedElsewhere():
            return "finished", event.reason
        case WorkloadDeleted():
            return "deleted", ""
        case _:
            return None


def _where(status: AdoptedStatus) -> str:
    """The other cluster in which a workload is by what its object said; empty where it named none."""
    return f", in cluster {status.cluster}" if status.cluster else ""
