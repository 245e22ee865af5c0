"""Flavors that a workload is tried on one after the other, over several cycles."""

import msgspec

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved
from events.pod_set import ContainerShape, PodSet, PodShape
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
from events.settings import SettingsObserved
from events.workload import WorkloadSpec, WorkloadSubmitted
from tests.stories.small_world import Story


def flavor(name: str, nominal: int) -> FlavorQuotas:
    return FlavorQuotas(flavor=name, quotas=(Quota(resource="cpu", nominal=nominal),))


def urgent(spec: WorkloadSpec) -> WorkloadSpec:
    return msgspec.structs.replace(spec, priority=1)


def asking(name: str, created_at: int, *cores: int) -> WorkloadSubmitted:
    pod_sets = tuple(
        PodSet(
            name=f"s{number}", count=1, shape=PodShape(containers=(ContainerShape(name="c", requests={"cpu": amount}),))
        )
        for number, amount in enumerate(cores)
    )
    return WorkloadSubmitted(
        workload=f"team/{name}", uid=name, created_at=created_at, spec=WorkloadSpec(queue="lq", pod_sets=pod_sets)
    )


def small_and_large() -> Story:
    """One holds all of the large flavor."""
    quotas = tuple(
        FlavorQuotas(flavor=name, quotas=(Quota(resource="cpu", nominal=nominal),))
        for name, nominal in (("small", 2), ("large", 4))
    )
    story = Story().told(
        NamespaceObserved(name="team"),
        FlavorObserved(name="small"),
        FlavorObserved(name="large"),
        ClusterQueueObserved(
            name="cq", namespaces=LabelSelector(), groups=(ResourceGroup(resources=("cpu",), flavors=quotas),)
        ),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
        asking("holds", 0, 4),
    )
    story.decided()
    return story


def test_pod_sets_that_reach_their_last_flavors_in_turn_are_told_so_once_and_let_others_be_tried() -> None:
    story = small_and_large()
    story.told(asking("turns", 1, 2, 2), asking("behind", 2, 1))
    story.decided()
    refusals = [one for one in story.decisions if isinstance(one, AdmissionRefused) and one.workload == "team/turns"]
    assert [one.progress for one in refusals] == [(("s0", "cpu", 0),), (("s1", "cpu", 0),), ()]
    assert [one.workload for one in story.decisions if isinstance(one, QuotaReserved)] == ["team/holds", "team/behind"]


def test_where_no_search_ends_before_the_last_flavor_none_goes_on_behind_one() -> None:
    story = small_and_large().told(SettingsObserved(gates={"FlavorFungibility": False}))
    story.told(asking("turns", 1, 2, 2)).decided()
    refusals = [one for one in story.decisions if isinstance(one, AdmissionRefused)]
    assert [(one.workload, one.progress) for one in refusals] == [("team/turns", ())]


def test_whose_room_another_took_in_the_same_cycle_is_tried_on_all_flavors_again() -> None:
    def group(resource: str, *nominal: int) -> ResourceGroup:
        quotas = tuple(
            FlavorQuotas(flavor=f"{resource}-{number}", quotas=(Quota(resource=resource, nominal=amount),))
            for number, amount in enumerate(nominal)
        )
        return ResourceGroup(resources=(resource,), flavors=quotas)

    story = Story().told(
        NamespaceObserved(name="team"),
        *(FlavorObserved(name=f"{resource}-{number}") for resource in ("cpu", "memory") for number in (0, 1)),
        *(
            ClusterQueueObserved(
                name=name,
                cohort="pool",
                namespaces=LabelSelector(),
                groups=(group("cpu", 4, 4), group("memory", nominal, 1)),
            )
            for name, nominal in (("a", 1), ("b", 0))
        ),
        *(LocalQueueObserved(namespace="team", name=name, cluster_queue=name) for name in ("a", "b")),
    )
    shape = PodShape(containers=(ContainerShape(name="c", requests={"cpu": 1, "memory": 1}),))
    for name in ("a", "b"):
        spec = WorkloadSpec(queue=name, pod_sets=(PodSet(name="main", count=1, shape=shape),))
        story.told(WorkloadSubmitted(workload=f"team/{name}", uid=name, created_at=0, spec=spec))
    story.decided()
    got = {one.workload: one.assignments[0].flavors for one in story.decisions if isinstance(one, QuotaReserved)}
    assert got == {
        "team/a": {"cpu": "cpu-0", "memory": "memory-0"},
        "team/b": {"cpu": "cpu-0", "memory": "memory-1"},
    }


def protected(*, small: int, large: int) -> Story:
    """A queue with so much of two flavors, whose workloads are no victims in their first five seconds."""
    return Story().told(
        NamespaceObserved(name="team"),
        FlavorObserved(name="small"),
        FlavorObserved(name="large"),
        ClusterQueueObserved(
            name="cq",
            namespaces=LabelSelector(),
            groups=(ResourceGroup(resources=("cpu",), flavors=(flavor("small", small), flavor("large", large))),),
            preemption=PreemptionRules(within_cluster_queue=PreemptionPolicy.LOWER_PRIORITY, minimum_runtime=5_000),
        ),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
    )


def test_where_victims_are_protected_for_a_time_who_went_through_all_flavors_is_not_tried_on_them_again_and_again() -> (
    None
):
    story = protected(small=2, large=2).told(
        asking("turns", 1, 1, 3),
        asking("alike", 2, 1, 3),
        asking("behind", 3, 2),
    )
    refused = [one for one in story.decided() if isinstance(one, AdmissionRefused)]
    assert [(one.workload, one.progress) for one in refused] == [
        ("team/turns", (("s0", "cpu", 0),)),
        ("team/turns", ()),
    ]
    assert [one.workload for one in story.decisions if isinstance(one, QuotaReserved)] == ["team/behind"]
    story.at += 1_000
    assert story.decided() == [], "that time has passed makes no room"


def test_a_flavor_whose_holders_are_protected_no_longer_is_found_although_others_come_before_it() -> None:
    story = protected(small=1, large=4).told(
        asking("holds", 0, 4),
    )
    story.decided()
    story.told(msgspec.structs.replace(asking("urgent", 1, 1, 3), spec=urgent(asking("urgent", 1, 1, 3).spec)))
    story.decided()
    assert not [one for one in story.decisions if isinstance(one, PreemptionRequested)]
    story.at += 5_000
    asked = [one for one in story.decided() if isinstance(one, PreemptionRequested)]
    assert [[victim.workload for victim in one.victims] for one in asked] == [["team/holds"]]
