"""What is asked for by a job that holds what was injected when it was started."""

from typing import Any

from events.api.labels import DECISION
from events.quota import NamespaceObserved
from events.workload import WorkloadChanged, WorkloadSubmitted
from services.watcher.view import View


def training(cpu: str, *, decision: str = "", suspend: bool = True) -> dict[str, Any]:
    """A PyTorchJob, whose pods are made anew where one fails."""
    meta = {"name": "p", "namespace": "team", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    notes = {DECISION: decision} if decision else {}
    template = {"spec": {"containers": [{"name": "pytorch", "resources": {"limits": {"cpu": cpu}}}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {**meta, "annotations": notes},
        "spec": {
            "runPolicy": {"suspend": suspend},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}},
        },
        "status": {},
    }


def test_a_job_whose_containers_change_while_it_runs_asks_for_them_once_it_is_stopped() -> None:
    view = View()
    view.fold(NamespaceObserved(name="team"))
    (submitted,) = view.see("PyTorchJob", training("1"))
    assert isinstance(submitted, WorkloadSubmitted)
    view.see("PyTorchJob", training("1", decision="LOG_0/4", suspend=False))
    assert view.see("PyTorchJob", training("50", decision="LOG_0/4", suspend=False)) == []
    told = view.see("PyTorchJob", training("50", decision="LOG_0/7"))
    (changed,) = [one for one in told if isinstance(one, WorkloadChanged)]
    assert changed.spec.pod_sets[0].shape.containers[0].limits == {"cpu": 50_000}
