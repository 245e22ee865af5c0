"""A job that no flavor of its queue takes is told so before it is sent."""

from pathlib import Path

import pytest

from ops.lint.check import lint

_PLATFORM = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: spot}}
spec: {{nodeLabels: {{pool: spot}}, nodeTaints: [{{key: spot, value: "true", effect: NoSchedule}}]{more}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: q{annotations}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{{name: spot, resources: [{{name: cpu, nominalQuota: 8}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: lq, namespace: a}}
spec: {{clusterQueue: q}}
---
"""
_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: j, namespace: a, labels: {{kueue.x-k8s.io/queue-name: lq}}}}
spec:
  template:
    metadata: {{annotations: {{{annotations}}}}}
    spec:
      restartPolicy: Never
      {pod}
      containers: [{{name: c, image: i, resources: {{requests: {{{requests}}}}}}}]
"""
_TOLERATES = "tolerations: [{key: spot, operator: Exists}]"


def told(
    path: Path, *, more: str = "", pod: str = "", topology: str = "", requests: str = "cpu: 1", queue: str = ""
) -> list[tuple[str, str, str]]:
    file = path / "it.yaml"
    platform = _PLATFORM.format(more=more, annotations=queue)
    file.write_text(platform + _JOB.format(pod=pod, annotations=topology, requests=requests))
    return [(one.severity, one.code, one.what) for one in lint([file])]


def test_a_taint_that_neither_job_nor_flavor_tolerates_is_told(tmp_path: Path) -> None:
    ((severity, code, what),) = told(tmp_path)
    assert (severity, code) == ("error", "NoMatchingFlavor")
    assert "untolerated taint {spot true NoSchedule <nil>} in flavor spot" in what
    assert told(tmp_path, pod=_TOLERATES) == []
    assert told(tmp_path, more=f", {_TOLERATES}") == []


@pytest.mark.parametrize(
    ("pod", "topology", "words"),
    [
        ("nodeSelector: {pool: other}", "", "flavor spot doesn't match node affinity"),
        ("", "kueue.x-k8s.io/podset-required-topology: rack", "does not support TopologyAwareScheduling"),
    ],
)
def test_labels_and_topologies_that_no_flavor_has_are_told(tmp_path: Path, pod: str, topology: str, words: str) -> None:
    ((_, code, what),) = told(tmp_path, more=f", {_TOLERATES}", pod=pod, topology=topology)
    assert code == "NoMatchingFlavor" and words in what


def test_a_resource_for_which_the_queue_has_no_quota_is_told_unless_that_is_meant(tmp_path: Path) -> None:
    asked = "cpu: 1, memory: 1Gi"
    ((severity, code, what),) = told(tmp_path, pod=_TOLERATES, requests=asked)
    assert (severity, code, what) == ("warning", "ResourceNotCovered", "ClusterQueue q has no quota for memory")
    ignored = ", annotations: {kuelog.io/quota-check-strategy: IgnoreUndeclared}"
    assert told(tmp_path, pod=_TOLERATES, requests=asked, queue=ignored) == []


def test_nothing_is_said_of_flavors_that_are_not_at_hand(tmp_path: Path) -> None:
    file = tmp_path / "it.yaml"
    text = _PLATFORM.format(more="", annotations="").partition("---\n")[2]
    file.write_text(text + _JOB.format(pod="", annotations="", requests="cpu: 1"))
    assert lint([file]) == []
