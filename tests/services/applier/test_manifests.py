"""What the cluster shows of a workload, and what the applier plans to that end."""

from msgspec.structs import replace

from events.api.labels import DECISION, RESOURCE_IN_USE
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    CheckRule,
    ClusterQueueObserved,
    LimitRangeItem,
    LimitRangeObserved,
    LocalQueueObserved,
    RuntimeClassObserved,
)
from events.selector import Toleration
from events.settings import SettingsObserved
from events.upkeep import BackoffSet, DiscardReason, WorkloadDiscarded
from events.workload import (
    CheckState,
    CheckStatus,
    EvictionOrdered,
    Owner,
    PodsReclaimed,
    WorkloadDeactivated,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.workloads.stops import Requeue, Stops
from services.applier.manifests import finalizers_left, injections, workload_status
from services.applier.patches import mark_patch, with_checks
from services.applier.plan import plan
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SECOND, SPEC, Room, submitted, true
from tests.stories.small_world import Story, job, platform

JOB = Owner(kind="Job", name="j", uid="j")


def test_a_check_shows_how_often_it_was_retried_and_when_it_asks_to_be_tried_again() -> None:
    workload = replace(
        Room(submitted()).workload,
        checks={
            "a": CheckStatus(name="a", state=CheckState.RETRY, since=SECOND, requeue_after=30 * SECOND, retries=2),
            "b": CheckStatus(name="b", since=SECOND),
        },
    )
    since = "1970-01-01T00:00:01Z"
    assert workload_status(workload)["admissionChecks"] == [
        {
            "name": "a",
            "state": "Retry",
            "message": "",
            "lastTransitionTime": since,
            "retryCount": 2,
            "requeueAfterSeconds": 30,
        },
        {"name": "b", "state": "Pending", "message": "", "lastTransitionTime": since},
    ]


def test_a_back_off_that_checks_ask_for_shows_before_anything_was_counted() -> None:
    room = Room(submitted())
    room.tell(BackoffSet(workload=KEY, until=MINUTE))
    assert workload_status(room.workload)["requeueState"] == {"requeueAt": "1970-01-01T00:01:00Z"}
    room.tell(BackoffSet(workload=KEY))
    assert "requeueState" not in workload_status(room.workload), "what is not named is taken away"


def test_preemption_gates_show_those_that_are_asked_for_closed_unless_they_were_opened() -> None:
    gates = SettingsObserved(gates={"MultiKueueOrchestratedPreemption": True})
    room = Room(gates, submitted(replace(SPEC, preemption_gates=("a", "b"))))
    shown = workload_status(room.workload)["preemptionGates"]
    assert [(one["name"], one["position"]) for one in shown] == [("a", "Closed"), ("b", "Closed")]
    assert "preemptionGates" not in workload_status(Room(submitted(replace(SPEC, preemption_gates=("a",)))).workload)


def test_who_is_deactivated_by_a_decision_is_set_inactive_once_and_who_was_set_so_by_hand_is_left_alone() -> None:
    room = Room(submitted())
    room.tell(WorkloadDeactivated(workload=KEY, cause="RequeuingLimitExceeded", message="too often"))
    by_decision = room.sequence
    room.step()
    (application,) = plan(room.world, "LOG_0", [KEY])
    assert application.deactivated == by_decision
    fresh = {"metadata": {"resourceVersion": "5"}}
    assert (mark_patch(fresh, application) or {})["spec"] == {"active": False}
    seen = {"metadata": {"resourceVersion": "6", "annotations": {DECISION: f"LOG_0/{by_decision}"}}}
    assert "spec" not in (mark_patch(seen, application) or {}), "somebody may have set it active since"
    by_hand = Room(submitted(replace(SPEC, active=False)))
    by_hand.step()
    (application,) = plan(by_hand.world, "LOG_0", [KEY])
    assert mark_patch(fresh, application) is None
    assert application.status["schedulingStats"] == {
        "evictions": [{"reason": "Deactivated", "underlyingCause": "", "count": 1}]
    }


def test_a_discarded_workload_takes_its_job_along_only_when_it_was_deactivated() -> None:
    for reason, with_job in ((DiscardReason.DEACTIVATED, True), (DiscardReason.FINISHED, False)):
        room = Room(submitted(owner=JOB))
        room.tell(WorkloadDiscarded(workload=KEY, reason=reason))
        (application,) = plan(room.world, "LOG_0", [KEY])
        assert application.discard and application.release
        assert application.discard_job is with_job and application.job == "j"
        assert ("Deleted" in [one.reason for one in application.news]) is not with_job, "of the job it is told instead"


def test_the_state_of_a_check_is_left_to_its_controller_unless_a_decision_has_set_it_since() -> None:
    room = Room(checks=(CheckRule(name="a"), CheckRule(name="b")))
    room.tell(submitted())
    room.step()
    (application,) = plan(room.world, "LOG_0", [KEY])
    ready = [{"name": "a", "state": "Ready"}, {"name": "b", "state": "Ready"}]
    found = {"metadata": {"resourceVersion": "5"}, "status": {"admissionChecks": ready}}
    status = with_checks(application.status, found, application)
    assert [one["state"] for one in status["admissionChecks"]] == ["Pending", "Pending"]
    found["metadata"]["annotations"] = {DECISION: application.decision}
    assert with_checks(application.status, found, application)["admissionChecks"] == ready


def test_of_the_finalizers_only_ours_is_taken_away() -> None:
    assert finalizers_left({"finalizers": ["a/b", RESOURCE_IN_USE]}) == ["a/b"]
    assert finalizers_left({"finalizers": ["a/b"]}) is None
    assert finalizers_left({}) is None


def test_an_eviction_forgets_the_back_off_only_when_nothing_is_tried_any_more() -> None:
    room = Room(
        submitted(requeue=(3, MINUTE), reserved=True, admitted_at=MINUTE, conditions=(true("PodsReady", "Started"),))
    )
    room.tell(EvictionOrdered(workload=KEY, reason="ClusterQueueStopped", message="x"))
    assert room.workload.stops.requeue == Requeue(count=3, at=MINUTE)
    room.tell(EvictionOrdered(workload=KEY, reason="Deactivated", message="x"))
    assert room.workload.stops.requeue == Requeue()


def test_who_waits_shows_what_it_was_evaluated_with_and_who_runs_no_longer() -> None:
    story = Story().told(*platform(cards=1), job("a", count=3, memory=30000, cores=90))
    story.decided()
    (waiting,) = plan(story.world, "LOG_0", ["team/a"])
    (asked,) = waiting.status["resourceRequests"]
    assert asked["name"] == "main" and asked["resources"]["nvidia.com/gpu"] == "3"
    story = Story().told(*platform(cards=1), job("a", memory=30000, cores=90))
    story.decided()
    running = workload_status(story.world.workloads["team/a"])
    assert "admission" in running and "resourceRequests" not in running
    told = workload_status(replace(story.world.workloads["team/a"], stops=Stops(past_execution=90 * SECOND)))
    assert told["accumulatedPastExecutionTimeSeconds"] == 90


def test_who_waits_shows_what_the_cluster_fills_in_for_the_pods_that_are_not_done_yet() -> None:
    story = Story().told(*platform(cards=1))
    (queue,) = story.world.cluster_queues.values()
    (group,) = queue.groups
    story.told(
        replace(queue, groups=(replace(group, resources=(*group.resources, "pods")),)),
        LimitRangeObserved(
            namespace="team", name="lr", items=(LimitRangeItem(kind="Container", default_request={"memory": 1 << 30}),)
        ),
        RuntimeClassObserved(name="sandbox", overhead={"cpu": 250}),
    )
    shape = PodShape(containers=(ContainerShape(name="c", limits={"cpu": 1000}),), runtime_class="sandbox")
    asked = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=3, shape=shape),))
    submission = WorkloadSubmitted(workload="team/a", uid="a", created_at=0, spec=asked)
    story.told(submission, PodsReclaimed(workload="team/a", counts={"main": 1}))
    story.decided()
    (application,) = plan(story.world, "LOG_0", ["team/a"])
    assert application.status["resourceRequests"] == [
        {"name": "main", "resources": {"cpu": "2500m", "memory": "2Gi", "pods": "2"}}
    ]


