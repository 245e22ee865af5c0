"""The pods of a TrainJob that runs on another cluster, from its runtime: the rules are those of the trainer (v2).

Rule: docs/rules/multikueue.md#train-jobs
"""

from typing import Any

import pytest

from events.json_object import JsonObject
from events.json_path import FieldBroken, look
from services.jobs.kinds.table import TRAIN_JOB
from services.jobs.kinds.train_job import CHILD, train_pods
from services.jobs.kinds.training_runtime import as_said_by_now, job_set_of, runtime_place
from services.jobs.pod_sets.pod_set import Pods

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def one(name: str, container: str, *, step: str = "", replicas: int = 1, **spec: Any) -> JsonObject:
    labels = {"labels": {STEP: step}} if step else {}
    pod = {"containers": [{"name": container, "image": "of-runtime", "env": [{"name": "A", "value": "1"}]}]}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"metadata": labels, "spec": {**spec, "template": {"spec": pod}}},
    }


def runtime(*jobs: JsonObject, policy: JsonObject | None = None) -> JsonObject:
    spec: JsonObject = {"template": {"spec": {"replicatedJobs": list(jobs)}}}
    return {"spec": spec if policy is None else {**spec, "mlPolicy": policy}}


def train(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "t", "namespace": "team"}, "spec": {"runtimeRef": {"name": "torch"}, **spec}}


def pods_of(job_set: JsonObject) -> list[Pods]:
    return train_pods(TRAIN_JOB, {CHILD: job_set})


def pods(job: JsonObject, found: JsonObject) -> list[Pods]:
    return pods_of(job_set_of(job, found))


def counts(job: JsonObject, found: JsonObject) -> dict[str, int]:
    return {each.name: each.count for each in pods(job, found)}


NODE = one("node", "node", step="trainer")


def test_the_trainer_has_as_many_pods_as_the_job_says_and_else_its_runtime() -> None:
    policy: JsonObject = {"numNodes": 3, "torch": {}}
    assert counts(train(), runtime(NODE, policy=policy)) == {"node": 3}
    assert counts(train(trainer={"numNodes": 5}), runtime(NODE, policy=policy)) == {"node": 5}
    assert counts(train(trainer={"numNodes": 5}), runtime(NODE)) == {"node": 5}
    assert counts(train(), runtime(one("node", "node", step="trainer", parallelism=4))) == {"node": 4}
    assert counts(train(), runtime(one("node", "node", step="trainer", parallelism=4), policy={"torch": {}})) == {
        "node": 1
    }
    many = one("node", "node", step="trainer", replicas=7)
    assert counts(train(), runtime(many, policy=policy)) == {"node": 3}, "its replicas are one"


def test_what_is_no_trainer_keeps_the_number_of_its_runtime() -> None:
    other = one("other", "other", parallelism=2, completions=9, replicas=2)
    assert counts(train(trainer={"numNodes": 5}), runtime(other, NODE)) == {"other": 4, "node": 5}
    assert counts(train(), runtime(other, NODE, policy={"numNodes": 3})) == {"other": 4, "node": 3}


@pytest.mark.parametrize(("as_node", "nodes"), [(True, 3), (False, 4)])
def test_with_mpi_the_nodes_are_counted_and_the_launcher_may_be_one_of_them(as_node: bool, nodes: int) -> None:  # noqa: FBT001
    found = runtime(
        one("launcher", "node", step="trainer"),
        one("node", "node"),
        policy={"numNodes": 1, "mpi": {"runLauncherAsNode": as_node}},
    )
    assert counts(train(trainer={"numNodes": 4}), found) == {"launcher": 1, "node": nodes}


def test_with_mpi_there_is_one_node_at_least_beside_a_launcher_that_is_one() -> None:
    found = runtime(
        one("launcher", "launcher", step="trainer"), one("node", "node"), policy={"mpi": {"runLauncherAsNode": True}}
    )
    assert counts(train(trainer={"numNodes": 1}), found) == {"launcher": 1, "node": 1}


@pytest.mark.parametrize(("as_node", "image"), [(True, "mine"), (False, "of-runtime")])
def test_a_launcher_runs_what_the_job_says_where_it_is_one_of_the_nodes(*, as_node: bool, image: str) -> None:
    found = runtime(one("launcher", "launcher", step="trainer"), policy={"mpi": {"runLauncherAsNode": as_node}})
    (said,) = pods(train(trainer={"image": "mine"}), found)
    assert look(said.template, "spec.containers.0.image") == image


