"""Who has preempted others is decided about as soon as they have gone, before those that had been refused (docs/rules/cycle.md#room-was-made)."""

from events.admission import AdmissionRefused, QuotaReserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.preemption import PreemptionOrdered
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from tests.stories.small_world import Story, gone


def queue(name: str, nominal: int, reclaim: PreemptionPolicy = PreemptionPolicy.NEVER) -> ClusterQueueObserved:
    quotas = (FlavorQuotas(flavor="f", quotas=(Quota(resource="cpu", nominal=nominal),)),)
    return ClusterQueueObserved(
        name=name,
        cohort="pool",
        namespaces=LabelSelector(),
        preemption=PreemptionRules(reclaim_within_cohort=reclaim),
        groups=(ResourceGroup(resources=("cpu",), flavors=quotas),),
    )


def asking(name: str, queue: str, cores: int, priority: int = 0) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": cores}),))
    pod_sets = (PodSet(name="main", count=1, shape=shape),)
    spec = WorkloadSpec(queue=queue, priority=priority, pod_sets=pod_sets)
    owner = Owner(kind="Job", name=name, uid=f"uid-{name}")
    return WorkloadSubmitted(workload=f"team/{name}", uid=f"uid-{name}", owner=owner, created_at=0, spec=spec)


def owner_asks_while_another_waits() -> Story:
    """`waits`, of a higher priority, was refused; then `owner` has `a` and `b` preempted, and `c` and `d` stay."""
    queues = (queue("borrower", 0), queue("lender", 2, PreemptionPolicy.ANY), queue("other", 2))
    story = Story().told(NamespaceObserved(name="team"), FlavorObserved(name="f"), *queues)
    story.told(
        *(LocalQueueObserved(namespace="team", name=one.name, cluster_queue=one.name) for one in queues),
        *(asking(name, "borrower", 1) for name in "abcd"),
    )
    story.decided()
    said = story.told(asking("waits", "other", 1, priority=9)).decided()
    assert [one.workload for one in said if isinstance(one, AdmissionRefused)] == ["team/waits"]
    said = story.told(asking("owner", "lender", 2)).decided()
    assert sorted(one.workload for one in said if isinstance(one, PreemptionOrdered)) == ["team/a", "team/b"]
    return story


def reserved_when_both_have_gone(story: Story) -> list[str]:
    said = gone(gone(story, "a"), "b").decided()
    return [one.workload for one in said if isinstance(one, QuotaReserved)]


def test_who_has_preempted_gets_the_room_before_one_that_had_been_refused() -> None:
    story = owner_asks_while_another_waits()
    assert reserved_when_both_have_gone(story) == ["team/owner"]
    assert not story.world.requests, "nobody else has to go for it"


def test_while_one_of_its_victims_stays_others_may_take_what_there_is() -> None:
    said = gone(owner_asks_while_another_waits(), "a").decided()
    assert [one.workload for one in said if isinstance(one, QuotaReserved)] == ["team/waits"]


def test_who_had_been_refused_is_tried_next_before_others_in_line_that_come_behind_it() -> None:
    story = owner_asks_while_another_waits().told(WorkloadFinished(workload="team/c", reason="Succeeded"))
    assert reserved_when_both_have_gone(story) == ["team/owner", "team/waits"], (
        "and none of the victims, who would borrow"
    )


def test_one_that_finds_no_room_after_all_asks_for_more_and_keeps_nobody_from_being_tried() -> None:
    story = owner_asks_while_another_waits().told(asking("comes", "other", 1, priority=10))
    assert reserved_when_both_have_gone(story) == ["team/comes", "team/waits"], (
        "who has just come is in line, and before it"
    )
    (request,) = story.world.requests.values()
    assert request.workload == "team/owner" and {one.workload for one in request.victims} == {"team/c", "team/d"}
