"""What is shown of queues and cohorts, as a pure question to a world."""

import pytest
from msgspec.structs import replace

from events.control import ObjectRemoved
from events.quota import (
    AdmissionCheckObserved,
    AdmissionMode,
    CheckRule,
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    Quota,
    ResourceGroup,
    StopPolicy,
)
from events.settings import AdmissionFairSharing, SettingsObserved
from events.topology import TopologyObserved
from events.workload import WorkloadParked, WorkloadQueued, WorkloadSwitched
from projections.explanation.positions import positions
from projections.queues.active_condition import ActiveCondition, cluster_queue_active, local_queue_active, takes_in
from projections.queues.status import FlavorUse, PastUse, ResourceUse, without_cluster_queue
from services.applier.queue_status.status_patches import QueuePlace, Statuses, status_patch
from tests.projections.fair_sharing.cohort_world import CohortWorld
from tests.stories.small_world import Story, job, platform

FAIR = SettingsObserved(fair_sharing=True)


def two_queues(settings: SettingsObserved = FAIR) -> CohortWorld:
    at = CohortWorld(settings)
    at.fold(FlavorObserved(name="default"))
    at.cohort("all", "")
    at.queue("lender", 10)
    at.queue("borrower", 4)
    at.door("lender", "lender")
    at.door("borrower", "borrower")
    return at


def test_what_is_used_beyond_the_own_quota_is_shown_as_borrowed_and_as_a_share() -> None:
    at = two_queues()
    at.running("big", "borrower", 7, door="borrower")
    told = Statuses().changed(at.world, 0)
    borrower = told["ClusterQueue", "", "borrower"]
    use = (FlavorUse("default", (ResourceUse("gpu", 7, 3),)),)
    assert (borrower.reservation, borrower.usage, borrower.share) == (use, use, 215)  # type: ignore[union-attr]
    door = told["LocalQueue", "team", "borrower"]
    assert door.usage == (FlavorUse("default", (ResourceUse("gpu", 7),)),)  # type: ignore[union-attr]
    assert told["Cohort", "", "all"].share == 0


def test_only_what_has_changed_is_told_again() -> None:
    at, statuses = two_queues(), Statuses()
    assert len(statuses.changed(at.world, 0)) == 5
    assert not statuses.changed(at.world, 1)
    at.waiting("one", door="lender")
    at.fold(WorkloadQueued(workload="team/one", cluster_queue="lender"))
    statuses.touch(at.world, ["team/one"])
    assert set(statuses.changed(at.world, 2)) == {("ClusterQueue", "", "lender"), ("LocalQueue", "team", "lender")}


def test_who_leaves_one_door_while_another_comes_by_the_next_is_noticed() -> None:
    at, statuses = two_queues(), Statuses()
    at.door("next", "lender")
    at.waiting("one", door="lender")
    at.fold(WorkloadQueued(workload="team/one", cluster_queue="lender"))
    statuses.changed(at.world, 0)
    at.gone("one")
    at.waiting("two", door="next")
    at.fold(WorkloadQueued(workload="team/two", cluster_queue="lender"))
    statuses.touch(at.world, ["team/one", "team/two"])
    told = statuses.changed(at.world, 1)
    assert {place[2]: status.pending for place, status in told.items()} == {"lender": 0, "next": 1}  # type: ignore[union-attr]


def test_a_queue_that_comes_again_under_its_name_is_told_anew() -> None:
    at, statuses = two_queues(), Statuses()
    statuses.changed(at.world, 0)
    at.fold(LocalQueueObserved(namespace="team", name="lender", uid="another", cluster_queue="lender"))
    assert set(statuses.changed(at.world, 1)) == {("LocalQueue", "team", "lender")}


def test_those_whom_kueue_keeps_in_no_queue_are_not_pending() -> None:
    at = two_queues()
    for name, reason in (("off", "Deactivated"), ("shut", "AdmissionGated"), ("held", "OnHold"), ("later", "Backoff")):
        at.waiting(name, door="lender")
        at.fold(WorkloadParked(workload=f"team/{name}", cluster_queue="lender", reason=reason, message=""))
    told = Statuses().changed(at.world, 0)
    assert told["ClusterQueue", "", "lender"].pending == 1  # type: ignore[union-attr]


