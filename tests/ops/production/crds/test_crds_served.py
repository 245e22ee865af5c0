"""Kueue's definitions as an API server serves them: what they refuse and in which words, both versions, shared ownership."""

from collections.abc import AsyncIterator

import pytest

from events.json_object import JsonObject
from events.json_path import look, put
from ops.production.kubernetes.client import KubeClient, path_of
from services.applier.writing import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, Resource
from tests.stage.cluster import Cluster
from tests.stage.installation import APPLY
from tests.stage.stage import CLUSTER_QUEUES, Stage
from tests.stage.without_jobs import stops

KUEUE = "kueue.x-k8s.io"
CHECKS = Resource(group=KUEUE, version="v1beta2", plural="admissionchecks", kind="AdmissionCheck", namespaced=False)
TOPOLOGIES = Resource(group=KUEUE, version="v1beta2", plural="topologies", kind="Topology", namespaced=False)
LOCAL = Resource(group=KUEUE, version="v1beta2", plural="localqueues", kind="LocalQueue")
QUOTA = [
    {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
    }
]


def older(resource: Resource) -> Resource:
    return Resource(
        group=KUEUE, version="v1beta1", plural=resource.plural, kind=resource.kind, namespaced=resource.namespaced
    )


def made(kind: str, name: str, spec: JsonObject, *, version: str = "v1beta2", namespace: str = "") -> JsonObject:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": f"{KUEUE}/{version}", "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[KubeClient]:
    await cluster.start()
    found = await cluster.connect("")
    yield found
    await found.close()
    await cluster.stop()


@pytest.mark.any_cluster
async def test_fields_that_never_change_say_so(cluster: Cluster, client: KubeClient) -> None:
    await cluster.add(made("AdmissionCheck", "money", {"controllerName": "example.com/a"}))
    await cluster.add(made("LocalQueue", "door", {"clusterQueue": "a"}, namespace="default"))
    with pytest.raises(ObjectInvalid, match=r"spec.controllerName: .*controllerName can't be changed"):
        await client.merge(CHECKS, "", "money", {"spec": {"controllerName": "example.com/b"}})
    with pytest.raises(ObjectInvalid, match=r"spec.clusterQueue: .*clusterQueue can't be changed"):
        await client.merge(LOCAL, "default", "door", {"spec": {"clusterQueue": "b"}})
    await client.merge(LOCAL, "default", "door", {"spec": {"stopPolicy": "Hold"}})


@pytest.mark.any_cluster
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
            r"spec.preemption: .*borrowWithinCohort needs a reclaimWithinCohort other than Never",
        ),
        (
            {"flavorFungibility": {"preference": "BorrowingOverPreemption", "whenCanBorrow": "MayStopSearch"}},
            r"spec.flavorFungibility: .*a preference needs whenCanBorrow and whenCanPreempt: TryNextFlavor",
        ),
        ({"queueingStrategy": "Lottery"}, r"spec.queueingStrategy"),
        ({"resourceGroups": [{"coveredResources": ["cpu"], "flavors": []}]}, r"spec.resourceGroups.*flavors"),
    ],
    ids=["borrowing without reclaiming", "a preference without a choice", "an unknown word", "no flavor"],
)
async def test_what_breaks_a_rule_is_refused_in_clear_words(client: KubeClient, spec: JsonObject, words: str) -> None:
    with pytest.raises(ObjectInvalid, match=words):
        await client.create(CLUSTER_QUEUES, "", made("ClusterQueue", "bad", spec))


FLAVORS = Resource(group=KUEUE, version="v1beta2", plural="resourceflavors", kind="ResourceFlavor", namespaced=False)


