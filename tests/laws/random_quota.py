"""Random platforms of queues, cohorts and jobs without cards, and what may happen on them: strategies for the laws."""

from collections.abc import Sequence

from hypothesis import strategies as st
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    BorrowWithinCohort,
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorQuotas,
    FlavorSearch,
    Fungibility,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    QueueingStrategy,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.workload import Owner, PodsGone, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import Story

FLAVORS = ("f0", "f1")
SMALL = st.integers(0, 4)
LIMIT = st.none() | st.integers(0, 3)


@st.composite
def groups(draw: st.DrawFn, *, limits: bool) -> tuple[ResourceGroup, ...]:
    """One resource in one or two flavors."""
    flavors: list[FlavorQuotas] = []
    for name in FLAVORS[: draw(st.integers(1, 2))]:
        nominal = draw(SMALL) + 1
        quota = Quota(
            resource="cpu",
            nominal=nominal,
            borrowing_limit=draw(LIMIT) if limits else None,
            lending_limit=draw(st.none() | st.integers(0, nominal)) if limits else None,
        )
        flavors.append(FlavorQuotas(flavor=name, quotas=(quota,)))
    return (ResourceGroup(resources=("cpu",), flavors=tuple(flavors)),)


@st.composite
def queues(draw: st.DrawFn, name: str, *, preempting: bool = True, strict: bool | None = None) -> ClusterQueueObserved:
    """A queue in one of three places of one tree, or alone."""
    cohort = draw(st.sampled_from(("pool", "pool", "left", "right", "")))
    policies = st.sampled_from(tuple(reversed(PreemptionPolicy))) if preempting else st.just(PreemptionPolicy.NEVER)
    reclaim = draw(policies)
    borrow = reclaim is not PreemptionPolicy.NEVER and draw(st.booleans())
    fifo = draw(st.booleans()) if strict is None else strict
    return ClusterQueueObserved(
        name=name,
        cohort=cohort,
        namespaces=LabelSelector(),
        groups=draw(groups(limits=bool(cohort))),
        strategy=QueueingStrategy.STRICT_FIFO if fifo else QueueingStrategy.BEST_EFFORT_FIFO,
        fungibility=Fungibility(
            when_can_borrow=draw(st.sampled_from(tuple(FlavorSearch))),
            when_can_preempt=draw(st.sampled_from(tuple(FlavorSearch))),
        ),
        preemption=PreemptionRules(
            within_cluster_queue=draw(policies.filter(lambda policy: policy is not PreemptionPolicy.ANY)),
            reclaim_within_cohort=reclaim,
            borrow_within_cohort=BorrowWithinCohort(policy=PreemptionPolicy.LOWER_PRIORITY) if borrow else None,
        ),
    )


@st.composite
def platforms(draw: st.DrawFn, *, preempting: bool = True, strict: bool | None = None) -> list[AnyEvent]:
    """A tree of up to three cohorts and up to three queues."""
    names = [f"q{index}" for index in range(draw(st.integers(2, 3)))]
    return [
        SettingsObserved(devices=False),
        NamespaceObserved(name="team"),
        *(FlavorObserved(name=name) for name in FLAVORS),
        CohortObserved(name="pool", groups=draw(groups(limits=False))),
        CohortObserved(name="left", parent="pool"),
        CohortObserved(name="right", parent="pool"),
        *(draw(queues(name, preempting=preempting, strict=strict)) for name in names),
        *(LocalQueueObserved(namespace="team", name=name, cluster_queue=name) for name in names),
    ]


@st.composite
def jobs(draw: st.DrawFn, *, most: int = 6) -> list[WorkloadSubmitted]:
    """Jobs of some pods for the queues; some may run with fewer."""
    found: list[WorkloadSubmitted] = []
    for index in range(draw(st.integers(1, most))):
        count = draw(st.integers(1, 4))
        shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1}),))
        minimum = draw(st.none() | st.integers(1, count))
        found.append(
            WorkloadSubmitted(
                workload=f"team/j{index}",
                uid=f"u{index}",
                owner=Owner(kind="Job", name=f"j{index}", uid=f"u{index}"),
                created_at=draw(st.integers(0, 3)),
                spec=WorkloadSpec(
                    queue=f"q{draw(st.integers(0, 1))}",
                    priority=draw(st.integers(0, 2)),
                    pod_sets=(PodSet(name="main", count=count, minimum=minimum, shape=shape),),
                ),
            )
        )
    return found


def with_protections(platform: Sequence[AnyEvent], **rules: object) -> list[AnyEvent]:
    """The platform with kuelog's own rules of preemption in every queue."""
    return [
        replace(fact, preemption=replace(fact.preemption, **rules)) if isinstance(fact, ClusterQueueObserved) else fact
        for fact in platform
    ]


def come(told: Story, asked: Sequence[WorkloadSubmitted]) -> Story:
    """The jobs come one after the other, each when what the one before has set off is over."""
    for job in asked:
        told.told(job)
        settle(told)
    return told


def settle(told: Story) -> None:
    """Let everything come to rest; those that have to stop do."""
    told.decided()
    for _ in range(60):
        if not leave_those_evicted(told):
            return
        told.decided()
    raise AssertionError("somebody has to stop again and again")


def leave_those_evicted(told: Story) -> bool:
    """The pods of all that have to stop are gone; whether there were any."""
    leaving = [one for one in told.world.workloads.values() if one.evicted and one.reserved and not one.finished]
    for one in leaving:
        told.told(PodsGone(workload=one.key, decision=stop_of(one, f"LOG_0/{one.stops.stopped_by}")))
    return bool(leaving)


def finish_those_running(told: Story) -> bool:
    """All that run are done; whether there were any."""
    running = [
        one.key for one in told.world.workloads.values() if one.admitted and not one.evicted and not one.finished
    ]
    told.told(*(WorkloadFinished(workload=key, reason="Succeeded") for key in running))
    return bool(running)