def test_who_is_inactive_is_not_pending_whatever_else_he_is_told() -> None:
    at = two_queues()
    at.waiting("off", door="lender")
    at.fold(WorkloadParked(workload="team/off", cluster_queue="lender", reason="Suspended", message=""))
    assert [one.workload.key for one in positions(at.world, "lender", at.now)] == ["team/off"]
    at.fold(WorkloadSwitched(workload="team/off", active=False))
    at.fold(WorkloadParked(workload="team/off", cluster_queue="lender", reason="Suspended", message=""))
    told = Statuses().changed(at.world, 0)
    assert told["ClusterQueue", "", "lender"].pending == 0  # type: ignore[union-attr]
    assert positions(at.world, "lender", at.now) == []


def test_a_stopped_door_shows_nobody_waiting() -> None:
    at = two_queues()
    at.waiting("one", door="lender")
    at.fold(WorkloadQueued(workload="team/one", cluster_queue="lender"))
    at.fold(LocalQueueObserved(namespace="team", name="lender", cluster_queue="lender", stop=StopPolicy.HOLD))
    told = Statuses().changed(at.world, 0)
    door = told["LocalQueue", "team", "lender"]
    assert (door.pending, door.standing.reason) == (0, "Stopped")  # type: ignore[union-attr]


def test_all_that_is_the_matter_with_a_queue_stands_in_one_message() -> None:
    at = CohortWorld(FAIR)
    quotas = (Quota(resource="gpu", nominal=1),)
    flavors = tuple(FlavorQuotas(flavor=name, quotas=quotas) for name in ("a", "b"))
    at.fold(AdmissionCheckObserved(name="asleep", controller="x", active=False))
    at.fold(
        ClusterQueueObserved(
            name="cq",
            groups=(ResourceGroup(resources=("gpu",), flavors=flavors),),
            checks=(CheckRule(name="asleep"), CheckRule(name="none")),
            stop=StopPolicy.HOLD,
        )
    )
    assert cluster_queue_active(at.world, "cq") == ActiveCondition(
        False,
        "Stopped",
        "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): a,b,"
        " references missing AdmissionCheck(s): none, references inactive AdmissionCheck(s): asleep.",
    )


def test_a_queue_is_inactive_while_a_flavor_of_it_has_a_topology_that_is_not_there() -> None:
    at = CohortWorld(FAIR)
    at.fold(FlavorObserved(name="default", topology="racks"))
    at.queue("cq", 1)
    missing = ActiveCondition(
        False,
        "TopologyNotFound",
        'Can\'t admit new workloads: there is no Topology "racks" for TAS flavor "default".',
    )
    assert cluster_queue_active(at.world, "cq") == missing
    at.fold(TopologyObserved(name="racks", levels=("rack",)))
    assert cluster_queue_active(at.world, "cq").active
    at.fold(ObjectRemoved(kind="Topology", namespace="", name="racks"))
    assert cluster_queue_active(at.world, "cq") == missing
    at.fold(SettingsObserved(gates={"TopologyAwareScheduling": False}))
    assert cluster_queue_active(at.world, "cq").active, "flavors are taken as if they had no topology"


def test_a_queue_whose_workloads_run_on_other_clusters_needs_no_topology() -> None:
    at = CohortWorld(FAIR)
    at.fold(FlavorObserved(name="default", topology="racks"))
    at.fold(AdmissionCheckObserved(name="elsewhere", controller="kueue.x-k8s.io/multikueue"))
    at.queue("cq", 1)
    at.fold(replace(at.world.cluster_queues["cq"], checks=(CheckRule(name="elsewhere"),)))
    assert cluster_queue_active(at.world, "cq").active