OTHERS: JsonObject = {"group": "scheduling.k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}


def in_class(reference: JsonObject, **spec: object) -> JsonObject:
    return {"podSets": [{"name": "main"}], "priorityClassRef": reference, **spec}


COHORTS, CLUSTERS, CONFIGS = (
    Resource(group=KUEUE, version="v1beta2", plural=plural, kind=kind, namespaced=False)
    for plural, kind in (
        ("cohorts", "Cohort"),
        ("multikueueclusters", "MultiKueueCluster"),
        ("multikueueconfigs", "MultiKueueConfig"),
    )
)
OWN = {"apiGroup": "example.com", "kind": "Budget", "name": "it"}
LIMITED = put(QUOTA, (0, "flavors", 0, "resources", 0, "borrowingLimit"), "1")
UNEVEN = put(QUOTA, (0, "coveredResources"), ["cpu", "memory"])


def tolerating(**toleration: object) -> JsonObject:
    return {"tolerations": [toleration]}


@pytest.mark.any_cluster
@pytest.mark.parametrize(
    ("resource", "spec", "words"),
    [
        (WORKLOADS, {"podSets": [{"count": -1}]}, r"spec.podSets.*count"),
        (WORKLOADS, {"podSets": [{"count": 1, "minCount": 0}]}, r"spec.podSets.*minCount"),
        (WORKLOADS, {"podSets": [{"name": "A_b"}]}, r"spec.podSets.*name"),
        (WORKLOADS, {"podSets": []}, r"spec.podSets"),
        (WORKLOADS, {"maximumExecutionTimeSeconds": 0}, r"spec.maximumExecutionTimeSeconds"),
        (WORKLOADS, in_class({"name": "high"}, priority=1), r"group"),
        (WORKLOADS, in_class({"group": "a", "kind": "b", "name": "c"}, priority=1), r"spec.priorityClassRef.group"),
        (WORKLOADS, in_class(OTHERS, priority=1), r"spec.priorityClassRef: .*classes of its own kind"),
        (WORKLOADS, in_class({**OTHERS, "kind": "PriorityClass"}), r"spec: .*class needs its priority"),
        (WORKLOADS, {"podSets": [{"count": 1, "minCount": 2}]}, r"spec.podSets\[0\]: .*at most count"),
        (CHECKS, {"controllerName": ""}, r"spec.controllerName"),
        (CHECKS, {"controllerName": "c", "parameters": {**OWN, "kind": "1"}}, r"spec.parameters.kind"),
        (CLUSTER_QUEUES, {"cohortName": "Team_A"}, r"spec.cohortName"),
        (CLUSTER_QUEUES, {"admissionScope": {}}, r"admissionMode"),
        (CLUSTER_QUEUES, {"admissionChecksStrategy": {"admissionChecks": []}}, r"admissionChecks"),
        (CLUSTER_QUEUES, {"resourceGroups": LIMITED}, r"spec: .*without a cohort"),
        (CLUSTER_QUEUES, {"resourceGroups": UNEVEN}, r"spec.resourceGroups\[0\]: .*resources that its group covers"),
        (COHORTS, {"parentName": "Top_"}, r"spec.parentName"),
        (CLUSTERS, {"clusterSource": {}}, r"spec.clusterSource: .*one of"),
        (CONFIGS, {"clusters": ["a", "a"]}, r"spec.clusters: .*each cluster once"),
        (FLAVORS, {"nodeLabels": {f"l{index}": "a" for index in range(9)}}, r"spec.nodeLabels"),
        (FLAVORS, {"topologyName": "t"}, r"spec: .*needs at least one of nodeLabels"),
        (FLAVORS, {"nodeTaints": [{"key": "a", "effect": "Never"}]}, r"spec.nodeTaints: .*one of the three effects"),
        (FLAVORS, tolerating(operator="Equal", value="b"), r"spec.tolerations: .*operator has to be Exists"),
        (FLAVORS, tolerating(key="a", operator="Exists", value="b"), r"spec.tolerations: .*takes no value"),
        (FLAVORS, tolerating(key="a", operator="Gt", value="3"), r"spec.tolerations: .*Equal or Exists"),
        (FLAVORS, tolerating(key="a", effect="Never"), r"spec.tolerations: .*three effects"),
        (FLAVORS, tolerating(key="a", tolerationSeconds=5), r"spec.tolerations: .*need the effect NoExecute"),
    ],
)
async def test_what_goes_beyond_bounds_or_contradicts_itself_is_refused(
    client: KubeClient, resource: Resource, spec: JsonObject, words: str
) -> None:
    namespace = "default" if resource.namespaced else ""
    with pytest.raises(ObjectInvalid, match=words):
        await client.create(resource, namespace, made(resource.kind, "bad", spec, namespace=namespace))


def levels(*labels: str) -> JsonObject:
    return {"levels": [{"nodeLabel": label} for label in labels]}


HOST = "kubernetes.io/hostname"


@pytest.mark.any_cluster
@pytest.mark.parametrize(
    ("found", "words"),
    [
        (levels("zone", "zone"), r"spec.levels: .*each label once"),
        (levels(HOST, "zone"), r"spec.levels: .*stands for the lowest level only"),
        (levels(), r"spec.levels"),
    ],
    ids=["a label twice", "the host above", "no level"],
)
async def test_levels_of_a_topology_that_make_no_sense_are_refused(
    client: KubeClient, found: JsonObject, words: str
) -> None:
    with pytest.raises(ObjectInvalid, match=words):
        await client.create(TOPOLOGIES, "", made("Topology", "bad", found))


@pytest.mark.any_cluster
async def test_levels_of_a_topology_change_only_above_the_host(cluster: Cluster, client: KubeClient) -> None:
    await cluster.add(made("Topology", "hosts", levels("zone", HOST)))
    await client.merge(TOPOLOGIES, "", "hosts", {"spec": levels("zone", "rack", HOST)})
    refused = r"spec.levels: .*only where kubernetes.io/hostname is the lowest"
    with pytest.raises(ObjectInvalid, match=refused):
        await client.merge(TOPOLOGIES, "", "hosts", {"spec": levels("zone", "rack")})
    await cluster.add(made("Topology", "racks", levels("zone", "rack")))
    with pytest.raises(ObjectInvalid, match=refused):
        await client.merge(TOPOLOGIES, "", "racks", {"spec": levels("zone", "rack", HOST)})


@pytest.mark.any_cluster
async def test_a_queue_of_either_version_is_read_in_the_other(cluster: Cluster, client: KubeClient) -> None:
    old = {"cohort": "all", "resourceGroups": QUOTA, "flavorFungibility": {"whenCanBorrow": "Borrow"}}
    await cluster.add(made("ClusterQueue", "old", old, version="v1beta1"))
    found = (await client.get(CLUSTER_QUEUES, "", "old"))["spec"]
    assert (found["cohortName"], found["flavorFungibility"]["whenCanBorrow"]) == ("all", "MayStopSearch")
    assert "cohort" not in found and found["queueingStrategy"] == "BestEffortFIFO", "with defaults"
    new = {"cohortName": "all", "resourceGroups": QUOTA, "flavorFungibility": {"whenCanBorrow": "MayStopSearch"}}
    await cluster.add(made("ClusterQueue", "new", new))
    found = (await client.get(older(CLUSTER_QUEUES), "", "new"))["spec"]
    assert (found["cohort"], found["flavorFungibility"]["whenCanBorrow"]) == ("all", "Borrow")
    assert "cohortName" not in found

    listed = await client.request("GET", path_of(older(CLUSTER_QUEUES)))
    assert {one["spec"]["cohort"] for one in listed["items"]} == {"all"}
    await client.merge(older(CLUSTER_QUEUES), "", "new", {"spec": {"cohort": "other"}})
    assert (await client.get(CLUSTER_QUEUES, "", "new"))["spec"]["cohortName"] == "other"


@pytest.mark.any_cluster
async def test_the_status_of_a_workload_is_read_in_the_other_version(cluster: Cluster, client: KubeClient) -> None:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    spec = {"queueName": "door", "podSets": [{"name": "main", "count": 1, "template": pods}]}
    await cluster.add(made("Workload", "w", spec, namespace="default"))
    given = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}
    status = {"admission": {"clusterQueue": "cq", "podSetAssignments": [given]}}
    stored = await client.merge(WORKLOADS, "default", "w", {"status": status}, subresource="status")
    found = await client.get(older(WORKLOADS), "default", "w")
    assert found["status"]["admission"]["podSetAssignments"] == [given]
    await client.merge(older(WORKLOADS), "default", "w", {"metadata": {"labels": {"a": "b"}}})
    assert (await client.get(WORKLOADS, "default", "w"))["status"] == stored["status"], "nothing is lost on the way"


