"""What the watcher takes for the size of an elastic job of Ray's that Ray's autoscaler changes."""

from typing import Any

import pytest

from events.catalogue import Fact
from events.control import ObjectMended, ObjectRefused
from events.json_object import JsonObject
from events.json_path import put
from events.settings import SettingsObserved
from events.workload import WorkloadChanged, WorkloadSubmitted
from services.jobs.kinds.ray import CLUSTER_AT, CLUSTER_NAME_AT
from services.jobs.kinds.table import RAY_JOB, RAY_SERVICE
from services.watcher.view import View

KINDS = pytest.mark.parametrize("kind", [RAY_JOB, RAY_SERVICE], ids=lambda kind: kind.kind)


def cluster_spec(workers: int | None, **more: Any) -> JsonObject:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    group: JsonObject = {"groupName": "Big", "template": template, **more}
    if workers is not None:
        group["replicas"] = workers
    head = {"template": template}
    return {"enableInTreeAutoscaling": True, "headGroupSpec": head, "workerGroupSpecs": [group]}


def ray(kind: Any, workers: int = 1, *, cluster: str = "", elastic: bool = True) -> JsonObject:
    notes = {"kuelog.io/decision": "LOG_0/1"} | ({"kueue.x-k8s.io/elastic-job": "true"} if elastic else {})
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    meta = {"name": "j", "namespace": "team", "uid": "u-1", "labels": labels, "annotations": notes}
    found: JsonObject = {"apiVersion": "ray.io/v1", "kind": kind.kind, "metadata": meta, "spec": {}}
    found = put(found, CLUSTER_AT[kind.reader], cluster_spec(workers))
    found = put(found, tuple(kind.suspend.split(".")), False)  # noqa: FBT003 - a field of the job
    return put(found, CLUSTER_NAME_AT[kind.reader], cluster) if cluster else found


def cluster(kind: Any, workers: int | None, name: str = "c", **more: Any) -> JsonObject:
    owner = {"apiVersion": "ray.io/v1", "kind": kind.kind, "name": "j", "uid": "u-1", "controller": True}
    meta = {"name": name, "namespace": "team", "uid": f"u-{name}", "ownerReferences": [owner]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": cluster_spec(workers, **more)}


def workers(facts: list[Fact]) -> int | None:
    """How many workers are asked for from now on; None where nothing new is said."""
    found = [one.spec for one in facts if isinstance(one, WorkloadSubmitted | WorkloadChanged)]
    return next((one.count for one in found[-1].pod_sets if one.name == "big"), None) if found else None


@KINDS
def test_it_is_the_size_of_the_cluster_that_it_names_and_of_no_other(kind: Any) -> None:
    view = View()
    assert workers(view.see(kind.place, ray(kind))) == 1
    assert workers(view.see("RayCluster", cluster(kind, 5, name="other"))) is None
    assert workers(view.see("RayCluster", cluster(kind, 2))) is None, "nobody has named it yet"
    assert workers(view.see(kind.place, ray(kind, cluster="c"))) == 2
    assert workers(view.see("RayCluster", cluster(kind, 4))) == 4
    assert workers(view.see("RayCluster", cluster(kind, 2, numOfHosts=3))) == 6
    assert workers(view.see("RayCluster", cluster(kind, 6))) is None
    assert workers(view.see("RayCluster", cluster(kind, 7, name="other"))) is None


@KINDS
def test_the_size_of_the_cluster_is_known_also_where_clusters_are_not_managed(kind: Any) -> None:
    view = View(settings=SettingsObserved(frameworks=(kind.name,)))
    assert workers(view.see(kind.place, ray(kind, cluster="c"))) == 1
    assert workers(view.see("RayCluster", cluster(kind, 5))) == 5


@KINDS
def test_a_watcher_that_has_not_seen_the_cluster_yet_takes_no_other_size_for_it(kind: Any) -> None:
    view, restarted = View(), View()
    for fact in (
        *view.see(kind.place, ray(kind, cluster="c")),
        *view.see("RayCluster", cluster(kind, 4)),
    ):
        restarted.fold(fact)
    assert restarted.see(kind.place, ray(kind, cluster="c")) == []
    assert restarted.see("RayCluster", cluster(kind, 4)) == []
    assert workers(restarted.see("RayCluster", cluster(kind, 3))) == 3
    restarted.lose("RayCluster", "team", "c")
    assert restarted.see(kind.place, ray(kind, cluster="c")) == [], "it is gone, and says no other size"


@KINDS
def test_a_group_that_the_cluster_says_no_number_of_has_as_many_as_the_job_says(kind: Any) -> None:
    view = View()
    view.see(kind.place, ray(kind, cluster="c"))
    view.see("RayCluster", cluster(kind, 4))
    assert workers(view.see("RayCluster", cluster(kind, None))) == 1


@KINDS
def test_one_that_runs_in_another_cluster_is_not_as_large_as_a_cluster_here(kind: Any) -> None:
    view = View()
    elsewhere = put(ray(kind, cluster="c"), ("spec", "managedBy"), "kueue.x-k8s.io/multikueue")
    assert workers(view.see(kind.place, elsewhere)) == 1
    assert view.see("RayCluster", cluster(kind, 4)) == []


@KINDS
def test_one_that_is_not_elastic_is_as_large_as_it_says(kind: Any) -> None:
    view = View()
    assert workers(view.see(kind.place, ray(kind, cluster="c", elastic=False))) == 1
    assert view.see("RayCluster", cluster(kind, 4)) == []


@KINDS
def test_a_cluster_with_a_group_of_which_the_job_knows_nothing_is_named_until_it_is_gone(kind: Any) -> None:
    view = View()
    view.see(kind.place, ray(kind, cluster="c"))
    (refused,) = view.see("RayCluster", cluster(kind, 4, groupName="Small"))
    assert isinstance(refused, ObjectRefused) and (refused.kind, refused.name) == (kind.place, "j")
    (problem,) = refused.problems
    assert (problem.field, problem.message) == (
        "spec.workerGroupSpecs[0]",
        "its RayCluster c has a worker group 'small' of which it knows nothing",
    )
    told = view.see("RayCluster", cluster(kind, 4))
    assert workers(told) == 4 and any(isinstance(one, ObjectMended) for one in told)
