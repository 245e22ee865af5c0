"""Reviews, verdicts and conversions as pure functions."""

import base64
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.json_object import JsonObject
from events.json_path import get, put
from events.selector import LabelSelector, Operator, Requirement
from events.settings import SettingsObserved
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.webhook.conversion import answer_conversion, converted
from ops.production.webhook.managed_namespaces import ManagedNamespaces
from ops.production.webhook.review import ReviewBroken, changed, judged, patch_between, read_review
from ops.production.webhook.verdicts import problems_of, stored
from ops.sandbox.embedded_cluster.changes.patches import json_patch
from services.runtime.cluster_port import ObjectMissing, Resource
from services.validation.conversion.from_beta1 import topology_slices
from services.validation.conversion.to_beta1 import slice_domains

SETTINGS = SettingsObserved()


def review(
    kind: str, value: JsonObject, *, group: str = "kueue.x-k8s.io", old: JsonObject | None = None, part: str = ""
) -> bytes:
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "u-1",
                "kind": {"group": group, "version": "v1beta2", "kind": kind},
                "operation": "CREATE" if old is None else "UPDATE",
                "namespace": value["metadata"].get("namespace", ""),
                "name": value["metadata"]["name"],
                "subResource": part,
                "object": value,
                "oldObject": old,
            },
        }
    ).encode()


def queue(**spec: Any) -> JsonObject:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": spec}


def job(labels: JsonObject | None = None, **meta: Any) -> JsonObject:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "team", "labels": labels or {}, **meta},
        "spec": {"parallelism": 1, "suspend": False, "template": template},
    }


NAMED = {"kueue.x-k8s.io/queue-name": "lq"}
LIMIT = {"nominalQuota": 1, "borrowingLimit": 1, "name": "cpu"}
GROUP = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [LIMIT]}]}


def verdict(raw: bytes, settings: SettingsObserved | None = None) -> JsonObject:
    asked = read_review(raw)
    return judged(asked, problems_of(asked, settings or SETTINGS))["response"]


MAYBE = {"kueue.x-k8s.io/podset-unconstrained-topology": "maybe"}


def placed(value: JsonObject) -> JsonObject:
    return put(value, ("spec", "template", "metadata", "annotations"), MAYBE)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_gate_may_not_be_added_to_what_serves(kind: str) -> None:
    spec = {"replicas": 1, "template": {"spec": {}}}
    before = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "s", "labels": NAMED}, "spec": spec}
    gated = put(before, ("metadata", "annotations"), {"kueue.x-k8s.io/admission-gated-by": "a.io/x"})
    assert verdict(review(kind, gated, group="apps"))["allowed"]
    assert not verdict(review(kind, gated, group="apps", old=before))["allowed"]
    assert verdict(review(kind, before, group="apps", old=gated))["allowed"]


def test_how_long_what_serves_may_run_is_a_whole_number_of_seconds() -> None:
    spec = {"replicas": 1, "template": {"spec": {}}}
    limit = {"kueue.x-k8s.io/max-exec-time-seconds": "soon"}
    plain = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "labels": NAMED}, "spec": spec}
    wrong = put(plain, ("metadata", "labels"), NAMED | limit)
    assert not verdict(review("StatefulSet", wrong, group="apps"))["allowed"]
    assert not verdict(review("StatefulSet", wrong, group="apps", old=plain))["allowed"]
    grown = put(wrong, ("metadata", "finalizers"), ["x"])
    assert verdict(review("StatefulSet", grown, group="apps", old=wrong))["allowed"], "it was stored before"
    pods_alone = {**wrong, "kind": "Deployment"}
    assert verdict(review("Deployment", pods_alone, group="apps"))["allowed"], "each of its pods may say it"


@pytest.mark.parametrize(
    ("kind", "group", "value"),
    [
        ("Job", "batch", placed(job(NAMED))),
        (
            "StatefulSet",
            "apps",
            placed({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "labels": NAMED}}),
        ),
        (
            "Pod",
            "",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": NAMED, "annotations": MAYBE}},
        ),
    ],
)
def test_topology_annotations_are_held_to_their_rules_on_jobs_pods_and_what_serves(
    kind: str, group: str, value: JsonObject
) -> None:
    response = verdict(review(kind, value, group=group))
    assert not response["allowed"]
    assert "podset-unconstrained-topology]: must be a boolean value" in response["status"]["message"]
    unnamed = put(value, ("metadata", "labels"), {})
    assert verdict(review(kind, unnamed, group=group))["allowed"], "it waits in no queue"


ELASTIC = "kueue.x-k8s.io/elastic-job"


@pytest.mark.parametrize(
    ("kind", "api", "annotations", "told"),
    [
        ("Job", "batch/v1", {ELASTIC: "true"}, ""),
        ("RayCluster", "ray.io/v1", {ELASTIC: "true"}, ""),
        ("RayJob", "ray.io/v1", {ELASTIC: "true"}, ""),
        ("RayService", "ray.io/v1", {ELASTIC: "true"}, ""),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", {ELASTIC: "false"}, ""),
        (
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            {ELASTIC: "true"},
            f'metadata.annotations[{ELASTIC}]: elastic job is not supported for "jobset.x-k8s.io/v1alpha2, Kind=JobSet"',
        ),
        ("Pod", "v1", {ELASTIC: "true"}, 'elastic job is not supported for "/v1, Kind=Pod"'),
        (
            "Job",
            "batch/v1",
            {ELASTIC: "true", "kueue.x-k8s.io/job-min-parallelism": "1"},
            "partial admission and elastic job cannot be used together",
        ),
    ],
)
def test_only_kinds_that_can_grow_are_elastic_and_not_together_with_partial_admission(
    kind: str, api: str, annotations: JsonObject, told: str
) -> None:
    value: JsonObject = {**job(NAMED), "kind": kind, "apiVersion": api}
    value["metadata"] = {**value["metadata"], "annotations": annotations}
    value["spec"] |= {"shutdownAfterJobFinishes": True, "rayClusterSpec": {"headGroupSpec": {}}}
    group = api.rpartition("/")[0]
    response = verdict(review(kind, value, group=group))
    assert response["allowed"] is not bool(told)
    assert told in response.get("status", {}).get("message", "")


