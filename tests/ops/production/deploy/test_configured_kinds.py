"""Kinds that only a configuration names are asked about and allowed as well, where the manifests are made with it."""

import json
from pathlib import Path

import yaml
from typer.testing import CliRunner

from events.json_object import JsonObject
from ops.cli.main import app

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job]}
managedJobsNamespaceSelector:
  matchLabels: {jobs: ours}
  matchExpressions: [{key: stage, operator: NotIn, values: [test]}]
kuelog:
  jobKinds:
  - {group: example.com, version: v1, kind: Sweep, plural: sweeps, pods: [{at: spec}]}
"""


def made(folder: Path, configuration: str) -> list[JsonObject]:
    path = folder / "config.yaml"
    path.write_text(configuration)
    found = CliRunner().invoke(app, ["deploy", "manifests", "--config", str(path), "--no-bus"])
    assert found.exit_code == 0, found.output
    return list(yaml.safe_load_all(found.output))


def webhooks(values: list[JsonObject], kind: str) -> dict[str, JsonObject]:
    (found,) = [one for one in values if one["kind"] == f"{kind}WebhookConfiguration"]
    return {one["name"]: one for one in found["webhooks"]}


def rights(values: list[JsonObject], name: str) -> dict[tuple[str, str], list[str]]:
    (role,) = [one for one in values if one["kind"] == "ClusterRole" and one["metadata"]["name"] == name]
    return {
        (group, resource): rule["verbs"]
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_a_kind_of_ones_own_is_asked_about_seen_and_written(tmp_path: Path) -> None:
    values = made(tmp_path, CONFIGURATION)
    job = webhooks(values, "Mutating")["mjob.kuelog.io"]
    assert [(one["apiGroups"], one["resources"]) for one in job["rules"]] == [
        (["batch"], ["jobs"]),
        (["example.com"], ["sweeps"]),
    ]
    assert ["sweeps"] in [one["resources"] for one in webhooks(values, "Validating")["vjob.kuelog.io"]["rules"]]
    assert rights(values, "kuelog-system-watcher")["example.com", "sweeps"] == ["list", "watch"]
    assert rights(values, "kuelog-system-applier")["example.com", "sweeps"] == ["get", "patch", "delete"]
    names = {one["metadata"]["name"] for one in values if one["kind"] == "ClusterRole"}
    assert {"kuelog-sweep-editor-role", "kuelog-sweep-viewer-role"} <= names


def test_of_kinds_that_are_not_named_nothing_is_asked(tmp_path: Path) -> None:
    values = made(tmp_path, CONFIGURATION)
    assert set(webhooks(values, "Mutating")) == {"mheld.kuelog.io", "mjob.kuelog.io"}
    assert ("ray.io", "rayjobs") not in rights(values, "kuelog-system-applier")
    found = rights(values, "kuelog-system-applier")["", "pods"]
    assert found == ["get", "patch"], "pods are told their cards, and started and stopped by their jobs alone"


def test_kinds_that_are_not_named_are_seen_and_not_written(tmp_path: Path) -> None:
    """One of them may stand between a managed job and what that owns, or say what the pods of one are."""
    values = made(tmp_path, CONFIGURATION.replace("batch/job", "trainer.kubeflow.org/trainjob"))
    job_sets = "jobset.x-k8s.io", "jobsets"
    assert rights(values, "kuelog-system-watcher")[job_sets] == ["list", "watch"]
    assert rights(values, "kuelog-system-webhook")[job_sets] == ["get"]
    assert rights(values, "kuelog-system-applier")[job_sets] == ["get"]
    assert ("apps", "replicasets") not in rights(values, "kuelog-system-watcher")
    assert rights(values, "kuelog-system-webhook")["apps", "replicasets"] == ["get"]


def test_only_managed_namespaces_wait_for_us_and_never_those_that_bring_us_back(tmp_path: Path) -> None:
    selector = webhooks(made(tmp_path, CONFIGURATION), "Mutating")["mjob.kuelog.io"]["namespaceSelector"]
    assert selector == {
        "matchLabels": {"jobs": "ours"},
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kuelog-system"]},
            {"key": "stage", "operator": "NotIn", "values": ["test"]},
        ],
    }


def test_without_a_choice_of_namespaces_the_spared_ones_are_named_once(tmp_path: Path) -> None:
    spared = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kuelog-system"]}
    selector = webhooks(made(tmp_path, "integrations: {}"), "Mutating")["mjob.kuelog.io"]["namespaceSelector"]
    assert selector == {"matchExpressions": [spared]}


def test_the_services_are_told_in_which_namespace_they_run(tmp_path: Path) -> None:
    (file,) = [
        one for one in made(tmp_path, "namespace: kueue-system") if one["metadata"]["name"] == "kuelog-configuration"
    ]
    assert json.loads(file["data"]["controller_manager_config.yaml"])["namespace"] == "kuelog-system"


def test_pods_without_a_queue_are_asked_about_only_where_they_are_managed(tmp_path: Path) -> None:
    plain = webhooks(made(tmp_path, "integrations: {}"), "Mutating")
    assert "objectSelector" in plain["mpod.kuelog.io"] and "objectSelector" in plain["mserving.kuelog.io"]
    (only,) = plain["mmadepod.kuelog.io"]["matchConditions"]
    assert "'kueue.x-k8s.io/pod-suspending-parent' in object.metadata.annotations" in only["expression"]
    every = webhooks(made(tmp_path, "manageJobsWithoutQueueName: true"), "Mutating")
    assert "objectSelector" not in every["mpod.kuelog.io"] and "objectSelector" not in every["mserving.kuelog.io"]
    assert "mmadepod.kuelog.io" not in every, "every pod is asked about already"


def test_all_pods_and_all_that_serves_are_asked_about_only_where_their_kind_is_chosen(tmp_path: Path) -> None:
    plain = webhooks(made(tmp_path, "integrations: {}"), "Mutating")
    assert not {"mdefaultpod.kuelog.io", "mdefaultserving.kuelog.io"} & set(plain), "a cluster can start without us"
    chosen = webhooks(made(tmp_path, "integrations: {frameworks: [pod, deployment]}"), "Mutating")
    pods, serving = chosen["mdefaultpod.kuelog.io"], chosen["mdefaultserving.kuelog.io"]
    assert [one["operations"] for one in pods["rules"]] == [["CREATE"]]
    assert {one["name"] for one in pods["matchConditions"]} == {
        "names-no-queue",
        "made-by-nothing-that-serves",
        "not-of-the-system",
    }
    assert pods["namespaceSelector"] == serving["namespaceSelector"] == chosen["mpod.kuelog.io"]["namespaceSelector"]
    assert [(one["resources"], one["operations"]) for one in serving["rules"]] == [
        (["deployments"], ["CREATE", "UPDATE"])
    ]
    every = webhooks(made(tmp_path, "manageJobsWithoutQueueName: true"), "Mutating")
    assert not {"mdefaultpod.kuelog.io", "mdefaultserving.kuelog.io"} & set(every), "all are asked about already"


def test_a_configuration_that_cannot_be_understood_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("integrations: {frameworks: [what]}")
    found = CliRunner().invoke(app, ["deploy", "manifests", "--config", str(path)])
    assert found.exit_code == 2 and "frameworks: what is not known" in found.output