async def apply(client: KubeClient, resource: Resource, value: JsonObject) -> JsonObject:
    """As `kubectl apply --server-side` does it."""
    meta = value["metadata"]
    path = path_of(resource, meta.get("namespace", ""), meta["name"])
    return await client.request("PATCH", f"{path}?fieldManager=somebody", value, form=APPLY)


def owners(value: JsonObject, field: str) -> set[tuple[str, str]]:
    """Who owns a field, and by which part of the object it was written."""
    return {
        (one["manager"], one.get("subresource", ""))
        for one in value["metadata"]["managedFields"]
        if field in one["fieldsV1"]
    }


async def test_who_applies_a_queue_again_and_again_meets_no_conflict_with_what_is_shown_of_it(stage: Stage) -> None:
    stage.serve()
    found = made("ClusterQueue", "mine", {"namespaceSelector": {}, "resourceGroups": QUOTA})
    await apply(stage.client, CLUSTER_QUEUES, found)

    def shown() -> JsonObject:
        return stage.get("clusterqueues.kueue.x-k8s.io", "", "mine")

    await stage.until(lambda: bool(look(shown(), "status.conditions")))
    found["spec"]["queueingStrategy"] = "StrictFIFO"
    again = await apply(stage.client, CLUSTER_QUEUES, found)
    assert look(again, "status.conditions") == look(shown(), "status.conditions")
    assert owners(again, "f:spec") == {("somebody", "")}
    assert owners(again, "f:status") == {("kuelog", "status")}
    await stage.client.delete(CLUSTER_QUEUES, "", "mine")


