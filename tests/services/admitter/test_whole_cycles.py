"""Every queue has its turn before any has a second one, however many decisions make a commit.

Rule: docs/rules/log.md#inputs
"""

import pytest

from events.admission import QuotaReserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    CohortObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.workload import WorkloadSpec, WorkloadSubmitted
from services.admitter import cycle_size
from services.admitter.decide import MOST_EVENTS
from tests.stories.small_world import Story

QUEUES = MOST_EVENTS + 10


def test_each_of_many_queues_gets_its_first_workload_in_before_any_gets_its_second() -> None:
    assert [key.partition("-")[2] for key in _got_in(_two_in_each())] == ["first"] * QUEUES


def test_a_cycle_whose_decisions_become_too_large_for_a_message_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycle_size, "MOST_BYTES", 1)
    told = _two_in_each()
    assert len(_got_in(told)) == QUEUES
    commits = {one.admission.reservation for one in told.world.workloads.values() if one.admission is not None}
    assert len(commits) > 1


def _two_in_each() -> Story:
    """Queues of falling priority without quota of their own; their cohort has enough for one workload of each."""
    told = Story().told(NamespaceObserved(name="team"), FlavorObserved(name="f"), _cohort(0))
    for number in range(QUEUES):
        name = f"q{number:02}"
        told.told(
            ClusterQueueObserved(name=name, cohort="all", namespaces=LabelSelector(), groups=_quota(0)),
            LocalQueueObserved(namespace="team", name=name, cluster_queue=name),
            *(_job(f"{name}-{which}", name, QUEUES - number, age) for age, which in enumerate(("first", "second"))),
        )
    told.decided()
    return told.told(_cohort(QUEUES))


def _got_in(told: Story) -> list[str]:
    return [event.workload for event in told.decided() if isinstance(event, QuotaReserved)]


def _cohort(nominal: int) -> CohortObserved:
    return CohortObserved(name="all", groups=_quota(nominal))


def _quota(nominal: int) -> tuple[ResourceGroup, ...]:
    flavor = FlavorQuotas(flavor="f", quotas=(Quota(resource="cpu", nominal=nominal),))
    return (ResourceGroup(resources=("cpu",), flavors=(flavor,)),)


def _job(name: str, queue: str, priority: int, created_at: int) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1}),))
    spec = WorkloadSpec(queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=1, shape=shape),))
    return WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=created_at, spec=spec)