@pytest.mark.parametrize(
    ("kind", "at"), [("RayCluster", ""), ("RayJob", "rayClusterSpec."), ("RayService", "rayClusterConfig.")]
)
def test_rays_own_autoscaler_is_for_jobs_that_are_elastic(kind: str, at: str) -> None:
    value: JsonObject = {**job(NAMED), "kind": kind, "apiVersion": "ray.io/v1"}
    field = f"spec.{at}enableInTreeAutoscaling"
    for name in (field, "spec.shutdownAfterJobFinishes"):
        value = put(value, tuple(name.split(".")), True)  # noqa: FBT003 - a field of the job
    refused = verdict(review(kind, value, group="ray.io"))
    assert not refused["allowed"]
    told = "a kueue managed job should only use autoscaling when workload slicing is enabled"
    assert f"{field}: {told}" in refused["status"]["message"]
    elastic = put(value, ("metadata", "annotations"), {ELASTIC: "true"})
    assert verdict(review(kind, elastic, group="ray.io"))["allowed"]
    off = SettingsObserved(gates={"ElasticJobsViaWorkloadSlices": False})
    assert not verdict(review(kind, elastic, group="ray.io"), off)["allowed"]
    unnamed = put(value, ("metadata", "labels"), {})
    assert verdict(review(kind, unnamed, group="ray.io"))["allowed"], "it waits in no queue"


def test_a_ray_job_whose_cluster_stays_is_refused_when_it_is_made_and_when_it_becomes_one() -> None:
    value: JsonObject = {**job(NAMED), "kind": "RayJob", "apiVersion": "ray.io/v1"}
    value["spec"] = {"suspend": True, "rayClusterSpec": {"headGroupSpec": {}}, "shutdownAfterJobFinishes": True}
    stays = put(value, ("spec", "shutdownAfterJobFinishes"), None)
    assert verdict(review("RayJob", value, group="ray.io"))["allowed"]
    refused = verdict(review("RayJob", stays, group="ray.io"))
    assert "a kueue managed job should delete the cluster after finishing" in refused["status"]["message"]
    assert not verdict(review("RayJob", stays, group="ray.io", old=value))["allowed"]
    other = put(stays, ("spec", "entrypoint"), "python y.py")
    assert verdict(review("RayJob", other, group="ray.io", old=stays))["allowed"], "it was there before"


@pytest.mark.parametrize(
    ("kind", "at"), [("RayCluster", ""), ("RayJob", "rayClusterSpec."), ("RayService", "rayClusterConfig.")]
)
def test_rays_own_autoscaler_is_not_switched_on_later_either(kind: str, at: str) -> None:
    field = f"spec.{at}enableInTreeAutoscaling"
    plain: JsonObject = {**job(NAMED), "kind": kind, "apiVersion": "ray.io/v1"}
    for name in (f"spec.{at}headGroupSpec.rayStartParams.x", "spec.shutdownAfterJobFinishes"):
        plain = put(plain, tuple(name.split(".")), True)  # noqa: FBT003 - a field of the job
    scaled = put(plain, tuple(field.split(".")), True)  # noqa: FBT003 - as above
    refused = verdict(review(kind, scaled, group="ray.io", old=plain))
    assert not refused["allowed"] and field in refused["status"]["message"]
    other = put(scaled, ("spec", "entrypoint"), "x")
    assert verdict(review(kind, other, group="ray.io", old=scaled))["allowed"], "it was there before"
    finalized = put(scaled, ("metadata", "finalizers"), ["x"])
    assert verdict(review(kind, finalized, group="ray.io", old=scaled))["allowed"]
    unnamed = put(scaled, ("metadata", "labels"), {})
    refused = verdict(review(kind, scaled, group="ray.io", old=unnamed))
    assert not refused["allowed"], "it gets a queue now"
    assert field not in str(verdict(review(kind, unnamed, group="ray.io", old=scaled))), "it leaves its queue"
    elastic, larger = (put(one, ("metadata", "annotations"), {ELASTIC: "true"}) for one in (plain, scaled))
    assert verdict(review(kind, larger, group="ray.io", old=elastic))["allowed"]


def test_a_job_that_gets_a_queue_later_is_judged_as_a_new_one() -> None:
    stays: JsonObject = {**job(NAMED), "kind": "RayJob", "apiVersion": "ray.io/v1"}
    stays["spec"] = {"suspend": True, "rayClusterSpec": {"headGroupSpec": {}}}
    limit = {"kueue.x-k8s.io/max-exec-time-seconds": "soon"}
    fewer = {"kueue.x-k8s.io/job-min-parallelism": "5"}
    for kind, group, value, field in (
        ("RayJob", "ray.io", stays, "spec.shutdownAfterJobFinishes"),
        ("Job", "batch", job(NAMED | limit), "max-exec-time-seconds"),
        ("Job", "batch", job(NAMED, annotations=fewer), "job-min-parallelism"),
        ("Job", "batch", placed(job(NAMED)), "podset-unconstrained-topology"),
    ):
        waits = put(value, ("spec", "suspend"), True)  # noqa: FBT003 - a field of the job
        labels = {name: text for name, text in waits["metadata"]["labels"].items() if name not in NAMED}
        before = put(waits, ("metadata", "labels"), labels)
        refused = verdict(review(kind, waits, group=group, old=before))
        assert not refused["allowed"] and field in refused["status"]["message"]
        assert verdict(review(kind, before, group=group, old=before))["allowed"]
        assert verdict(review(kind, put(waits, ("metadata", "finalizers"), ["x"]), group=group, old=waits))["allowed"]


