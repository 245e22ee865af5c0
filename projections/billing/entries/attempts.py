"""What the ledger knows of workloads and their attempts, whether or not they have cards yet."""

import msgspec

from events.billing import LineKind
from events.device import PodPlacement
from events.pod_set import PodSet
from events.slices import WorkloadSliceSubmitted
from events.variants import VariantSubmitted
from events.workload import (
    AdoptedStatus,
    PodSetAssignment,
    WorkloadChanged,
    WorkloadOwned,
    WorkloadSubmitted,
    job_behind,
)
from projections.billing.entries.entry import CardEntry, DeviceEntry, Holder, QuotaEntry, Waste
from projections.devices.capacity.offer import meaning_of
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.card_use import CardUse, effective_use
from projections.log_position import LogPosition

SliceKey = tuple[str, int, str, int, str]
"""The key of a slice: workload or pod, attempt, pod set, index of the pod in the set, card UUID."""


class About(msgspec.Struct, frozen=True, gc=False):
    """The workload that cards and quota are billed to, as it was submitted."""

    uid: str
    job: str
    owner_kind: str
    priority_class: str
    queue: str
    labels: tuple[tuple[str, str], ...] = ()
    pod_sets: tuple[PodSet, ...] = ()

    @classmethod
    def of(cls, event: WorkloadSubmitted | WorkloadSliceSubmitted | VariantSubmitted) -> "About":
        """The workload as it was submitted."""
        owner, priority = event.owner, event.spec.priority_class
        return cls(
            uid=event.uid,
            job=job_behind(event.workload, owner),
            owner_kind=owner.kind if owner is not None else "Workload",
            priority_class=priority.name if priority is not None else "",
            queue=event.spec.queue,
            labels=tuple(sorted(event.spec.labels.items())),
            pod_sets=event.spec.pod_sets,
        )

    def after(self, event: WorkloadChanged | WorkloadOwned) -> "About":
        """The workload in another queue, or with its job, which it had been made before: what begins or goes on then is billed so."""
        if isinstance(event, WorkloadChanged):
            # The slices of an elastic job have pods of their own.
            asked = self.pod_sets if event.spec.elastic else event.spec.pod_sets
            return msgspec.structs.replace(self, queue=event.spec.queue, pod_sets=asked)
        job = job_behind(event.workload, event.owner)
        return msgspec.structs.replace(self, job=job, owner_kind=event.owner.kind)


class Attempt(msgspec.Struct, kw_only=True):
    """One reservation of quota and what came of it."""

    holder: Holder
    flavors: dict[str, dict[str, str]]
    """By pod set: the flavor of each resource."""
    admitted: bool = False
    stopped: str = ""
    """The reason of its eviction."""
    preemptor: str = ""
    finished: bool = False
    keys: tuple[SliceKey, ...] = ()
    """Keys of the card slices that it holds now."""
    entries: list[CardEntry] = []
    """Entries of what it held and gave back."""

    @property
    def kind(self) -> LineKind:
        """The kind of line under which its time is billed."""
        return LineKind.USAGE if self.admitted else LineKind.RESERVATION


def attempt_of(
    workload: str,
    known: About | None,
    number: int,
    queue: str,
    cohort: str,
    assignments: tuple[PodSetAssignment, ...],
) -> Attempt:
    """The attempt of that number to run, which begins with a reservation of quota, and whom it is billed to."""
    known = known or About("", workload, "", "", "")
    tenant = workload.partition("/")[0]
    holder = Holder(
        tenant=tenant,
        workload=workload,
        uid=known.uid,
        job=known.job,
        owner_kind=known.owner_kind,
        priority_class=known.priority_class,
        local_queue=known.queue,
        cluster_queue=queue,
        cohort=cohort,
        attempt=number,
        labels=known.labels,
    )
    return Attempt(holder=holder, flavors={one.name: one.flavors for one in assignments}, entries=[])


def goes_on(attempt: Attempt, status: AdoptedStatus) -> bool:
    """Whether an attempt that another manager has begun holds quota; it is admitted where it was."""
    states = {one.type: one.status for one in status.conditions}
    attempt.admitted = states.get("Admitted") == "True"
    reserved = status.cluster_queue and states.get("QuotaReserved", "True") == "True"
    return bool(reserved) and states.get("Finished") != "True"


def flavor_of(attempt: Attempt, pod_set: str, config: CardConfig = HAMI) -> str:
    """The flavor that the cards of a pod set are charged to."""
    flavors = attempt.flavors.get(pod_set, {})
    cards = sorted({flavor for resource, flavor in flavors.items() if meaning_of(resource, config) is not None})
    return cards[0] if cards else next(iter(sorted(flavors.values())), "")


def wasted(
    attempt: Attempt,
    position: LogPosition,
    preemptor_queue: str,
    quota: tuple[QuotaEntry, ...] | None = None,
    devices: tuple[DeviceEntry, ...] | None = None,
) -> Waste:
    """What an attempt that was cut short had held: of cards, or of quota or claimed devices where these are given."""
    return Waste(
        at=position.at,
        place=f"{position.partition}/{position.sequence}",
        reason=attempt.stopped,
        holder=attempt.holder,
        preemptor=attempt.preemptor,
        preemptor_queue=preemptor_queue,
        entries=tuple(attempt.entries) if quota is None and devices is None else (),
        quota=quota or (),
        devices=devices or (),
    )


def uses_by_pod(placements: tuple[PodPlacement, ...]) -> list[tuple[PodPlacement, str, CardUse]]:
    """What each pod of a placement takes of each of its cards."""
    return [
        (placement, uuid, use)
        for placement in placements
        for uuid, use in effective_use(placement.containers, placement.init, sidecars=placement.sidecars).items()
    ]
