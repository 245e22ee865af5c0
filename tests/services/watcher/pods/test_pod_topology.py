"""Pods that are placed by topology are told with their gate, their node selector and what may be their rank."""

from typing import Any

from events.control import ObjectRefused
from events.device import PodObserved
from events.topology import PodTopology
from services.watcher.view import View

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
WORKLOAD, OFFSET = "kueue.x-k8s.io/workload", "kueue.x-k8s.io/pod-index-offset"
INDEX = "batch.kubernetes.io/job-completion-index"
GATE = {"name": "kueue.x-k8s.io/topology"}
CARDS = {"limits": {"nvidia.com/gpu": "1"}}


def pod(*gates: dict[str, str], selector: dict[str, str] | None = None, **annotations: str) -> dict[str, Any]:
    labels = {INDEX: "3", "kueue.x-k8s.io/podset": "main", "digest": "3f"}
    spec = {"containers": [{"name": "c"}], "schedulingGates": list(gates), "nodeSelector": selector or {}}
    meta = {"namespace": "team", "name": "p", "uid": "u", "labels": labels, "annotations": annotations}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


def test_a_pod_is_told_at_its_gate_and_behind_it() -> None:
    view, notes = View(), {WORKLOAD: "w", REQUIRED: "rack"}
    (told,) = view.see("Pod", pod(GATE, {"name": "other"}, **notes, **{OFFSET: "1"}))
    assert isinstance(told, PodObserved) and (told.workload, told.pod_set, told.cardless) == ("team/w", "main", True)
    assert told.topology == PodTopology(gated=True, indexes={INDEX: 3}, index_offset=1)
    (told,) = view.see("Pod", pod(selector={"zone": "a", "rack": "r"}, **notes))
    assert isinstance(told, PodObserved)
    assert told.topology == PodTopology(node_selector={"rack": "r", "zone": "a"}, indexes={INDEX: 3})


def test_pods_that_are_not_placed_by_topology_are_told_as_before() -> None:
    assert View().see("Pod", pod(**{WORKLOAD: "w"})) == []
    assert View().see("Pod", pod(GATE, **{REQUIRED: "rack"})) == [], "nobody has admitted it yet"
    with_cards = pod(**{WORKLOAD: "w"})
    with_cards["spec"]["containers"][0]["resources"] = CARDS
    (told,) = View().see("Pod", with_cards)
    assert isinstance(told, PodObserved) and told.topology is None and not told.cardless


def test_pods_that_were_sent_to_a_host_by_whoever_runs_a_workload_himself_are_told() -> None:
    """Whether some of them go on there decides whether the host has failed."""
    host = {"kubernetes.io/hostname": "x1"}
    (told,) = View().see("Pod", pod(selector=host, **{WORKLOAD: "w"}))
    assert isinstance(told, PodObserved) and told.workload == "team/w"
    assert told.topology == PodTopology(node_selector=host, indexes={INDEX: 3})
    assert View().see("Pod", pod(selector=host)) == []


def test_a_pod_may_have_cards_and_a_place_in_a_topology() -> None:
    value = pod(GATE, **{WORKLOAD: "w", REQUIRED: "rack"})
    value["spec"]["containers"][0]["resources"] = CARDS
    (told,) = View().see("Pod", value)
    assert isinstance(told, PodObserved) and told.topology is not None and not told.cardless


def test_an_offset_that_is_no_number_has_the_pod_refused() -> None:
    (told,) = View().see("Pod", pod(GATE, **{WORKLOAD: "w", REQUIRED: "rack", OFFSET: "one"}))
    assert isinstance(told, ObjectRefused)
    (problem,) = told.problems
    assert problem.field == f"metadata.annotations[{OFFSET}]" and "'one'" in problem.message
