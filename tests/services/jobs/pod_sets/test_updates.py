"""What admission checks add to pods: merged into every kind of job, in conflict with what is there, and taken out again."""

import json

import pytest
from msgspec.structs import replace

from events.api.labels import ADDED_BY_CHECKS
from events.json_object import JsonObject
from services.jobs.kinds.pods import let_through
from services.jobs.kinds.table import APP_WRAPPER, JOB, SPARK, TRAIN_JOB
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.pod_sets.updates import Update, UpdateConflict
from services.jobs.start_stop import injected, restored

NODES = Update(check="nodes", labels={"team": "a"}, annotations={"cost": "1"}, node_selector={"pool": "p1"})
TAINT = {"key": "spot", "operator": "Exists"}
ORIGINAL = Original(name="main", count=1, node_selector={"disk": "ssd"})


def job() -> JsonObject:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"nodeSelector": {"disk": "ssd"}}}
    return {"metadata": {"name": "j"}, "spec": {"parallelism": 1, "template": template}}


def starting(*updates: Update) -> Injection:
    return Injection(
        count=1,
        original=ORIGINAL,
        labels={"kueue.x-k8s.io/podset": "main"},
        annotations={"kueue.x-k8s.io/workload": "w"},
        node_selector={"zone": "a"},
        updates=updates,
    )


def test_what_checks_add_stands_beside_what_is_there_and_goes_at_the_stop() -> None:
    spot = Update(check="spot", tolerations=(TAINT, TAINT), labels={"team": "a"})
    running = injected(JOB, job(), [starting(NODES, spot)])
    template = running["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "x", "kueue.x-k8s.io/podset": "main", "team": "a"}
    assert template["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": "w", "cost": "1"}
    assert template["spec"] == {"nodeSelector": {"disk": "ssd", "zone": "a", "pool": "p1"}, "tolerations": [TAINT]}
    added = {"main": {"labels": ["team"], "annotations": ["cost"]}}
    assert json.loads(running["metadata"]["annotations"][ADDED_BY_CHECKS]) == added
    assert injected(JOB, running, [starting(NODES, spot)]) == running, "twice is once"
    assert _plain(restored(JOB, running, [ORIGINAL])) == job()


def test_a_start_after_a_stop_that_left_something_behind_does_not_clash_with_it() -> None:
    left = injected(JOB, job(), [starting(NODES)])
    other = replace(NODES, labels={"team": "b"}, annotations={})
    again = injected(JOB, left, [starting(other)])
    assert again["spec"]["template"]["metadata"]["labels"]["team"] == "b"
    assert "cost" not in again["spec"]["template"]["metadata"]["annotations"]
    plain = injected(JOB, again, [starting()])
    assert ADDED_BY_CHECKS not in plain["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("update", "field"),
    [
        (Update(check="c", labels={"app": "y"}), "conflict for labels: check c wants app=y on pod set main"),
        (Update(check="c", node_selector={"zone": "b"}), "which has zone=a already"),
        (Update(check="c", node_selector={"disk": "hdd"}), "which has disk=ssd already"),
        (Update(check="c", annotations={"cost": "2"}), "which has cost=1 already"),
    ],
)
def test_a_check_that_contradicts_job_flavor_or_another_check_stops_the_start(update: Update, field: str) -> None:
    with pytest.raises(UpdateConflict) as conflict:
        injected(JOB, job(), [starting(NODES, update)])
    assert str(conflict.value).startswith("invalid admission check PodSetUpdate: conflict for ")
    assert field in str(conflict.value)


def test_a_check_that_says_what_is_there_already_adds_nothing_that_would_be_missed() -> None:
    same = Update(check="c", labels={"app": "x"})
    running = injected(JOB, job(), [starting(same)])
    assert restored(JOB, running, [ORIGINAL])["spec"]["template"]["metadata"]["labels"] == {"app": "x"}


def test_what_kueue_had_put_in_for_provisioned_nodes_goes_at_the_stop_and_a_user_s_own_stays() -> None:
    consumes, class_name = "consume-provisioning-request", "provisioning-class-name"

    def after_a_stop(request: str) -> JsonObject:
        left = job()
        left["spec"]["template"]["metadata"]["annotations"] = {
            "kueue.x-k8s.io/workload": "job-j-1",
            f"autoscaling.x-k8s.io/{consumes}": request,
            f"autoscaling.x-k8s.io/{class_name}": "c",
        }
        return restored(JOB, left, [ORIGINAL])["spec"]["template"]["metadata"].get("annotations") or {}

    assert after_a_stop("job-j-1-nodes-1") == {}
    assert f"autoscaling.x-k8s.io/{consumes}" in after_a_stop("mine")


@pytest.mark.parametrize("name", ["w-0", "w-0-0"])
def test_an_app_wrapper_gets_it_in_its_pod_set_infos_and_its_template_is_heeded(name: str) -> None:
    """Also one whose pod set was reported under the name that it had before rules 27."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "x"}}, "spec": {}}
    wrapper: JsonObject = {"metadata": {"name": "w"}, "spec": {"components": [{"template": pod}]}}
    original = Original(name=name, count=1)
    start = replace(starting(NODES), original=original)
    running = injected(APP_WRAPPER, wrapper, [start])
    (info,) = running["spec"]["components"][0]["podSetInfos"]
    assert info["labels"] == {"kueue.x-k8s.io/podset": "main", "team": "a"}
    assert info["nodeSelector"] == {"zone": "a", "pool": "p1"}
    assert restored(APP_WRAPPER, running, [original]) == wrapper
    clash = replace(start, updates=(Update(check="c", labels={"app": "y"}),))
    with pytest.raises(UpdateConflict):
        injected(APP_WRAPPER, wrapper, [clash])


def test_a_train_job_gets_it_in_the_runtime_patch() -> None:
    running = injected(TRAIN_JOB, {"spec": {}}, [starting(NODES)])
    (patch,) = running["spec"]["runtimePatches"]
    (one,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pods = one["template"]["spec"]["template"]
    assert pods["spec"]["nodeSelector"] == {"zone": "a", "pool": "p1"}
    assert pods["metadata"]["labels"]["team"] == "a"
    clash = starting(Update(check="c", node_selector={"disk": "hdd"}))
    with pytest.raises(UpdateConflict):
        injected(TRAIN_JOB, {"spec": {}}, [clash])


def test_a_spark_application_gets_it_beside_what_its_driver_says() -> None:
    spark: JsonObject = {"metadata": {"name": "s"}, "spec": {"driver": {"labels": {"app": "x"}}, "executor": {}}}
    original = Original(name="driver", count=1)
    running = injected(SPARK, spark, [replace(starting(NODES), original=original)])
    assert running["spec"]["driver"]["labels"] == {"app": "x", "kueue.x-k8s.io/podset": "main", "team": "a"}
    assert _plain(restored(SPARK, running, [original]))["spec"] == spark["spec"]


def test_a_pod_is_let_through_with_it_and_keeps_no_note() -> None:
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}}
    free = let_through(pod, starting(NODES))
    assert free["metadata"]["labels"]["team"] == "a" and ADDED_BY_CHECKS not in free["metadata"]["annotations"]
    with pytest.raises(UpdateConflict):
        let_through(pod, starting(Update(check="c", labels={"app": "y"})))


def _plain(value: JsonObject) -> JsonObject:
    """Without what is empty."""
    meta = {name: one for name, one in value["metadata"].items() if one}
    return {**value, "metadata": meta}