async def test_who_applies_a_workload_keeps_his_fields_and_kuelog_its_own(stage: Stage) -> None:
    stage.serve()
    limits = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "1000", "nvidia.com/gpucores": "10"}
    container = {"name": "c", "image": "x", "resources": {"requests": limits, "limits": limits}}
    pods = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"active": True, "queueName": "team", "podSets": [{"name": "main", "count": 1, "template": pods}]}
    value = made("Workload", "mine", spec, namespace="default")
    await apply(stage.client, WORKLOADS, value)

    def condition(kind: str) -> str:
        found = stage.get("workloads.kueue.x-k8s.io", "default", "mine")
        return str(look(found, f"status.conditions[{kind}].status"))

    await stage.until(lambda: condition("Admitted") == "True")
    value["metadata"]["labels"] = {"mine": "too"}
    again = await apply(stage.client, WORKLOADS, value)
    assert owners(again, "f:status") == {("kueue-admission", "status")}
    value["spec"]["active"] = False
    await apply(stage.client, WORKLOADS, value)
    await stops(stage, "mine")
    await stage.until(lambda: not stage.get("workloads.kueue.x-k8s.io", "default", "mine")["status"].get("admission"))
    theirs = {**value, "metadata": {"name": "mine", "namespace": "default"}, "spec": {"active": True}}
    path = path_of(WORKLOADS, "default", "mine")
    with pytest.raises(ObjectConflict, match="somebody"):
        await stage.client.request("PATCH", f"{path}?fieldManager=another", theirs, form=APPLY)
