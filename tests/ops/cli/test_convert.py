"""`kuelog convert`: what people wrote for older versions, in the newest."""

import json
from pathlib import Path

import pytest
import yaml

from ops.cli.convert import run_convert
from ops.lint.check import lint
from tests.places import SCENARIOS

POOL = """\
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ResourceFlavor
metadata:
  name: spot
  labels:
    instance-type: spot
taints:
- {effect: NoSchedule, key: spot, value: "true"}
---
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata:
  name: research-pool
spec:
  namespaceSelector: {}
  resources:
  - name: cpu
    flavors:
    - {name: ondemand, quota: {min: 1000}}
    - {name: spot, quota: {min: 2000}}
---
apiVersion: kueue.x-k8s.io/v1alpha2
kind: LocalQueue
metadata: {name: training, namespace: team-ml}
spec: {clusterQueue: research-pool}
---
apiVersion: batch/v1
kind: Job
metadata:
  generateName: train-
  namespace: team-ml
  annotations: {kueue.x-k8s.io/queue-name: training}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
"""
UNLIMITED = """\
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata: {name: gpu-research}
spec:
  resources:
  - name: nvidia.com/gpu
    flavors:
    - {name: a100, quota: {min: 100}}
    - {name: v100, quota: {max: 200}}
"""
SPLIT = """\
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resources:
  - {name: cpu, flavors: [{name: a, quota: {min: 1}}, {name: b, quota: {min: 1}}]}
  - {name: memory, flavors: [{name: a, quota: {min: 1}}]}
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_first_setup_of_kueue_comes_out_as_the_newest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_convert([written(tmp_path / "pool.yaml", POOL)], output="yaml") == 0
    told = capsys.readouterr()
    flavor, queue, door, job = yaml.safe_load_all(told.out)
    assert {one["apiVersion"] for one in (flavor, queue, door)} == {"kueue.x-k8s.io/v1beta2"}
    assert flavor["spec"] == {
        "nodeLabels": {"instance-type": "spot"},
        "nodeTaints": [{"effect": "NoSchedule", "key": "spot", "value": "true"}],
    }
    assert "taints" not in flavor
    (group,) = queue["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu"]
    assert [one["resources"][0]["nominalQuota"] for one in group["flavors"]] == [1000, 2000]
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "training"}
    assert "annotations" not in job["metadata"]
    assert "pool.yaml:5 warning ResourceFlavor spot" in told.err
    assert "QueueNameAnnotation" not in told.out
    fresh = written(tmp_path / "new.yaml", told.out)
    assert [one for one in lint([fresh]) if one.severity == "error" and one.code != "FlavorNotFound"] == []


def test_a_most_without_a_cohort_is_warned_about_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_convert([written(tmp_path / "cq.yaml", UNLIMITED)], output="yaml") == 0
    told = capsys.readouterr()
    assert "max 200 without a cohort has no effect" in told.err and "cq.yaml:9" in told.err
    assert "admits jobs of no namespace" in told.err
    (queue,) = yaml.safe_load_all(told.out)
    quotas = [one["resources"][0] for one in queue["spec"]["resourceGroups"][0]["flavors"]]
    assert quotas == [{"name": "nvidia.com/gpu", "nominalQuota": 100}, {"name": "nvidia.com/gpu", "nominalQuota": 0}]


def test_what_has_no_form_any_more_stops_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_convert([written(tmp_path / "a.yaml", POOL), written(tmp_path / "b.yaml", SPLIT)], output="yaml") == 1
    told = capsys.readouterr()
    assert told.out == "" and "flavor a is listed for resources whose lists of flavors differ" in told.err


def test_for_programs_the_warnings_stand_beside_the_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_convert([written(tmp_path / "cq.yaml", UNLIMITED)], output="json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in told["objects"]] == ["ClusterQueue"]
    assert {one["code"] for one in told["findings"]} == {"OldVersion", "LimitWithoutCohort", "AdmitsNobody"}


def test_a_file_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_convert([tmp_path / "absent.yaml"], output="yaml") == 2
    assert "absent.yaml" in capsys.readouterr().err
    assert run_convert([written(tmp_path / "broken.yaml", "a: [")], output="yaml") == 2


@pytest.mark.skipif(not SCENARIOS.exists(), reason="the recorded scenarios are not on this machine")
def test_every_recorded_scenario_comes_out_in_the_newest_version_and_a_second_time_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in sorted(SCENARIOS.iterdir()):
        code = run_convert([folder], output="yaml")
        text = capsys.readouterr().out
        assert code == 0, folder
        again = written(tmp_path / f"{folder.name}.yaml", text)
        assert run_convert([again], output="yaml") == 0
        told = capsys.readouterr()
        assert told.out == text and told.err == ""
        for value in yaml.safe_load_all(text):
            if value["apiVersion"].startswith("kueue.x-k8s.io/"):
                assert value["apiVersion"] == "kueue.x-k8s.io/v1beta2"