def test_a_door_to_nowhere_says_so_and_counts_who_waits_there() -> None:
    at = CohortWorld(FAIR)
    at.door("lq", "none")
    at.waiting("one", door="lq")
    told = Statuses().changed(at.world, 0)
    assert told["LocalQueue", "team", "lq"].pending == 1  # type: ignore[union-attr]
    assert local_queue_active(at.world, "team/lq").reason == "ClusterQueueDoesNotExist"


def test_a_local_queue_that_leads_nowhere_counts_nobody_who_would_not_be_queued_anyway() -> None:
    story = Story().told(*platform(), LocalQueueObserved(namespace="team", name="nowhere", cluster_queue="missing"))
    waits = job("waits", queue="nowhere")
    kept_out = ({"gated_by": ("example.com/gate",)}, {"waits_for_pods": True}, {"on_hold": True}, {"active": False})
    for number, asked in enumerate(kept_out):
        other = job(f"other-{number}", queue="nowhere")
        story.told(replace(other, spec=replace(other.spec, **asked)))
    story.told(waits).decided()
    assert without_cluster_queue(story.world, "team/nowhere").pending == 1


@pytest.mark.parametrize("mode", AdmissionMode)
def test_past_usage_is_shown_as_of_the_last_sampling_only(mode: AdmissionMode) -> None:
    """Also in a queue that is not ordered by it yet."""
    rule = AdmissionFairSharing(half_life=10_000, sampling=1000)
    at = CohortWorld(SettingsObserved(admission_fair_sharing=rule))
    at.fold(FlavorObserved(name="default"))
    at.queue("gpus", 100, mode=mode)
    at.door("a", "gpus")
    at.door("unused", "gpus")
    at.running("one", "gpus", 64, door="a")
    statuses = Statuses()
    statuses.changed(at.world, 0)
    told = statuses.changed(at.world, 10_500)
    assert told["LocalQueue", "team", "a"].past == PastUse({"gpu": 32}, 10_000)  # type: ignore[union-attr]
    assert told["LocalQueue", "team", "unused"].past == PastUse({"gpu": 0}, 10_000)  # type: ignore[union-attr]
    assert not statuses.changed(at.world, 10_900)


def test_the_time_of_a_condition_stays_while_it_says_the_same_and_others_conditions_stay() -> None:
    at = two_queues()
    place: QueuePlace = ("ClusterQueue", "", "lender")
    status = Statuses().changed(at.world, 0)[place]
    other = {"type": "Else", "status": "True"}
    found = {"status": {"conditions": [other, {"type": "Active", "status": "True", "lastTransitionTime": "then"}]}}
    patch = status_patch(place, status, found, 5000)
    assert patch is not None
    shown, kept = patch["status"]["conditions"]
    assert (shown["lastTransitionTime"], kept) == ("then", other)
    assert status_patch(place, status, patch, 9000) is None


def test_queues_of_a_circle_of_cohorts_take_nothing_in_and_say_so_until_it_is_broken() -> None:
    at = two_queues()
    at.cohort("all", "above")
    at.cohort("above", "all")
    closed = ActiveCondition(False, "CohortCycle", "Can't admit new workloads: cohort all is part of a cycle.")
    assert [cluster_queue_active(at.world, name) for name in ("lender", "borrower")] == [closed, closed]
    assert not takes_in(at.world, "lender")
    at.cohort("above", "")
    assert cluster_queue_active(at.world, "lender").active and takes_in(at.world, "borrower")


def test_a_queue_that_is_being_deleted_takes_nothing_in_and_its_doors_say_so() -> None:
    at = two_queues()
    assert [local_queue_active(at.world, f"team/{name}").active for name in ("lender", "borrower")] == [True, True]
    at.fold(replace(at.world.cluster_queues["lender"], terminating=True))
    at.fold(replace(at.world.cluster_queues["borrower"], stop=StopPolicy.HOLD))
    told = ActiveCondition(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    assert cluster_queue_active(at.world, "lender") == told
    for name in ("lender", "borrower"):
        assert not takes_in(at.world, name)
        assert local_queue_active(at.world, f"team/{name}") == ActiveCondition(
            False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
        )