def test_where_all_jobs_are_managed_those_without_a_queue_are_held_to_the_rules_too() -> None:
    everything = SettingsObserved(without_queue=True)
    ray: JsonObject = {**job(), "kind": "RayJob", "apiVersion": "ray.io/v1"}
    ray["spec"] = {"suspend": True, "rayClusterSpec": {"headGroupSpec": {}}}
    timed = job({"kueue.x-k8s.io/max-exec-time-seconds": "x"})
    for kind, group, value in (("RayJob", "ray.io", ray), ("Job", "batch", timed)):
        asked = read_review(review(kind, value, group=group))
        assert len(problems_of(asked, everything)) == 1 and problems_of(asked, SETTINGS) == []
        assert problems_of(asked, everything, managed=False) == [], "jobs of its namespace are not ours"
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "o", "controller": True}
        owned = put(value, ("metadata", "ownerReferences"), [owner])
        assert problems_of(read_review(review(kind, owned, group=group)), everything) == [], "its owner is managed"
        after = put(value, ("spec", "parallelism"), 2)
        assert problems_of(read_review(review(kind, after, group=group, old=value)), everything) == [], (
            "it was so before"
        )
    plain = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "team"}, "spec": {}}
    assert problems_of(read_review(review("Deployment", plain, group="apps")), everything) == []


def test_a_job_does_not_become_elastic_or_cease_to_be_so() -> None:
    plain = job(NAMED)
    elastic = put(plain, ("metadata", "annotations"), {ELASTIC: "true"})
    larger = put(elastic, ("spec", "parallelism"), 3)
    for before, after, allowed in (
        (plain, elastic, False),
        (elastic, plain, False),
        (elastic, put(plain, ("spec", "parallelism"), 3), False),
        (elastic, larger, True),
        (plain, put(plain, ("metadata", "annotations"), {"other": "x"}), True),
    ):
        response = verdict(review("Job", after, group="batch", old=before))
        assert response["allowed"] is allowed
        assert allowed or f"metadata.annotations[{ELASTIC}]: field is immutable" in response["status"]["message"]


def test_queues_and_flavors_bear_the_finalizer_from_the_start_and_nothing_else_of_kueues_does() -> None:
    theirs = {"metadata": {"name": "x", "finalizers": ["example.com/kept"]}}
    held = {"metadata": {"name": "x", "finalizers": ["example.com/kept", "kueue.x-k8s.io/resource-in-use"]}}
    for kind in ("ClusterQueue", "ResourceFlavor"):
        assert stored(read_review(review(kind, theirs)), set(), SETTINGS) == held
        assert stored(read_review(review(kind, held)), set(), SETTINGS) == held
        assert stored(read_review(review(kind, theirs, old=held)), set(), SETTINGS) == theirs, "it is taken off"
    for kind in ("LocalQueue", "Workload", "Cohort"):
        assert stored(read_review(review(kind, theirs)), set(), SETTINGS) == theirs


def test_what_serves_names_a_queue_by_what_can_be_its_name() -> None:
    serving = SettingsObserved(frameworks=("deployment", "pod"))
    value = {"apiVersion": "apps/v1", "metadata": {"name": "d", "labels": {"kueue.x-k8s.io/queue-name": "a_b"}}}
    found = problems_of(read_review(review("Deployment", value, group="apps")), serving)
    assert [one.field for one in found] == ["metadata.labels[kueue.x-k8s.io/queue-name]"]


def test_a_job_with_a_queue_is_stored_suspended_and_only_that_changes() -> None:
    asked = read_review(review("Job", job(NAMED), group="batch"))
    response = changed(asked, stored(asked, set(), SETTINGS))["response"]
    assert json.loads(base64.b64decode(response["patch"])) == [
        {"op": "replace", "path": "/spec/suspend", "value": True}
    ]
    assert response["uid"] == "u-1" and response["allowed"] and response["patchType"] == "JSONPatch"


def test_a_job_without_a_queue_is_left_alone_unless_its_namespace_has_one_for_everybody() -> None:
    asked = read_review(review("Job", job(), group="batch"))
    assert "patch" not in changed(asked, stored(asked, {"other"}, SETTINGS))["response"]
    value = stored(asked, {"team"}, SETTINGS)
    assert value["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default"} and value["spec"]["suspend"]


@pytest.mark.parametrize(
    ("api", "kind", "takes"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", False),
        ("example.com/v1", "Forest", False),
        ("batch/v1", "CronJob", True),
        ("argoproj.io/v1alpha1", "Workflow", True),
        ("kubeflow.org/v1beta1", "Trial", True),
    ],
)
def test_a_job_takes_the_default_queue_unless_its_owner_is_of_a_kind_that_somebody_manages(
    api: str, kind: str, takes: bool
) -> None:
    settings = SettingsObserved(external_frameworks=("Forest.v1.example.com",))
    owned = job(ownerReferences=[{"apiVersion": api, "kind": kind, "name": "o", "controller": True}])
    value = stored(read_review(review("Job", owned, group="batch")), {"team"}, settings)
    assert (value != owned) is takes and (value["spec"]["suspend"] is True) is takes


