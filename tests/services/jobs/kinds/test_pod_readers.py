"""What paths alone can't say of a job: sidecars, memory of a JVM, declared components, pods that are done."""

import pytest

from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import FieldBroken, difference, locate, put
from services.jobs.job_status import finished_of, is_stopped, ready_of, reclaimable_of
from services.jobs.kinds.app_wrapper import counted_part
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.table import APP_WRAPPER, JOB, JOB_SET, KINDS, RAY_CLUSTER, RAY_JOB, SPARK
from services.jobs.pod_sets.pod_set import Injection, Original, Pods
from services.jobs.start_stop import holds_injection, injected, restored

KIND = {one.kind: one for one in KINDS}


def job_set(**status: object) -> JsonObject:
    def one(name: str, replicas: int, **pods: int) -> JsonObject:
        return {"name": name, "replicas": replicas, "template": {"spec": {**pods, "template": {"spec": {}}}}}

    jobs = [one("a", 2, parallelism=3), one("b", 1, parallelism=4, completions=2)]
    return {"metadata": {"name": "s"}, "spec": {"replicatedJobs": jobs}, "status": status}


def test_a_job_set_counts_replicas_times_pods_and_gives_back_whole_jobs() -> None:
    job = job_set(replicatedJobsStatus=[{"name": "a", "succeeded": 1, "ready": 1}, {"name": "b", "ready": 1}])
    pods = pods_of(JOB_SET, job)
    assert [(one.name, one.count) for one in pods] == [("a", 6), ("b", 2)]
    assert ready_of(JOB_SET, job, pods) is True
    assert reclaimable_of(JOB_SET, job, pods) == {"a": 3}


def test_a_job_that_still_runs_something_has_not_stopped() -> None:
    said: list[JsonObject] = [{"type": "Suspended", "status": "True"}]
    for active, stopped in ((1, False), (0, True)):
        job = job_set(conditions=said, replicatedJobsStatus=[{"name": "a", "active": active}])
        assert is_stopped(JOB_SET, put(job, ("spec", "suspend"), True)) is stopped


def test_roles_come_in_their_own_order_and_only_those_that_are_there() -> None:
    template = {"replicas": 2, "template": {"spec": {}}}
    job = {"spec": {"tfReplicaSpecs": {"Worker": template, "Evaluator": template, "Chief": template}}}
    assert [one.name for one in pods_of(KIND["TFJob"], job)] == ["chief", "worker", "evaluator"]


def test_ray_counts_hosts_the_autoscaler_beside_the_head_and_the_pod_that_submits() -> None:
    head = {"template": {"spec": {"containers": [{"name": "h", "image": "ray"}]}}}
    groups = [{"groupName": "W", "replicas": 2, "numOfHosts": 4, "template": {"spec": {}}}]
    cluster = {"headGroupSpec": head, "workerGroupSpecs": groups, "enableInTreeAutoscaling": True}
    found = pods_of(RAY_CLUSTER, {"spec": cluster})
    assert [(one.name, one.count) for one in found] == [("head", 1), ("w", 8)]
    assert [one["name"] for one in found[0].template["spec"]["containers"]] == ["h", "autoscaler"]
    submitter = pods_of(RAY_JOB, {"spec": {"rayClusterSpec": cluster}})[-1]
    assert (submitter.name, submitter.template["spec"]["containers"][0]["image"]) == ("submitter", "ray")
    by_http = {"rayClusterSpec": cluster, "submissionMode": "HTTPMode"}
    assert len(pods_of(RAY_JOB, {"spec": by_http})) == 2
    assert pods_of(RAY_JOB, {"spec": {"clusterSelector": {"ray.io/cluster": "c"}}}) == []


def test_the_autoscaler_beside_a_head_has_what_is_said_of_it_also_where_that_is_nothing() -> None:
    head = {"template": {"spec": {"containers": [{"name": "h"}]}}}
    for said in ({"limits": {"cpu": "2"}}, {}):
        spec = {"headGroupSpec": head, "enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": said}}
        (found,) = pods_of(RAY_CLUSTER, {"spec": spec})
        assert found.template["spec"]["containers"][1]["resources"] == said


