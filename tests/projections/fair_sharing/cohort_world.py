"""A small world of queues in a cohort, one resource of one flavor, grown from events."""

from events.catalogue import AnyEvent
from events.event import Millis
from events.quota import (
    AdmissionMode,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
    Weight,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    PodSetAssignment,
    WorkloadDeleted,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.preemption.candidates import PreemptionContext
from projections.world import World


class CohortWorld:
    """The world, and what happens in it."""

    def __init__(self, settings: SettingsObserved) -> None:
        self.world = World()
        self.now: Millis = 0
        self.sequence = 0
        self.fold(settings)
        self.fold(FlavorObserved(name="default"))
        self.column = self.world.quota.column("default", "gpu")

    def fold(self, event: AnyEvent) -> None:
        self.sequence += 1
        evolve(self.world, event, LogPosition(partition="LOG_0", sequence=self.sequence, at=self.now))

    def cohort(self, name: str, parent: str) -> None:
        self.fold(CohortObserved(name=name, parent=parent))

    def queue(
        self,
        name: str,
        nominal: int,
        cohort: str = "all",
        weight: int = 1,
        within: PreemptionPolicy = PreemptionPolicy.NEVER,
        mode: AdmissionMode = AdmissionMode.NONE,
    ) -> None:
        quota = Quota(resource="gpu", nominal=nominal)
        group = ResourceGroup(resources=("gpu",), flavors=(FlavorQuotas(flavor="default", quotas=(quota,)),))
        rules = PreemptionRules(within_cluster_queue=within, reclaim_within_cohort=PreemptionPolicy.ANY)
        self.fold(
            ClusterQueueObserved(
                name=name,
                cohort=cohort,
                weight=Weight(numerator=weight),
                groups=(group,),
                preemption=rules,
                admission_mode=mode,
                namespaces=LabelSelector(),
            )
        )

    def door(self, name: str, cluster_queue: str, weight: int = 1) -> None:
        self.fold(
            LocalQueueObserved(
                namespace="team", name=name, cluster_queue=cluster_queue, weight=Weight(numerator=weight)
            )
        )

    def running(self, name: str, queue: str, amount: int, priority: int = 0, door: str = "door") -> None:
        """A workload that holds quota, if there is room for it."""
        if self.world.quota.queues[queue].available(self.column) < amount:
            return
        held = PodSetAssignment(name="main", count=1, flavors={"gpu": "default"}, usage={"gpu": amount})
        since = self.sequence
        conditions = tuple(
            Condition(type=kind, status=ConditionStatus.TRUE, reason=kind, since=since)
            for kind in ("QuotaReserved", "Admitted")
        )
        self._submit(
            name, priority, door, AdoptedStatus(conditions=conditions, cluster_queue=queue, assignments=(held,))
        )

    def waiting(self, name: str, priority: int = 0, door: str = "door") -> None:
        self._submit(name, priority, door, None)

    def gone(self, name: str) -> None:
        self.fold(WorkloadDeleted(workload=f"team/{name}"))

    def ask(self, name: str, queue: str, amount: int) -> PreemptionContext:
        """What it would ask for in a queue."""
        return PreemptionContext(
            workload=self.world.workloads[f"team/{name}"],
            queue=self.world.cluster_queues[queue],
            node=self.world.quota.queues[queue],
            usage={self.column: amount},
            needed=(self.column,),
            at=self.now,
        )

    def usage(self) -> dict[str, int]:
        quota = self.world.quota
        return {key: node.usage[self.column] for nodes in (quota.queues, quota.cohorts) for key, node in nodes.items()}

    def _submit(self, name: str, priority: int, door: str, adopted: AdoptedStatus | None) -> None:
        spec = WorkloadSpec(queue=door, pod_sets=(), priority=priority)
        self.fold(
            WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=self.sequence, spec=spec, adopted=adopted)
        )