def test_an_empty_name_of_a_queue_is_refused_unless_it_stood_there() -> None:
    empty = job({"kueue.x-k8s.io/queue-name": ""})
    field = "metadata.labels[kueue.x-k8s.io/queue-name]"
    for value, kind, group in (
        (empty, "Job", "batch"),
        (serving("Deployment", labels=empty["metadata"]["labels"]), "Deployment", "apps"),
    ):
        found = problems_of(read_review(review(kind, value, group=group)), SETTINGS)
        assert [(one.field, one.code) for one in found] == [(field, "Invalid")], "it would run in no queue"
    started = put(empty, ("spec", "parallelism"), 2)
    assert problems_of(read_review(review("Job", started, group="batch", old=empty)), SETTINGS) == []
    left = problems_of(read_review(review("Job", empty, group="batch", old=job(NAMED))), SETTINGS)
    assert {one.field for one in left} == {field}
    asked = read_review(review("Job", empty, group="batch"))
    assert stored(asked, {"team"}, SETTINGS)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"


def test_a_job_may_not_be_left_without_a_queue_where_its_namespace_has_a_default_one() -> None:
    waits = put(job(NAMED), ("spec", "suspend"), True)
    unnamed = put(waits, ("metadata", "labels"), {})

    def fields(value: JsonObject, old: JsonObject, *open_to_all: str) -> list[tuple[str, str]]:
        found = problems_of(read_review(review("Job", value, group="batch", old=old)), SETTINGS, {*open_to_all})
        return [(one.field, one.what) for one in found]

    what = "queue-name must not be empty in namespace with default queue"
    assert fields(unnamed, waits, "team") == [("metadata.labels[kueue.x-k8s.io/queue-name]", what)]
    assert fields(unnamed, waits, "other") == [] == fields(unnamed, unnamed, "team")
    assert fields(put(unnamed, ("metadata", "deletionTimestamp"), "2026-01-01T00:00:00Z"), waits, "team") == []


PODS = SettingsObserved(frameworks=("batch/job", "pod"))


def pod(**meta: Any) -> JsonObject:
    spec = job()["spec"]["template"]["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team", **meta}, "spec": spec}


def test_a_pod_takes_the_default_queue_only_where_pods_are_chosen_to_be_managed() -> None:
    asked = read_review(review("Pod", pod(), group=""))
    assert stored(asked, {"team"}, SETTINGS) == pod() == stored(asked, {"other"}, PODS)
    value = stored(asked, {"team"}, PODS)
    assert value["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    assert {"name": "kueue.x-k8s.io/admission"} in value["spec"]["schedulingGates"]
    assert stored(asked, {"team"}, PODS, managed=False) == pod()
    everything = stored(asked, {"team"}, SettingsObserved(without_queue=True))
    assert everything["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"


def test_a_pod_of_a_job_of_something_that_serves_or_of_the_system_takes_no_default_queue() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    by_job = pod(ownerReferences=[owner])
    serves = pod(annotations={"kueue.x-k8s.io/pod-suspending-parent": "statefulset"})
    system = put(pod(), ("spec", "priorityClassName"), "system-node-critical")
    for value in (by_job, serves, system):
        asked = read_review(review("Pod", value, group=""))
        labels = stored(asked, {"team"}, PODS)["metadata"].get("labels", {})
        assert "kueue.x-k8s.io/queue-name" not in labels


SERVES = SettingsObserved(frameworks=("pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"))


def serving(kind: str, ready: int = 0, **meta: Any) -> JsonObject:
    template = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    value = {"kind": kind, "metadata": {"name": "s", "namespace": "team", **meta}, "status": {"readyReplicas": ready}}
    if kind == "LeaderWorkerSet":
        api, spec = "leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": {"workerTemplate": template}}
    else:
        api, spec = "apps/v1", {"template": template}
    return {"apiVersion": api, **value, "spec": spec}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
def test_what_serves_takes_the_default_queue_when_it_is_made_and_later_while_nothing_of_it_is_ready(kind: str) -> None:
    def queue_of(value: JsonObject, old: JsonObject | None = None, settings: SettingsObserved = SERVES) -> str | None:
        asked = read_review(review(kind, value, group=value["apiVersion"].partition("/")[0], old=old))
        found = stored(asked, {"team"}, settings)
        assert (found != value) is ("pod-suspending-parent" in str(found))
        return found["metadata"].get("labels", {}).get("kueue.x-k8s.io/queue-name")

    fresh, ready = serving(kind), serving(kind, ready=1)
    assert queue_of(fresh) == queue_of(fresh, old=fresh) == "default"
    assert queue_of(ready, old=ready) is None, "its pods would be made anew, and its queue can't change"
    assert queue_of(fresh, settings=SETTINGS) is None, "nobody has chosen that all of them are asked about"
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "l", "controller": True}
    assert queue_of(serving(kind, ownerReferences=[owner])) is None


def test_a_pod_with_a_queue_waits_at_the_gate_and_that_of_a_job_does_not() -> None:
    spec = job()["spec"]["template"]["spec"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "labels": NAMED},
        "spec": spec,
    }
    asked = read_review(review("Pod", pod, group=""))
    assert {"name": "kueue.x-k8s.io/admission"} in stored(asked, set(), SETTINGS)["spec"]["schedulingGates"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    owned = {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}
    asked = read_review(review("Pod", owned, group=""))
    assert stored(asked, {"team"}, SETTINGS) == owned


def test_where_all_jobs_are_managed_those_without_a_queue_wait_too_but_not_in_other_namespaces() -> None:
    everything = SettingsObserved(without_queue=True)
    asked = read_review(review("Job", job(), group="batch"))
    assert stored(asked, set(), everything)["spec"]["suspend"] is True
    assert stored(asked, set(), everything, managed=False) == asked.object
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}, "spec": {}}
    asked = read_review(review("Pod", pod, group=""))
    assert stored(asked, set(), everything)["spec"]["schedulingGates"]


