"""Which workloads stand or fall together: those that ask for the same, and nobody else (docs/rules/queues.md#equivalence)."""

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, RequeueReason
from events.catalogue import AnyEvent
from events.device import CardQuotaObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import PreemptionPolicy
from events.workload import PodsReclaimed, WorkloadSpec, WorkloadSubmitted
from projections.queues.equivalence import equivalence_of
from projections.workloads.lifecycle import Workload
from tests.projections.quota.test_adjusted_pods import asking, limits, one, platform
from tests.stories.small_world import Story, job, queue
from tests.stories.small_world import platform as small_platform

POD_SET = PodSet(name="main", count=3, shape=PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1000}),)))
SPEC = WorkloadSpec(queue="lq", pod_sets=(POD_SET,))
ASKED = WorkloadSubmitted(workload="team/w", uid="w", created_at=0, spec=SPEC)
CPU = one({"cpu": 2000})


def submitted(asked: WorkloadSubmitted, *later: AnyEvent) -> Workload:
    return Story().told(asked, *later).world.workloads[asked.workload]


@pytest.mark.parametrize(
    "other",
    [
        submitted(replace(ASKED, spec=replace(SPEC, pod_sets=(replace(POD_SET, count=2),)))),
        submitted(replace(ASKED, spec=replace(SPEC, pod_sets=(POD_SET, replace(POD_SET, name="more"))))),
        submitted(replace(ASKED, spec=replace(SPEC, pod_sets=(replace(POD_SET, shape=CPU),)))),
        submitted(replace(ASKED, spec=replace(SPEC, priority=1))),
        submitted(replace(ASKED, spec=replace(SPEC, allowed_flavors=("f",)))),
        submitted(ASKED, PodsReclaimed(workload="team/w", counts={"main": 1})),
    ],
    ids=["fewer pods", "another pod set", "larger pods", "another priority", "other flavors", "pods that are done"],
)
def test_who_differs_in_what_it_asks_for_is_of_another_class(other: Workload) -> None:
    assert equivalence_of(other, by_namespace=False) != equivalence_of(submitted(ASKED), by_namespace=False)


def test_name_age_and_queue_make_no_other_class_and_the_namespace_only_where_it_counts() -> None:
    one_of_them = submitted(ASKED)
    alike = submitted(replace(ASKED, workload="other/v", uid="v", created_at=9, spec=replace(SPEC, queue="another")))
    assert equivalence_of(alike, by_namespace=False) == equivalence_of(one_of_them, by_namespace=False)
    assert equivalence_of(alike, by_namespace=True) != equivalence_of(one_of_them, by_namespace=True)


@pytest.mark.parametrize(
    ("rule", "alike"),
    [
        (None, True),
        (limits(default_request={"cpu": 1}), False),
        (CardQuotaObserved(namespace="team", name="quota", hard={"nvidia.com/gpu": 1}), False),
    ],
    ids=["nothing", "limit ranges", "card quotas"],
)
def test_who_asks_for_the_same_in_another_namespace_is_alike_unless_that_counts(
    rule: AnyEvent | None, *, alike: bool
) -> None:
    told = platform("cpu").told(*([rule] if rule is not None else []))
    told.told(asking(CPU), asking(CPU, namespace="other"))
    first, second = (told.world.workloads[key] for key in ("team/w", "other/w"))
    assert (first.equivalence == second.equivalence) is alike


def test_who_comes_to_a_class_that_was_refused_is_parked_at_once_and_not_tried() -> None:
    told = platform("cpu", nominal=1000)
    told.told(asking(CPU, name="a")).decided()
    said = told.told(asking(CPU, name="b")).decided()
    assert not [event for event in said if isinstance(event, AdmissionRefused)]
    assert sorted(told.world.lines.of("cq").refused) == ["team/a", "team/b"]


def test_one_that_finds_nobody_to_preempt_speaks_for_its_class() -> None:
    told = Story().told(*small_platform(nominal=2), queue("cq", nominal=2, within=PreemptionPolicy.LOWER_PRIORITY))
    told.told(job("runs", count=2)).decided()
    said = told.told(job("a"), job("b")).decided()
    refusals = [event for event in said if isinstance(event, AdmissionRefused)]
    assert [(event.workload, event.requeue) for event in refusals] == [
        ("team/a", RequeueReason.PREEMPTION_NO_CANDIDATES)
    ]
    assert sorted(told.world.lines.of("cq").refused) == ["team/a", "team/b"]