def test_pods_get_selector_and_tolerations_of_their_flavor_and_the_names_of_their_queues() -> None:
    story = Story().told(*platform(cards=1), job("a", memory=30000, cores=90))
    story.decided()
    workload = story.world.workloads["team/a"]
    (flavor,) = story.world.flavors.values()
    tolerated = Toleration(key="spot", operator="Exists")
    story.told(replace(flavor, node_labels={"pool": "a"}, tolerations=(tolerated,)))
    (found,) = injections(story.world, workload)
    assert found.node_selector == {"pool": "a"}
    assert list(found.tolerations) == [{"key": "spot", "operator": "Exists"}]
    assert found.labels == {
        "kueue.x-k8s.io/podset": "main",
        "kueue.x-k8s.io/cluster-queue-name": workload.admission.cluster_queue if workload.admission else "",
        "kueue.x-k8s.io/local-queue-name": workload.spec.queue,
    }


def test_pods_that_were_sent_here_by_a_manager_of_other_clusters_say_so() -> None:
    asked = job("a", memory=30000, cores=90)
    story = Story().told(*platform(cards=1), replace(asked, spec=replace(asked.spec, origin="multikueue")))
    story.decided()
    (found,) = injections(story.world, story.world.workloads["team/a"])
    assert found.labels["kueue.x-k8s.io/multikueue-worker-workload-pod"] == "true"


def test_pods_do_not_name_a_queue_that_no_label_could_name_nor_any_where_that_is_off() -> None:
    def labels(queue: str, **gates: bool) -> set[str]:
        told = [
            replace(one, name=queue)
            if isinstance(one, ClusterQueueObserved)
            else replace(one, cluster_queue=queue)
            if isinstance(one, LocalQueueObserved)
            else one
            for one in platform(cards=1)
        ]
        story = Story().told(SettingsObserved(gates=gates), *told, job("a", memory=30000, cores=90))
        story.decided()
        (found,) = injections(story.world, story.world.workloads["team/a"])
        return {name.removeprefix("kueue.x-k8s.io/") for name in found.labels}

    everything = {"podset", "cluster-queue-name", "local-queue-name"}
    assert labels("c" * 63) == everything
    assert labels("c" * 64) == labels("team.a") == everything - {"cluster-queue-name"}
    assert labels("cq", AssignQueueLabelsForPods=False) == {"podset"}