async def test_the_labels_of_a_namespace_say_whether_jobs_in_it_are_managed() -> None:
    team = LabelSelector(labels={"jobs": "ours"})
    rooms = ManagedNamespaces(AbsentCluster(), Namespaces(old={"jobs": "ours"}, new={}), team)
    assert await rooms.managed("old") and not await rooms.managed("new") and not await rooms.managed("gone")
    assert await rooms.managed(""), "what is in no namespace is not chosen by one"
    assert await ManagedNamespaces(AbsentCluster(), AbsentCluster(), None).managed("any")
    outside = Requirement(key="kubernetes.io/metadata.name", operator=Operator.NOT_IN, values=("kube-system",))
    named = ManagedNamespaces(AbsentCluster(), AbsentCluster(), LabelSelector(expressions=(outside,)))
    assert await named.managed("any") and not await named.managed("kube-system"), "nobody has to be asked"


class Namespaces(AbsentCluster):
    """An API server that has these namespaces and nothing else."""

    def __init__(self, **labels: dict[str, str]) -> None:
        self._labels = labels

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        if name not in self._labels:
            raise ObjectMissing(name)
        return {"metadata": {"name": name, "labels": self._labels[name]}}


def test_a_mistake_is_refused_in_the_words_of_lint() -> None:
    response = verdict(review("ClusterQueue", queue(resourceGroups=[GROUP])))
    assert not response["allowed"]
    assert response["status"]["code"] == 422
    assert response["status"]["message"].startswith('ClusterQueue "cq" is invalid: spec.resourceGroups[0]')
    assert "Instead:" in response["status"]["message"]
    assert [one["field"] for one in response["status"]["details"]["causes"]] == [
        "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit"
    ]


def test_what_does_not_change_is_not_judged_again_nor_what_is_leaving() -> None:
    broken = queue(resourceGroups=[GROUP])
    labelled = {**broken, "metadata": {"name": "cq", "labels": {"a": "b"}}}
    assert verdict(review("ClusterQueue", labelled, old=broken))["allowed"]
    leaving = {**queue(resourceGroups=[GROUP, GROUP]), "metadata": {"name": "cq", "deletionTimestamp": "now"}}
    assert verdict(review("ClusterQueue", leaving, old=broken))["allowed"]


GATED = "kueue.x-k8s.io/admission-gated-by"


def workload(**status: Any) -> JsonObject:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team"},
        "spec": {"podSets": [{"name": "main", "count": 2, "template": template}]},
        "status": status,
    }


BOOST = "kueue.x-k8s.io/priority-boost"
BOOSTED = SettingsObserved(gates={"PriorityBoost": True})


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ({}, {GATED: "a.io/x"}, False),
        ({}, {GATED: "%%%"}, False),
        ({GATED: "a.io/x"}, {GATED: "a.io/y"}, False),
        ({GATED: "a.io/x,a.io/y"}, {GATED: "a.io/y"}, True),
        ({GATED: "a.io/x,a.io/y"}, {GATED: "a.io/x,a.io/x"}, False),
        ({GATED: "a.io/x,a.io/y"}, {GATED: "a.io/x,"}, False),
        ({GATED: "a.io/x"}, {}, True),
        ({GATED: "%%%"}, {GATED: "%%%", "note": "b"}, True),
        ({}, {BOOST: "abc"}, False),
        ({BOOST: "1"}, {BOOST: "-5"}, True),
        ({BOOST: "abc"}, {BOOST: "abc", "note": "b"}, True),
    ],
)
def test_what_is_noted_on_a_workload_is_judged_though_nothing_else_changes(
    before: JsonObject, after: JsonObject, *, allowed: bool
) -> None:
    old, new = (put(workload(), ("metadata", "annotations"), notes) for notes in (before, after))
    assert verdict(review("Workload", new, old=old), BOOSTED)["allowed"] is allowed


