"""One queue and one workload, to be told this and that."""

from events.catalogue import AnyEvent, Decision
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    CheckRule,
    ClusterQueueObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
    StopPolicy,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import (
    AdoptedStatus,
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    Owner,
    PodSetAssignment,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.queue_manager.reconcile import reconcile

KEY = "team/w"
SECOND, MINUTE = 1000, 60_000
SHAPE = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
SPEC = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=SHAPE),))

GROUPS = (
    ResourceGroup(
        resources=("cpu",),
        flavors=tuple(FlavorQuotas(flavor=one, quotas=(Quota(resource="cpu", nominal=0),)) for one in ("f", "g")),
    ),
)


class Room:
    """A world with a queue, in which one workload is reconciled step by step."""

    def __init__(self, *facts: AnyEvent, checks: tuple[CheckRule, ...] = ()) -> None:
        self.world, self.at, self.sequence = World(), MINUTE * 60, 0
        self.tell(
            NamespaceObserved(name="team"),
            ClusterQueueObserved(name="cq", namespaces=LabelSelector(), checks=checks, groups=GROUPS if checks else ()),
            LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
            *facts,
        )

    def tell(self, *events: AnyEvent) -> "Room":
        for event in events:
            self.sequence += 1
            evolve(self.world, event, LogPosition(partition="LOG_0", sequence=self.sequence, at=self.at))
        return self

    def step(self) -> list[Decision]:
        """What has to happen now; it is folded."""
        events = reconcile(self.world, self.workload, self.at)
        self.tell(*events)
        return events

    def steps(self) -> list[Decision]:
        """All that happens until there is nothing more to say."""
        said: list[Decision] = []
        while events := self.step():
            said.extend(events)
            assert len(said) < 20, "it comes to rest"
        return said

    @property
    def workload(self) -> Workload:
        return self.world.workloads[KEY]

    def told(self, kind: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition."""
        found = self.workload.condition(kind)
        return None if found is None else (str(found.status), found.reason, found.message)


def submitted(
    spec: WorkloadSpec = SPEC,
    *,
    conditions: tuple[Condition, ...] = (),
    checks: tuple[CheckStatus, ...] = (),
    reserved: bool = False,
    admitted_at: int | None = None,
    owner: Owner | None = None,
    requeue: tuple[int, int | None] = (0, None),
    past: int = 0,
) -> WorkloadSubmitted:
    found = list(conditions)
    if reserved:
        found.append(true("QuotaReserved", "QuotaReserved", since=MINUTE))
    if admitted_at is not None:
        found.append(true("Admitted", "Admitted", since=admitted_at))
    adopted = AdoptedStatus(
        conditions=tuple(found),
        checks=checks,
        cluster_queue="cq" if reserved else "",
        assignments=(PodSetAssignment(name="main", count=1, flavors={"cpu": "f"}, usage={"cpu": 1000}),)
        if reserved
        else (),
        requeue_count=requeue[0],
        requeue_at=requeue[1],
        past_execution=past,
    )
    return WorkloadSubmitted(workload=KEY, uid="u", created_at=0, spec=spec, adopted=adopted, owner=owner)


def true(kind: str, reason: str, message: str = "", since: int = 0) -> Condition:
    return Condition(type=kind, status=ConditionStatus.TRUE, reason=reason, message=message, since=since)


def false(kind: str, reason: str, message: str = "", since: int = 0) -> Condition:
    return Condition(type=kind, status=ConditionStatus.FALSE, reason=reason, message=message, since=since)


def check(name: str, state: CheckState, *, since: int = 0, after: int | None = None, message: str = "") -> CheckStatus:
    return CheckStatus(name=name, state=state, since=since, requeue_after=after, message=message)


def stopped(policy: StopPolicy) -> ClusterQueueObserved:
    return ClusterQueueObserved(name="cq", namespaces=LabelSelector(), stop=policy)


def settings(**changes: object) -> SettingsObserved:
    return SettingsObserved(**changes)  # pyright: ignore[reportArgumentType]


def after(room: Room, seconds: int) -> Room:
    """The room so much later, when what falls due by then is looked at."""
    list(room.world.work.take_all("queue-manager"))
    room.at += seconds * SECOND
    room.world.advance(room.at)
    return room
