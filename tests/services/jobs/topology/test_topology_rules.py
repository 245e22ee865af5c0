"""Which topology annotations are refused: each text of Kueue's, at its field."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from events.json_object import JsonObject
from events.json_path import put
from events.settings import SettingsObserved
from services.jobs.topology.topology_rules import new_topology_problems, topology_problems
from services.validation.problem import Problem
from tests.stories.job_samples import SAMPLED, manifest

ON = SettingsObserved()
K = "kueue.x-k8s.io/"
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"
META = "spec.template.metadata.annotations"
REQUIRED, PREFERRED, FREE = (f"{K}podset-{word}-topology" for word in ("required", "preferred", "unconstrained"))
SLICE, SIZE, GROUP = f"{K}podset-slice-required-topology", f"{K}podset-slice-size", f"{K}podset-group-name"
LAYERS, OFFSET = f"{K}podset-slice-required-topology-constraints", f"{K}pod-index-offset"


def template(notes: dict[str, str]) -> JsonObject:
    return {"metadata": {"annotations": notes}, "spec": {"containers": []}}


def job(notes: dict[str, str], count: int = 8) -> JsonObject:
    spec = {"parallelism": count, "template": template(notes)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


def said(problems: list[Problem]) -> list[tuple[str, str, str]]:
    assert all(one.instead for one in problems if one.origin == ""), "each says what to write instead"
    return [(one.code, one.field, one.what) for one in problems]


def at(annotation: str, inner: str = "") -> str:
    return f"{META}[{annotation}]{inner}"


def layers(*found: tuple[str, int]) -> str:
    return "[" + ",".join(f'{{"topology": "{topology}", "size": {size}}}' for topology, size in found) + "]"


NAME = "a name holds letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
ALONE = ("Invalid", at(GROUP), "can only define groups of exactly 2 pod sets, got: 1 pod set(s)")
REFUSED: list[tuple[dict[str, str], list[tuple[str, str, str]]]] = [
    (
        {REQUIRED: RACK, PREFERRED: RACK},
        [
            (
                "Invalid",
                META,
                f'must not contain more than one topology annotation: ["{REQUIRED}", "{PREFERRED}", "{FREE}"]',
            )
        ],
    ),
    ({REQUIRED: "a b"}, [("Invalid", at(REQUIRED), f"'a b': {NAME}")]),
    ({PREFERRED: "a b"}, [("Invalid", at(PREFERRED), f"'a b': {NAME}")]),
    ({SLICE: "a b", SIZE: "2"}, [("Invalid", at(SLICE), f"'a b': {NAME}")]),
    ({FREE: "yes"}, [("Invalid", at(FREE), "must be a boolean value")]),
    ({REQUIRED: RACK, GROUP: "12"}, [("Invalid", at(GROUP), "must not be a number"), ALONE]),
    (
        {REQUIRED: RACK, GROUP: "g", SLICE: HOST, SIZE: "2"},
        [
            ("Forbidden", at(GROUP), f"may not be set when '{SIZE}' is specified"),
            ("Forbidden", at(GROUP), f"may not be set when '{SLICE}' is specified"),
            ALONE,
        ],
    ),
    (
        {GROUP: "g"},
        [("Forbidden", at(GROUP), f"may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified")],
    ),
    ({SLICE: HOST, SIZE: "two"}, [("Invalid", at(SIZE), "must be a numeric value")]),
    ({SLICE: HOST, SIZE: "2147483648"}, [("Invalid", at(SIZE), "must be a numeric value")]),
    ({SLICE: HOST, SIZE: "0"}, [("Invalid", at(SIZE), "must be greater than or equal to 1")]),
    ({SLICE: HOST}, [("Required", at(SIZE), f"must be set when '{SLICE}' is specified")]),
    ({SIZE: "2"}, [("Forbidden", at(SIZE), f"may not be set when '{SLICE}' is not specified")]),
    ({SLICE: HOST, SIZE: "9"}, [("Invalid", at(SIZE), "must not be greater than pod set count 8")]),
    ({OFFSET: "-1"}, [("Invalid", at(OFFSET), "must be a non-negative integer")]),
    ({OFFSET: "one"}, [("Invalid", at(OFFSET), "must be a non-negative integer")]),
    (
        {LAYERS: layers((RACK, 8), (HOST, 4)), SLICE: HOST, SIZE: "2"},
        [
            ("Forbidden", at(LAYERS), f"may not be set when '{SLICE}' is specified"),
            ("Forbidden", at(LAYERS), f"may not be set when '{SIZE}' is specified"),
        ],
    ),
    ({LAYERS: "rack"}, [("Invalid", at(LAYERS), "must be a valid JSON array: of objects with topology and size")]),
    ({LAYERS: "[]"}, [("Invalid", at(LAYERS), "topology constraints must contain between 1 and 3 entries: got 0")]),
    (
        {LAYERS: layers((RACK, 8), ("b", 4), ("c", 2), ("d", 1))},
        [("Invalid", at(LAYERS), "topology constraints must contain between 1 and 3 entries: got 4")],
    ),
    ({LAYERS: layers(("a b", 8))}, [("Invalid", at(LAYERS, "[0].topology"), f"'a b': {NAME}")]),
    (
        {LAYERS: layers((RACK, 8), (HOST, 0))},
        [("Invalid", at(LAYERS, "[1].size"), "must be greater than or equal to 1")],
    ),
    (
        {LAYERS: layers((RACK, 8), (RACK, 4))},
        [("Duplicate", at(LAYERS, "[1].topology"), f"{RACK} (also at index 0)")],
    ),
    (
        {LAYERS: layers((RACK, 8), (HOST, 3))},
        [("Invalid", at(LAYERS, "[1].size"), "must evenly divide the parent layer size 8")],
    ),
    (
        {LAYERS: layers((RACK, 8), (HOST, 4), (RACK, 2))},
        [("Duplicate", at(LAYERS, "[2].topology"), f"{RACK} (also at index 0)")],
    ),
    (
        {LAYERS: layers((RACK, 8), (HOST, 4), ("pod", 8))},
        [("Invalid", at(LAYERS, "[2].size"), "must evenly divide the parent layer size 4")],
    ),
    ({LAYERS: layers((RACK, 9))}, [("Invalid", at(LAYERS), "must not be greater than pod set count 8")]),
]


@pytest.mark.parametrize(("notes", "expected"), REFUSED)
def test_each_mistake_is_named_at_its_annotation(notes: dict[str, str], expected: list[tuple[str, str, str]]) -> None:
    assert said(topology_problems(job(notes), ON)) == expected


@pytest.mark.parametrize(
    "notes",
    [
        {},
        {REQUIRED: RACK},
        {FREE: "false", OFFSET: "1"},
        {PREFERRED: RACK, SLICE: HOST, SIZE: "8"},
        {REQUIRED: RACK, LAYERS: layers((RACK, 8), (HOST, 4), ("pod", 1))},
    ],
)
def test_what_can_be_placed_is_taken(notes: dict[str, str]) -> None:
    assert topology_problems(job(notes), ON) == []


def test_groups_go_neither_with_layers_nor_with_an_offset() -> None:
    notes = {REQUIRED: RACK, GROUP: "g"}
    found = said(topology_problems(job({**notes, LAYERS: layers((RACK, 8))}), ON))
    assert ("Forbidden", at(GROUP), f"may not be set when '{LAYERS}' is specified") in found
    found = said(topology_problems(job({**notes, OFFSET: "1"}), ON))
    assert ("Forbidden", at(OFFSET), f"may not be set when '{GROUP}' is specified") in found


def test_gates_forbid_layers_and_leave_all_of_it_alone() -> None:
    notes = {LAYERS: layers((RACK, 8))}
    one_layer = SettingsObserved(gates={"TASMultiLayerTopology": False})
    text = "the TASMultiLayerTopology feature gate must be enabled to use this annotation"
    assert said(topology_problems(job(notes), one_layer)) == [("Forbidden", at(LAYERS), text)]
    assert topology_problems(job({FREE: "yes"}), SettingsObserved(gates={"TopologyAwareScheduling": False})) == []


def test_an_elastic_job_may_not_ask_for_one_domain() -> None:
    for annotation, word in ((REQUIRED, "required"), (PREFERRED, "preferred")):
        value = put(job({annotation: RACK}), ("metadata", "annotations"), {f"{K}elastic-job": "true"})
        assert said(topology_problems(value, ON)) == [
            ("Forbidden", at(annotation), f"{word} topology is not supported with elastic jobs")
        ]


def mpi(launcher: dict[str, str], worker: dict[str, str], launchers: int = 1, workers: int = 4) -> JsonObject:
    roles = {"Launcher": (launchers, launcher), "Worker": (workers, worker)}
    specs = {role: {"replicas": count, "template": template(notes)} for role, (count, notes) in roles.items()}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "spec": {"mpiReplicaSpecs": specs}}


def of_role(role: str, annotation: str = "") -> str:
    return f"spec.mpiReplicaSpecs[{role}].template.metadata.annotations" + (f"[{annotation}]" if annotation else "")


def test_a_group_is_a_pair_of_one_pod_and_others_that_ask_for_the_same() -> None:
    both = {REQUIRED: RACK, GROUP: "g"}
    assert topology_problems(mpi(both, both), ON) == []
    alone = "can only define groups of exactly 2 pod sets, got: 1 pod set(s)"
    assert said(topology_problems(mpi(both, {}), ON)) == [("Invalid", of_role("Launcher", GROUP), alone)]
    many = (
        "can only define groups where at least one pod set has only 1 replica, got: "
        "2 replica(s) and 4 replica(s) in the group"
    )
    roles = ("Launcher", "Worker")
    assert said(topology_problems(mpi(both, both, 2), ON)) == [
        ("Invalid", of_role(role, GROUP), many) for role in roles
    ]
    assert topology_problems(mpi(both, both, 2, 1), ON) == [], "either of them may be the leader"
    third = {"name": "third", "replicas": 1, "template": {"spec": {"template": template(both)}}}
    parts = [{**third, "name": name} for name in ("a", "b", "c")]
    jobs = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": parts}}
    three = "can only define groups of exactly 2 pod sets, got: 3 pod set(s)"
    assert [what for _, _, what in said(topology_problems(jobs, ON))] == [three] * len(parts)
    rule = f"must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with"
    told = [
        ("Invalid", of_role(one), f"{rule} '{of_role(another)}' in group 'g'") for one, another in (roles, roles[::-1])
    ]
    for word, other in ((REQUIRED, PREFERRED), (REQUIRED, REQUIRED), (PREFERRED, PREFERRED)):
        one, another = {word: RACK, GROUP: "g"}, {other: HOST, GROUP: "g"}
        assert said(topology_problems(mpi(one, another), ON)) == told, (word, other)


WRONG = {FREE: "yes"}
PLACES: list[tuple[JsonObject, str]] = [
    ({"apiVersion": "v1", "kind": "Pod", **template(WRONG)}, "metadata.annotations"),
    (
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template(WRONG)}}}]},
        },
        "spec.replicatedJobs[0].template.spec.template.metadata.annotations",
    ),
    (mpi({}, WRONG), of_role("Worker")),
    (
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "spec": {
                "headGroupSpec": {"template": template({})},
                "workerGroupSpecs": [{"groupName": "w", "template": template(WRONG)}],
            },
        },
        "spec.workerGroupSpecs[0].template.metadata.annotations",
    ),
    (
        {
            "apiVersion": "sparkoperator.k8s.io/v1beta2",
            "kind": "SparkApplication",
            "spec": {"driver": {"annotations": WRONG}, "executor": {}},
        },
        "spec.driver.annotations",
    ),
    (
        {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "spec": {"components": [{"template": {"apiVersion": "v1", "kind": "Pod", **template(WRONG)}}]},
        },
        "spec.components[0].template",
    ),
    (
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": template(WRONG)}},
        "spec.template.metadata.annotations",
    ),
    (
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template(WRONG)}},
        "spec.template.metadata.annotations",
    ),
    (
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "spec": {
                "leaderWorkerTemplate": {"size": 2, "leaderTemplate": template({}), "workerTemplate": template(WRONG)}
            },
        },
        "spec.leaderWorkerTemplate.workerTemplate.metadata.annotations",
    ),
]


@pytest.mark.parametrize(("value", "field"), PLACES, ids=lambda one: one["kind"] if isinstance(one, dict) else "")
def test_each_kind_has_the_annotations_where_its_templates_are(value: JsonObject, field: str) -> None:
    assert said(topology_problems(value, ON)) == [("Invalid", f"{field}[{FREE}]", "must be a boolean value")]


def test_what_was_wrong_before_does_not_keep_a_job_from_being_started() -> None:
    stored = job({GROUP: "g"})
    assert new_topology_problems(None, stored, ON) != []
    assert new_topology_problems(stored, put(stored, ("spec", "suspend"), False), ON) == []
    (problem,) = new_topology_problems(stored, job({GROUP: "g", FREE: "yes"}), ON)
    assert problem.field == at(FREE)


def _places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from _places(one, (*at, step))


def _with(value: JsonObject, at: tuple[str | int, ...], junk: object) -> JsonObject:
    changed: Any = copy.deepcopy(value)
    inner = changed
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = junk
    return changed


@pytest.mark.parametrize(
    "value", [*(manifest(kind, "w") for kind in SAMPLED), job({}), PLACES[-1][0]], ids=lambda one: one["kind"]
)
def test_whatever_stands_where_pods_are_described_is_looked_at(value: JsonObject) -> None:
    for at in _places(value):
        for junk in (None, [], {}, "x", 3, True, [1]) if at[0] not in ("kind", "apiVersion") else ():
            assert isinstance(topology_problems(_with(value, at, junk), ON), list), at


def train_job(*patches: dict[str, str], manager: str = "me.io/x") -> JsonObject:
    spec = {
        "runtimePatches": [
            {
                "manager": manager,
                "trainingRuntimeSpec": {
                    "template": {
                        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": one}}}]}
                    }
                },
            }
            for one in map(template, patches)
        ]
    }
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"}, "spec": spec}


def test_of_a_train_job_it_is_said_what_its_patches_cannot_mean_whatever_its_runtime_says() -> None:
    both = "must not contain more than one topology annotation"
    (twice,) = said(topology_problems(train_job({REQUIRED: RACK}, {PREFERRED: RACK}), ON))
    assert twice[:2] == ("Invalid", "job[node]") and both in twice[2]
    (word,) = said(topology_problems(train_job({FREE: "maybe"}), ON))
    assert word[1] == f"job[node][{FREE}]"
    for part in ({SIZE: "2"}, {SLICE: RACK}, {GROUP: "g"}, {REQUIRED: RACK, GROUP: "g"}):
        assert topology_problems(train_job(part), ON) == [], "its runtime may say the rest"
    ours = train_job({REQUIRED: RACK, PREFERRED: RACK}, manager="kueue.x-k8s.io/manager")
    assert topology_problems(ours, ON) == [], "what was given to its pods"