def reserved(*assignments: JsonObject) -> JsonObject:
    since = {"reason": "QuotaReserved", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    condition = {"type": "QuotaReserved", "status": "True", **since}
    return {"conditions": [condition], "admission": {"clusterQueue": "q", "podSetAssignments": list(assignments)}}


ASSIGNED: JsonObject = {"name": "main", "count": 1, "flavors": {"cpu": "f"}}


def settled(state: str, *updates: JsonObject) -> JsonObject:
    return {"name": "nodes", "state": state, "message": "", "podSetUpdates": list(updates)}


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        (
            {},
            {"admissionChecks": [settled("Ready", {"name": "other"})]},
            "status.admissionChecks[0].podSetUpdates[0].name",
        ),
        (
            {"admissionChecks": [settled("Ready")]},
            {"admissionChecks": [settled("Ready", {"name": "main", "labels": {"a": "b"}})]},
            "status.admissionChecks[0].podSetUpdates",
        ),
        (
            {},
            {
                "admissionChecks": [
                    settled("Ready", {"name": "main", "tolerations": [{"operator": "Exists", "value": "b"}]})
                ]
            },
            "status.admissionChecks[0].podSetUpdates[0].tolerations[0].value",
        ),
        *(
            (
                {},
                {"admissionChecks": [settled("Ready", {"name": "main", part: {"no label": "b"}})]},
                f"status.admissionChecks[0].podSetUpdates[0].{part}",
            )
            for part in ("labels", "annotations", "nodeSelector")
        ),
        (
            {"admissionChecks": [settled("Ready", {"name": "main", "labels": {"a": "b"}})]},
            {"admissionChecks": [settled("Ready")]},
            "status.admissionChecks[0].podSetUpdates",
        ),
        (
            {**reserved(ASSIGNED), "reclaimablePods": [{"name": "main", "count": 1}]},
            {**reserved(ASSIGNED), "reclaimablePods": [{"name": "main", "count": 0}]},
            "status.reclaimablePods[main].count",
        ),
        (
            {**reserved(ASSIGNED), "reclaimablePods": [{"name": "main", "count": 1}]},
            reserved(ASSIGNED),
            "status.reclaimablePods[main]",
        ),
        ({}, {"reclaimablePods": [{"name": "other", "count": 0}]}, "status.reclaimablePods[other].name"),
        (
            reserved(ASSIGNED),
            {**reserved(ASSIGNED), "admission": {"clusterQueue": "r", "podSetAssignments": [ASSIGNED]}},
            "status.admission",
        ),
        (
            reserved(ASSIGNED),
            reserved({**ASSIGNED, "flavors": {"cpu": "g"}}),
            "status.admission",
        ),
        ({}, {"unhealthyNodes": [{"name": "n" * 64}]}, "status.unhealthyNodes[0].name"),
        ({"nominatedClusterNames": ["a" * 257]}, {"clusterName": "a" * 257}, "status.clusterName"),
        (
            {},
            {"admissionChecks": [{**settled("Ready"), "message": "m" * 32_769}]},
            "status.admissionChecks[0].message",
        ),
        ({}, reserved({**ASSIGNED, "count": -1}), "status.admission.podSetAssignments[0].count"),
        (
            {"requeueState": {"count": -1}},
            {"requeueState": {"count": -1}, "unhealthyNodes": [{"name": "n" * 64}]},
            "status.unhealthyNodes[0].name",
        ),
        ({}, {"reclaimablePods": [{"name": "main", "count": 3}]}, "status.reclaimablePods[main].count"),
        ({}, {"reclaimablePods": [{"name": "main", "count": -1}]}, "status.reclaimablePods[0].count"),
        ({}, {"requeueState": {"count": -1}}, "status.requeueState.count"),
        ({}, reserved(), "status.admission.podSetAssignments"),
        ({}, {"admissionChecks": [{**settled("Ready"), "name": ""}]}, "status.admissionChecks[0].name"),
        ({}, {"admissionChecks": [{**settled("Ready"), "retryCount": -1}]}, "status.admissionChecks[0].retryCount"),
        ({"nominatedClusterNames": ["a"]}, {"clusterName": "a", "nominatedClusterNames": ["a"]}, "status.clusterName"),
        ({}, {"nominatedClusterNames": [str(index) for index in range(21)]}, "status.nominatedClusterNames"),
        ({}, {"clusterName": "a"}, "status.clusterName"),
        ({"nominatedClusterNames": ["b"]}, {"clusterName": "a"}, "status.clusterName"),
    ],
)
def test_what_others_write_of_a_workload_is_judged_but_not_what_stood_there(
    before: JsonObject, after: JsonObject, field: str
) -> None:
    """A controller of checks that is mistaken is told so when it writes, not when nobody starts."""
    answer = verdict(review("Workload", workload(**after), old=workload(**before), part="status"))
    assert [one["field"] for one in answer["status"]["details"]["causes"]] == [field]
    told = {**workload(**after), "status": {"requeueState": {"count": 1}, **after, "resourceRequests": []}}
    assert verdict(review("Workload", told, old=workload(**after), part="status"))["allowed"]


def test_what_a_controller_says_before_or_beside_its_answer_may_change_and_all_pods_may_be_given_back() -> None:
    added = {"name": "main", "labels": {"a": "b"}}
    for before, after in (("Pending", "Ready"), ("Ready", "Retry"), ("Retry", "Pending")):
        old = workload(admissionChecks=[settled(before)])
        new = workload(admissionChecks=[settled(after, added)])
        assert verdict(review("Workload", new, old=old, part="status"))["allowed"], (before, after)
    all_of_them = workload(reclaimablePods=[{"name": "main", "count": 2}])
    assert verdict(review("Workload", all_of_them, old=workload(), part="status"))["allowed"]
    fewer = workload(reclaimablePods=[])
    assert verdict(review("Workload", fewer, old=all_of_them, part="status"))["allowed"], "it holds no quota"
    elsewhere = workload(clusterName="a")
    assert verdict(review("Workload", elsewhere, old=elsewhere, part="status"))["allowed"]


def test_what_is_empty_in_an_update_of_pods_says_what_is_not_there() -> None:
    said = workload(admissionChecks=[settled("Ready", {"name": "main"})])
    anew = workload(admissionChecks=[settled("Ready", {"name": "main", "labels": {}, "tolerations": []})])
    assert verdict(review("Workload", anew, old=said, part="status"))["allowed"]


def test_as_many_updates_of_pods_may_be_said_as_there_may_be_pod_sets() -> None:
    value = workload()
    template = value["spec"]["podSets"][0]["template"]
    names = [f"p{index}" for index in range(18)]
    value["spec"]["podSets"] = [{"name": name, "count": 1, "template": template} for name in names]
    said = {**value, "status": {"admissionChecks": [settled("Ready", *({"name": name} for name in names))]}}
    assert verdict(review("Workload", said, old=value, part="status"))["allowed"]


def test_a_cluster_is_chosen_among_those_that_were_nominated_or_where_the_slice_before_runs() -> None:
    nominated = workload(nominatedClusterNames=["a", "b"])
    assert verdict(review("Workload", workload(clusterName="a"), old=nominated, part="status"))["allowed"]
    rigid = SettingsObserved(gates={"ElasticJobsViaWorkloadSlices": False})
    slice_of = {"name": "w", "annotations": {"kueue.x-k8s.io/workload-slice-replacement-for": "team/v"}}
    old, new = ({**workload(**one), "metadata": slice_of} for one in ({}, {"clusterName": "a"}))
    assert verdict(review("Workload", new, old=old, part="status"))["allowed"]
    assert not verdict(review("Workload", new, old=old, part="status"), rigid)["allowed"]