def asked(pods: Pods) -> JsonObject:
    """What the first container requests."""
    requests: JsonObject = pods.template["spec"]["containers"][0]["resources"]["requests"]
    return requests


@pytest.mark.parametrize(
    ("resources", "counted"),
    [
        (None, {"cpu": "200m", "memory": "256Mi"}),
        ({"requests": {"cpu": "100m", "memory": "1Gi"}}, {"cpu": "200m", "memory": "1Gi"}),
        ({"limits": {"cpu": "4", "nvidia.com/gpu": 1}}, {"cpu": "4", "nvidia.com/gpu": 1, "memory": "256Mi"}),
        ({"requests": {"cpu": "many"}}, {"cpu": "many", "memory": "256Mi"}),
    ],
)
def test_a_head_whose_state_is_kept_in_redis_asks_for_as_much_as_what_cleans_up_there(
    resources: JsonObject | None, counted: JsonObject
) -> None:
    container = {"name": "h", **({} if resources is None else {"resources": resources})}
    head = {"template": {"spec": {"containers": [container]}}}
    kept = {"headGroupSpec": head, "gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    assert asked(pods_of(RAY_CLUSTER, {"spec": kept})[0]) == counted
    noted = {"metadata": {"annotations": {"ray.io/ft-enabled": "True"}}, "spec": {"headGroupSpec": head}}
    assert asked(pods_of(RAY_CLUSTER, noted)[0]) == counted
    assert asked(pods_of(RAY_JOB, {"spec": {"rayClusterSpec": kept}})[0]) == counted
    (plain,) = pods_of(RAY_CLUSTER, {"spec": {"headGroupSpec": head}})
    assert plain.template == head["template"]


@pytest.mark.parametrize(
    ("spec", "kib"),
    [
        ({"memory": "8g"}, 8 * 1024**2 * 11 // 10),
        ({"memory": "512m"}, (512 + 384) * 1024),
        ({"memory": "1g", "memoryOverhead": "1g"}, 2 * 1024**2),
    ],
)
def test_spark_takes_more_memory_than_its_heap(spec: JsonObject, kib: int) -> None:
    job = {"spec": {"type": "Scala", "driver": spec, "executor": {"instances": 3}}}
    driver, executors = pods_of(SPARK, job)
    (container,) = driver.template["spec"]["containers"]
    assert container["resources"]["requests"]["memory"] == f"{kib}Ki"
    assert executors.count == 3
    with pytest.raises(FieldBroken, match="not an amount of memory"):
        pods_of(SPARK, put(job, ("spec", "driver", "memory"), "much"))


def test_sparks_own_settings_count_where_a_description_says_nothing() -> None:
    settings = {
        "spark.executor.instances": "5",
        "spark.executor.memory": "8g",
        "spark.executor.cores": "4",
        "spark.kubernetes.driver.request.cores": "500m",
        "spark.kubernetes.memoryOverheadFactor": "0.5",
    }
    job = {"spec": {"sparkConf": settings, "driver": {}, "executor": {}}}
    driver, executors = pods_of(SPARK, job)
    assert executors.count == 5
    assert asked(executors) == {"cpu": 4, "memory": f"{12 * 1024**2}Ki"}
    assert asked(driver) == {"cpu": "500m", "memory": f"{1536 * 1024}Ki"}
    described = put(put(job, ("spec", "executor"), {"instances": 3, "memory": "1g", "cores": 1}), ("spec", "type"), "R")
    _, executors = pods_of(SPARK, put(described, ("spec", "memoryOverheadFactor"), "0.4"))
    assert executors.count == 3 and asked(executors) == {"cpu": 1, "memory": f"{int(1.4 * 1024**2)}Ki"}
    assert pods_of(SPARK, {"spec": {"driver": {}, "executor": {}}})[1].count == 2, "as many as Spark starts by itself"


@pytest.mark.parametrize(
    ("at", "said", "field"),
    [
        (("spec", "sparkConf", "spark.executor.instances"), "many", "spec.sparkConf[spark.executor.instances]"),
        (("spec", "sparkConf", "spark.driver.cores"), "half", "spec.sparkConf[spark.driver.cores]"),
        (("spec", "memoryOverheadFactor"), "a tenth", "spec.memoryOverheadFactor"),
        (("spec", "driver", "cores"), "two", "spec.driver.cores"),
    ],
)
def test_what_spark_is_told_that_is_no_number_is_named(at: tuple[str, ...], said: str, field: str) -> None:
    with pytest.raises(FieldBroken) as broken:
        pods_of(SPARK, put({"spec": {"driver": {}, "executor": {}}}, at, said))
    assert broken.value.field == field


def test_what_runs_beside_spark_in_its_pods_counts_and_so_do_its_nodes_and_its_class() -> None:
    beside = {"name": "proxy", "image": "p", "resources": {"requests": {"cpu": "2"}}}
    role = {
        "sidecars": [beside],
        "initContainers": [{**beside, "name": "fetch"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "labels": {"team": "a"},
        "nodeSelector": {"disk": "fast"},
        "template": {"spec": {"containers": [{"name": "spark-kubernetes-executor"}, beside]}},
    }
    driver, executors = pods_of(SPARK, {"spec": {"driver": {}, "executor": role, "nodeSelector": {"pool": "spark"}}})
    pod = executors.template["spec"]
    assert [one["name"] for one in pod["containers"]] == ["spark-kubernetes-executor", "proxy"], "once, not twice"
    assert [one["name"] for one in pod["initContainers"]] == ["fetch"]
    assert (pod["affinity"], pod["priorityClassName"]) == (role["affinity"], "high")
    assert executors.template["metadata"]["labels"] == {"team": "a"}
    assert pod["nodeSelector"] == {"pool": "spark", "disk": "fast"}
    assert driver.template["spec"]["nodeSelector"] == {"pool": "spark"}


def test_nodes_that_spark_is_told_for_all_its_pods_are_told_of_each_role_when_it_starts() -> None:
    job: JsonObject = {
        "metadata": {"name": "s"},
        "spec": {"nodeSelector": {"pool": "spark"}, "driver": {}, "executor": {"nodeSelector": {"disk": "fast"}}},
    }
    given = [
        Injection(
            count=one.count,
            original=Original(name=one.name, count=one.count, node_selector=one.template["spec"]["nodeSelector"]),
            node_selector={"type": f"of {one.name}"},
        )
        for one in pods_of(SPARK, job)
    ]
    spec = injected(SPARK, job, given)["spec"]
    assert "nodeSelector" not in spec, "Spark's operator refuses one that says both"
    assert spec["driver"]["nodeSelector"] == {"pool": "spark", "type": "of driver"}
    assert spec["executor"]["nodeSelector"] == {"pool": "spark", "disk": "fast", "type": "of executor"}
    back = restored(SPARK, injected(SPARK, job, given), [one.original for one in given])
    assert [one.template["spec"]["nodeSelector"] for one in pods_of(SPARK, back)] == [
        one.original.node_selector for one in given
    ]


def test_a_wrapper_says_its_pods_itself_or_their_kinds_do() -> None:
    inner = {"kind": "Thing", "apiVersion": "x/v1", "spec": {"parts": [{"template": {"spec": {"a": 1}}}]}}
    declared = {"template": inner, "podSets": [{"replicas": 4, "path": "template.spec.parts[0].template"}]}
    known = {"template": {"kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2", **job_set()}}
    wrapper = {"metadata": {"name": "w"}, "spec": {"components": [declared, known]}}
    assert [(one.name, one.count) for one in pods_of(APP_WRAPPER, wrapper)] == [
        ("w-0", 4),
        ("w-1", 6),
        ("w-2", 2),
    ], "numbered through all components, as by Kueue"
    assert [one.known_as({"w-0-0", "w-1-0", "w-1-1"}) for one in pods_of(APP_WRAPPER, wrapper)] == [
        "w-0-0",
        "w-1-0",
        "w-1-1",
    ], "what was reported under the names of before goes on under them"
    broken = put(wrapper, ("spec", "components", 0, "podSets", 0, "path"), "template.nowhere")
    with pytest.raises(FieldBroken, match="leads to no pod template"):
        pods_of(APP_WRAPPER, broken)


def wrapped_ray(kind: str, at: str, *, infos: bool = False, **spec: object) -> JsonObject:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    workers = {"groupName": "w", "replicas": 2, "numOfHosts": 2, "template": template}
    ray: JsonObject = {"apiVersion": "ray.io/v1", "kind": kind}
    ray = put(ray, tuple(at.split(".")), {"headGroupSpec": {"template": template}, "workerGroupSpecs": [workers]})
    alone = {"template": {"apiVersion": "v1", "kind": "Pod", **template}, "podSetInfos": [{}]}
    cluster = {"template": ray, **({"podSetInfos": [{}, {}]} if infos else {})}
    return {"metadata": {"name": "w"}, "spec": {"components": [alone, cluster], **spec}}


@pytest.mark.parametrize(("kind", "at"), [("RayCluster", "spec"), ("RayJob", "spec.rayClusterSpec")])
def test_what_runs_of_a_wrapped_ray_cluster_is_counted(kind: str, at: str) -> None:
    found = pods_of(APP_WRAPPER, wrapped_ray(kind, at, suspend=True))
    assert [(one.name, one.count) for one in found] == [("w-0", 1), ("w-1", 1), ("w-2", 4)], (
        "AppWrapper's controller wants as much said of its pod sets as it finds itself: none of the submitter"
    )
    assert [one.at for one in found[1:]] == [("spec", "components", 1, "podSetInfos", number) for number in (0, 1)]
    started = pods_of(APP_WRAPPER, wrapped_ray(kind, at, infos=True, suspend=False))
    assert [one.name for one in started] == ["w-0", "w-1", "w-2"]


def test_a_wrapper_that_was_let_in_without_its_ray_cluster_goes_on_as_it_is() -> None:
    for spec in ({"suspend": False}, {}):
        runs = wrapped_ray("RayCluster", "spec", **spec)
        assert [one.name for one in pods_of(APP_WRAPPER, runs)] == ["w-0"]


def test_a_wrapped_pod_may_be_declared_by_its_path() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c"}]}}
    wrapper = {
        "metadata": {"name": "w"},
        "spec": {"components": [{"template": pod, "podSets": [{"path": "template"}]}]},
    }
    assert [(one.name, one.count, one.template) for one in pods_of(APP_WRAPPER, wrapper)] == [("w-0", 1, pod)]


@pytest.mark.parametrize(
    ("image", "pulled"),
    [
        ("x", "Always"),
        ("x:latest", "Always"),
        ("registry:5000/x", "Always"),
        ("registry:5000/x:v1", "IfNotPresent"),
        ("x@sha256:0a", "IfNotPresent"),
    ],
)
def test_of_wrapped_pods_a_workload_has_kueue_s_part_with_the_defaults_of_the_api_server(
    image: str, pulled: str
) -> None:
    own = {"name": "c", "image": image, "env": [{"name": "A", "value": "1"}], "resources": {"requests": {"cpu": "1"}}}
    found = counted_part({"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [own]}})
    assert found["metadata"] == {"labels": {"a": "b"}}
    assert (found["spec"]["restartPolicy"], found["spec"]["dnsPolicy"]) == ("Never", "ClusterFirst")
    assert found["spec"]["containers"] == [
        {
            "name": "c",
            "image": image,
            "imagePullPolicy": pulled,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "resources": {"requests": {"cpu": "1"}},
        }
    ]
    assert "initContainers" not in found["spec"]


@pytest.mark.parametrize(
    ("kind", "job", "field"),
    [
        (JOB, {"spec": {"parallelism": -1, "template": {}}}, "spec.parallelism"),
        (JOB, {"spec": {}}, "spec.template"),
        (JOB_SET, {"spec": {"replicatedJobs": []}}, "spec.replicatedJobs"),
        (
            JOB_SET,
            {"spec": {"replicatedJobs": [{"name": "a", "replicas": "x", "template": {}}]}},
            "spec.replicatedJobs[0]",
        ),
        (RAY_CLUSTER, {"spec": {}}, "spec.headGroupSpec.template"),
    ],
)
def test_what_is_malformed_is_named(kind: JobKind, job: JsonObject, field: str) -> None:
    with pytest.raises(FieldBroken) as broken:
        pods_of(kind, job)
    assert broken.value.field.startswith(field)


def test_what_a_job_says_about_its_end_is_told() -> None:
    job = {"status": {"jobDeploymentStatus": "Failed", "message": "no luck"}}
    assert finished_of(RAY_JOB, job) == ("Failed", "no luck")
    assert finished_of(RAY_JOB, {"status": {"jobDeploymentStatus": "Running"}}) is None


@pytest.mark.parametrize(("job_status", "outcome"), [("SUCCEEDED", "Succeeded"), ("STOPPED", "Failed"), ("", "Failed")])
def test_a_ray_job_that_somebody_has_stopped_has_not_succeeded(job_status: str, outcome: str) -> None:
    job = {"status": {"jobDeploymentStatus": "Complete", "jobStatus": job_status}}
    assert finished_of(RAY_JOB, job) == (outcome, "")


def test_an_app_wrapper_that_failed_has_ended_once_nothing_of_it_is_left() -> None:
    deployed = {"type": "ResourcesDeployed", "status": "True"}
    failed: JsonObject = {"status": {"phase": "Failed", "conditions": [deployed]}}
    assert finished_of(APP_WRAPPER, failed) is None
    gone = {"status": {"phase": "Failed", "conditions": [{**deployed, "status": "False"}]}}
    assert finished_of(APP_WRAPPER, gone) == ("Failed", "AppWrapper failed")
    well = {"status": {"phase": "Succeeded", "conditions": [deployed]}}
    assert finished_of(APP_WRAPPER, well) == ("Succeeded", "AppWrapper finished successfully")


def test_what_was_injected_is_taken_out_and_what_was_there_stays() -> None:
    own = {"key": "own", "operator": "Exists"}
    spec = {"nodeSelector": {"disk": "ssd"}, "tolerations": [own]}
    meta = {"labels": {"app": "x"}, "annotations": {"nvidia.com/use-gpuuuid": "GPU-mine"}}
    may_be_fewer = {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}}
    job: JsonObject = {
        "metadata": may_be_fewer,
        "spec": {"parallelism": 2, "template": {"metadata": meta, "spec": spec}},
    }
    original = Original(
        name="main", count=2, node_selector={"disk": "ssd"}, tolerations=(own,), annotations=meta["annotations"]
    )
    injection = Injection(
        count=1,
        original=original,
        labels={"kueue.x-k8s.io/podset": "main"},
        annotations={"kueue.x-k8s.io/workload": "w", "nvidia.com/use-gpuuuid": "GPU-1"},
        node_selector={"zone": "a"},
        tolerations=({"key": "card", "operator": "Exists"},),
    )
    running = injected(JOB, job, [injection])
    assert running["spec"]["parallelism"] == 1 and holds_injection(JOB, running)
    assert running["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd", "zone": "a"}
    assert injected(JOB, running, [injection]) == running, "twice is once"
    assert restored(JOB, running, [original]) == job


def test_a_size_that_somebody_has_given_a_job_since_stays() -> None:
    smaller: JsonObject = {"spec": {"parallelism": 1, "template": {"spec": {}}}}
    assert restored(JOB, smaller, [Original(name="main", count=2)])["spec"]["parallelism"] == 1


def test_paths_lead_through_lists_maps_and_conditions_and_patches_lead_from_one_object_to_another() -> None:
    value = {"a": [{"b": 1}, {"b": 2}], "m": {"x": {"b": 3}}, "c": [{"type": "Ready", "status": "True"}]}
    assert locate(value, "a.*.b") == [("a", 0, "b"), ("a", 1, "b")]
    assert locate(value, "m.*.b") == [("m", "x", "b")]
    assert locate(value, "c[Ready].status") == [("c", 0, "status")]
    assert locate(value, "c[Done].status") == []
    assert difference({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": 1, "d": 3}, "e": [1]}) == {
        "a": None,
        "b": {"d": 3},
        "e": [1],
    }
