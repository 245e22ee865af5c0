"""The watcher tells only differences, and says what it can't understand."""

from typing import Any

from msgspec.structs import replace

from events.control import ObjectMended, ObjectRefused, ObjectRemoved
from events.device import NodeObserved
from events.json_path import put
from events.quota import CheckRule, ClusterQueueObserved, PriorityClassObserved
from events.workload import (
    AdoptedStatus,
    JobUnsuspended,
    Owner,
    PodsGone,
    PodsReady,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from services.jobs.workload_name import workload_name
from services.watcher.view import View

QUEUE = {
    "metadata": {"name": "q", "uid": "u"},
    "spec": {
        "cohort": "pool",
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1500m", "lendingLimit": 1}]}],
            }
        ],
    },
    "apiVersion": "kueue.x-k8s.io/v1beta1",
}


def job(**changes: Any) -> dict[str, Any]:
    meta = {
        "name": "j",
        "namespace": "team",
        "uid": "u-1",
        "labels": {"kueue.x-k8s.io/queue-name": "lq"},
        "annotations": changes.get("annotations", {}),
    }
    template = {"metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}} if "pod" in changes else {}
    container = {"name": "c", "resources": {"limits": changes.get("limits", {"cpu": "2"})}}
    spec = {
        "parallelism": 2,
        "completions": 2,
        "suspend": changes.get("suspend", True),
        "template": {**template, "spec": {"containers": [container], **changes.get("pod", {})}},
    }
    return {"metadata": meta, "spec": spec, "status": changes.get("status", {})}


KEY = f"team/{workload_name('Job', 'batch', 'j', 'u-1')}"


def test_an_object_is_told_once_in_exact_units_whatever_its_version() -> None:
    view = View()
    (told,) = view.see("ClusterQueue", QUEUE)
    assert isinstance(told, ClusterQueueObserved)
    assert (told.cohort, told.groups[0].flavors[0].quotas[0].nominal) == ("pool", 1500)
    assert view.see("ClusterQueue", QUEUE) == []


def test_a_watcher_that_starts_anew_and_reads_the_log_back_tells_nothing() -> None:
    view = View()
    facts = [*view.see("ClusterQueue", QUEUE), *view.see("Job", job())]
    again = View()
    for fact in facts:
        again.fold(fact)
    assert again.see("ClusterQueue", QUEUE) == []
    assert again.see("Job", job()) == []


def test_what_is_gone_is_told_as_gone_once() -> None:
    view = View()
    view.see("ClusterQueue", QUEUE)
    view.see("Job", job())
    assert view.lose("ClusterQueue", "", "q") == [ObjectRemoved(kind="ClusterQueue", name="q")]
    assert view.lose("Job", "team", "j") == [WorkloadDeleted(workload=KEY)]
    assert view.lose("Job", "team", "j") == []


def test_a_job_is_told_through_its_life() -> None:
    view = View()
    (submitted,) = view.see("Job", job())
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.pod_sets[0].count == 2
    ours = {"kuelog.io/decision": "LOG_0/4"}
    injected = {"nodeSelector": {"zone": "a"}}
    assert view.see("Job", job(suspend=False, annotations=ours, pod=injected)) == []
    running = job(suspend=False, annotations=ours, pod=injected, status={"active": 2, "ready": 2})
    assert view.see("Job", running) == [PodsReady(workload=KEY, ready=True)]
    suspended = [{"type": "Suspended", "status": "True"}]
    stopped = {"kuelog.io/decision": "LOG_0/9"}
    stopping = job(annotations=stopped, pod=injected, status={"active": 1, "conditions": suspended})
    assert view.see("Job", stopping) == [], "a pod is still there"
    gone = job(annotations=stopped, pod=injected, status={"conditions": suspended})
    assert view.see("Job", gone) == [PodsGone(workload=KEY, decision="LOG_0/9")]
    done = [{"type": "Complete", "status": "True", "message": "well"}]
    ended = job(suspend=False, annotations=ours, status={"succeeded": 2, "conditions": done})
    assert WorkloadFinished(workload=KEY, reason="Succeeded", message="well") in view.see("Job", ended)


SUSPENDED = [{"type": "Suspended", "status": "True"}]


def in_generation(number: int, **changes: Any) -> dict[str, Any]:
    value = job(**changes)
    value["metadata"]["generation"] = number
    return value


def test_a_job_that_runs_without_having_been_let_run_is_told_once_in_each_generation() -> None:
    view = View()
    view.see("Job", in_generation(1))
    ours = {"kuelog.io/decision": "LOG_0/7"}
    let_run = in_generation(2, suspend=False, annotations=ours)
    assert view.see("Job", let_run) == [], "it bears the decision"

    view = View()
    view.see("Job", in_generation(1))
    by_hand = in_generation(2, suspend=False)
    assert view.see("Job", by_hand) == [JobUnsuspended(workload=KEY, generation=2)]
    assert view.see("Job", by_hand) == []
    pods_end = {"active": 1, "conditions": SUSPENDED}
    assert view.see("Job", in_generation(3, annotations=ours, status=pods_end)) == []
    again = in_generation(4, suspend=False, annotations=ours)
    assert view.see("Job", again) == [JobUnsuspended(workload=KEY, generation=4)], "before its pods were gone"
    assert PodsGone(workload=KEY, decision="LOG_0/7") in view.see(
        "Job", in_generation(5, annotations=ours, status={"conditions": SUSPENDED})
    )
    assert view.see("Job", in_generation(6, suspend=False, annotations=ours)) == [
        JobUnsuspended(workload=KEY, generation=6)
    ]
    assert view.see("Job", in_generation(8, suspend=False, annotations={"kuelog.io/decision": "LOG_0/9"})) == []


def test_that_a_job_runs_is_told_with_its_refusal() -> None:
    """Who is not understood is no workload, and nobody else would stop it."""
    view = View()
    unclear = in_generation(1)
    unclear["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "not-there"
    (suspended,) = view.see("Job", unclear)
    assert isinstance(suspended, ObjectRefused) and not suspended.running
    let_run = put(put(unclear, ("spec", "suspend"), False), ("metadata", "generation"), 2)
    assert view.see("Job", let_run) == [replace(suspended, running=2)]
    assert view.see("Job", let_run) == []
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert view.see("Job", {**let_run, "status": complete}) == [suspended], "it has ended"


def test_a_job_that_was_let_run_is_told_to_stand_still_each_time_somebody_stops_it() -> None:
    view = View()
    view.see("Job", in_generation(1))
    ours = {"kuelog.io/decision": "LOG_0/7"}
    for generation in (2, 4):
        told = view.see("Job", in_generation(generation, suspend=False, annotations=ours))
        assert told == ([] if generation == 2 else [JobUnsuspended(workload=KEY, generation=4)])
        stopped = in_generation(generation + 1, annotations=ours, status={"conditions": SUSPENDED})
        assert view.see("Job", stopped) == [PodsGone(workload=KEY, decision="LOG_0/7")]


def test_a_job_that_ran_when_it_was_found_was_let_run_by_somebody() -> None:
    view = View()
    submitted = WorkloadSubmitted(
        workload=KEY,
        uid="u-1",
        owner=Owner(kind="Job", name="j", uid="u-1", api_version="batch/v1"),
        created_at=0,
        spec=next(one.spec for one in View().see("Job", job()) if isinstance(one, WorkloadSubmitted)),
        adopted=AdoptedStatus(cluster_queue="cq"),
    )
    view.fold(submitted)
    assert view.see("Job", in_generation(2, suspend=False)) == []


def test_a_suspended_job_without_our_mark_has_no_pods_that_could_be_gone() -> None:
    view = View()
    view.see("Job", job())
    assert view.see("Job", job(status={"conditions": [{"type": "Suspended", "status": "True"}]})) == []


def test_a_class_that_comes_later_gives_the_job_its_priority() -> None:
    view = View()
    named = job()
    named["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    (refused,) = view.see("Job", named)
    assert isinstance(refused, ObjectRefused)
    assert (refused.reason, refused.problems[0].message) == (
        "WorkloadPriorityClassNotFound",
        'WorkloadPriorityClass "high" not found',
    )
    view.fold(PriorityClassObserved(name="high", value=7, workload=True))
    (submitted,) = view.see("Job", named)
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.priority == 7
    view.fold(PriorityClassObserved(name="high", value=9, workload=True))
    (changed,) = view.see("Job", named)
    assert isinstance(changed, WorkloadChanged) and changed.spec.priority == 9


def test_who_is_of_a_class_that_is_deleted_keeps_its_priority_and_is_seen_to_end() -> None:
    view = View()
    named = job()
    named["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    view.fold(PriorityClassObserved(name="high", value=7, workload=True))
    view.see("Job", named)
    view.lose("WorkloadPriorityClass", "", "high")
    assert view.see("Job", named) == []
    complete = {"type": "Complete", "status": "True", "message": "done"}
    (ended,) = view.see("Job", {**named, "status": {"conditions": [complete]}})
    assert isinstance(ended, WorkloadFinished)


def test_a_job_that_asks_for_what_can_not_be_is_refused_and_still_seen_to_end() -> None:
    view = View()
    view.see("Job", job())
    wrong = job()
    wrong["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "soon"
    (refused,) = view.see("Job", wrong)
    assert isinstance(refused, ObjectRefused) and "max-exec-time-seconds" in refused.problems[0].field
    complete = {"type": "Complete", "status": "True", "message": "done"}
    (ended,) = view.see("Job", {**wrong, "status": {"conditions": [complete]}})
    assert isinstance(ended, WorkloadFinished)
    assert [type(one) for one in view.see("Job", job())] == [ObjectMended]
    another = {**wrong, "metadata": {**wrong["metadata"], "uid": "u-2"}}
    assert [type(one) for one in view.see("Job", another)] == [ObjectRefused], "of another job nothing was understood"


def test_what_cannot_be_understood_names_the_field_and_what_to_write() -> None:
    (refused,) = View().see("Job", job(limits={"nvidia.com/gpu": 1, "nvidia.com/gpumem": "16Gi"}))
    assert isinstance(refused, ObjectRefused)
    assert "nvidia.com/gpumem" in refused.problems[0].field
    assert '"16384"' in refused.problems[0].instead
    (refused,) = View().see("Job", job(limits={"cpu": "-1"}))
    assert isinstance(refused, ObjectRefused) and "negative" in refused.problems[0].message
    node = {"metadata": {"name": "n", "annotations": {"hami.io/node-nvidia-register": "nonsense"}}}
    told, refused = View().see("Node", node)
    assert isinstance(told, NodeObserved), "the node itself goes on"
    assert isinstance(refused, ObjectRefused) and "node-nvidia-register" in refused.problems[0].field


def test_an_object_that_is_mended_is_refused_no_longer() -> None:
    view = View()
    view.see("Job", job(limits={"cpu": "-1"}))
    assert view.see("Job", job(limits={"cpu": "-1"})) == [], "the same refusal is told once"
    (submitted,) = view.see("Job", job())
    assert isinstance(submitted, WorkloadSubmitted)


def test_a_queue_that_breaks_a_rule_is_refused_with_the_field_and_the_old_one_goes_on() -> None:
    view = View()
    view.see("ClusterQueue", QUEUE)
    group = QUEUE["spec"]["resourceGroups"][0]  # type: ignore[index]
    (refused,) = view.see("ClusterQueue", {**QUEUE, "spec": {"cohort": "pool", "resourceGroups": [group, group]}})
    assert isinstance(refused, ObjectRefused)
    assert "resourceGroups[1]" in refused.problems[0].field and refused.problems[0].message
    assert [type(fact) for fact in view.see("ClusterQueue", QUEUE)] == [ClusterQueueObserved], "it is lifted"
    assert view.see("ClusterQueue", QUEUE) == []


def test_a_queue_that_was_stored_with_a_check_for_a_flavor_that_it_has_not_is_taken_as_it_is() -> None:
    rules = {"admissionChecks": [{"name": "k", "onFlavors": ["elsewhere"]}]}
    (queue,) = View().see("ClusterQueue", {**QUEUE, "spec": {**QUEUE["spec"], "admissionChecksStrategy": rules}})  # type: ignore[dict-item]
    assert isinstance(queue, ClusterQueueObserved)
    assert queue.checks == (CheckRule(name="k", flavors=("elsewhere",)),), "it is required of nobody"


def test_a_queue_that_was_stored_under_looser_bounds_is_taken_as_it_is_and_its_quota_may_change() -> None:
    spec = {**QUEUE["spec"], "cohort": "Pool_A", "admissionChecksStrategy": {"admissionChecks": []}}  # type: ignore[dict-item]
    view = View()
    (told,) = view.see("ClusterQueue", {**QUEUE, "spec": spec})
    assert isinstance(told, ClusterQueueObserved) and told.cohort == "Pool_A"
    more = put({**QUEUE, "spec": spec}, ("spec", "stopPolicy"), "Hold")
    assert [type(one) for one in view.see("ClusterQueue", more)] == [ClusterQueueObserved]


def test_a_lock_of_a_node_that_nobody_can_read_is_told_and_one_that_can_be_is_not() -> None:
    def seen(lock: str) -> list[str]:
        value = {"metadata": {"name": "n1", "annotations": {"hami.io/mutex.lock": lock}}}
        return [type(fact).__name__ for fact in View().see("Node", value)]

    assert "ObjectRefused" not in seen("2026-01-01T00:00:00Z,team,job-0")
    assert seen("yesterday")[-1] == "ObjectRefused"