def test_a_running_job_stays_in_its_queue_and_a_waiting_one_may_go() -> None:
    other = {"kueue.x-k8s.io/queue-name": "other"}
    running = verdict(review("Job", job(other), group="batch", old=job(NAMED)))
    assert not running["allowed"] and "queue-name" in running["status"]["message"]
    waiting = job(other)
    waiting["spec"]["suspend"] = True
    assert verdict(review("Job", waiting, group="batch", old=job(NAMED)))["allowed"]


LIMIT, GATES = "kueue.x-k8s.io/max-exec-time-seconds", "kueue.x-k8s.io/admission-gated-by"
FEWER = "kueue.x-k8s.io/job-min-parallelism"


@pytest.mark.parametrize(
    ("suspended", "refused"), [((True, True), False), ((False, False), True), ((True, False), True)]
)
def test_how_long_a_job_may_run_changes_only_while_it_is_suspended(suspended: tuple[bool, bool], refused: bool) -> None:
    old, new = job(NAMED), job({**NAMED, LIMIT: "60"})
    old["spec"]["suspend"], new["spec"]["suspend"] = suspended
    answer = verdict(review("Job", new, group="batch", old=old))
    assert answer["allowed"] is not refused
    assert not refused or f"metadata.labels[{LIMIT}]" in answer["status"]["message"]


@pytest.mark.parametrize(
    ("notes", "suspend", "refused"), [({FEWER: "1"}, False, True), ({FEWER: "1"}, True, False), ({}, False, False)]
)
def test_a_job_that_may_have_fewer_pods_keeps_its_size_while_it_runs(
    notes: JsonObject, suspend: bool, refused: bool
) -> None:
    old, new = ({**job(NAMED), "metadata": {**job(NAMED)["metadata"], "annotations": notes}} for _ in range(2))
    old["spec"] = {**old["spec"], "suspend": suspend, "parallelism": 2}
    new["spec"] = {**old["spec"], "parallelism": 3}
    answer = verdict(review("Job", new, group="batch", old=old))
    assert answer["allowed"] is not refused
    assert not refused or "cannot change when partial admission is enabled" in answer["status"]["message"]


def test_a_job_that_may_have_fewer_pods_keeps_its_size_also_as_it_is_suspended_and_changes_it_as_it_starts() -> None:
    runs, waits = (
        {**job(NAMED, annotations={FEWER: "1"}), "spec": {**job()["spec"], "suspend": suspend, "parallelism": 3}}
        for suspend in (False, True)
    )
    smaller = ("spec", "parallelism"), 2
    assert not verdict(review("Job", put(waits, *smaller), group="batch", old=runs))["allowed"]
    assert verdict(review("Job", put(runs, *smaller), group="batch", old=waits))["allowed"], "it is let in so"


@pytest.mark.parametrize(
    ("least", "told"),
    [("1", ""), ("2", "should be between 0 and 1"), ("0", "not a whole number"), ("x", "not a whole number")],
)
def test_the_least_number_of_pods_is_below_what_a_new_job_asks_for(least: str, told: str) -> None:
    new = job(NAMED)
    new = {**new, "metadata": {**new["metadata"], "annotations": {FEWER: least}}}
    new["spec"] = {**new["spec"], "suspend": True, "parallelism": 2, "completions": 2}
    answer = verdict(review("Job", new, group="batch"))
    assert answer["allowed"] is not bool(told)
    assert not told or told in answer["status"]["message"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "a.io/x", "may not be added"),
        ("a.io/x", "a.io/x,a.io/y", "may be removed, not added"),
        ("a.io/x,a.io/y", "a.io/y", ""),
        ("a.io/x", "", ""),
        (None, "x", "is not a path behind a domain"),
        (None, "a.io/x", ""),
    ],
)
def test_gates_of_a_job_are_there_from_the_beginning_and_may_go(before: str | None, after: str, told: str) -> None:
    def gated(gates: str) -> JsonObject:
        made = job(NAMED)
        return {**made, "metadata": {**made["metadata"], "annotations": {GATES: gates} if gates else {}}}

    old = None if before is None else gated(before)
    answer = verdict(review("Job", gated(after), group="batch", old=old))
    assert answer["allowed"] is not bool(told)
    assert not told or told in answer["status"]["message"]


CLASS = "kueue.x-k8s.io/priority-class"
DEPLOYMENT: JsonObject = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"readyReplicas": 1}}


@pytest.mark.parametrize("suspend", [True, False])
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {CLASS: "high"}, "cannot be added to a non-suspended workload"),
        ({CLASS: "high"}, {}, "cannot be removed from a workload"),
        ({CLASS: "high"}, {CLASS: "low"}, ""),
        ({CLASS: "high"}, {CLASS: "high"}, ""),
    ],
)
def test_the_class_of_a_job_changes_at_any_time_and_is_given_to_none_that_runs_and_taken_from_none(
    before: JsonObject, after: JsonObject, told: str, *, suspend: bool
) -> None:
    old, new = job({**NAMED, **before}), job({**NAMED, **after})
    new["spec"]["suspend"] = suspend
    serving = [{**DEPLOYMENT, "metadata": {"name": "d", "labels": one["metadata"]["labels"]}} for one in (old, new)]
    if suspend:
        serving[0]["status"] = {}
    allowed = not told or (suspend and not before)
    kind = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    training = [{**kind, "metadata": one["metadata"], "spec": {"runPolicy": one["spec"]}} for one in (old, new)]
    changed = (("Job", "batch", old, new), ("Deployment", "apps", *serving), ("PyTorchJob", "kubeflow.org", *training))
    for word, group, was, now in changed:
        answer = verdict(review(word, now, group=group, old=was))
        assert answer["allowed"] is allowed, word
        if not allowed:
            assert f"metadata.labels[{CLASS}]" in answer["status"]["message"] and told in answer["status"]["message"]