def test_the_job_says_what_its_trainer_runs_and_what_that_takes() -> None:
    resources = {"limits": {"nvidia.com/gpu": 2}, "requests": {"cpu": "4"}, "claims": []}
    env = [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    asked = {"image": "mine", "command": ["run"], "args": ["x"], "resourcesPerNode": resources, "env": env}
    (found,) = pods(train(trainer=asked), runtime(NODE))
    assert found.template["spec"]["containers"] == [
        {
            "name": "node",
            "image": "mine",
            "command": ["run"],
            "args": ["x"],
            "resources": {"limits": {"nvidia.com/gpu": 2}, "requests": {"cpu": "4"}},
            "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}],
        }
    ]


def test_a_container_of_another_name_is_as_its_runtime_says() -> None:
    found = runtime(one("node", "sidecar", step="trainer"), one("plain", "node"))
    said = pods(train(trainer={"image": "mine"}), found)
    assert [look(each.template, "spec.containers.0.image") for each in said] == ["of-runtime", "of-runtime"]


def test_initializers_get_what_they_fetch() -> None:
    found = runtime(one("dataset-initializer", "dataset-initializer", step="dataset-initializer", replicas=3))
    asked = {"dataset": {"storageUri": "hf://x", "secretRef": {"name": "s"}, "env": [{"name": "B", "value": "2"}]}}
    (said,) = pods(train(initializer=asked), found)
    (container,) = said.template["spec"]["containers"]
    assert said.count == 1
    assert [each["name"] for each in container["env"]] == ["A", "STORAGE_URI", "B"]
    assert container["envFrom"] == [{"secretRef": {"name": "s"}}]


def test_what_stands_beside_an_initializer_fetches_nothing() -> None:
    found = runtime(one("dataset-initializer", "sidecar", step="dataset-initializer"))
    (said,) = pods(train(initializer={"dataset": {"storageUri": "hf://x"}}), found)
    (container,) = said.template["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}] and "envFrom" not in container


def test_a_patch_is_for_the_job_that_it_names_and_takes_away_what_it_says_is_null() -> None:
    pod = {"nodeSelector": None, "priorityClassName": "p"}
    patch = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patches = [{"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}]
    both = [one("node", "node", step="trainer"), one("other", "other")]
    for each in both:
        each["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
    node, other = (each.template["spec"] for each in pods(train(runtimePatches=patches), runtime(*both)))
    assert "nodeSelector" not in node and node["priorityClassName"] == "p"
    assert other["nodeSelector"] == {"zone": "a"} and "priorityClassName" not in other


def test_patches_of_the_runtime_are_merged_by_name() -> None:
    pod = {
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "x"}],
        "containers": [{"name": "node", "volumeMounts": [{"mountPath": "/d", "name": "d"}]}],
    }
    patch = {"name": "node", "template": {"spec": {"template": {"metadata": {"labels": {"l": "1"}}, "spec": pod}}}}
    patches = [{"manager": "a/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}}}]
    (said,) = pods(train(runtimePatches=patches), runtime(NODE))
    assert said.template["metadata"]["labels"] == {"l": "1"}
    assert said.template["spec"]["nodeSelector"] == {"zone": "a"}
    (container,) = said.template["spec"]["containers"]
    assert (container["image"], container["volumeMounts"]) == ("of-runtime", [{"mountPath": "/d", "name": "d"}])


def test_a_number_that_is_none_is_named() -> None:
    with pytest.raises(FieldBroken) as raised:
        job_set_of(train(trainer={"numNodes": "three"}), runtime(NODE))
    assert raised.value.field == "spec.trainer.numNodes"


def test_a_runtime_is_of_the_cluster_unless_the_job_says_otherwise() -> None:
    assert runtime_place(train()) == "ClusterTrainingRuntime//torch"
    own = train(runtimeRef={"name": "mine", "kind": "TrainingRuntime"})
    assert runtime_place(own) == "TrainingRuntime/team/mine"


def test_what_was_made_of_one_has_the_nodes_that_it_says_by_now() -> None:
    launcher = one("launcher", "launcher")
    node = one("node", "node", step="trainer", parallelism=2, completions=2)
    mpi: JsonObject = {"mpi": {"runLauncherAsNode": True}}

    def said(trainer: JsonObject, policy: JsonObject | None = None) -> list[tuple[str, int]]:
        found, job = runtime(launcher, node, policy=policy), train(trainer=trainer)
        made = as_said_by_now({"spec": {"replicatedJobs": [launcher, node]}}, job, found)
        return [(each.name, each.count) for each in pods_of(made)]

    assert said({}, {"numNodes": 9}) == said({"numNodes": 2}) == [("launcher", 1), ("node", 2)]
    assert said({"numNodes": 5}) == said({"numNodes": 5}, {"torch": {}}) == [("launcher", 1), ("node", 5)]
    assert said({"numNodes": 5}, mpi) == [("launcher", 1), ("node", 4)]
    assert said({"numNodes": 5}, {"flux": {}}) == [("launcher", 1), ("node", 2)], "its rules are not known"


def test_what_was_made_of_one_has_what_it_says_by_now_that_each_node_takes() -> None:
    def asked(trainer: JsonObject) -> JsonObject:
        made = as_said_by_now({"spec": {"replicatedJobs": [NODE]}}, train(trainer=trainer), runtime(NODE))
        (found,) = pods_of(made)
        return found.template["spec"]["containers"][0].get("resources", {})

    assert asked({"image": "other"}) == {}
    assert asked({"resourcesPerNode": {"limits": {"cpu": "3"}}}) == {"limits": {"cpu": "3"}}


def test_what_was_made_of_one_and_says_the_same_is_as_it_was() -> None:
    job = train(trainer={"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "1"}}})
    for policy in (None, {"torch": {}}, {"mpi": {}}, {"mpi": {"runLauncherAsNode": True}}):
        found = runtime(one("launcher", "launcher"), NODE, policy=policy)
        made = job_set_of(job, found)
        assert as_said_by_now(made, job, found) == made