def test_a_field_of_v1beta1_is_named_as_it_was_written() -> None:
    old = queue(cohort="all", resourceGroups=[{**GROUP, "flavors": []}], admissionChecks=["No Name"])
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    response = verdict(review("ClusterQueue", old))
    assert not response["allowed"]
    assert "cohortName" not in response["status"]["message"]


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"apiVersion":"v1","kind":"Pod","request":{"uid":"u","operation":"CREATE"}}']
)
def test_what_is_no_review_is_said_to_be_none(raw: bytes) -> None:
    with pytest.raises(ReviewBroken):
        read_review(raw)


def conversion(wanted: str, *objects: JsonObject) -> JsonObject:
    request = {"uid": "u-2", "desiredAPIVersion": wanted, "objects": list(objects)}
    raw = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    return json.loads(msgspec.json.encode(answer_conversion(json.dumps(raw).encode())))["response"]


def test_objects_are_converted_there_and_back_in_their_order() -> None:
    newer = queue(
        cohortName="all", flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
    )
    response = conversion("kueue.x-k8s.io/v1beta1", newer, newer)
    assert response["result"] == {"status": "Success"} and response["uid"] == "u-2"
    first, second = response["convertedObjects"]
    assert first == second
    assert first["spec"] == {
        "cohort": "all",
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "TryNextFlavor"},
    }
    assert conversion("kueue.x-k8s.io/v1beta2", first)["convertedObjects"] == [newer]


def test_a_workload_says_the_same_in_both_versions() -> None:
    slices = topology_slices([{"values": ["b1", "h1"], "count": 2}, {"values": ["b1", "h2"], "count": 2}])
    newer = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}},
        "status": {
            "accumulatedPastExecutionTimeSeconds": 7,
            "admission": {
                "podSetAssignments": [{"name": "main", "topologyAssignment": {"levels": ["b", "h"], "slices": slices}}]
            },
        },
    }
    older = converted(newer, "kueue.x-k8s.io/v1beta1")
    assert older["spec"] == {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"}
    assert older["status"]["accumulatedPastExexcutionTimeSeconds"] == 7
    assert older["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["domains"] == [
        {"values": ["b1", "h1"], "count": 2},
        {"values": ["b1", "h2"], "count": 2},
    ]
    assert converted(older, "kueue.x-k8s.io/v1beta2") == newer


def test_a_version_that_nothing_leads_to_is_named() -> None:
    response = conversion("kueue.x-k8s.io/v1", queue())
    assert response["result"]["status"] == "Failure" and "v1beta2" in response["result"]["message"]
    assert response["convertedObjects"] == []


def test_prefixes_of_a_slice_are_put_back() -> None:
    one = {
        "domainCount": 2,
        "podCounts": {"individual": [1, 3]},
        "valuesPerLevel": [{"universal": "b"}, {"individual": {"prefix": "h", "suffix": "x", "roots": ["1", "2"]}}],
    }
    assert slice_domains(one) == [{"values": ["b", "h1x"], "count": 1}, {"values": ["b", "h2x"], "count": 3}]


names = st.text(alphabet="ab/~", max_size=2)
values = st.recursive(
    st.none() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, values, max_size=4)


@given(before=objects, after=objects)
def test_a_patch_makes_the_one_of_the_other(before: JsonObject, after: JsonObject) -> None:
    assert json.dumps(json_patch(before, patch_between(before, after)), sort_keys=True) == json.dumps(
        after, sort_keys=True
    )


@pytest.mark.parametrize(
    ("kind", "api", "field", "own"),
    [
        ("Job", "batch/v1", "managedBy", "kubernetes.io/job-controller"),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", "managedBy", "jobset.sigs.k8s.io/jobset-controller"),
        ("MPIJob", "kubeflow.org/v2beta1", "runPolicy.managedBy", "kubeflow.org/mpi-operator"),
        ("PyTorchJob", "kubeflow.org/v1", "runPolicy.managedBy", "kubeflow.org/training-operator"),
        ("RayJob", "ray.io/v1", "managedBy", "ray.io/kuberay-operator"),
        ("TrainJob", "trainer.kubeflow.org/v1alpha1", "managedBy", "trainer.kubeflow.org/trainjob-controller"),
        ("AppWrapper", "workload.codeflare.dev/v1beta2", "managedBy", "workload.codeflare.dev/appwrapper"),
    ],
)
def test_a_job_whose_queue_leads_to_other_clusters_is_given_to_them_unless_somebody_else_runs_it(
    kind: str, api: str, field: str, own: str
) -> None:
    place = ("spec", *field.split("."))
    for said, becomes in ((None, ELSEWHERE), (own, ELSEWHERE), ("example.com/mine", "example.com/mine")):
        value = put({**job(NAMED), "apiVersion": api, "kind": kind}, place, said)
        asked = read_review(review(kind, value, group=api.partition("/")[0]))
        assert get(stored(asked, set(), SETTINGS, elsewhere=led("team/lq")), place) == becomes
        assert get(stored(asked, set(), SETTINGS, elsewhere=led("team/other")), place) == said


def test_a_job_that_takes_the_default_queue_goes_where_that_leads() -> None:
    asked = read_review(review("Job", {**job(), "apiVersion": "batch/v1"}, group="batch"))
    assert stored(asked, {"team"}, SETTINGS, elsewhere=led("team/default"))["spec"]["managedBy"] == ELSEWHERE


def test_a_job_that_is_there_already_keeps_who_runs_it() -> None:
    value = {**job(NAMED), "apiVersion": "batch/v1"}
    asked = read_review(review("Job", value, group="batch", old=value))
    assert stored(asked, set(), SETTINGS, elsewhere=led("team/lq")) == value


ELSEWHERE = "kueue.x-k8s.io/multikueue"


def led(place: str) -> Callable[[str, str], bool]:
    return lambda namespace, queue: f"{namespace}/{queue}" == place
