"""What annotations and kinds of jobs make of the topology request of a pod set, and what is written of it."""

import pytest

from events.json_object import JsonObject
from events.json_path import FieldBroken, get
from events.settings import SettingsObserved
from events.topology import SliceConstraint, TopologyRequest
from services.applier.workloads.workload_manifest import topology_request_object
from services.jobs.defaulting import waiting
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.serving import pods_of_parent, queued_pods
from services.jobs.kinds.table import APP_WRAPPER, JOB, KINDS
from services.jobs.kinds.train_job import CHILD
from services.jobs.pod_sets.pod_set import PodIndex, Pods
from services.jobs.topology.topology_request import topology_request
from tests.services.watcher.workloads.test_workload_objects import requested
from tests.stories.job_samples import SAMPLED, child, manifest

K = "kueue.x-k8s.io/podset-"
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"
ON = SettingsObserved()
COMPLETION, REPLICA = "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index"
OFFSET = "kueue.x-k8s.io/pod-index-offset"


def asked(
    notes: dict[str, str], index: PodIndex = PodIndex(), settings: SettingsObserved = ON
) -> TopologyRequest | None:
    template: JsonObject = {"metadata": {"annotations": {f"{K}{name}": text for name, text in notes.items()}}}
    return topology_request(template, index, settings, "spec.template.metadata")


LAYERS = f'[{{"topology": "{RACK}", "size": 8}}, {{"topology": "{HOST}", "size": 4}}]'
ASKED: list[tuple[dict[str, str], TopologyRequest | None]] = [
    ({}, None),
    ({"required-topology": RACK}, TopologyRequest(required=RACK)),
    ({"preferred-topology": RACK}, TopologyRequest(preferred=RACK)),
    ({"unconstrained-topology": "t"}, TopologyRequest(unconstrained=True)),
    ({"unconstrained-topology": "False"}, TopologyRequest(unconstrained=False)),
    (
        {"required-topology": RACK, "preferred-topology": HOST, "unconstrained-topology": "?"},
        TopologyRequest(required=RACK),
    ),
    ({"preferred-topology": RACK, "unconstrained-topology": "true"}, TopologyRequest(preferred=RACK)),
    ({"required-topology": RACK, "group-name": "g"}, TopologyRequest(required=RACK, pod_set_group="g")),
    ({"preferred-topology": RACK, "group-name": "g"}, TopologyRequest(preferred=RACK, pod_set_group="g")),
    ({"unconstrained-topology": "true", "group-name": "g"}, TopologyRequest(unconstrained=True)),
    ({"group-name": "g"}, None),
    ({"slice-required-topology": HOST}, None),
    ({"slice-size": "2"}, None),
    (
        {"slice-required-topology": HOST, "slice-size": "+2"},
        TopologyRequest(slices=(SliceConstraint(topology=HOST, size=2),)),
    ),
    (
        {"slice-required-topology-constraints": LAYERS, "slice-required-topology": "x", "slice-size": "2"},
        TopologyRequest(
            slices=(SliceConstraint(topology=RACK, size=8), SliceConstraint(topology=HOST, size=4)), layered=True
        ),
    ),
    (
        {"slice-required-topology-constraints": '[{"topology": "a", "size": 3, "note": 1}]'},
        TopologyRequest(slices=(SliceConstraint(topology="a", size=3),), layered=True),
    ),
]


@pytest.mark.parametrize(("notes", "request_"), ASKED)
def test_the_first_annotation_counts_and_slices_need_level_and_size(
    notes: dict[str, str], request_: TopologyRequest | None
) -> None:
    assert asked(notes) == request_


@pytest.mark.parametrize(
    ("notes", "field", "what"),
    [
        ({"unconstrained-topology": "yes"}, "unconstrained-topology", "must be a boolean value"),
        ({"slice-required-topology": HOST, "slice-size": "two"}, "slice-size", "must be a numeric value"),
        ({"slice-required-topology": HOST, "slice-size": "2147483648"}, "slice-size", "must be a numeric value"),
        (
            {"slice-required-topology-constraints": "{}"},
            "slice-required-topology-constraints",
            "must be a valid JSON array",
        ),
        (
            {"slice-required-topology-constraints": "[]"},
            "slice-required-topology-constraints",
            "topology constraints must contain between 1 and 3 entries: got 0",
        ),
        (
            {"slice-required-topology-constraints": f"[{','.join(['{}'] * 4)}]"},
            "slice-required-topology-constraints",
            "topology constraints must contain between 1 and 3 entries: got 4",
        ),
    ],
)
def test_an_annotation_that_cannot_be_read_is_named_with_its_field(
    notes: dict[str, str], field: str, what: str
) -> None:
    with pytest.raises(FieldBroken) as broken:
        asked(notes)
    assert (broken.value.field, broken.value.message) == (f"spec.template.metadata.annotations[{K}{field}]", what)
    assert broken.value.instead


def test_gates_leave_layers_out_or_all_of_it() -> None:
    notes = {"slice-required-topology-constraints": LAYERS}
    assert asked(notes, settings=SettingsObserved(gates={"TASMultiLayerTopology": False})) is None
    index = PodIndex(label=COMPLETION)
    off = SettingsObserved(gates={"TopologyAwareScheduling": False})
    assert asked({"required-topology": RACK}, index, off) is None
    assert asked({}, index) == TopologyRequest(pod_index_label=COMPLETION)


INDEXES: dict[str, list[tuple[str, PodIndex]]] = {
    "JobSet": [
        (name, PodIndex(label=COMPLETION, sub_group_label="jobset.sigs.k8s.io/job-index", sub_group_count=1))
        for name in ("leader", "worker")
    ],
    "MPIJob": [(name, PodIndex(label=REPLICA)) for name in ("launcher", "worker")],
    "PyTorchJob": [(name, PodIndex(label=REPLICA)) for name in ("master", "worker")],
    "TFJob": [(name, PodIndex(label=REPLICA)) for name in ("chief", "ps", "worker")],
    "XGBoostJob": [(name, PodIndex(label=REPLICA)) for name in ("master", "worker")],
    "PaddleJob": [(name, PodIndex(label=REPLICA)) for name in ("master", "worker")],
    "JAXJob": [("worker", PodIndex(label=REPLICA))],
    "RayJob": [(name, PodIndex()) for name in ("head", "big", "submitter")],
    "RayCluster": [(name, PodIndex()) for name in ("head", "big")],
    "RayService": [(name, PodIndex()) for name in ("head", "big")],
    "AppWrapper": [("w-0", PodIndex(label=COMPLETION)), ("w-1", PodIndex())],
    "SparkApplication": [(name, PodIndex()) for name in ("driver", "executor")],
}
INDEXES["TrainJob"] = INDEXES["JobSet"]


@pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.kind)
def test_each_kind_says_in_which_labels_its_pods_bear_their_ranks(kind: object) -> None:
    found = next(one for one in KINDS if one is kind)
    job = manifest(found, "w")
    if found.reader == "train job":
        job[CHILD] = child({**job, "metadata": {**job["metadata"], "uid": "u"}})
    assert [(one.name, one.index) for one in pods_of(found, job)] == INDEXES[found.kind]


def test_a_replicated_job_is_a_part_of_its_pod_set() -> None:
    spec = {"parallelism": 3, "template": {"spec": {}}}
    job = {"spec": {"replicatedJobs": [{"name": "a", "replicas": 4, "template": {"spec": spec}}]}}
    (pods,) = pods_of(next(one for one in KINDS if one.kind == "JobSet"), job)
    assert (pods.count, pods.index.sub_group_count) == (12, 4)


def test_declared_pods_of_a_wrapper_say_their_labels_themselves() -> None:
    inner = {"kind": "Thing", "apiVersion": "x/v1", "spec": {"template": {"spec": {}}}}
    tas = "workload.codeflare.dev.appwrapper/tas-"
    notes = {f"{tas}pod-index-label": "i", f"{tas}sub-group-index-label": "g", f"{tas}sub-group-count": "2"}
    declared = {"template": inner, "podSets": [{"path": "template.spec.template", "annotations": notes}]}
    (pods,) = pods_of(APP_WRAPPER, {"metadata": {"name": "w"}, "spec": {"components": [declared]}})
    assert pods.index == PodIndex(label="i", sub_group_label="g", sub_group_count=2)


def test_a_job_asks_for_nothing_but_its_ranks() -> None:
    (pods,) = pods_of(JOB, {"spec": {"template": {"spec": {}}}})
    found = topology_request(pods.template, pods.index, ON)
    assert found is not None
    assert topology_request_object(found) == {"podIndexLabel": COMPLETION}


def _indexes(pods: list[Pods]) -> list[tuple[str, str]]:
    return [(one.name, one.index.label) for one in pods]


def test_serving_kinds_number_all_pods_but_the_leader() -> None:
    template = {"spec": {}}
    stateful = {"metadata": {"name": "s"}, "spec": {"replicas": 2, "template": template}}
    assert _indexes(pods_of_parent("StatefulSet", stateful)) == [("main", "apps.kubernetes.io/pod-index")]
    worker = "leaderworkerset.sigs.k8s.io/worker-index"
    alike = {"spec": {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template}}}
    assert _indexes(pods_of_parent("LeaderWorkerSet", alike)) == [("main", worker)]
    led = {"spec": {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template, "leaderTemplate": template}}}
    assert _indexes(pods_of_parent("LeaderWorkerSet", led)) == [("leader", ""), ("worker", worker)]


@pytest.mark.parametrize(
    "said",
    [
        TopologyRequest(required=RACK, pod_set_group="g", pod_index_label="i"),
        TopologyRequest(preferred=RACK, sub_group_index_label="s", sub_group_count=3),
        TopologyRequest(unconstrained=False),
        TopologyRequest(unconstrained=True, slices=(SliceConstraint(topology=HOST, size=2),)),
        TopologyRequest(slices=(SliceConstraint(topology=HOST, size=2),), layered=True),
        TopologyRequest(
            slices=(SliceConstraint(topology=RACK, size=4), SliceConstraint(topology=HOST, size=2)), layered=True
        ),
    ],
)
def test_what_is_written_into_a_workload_is_read_out_of_it(said: TopologyRequest) -> None:
    assert requested(**topology_request_object(said)) == said


def _led(notes: dict[str, str]) -> JsonObject:
    template = {"leaderTemplate": {"spec": {}}, "workerTemplate": {"metadata": {"annotations": notes}, "spec": {}}}
    meta = {"name": "l", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    return {"metadata": meta, "spec": {"leaderWorkerTemplate": template}}


def _mpi(replicas: dict[str, dict[str, str]], **spec: object) -> JsonObject:
    specs = {role: {"template": {"metadata": {"annotations": notes}, "spec": {}}} for role, notes in replicas.items()}
    meta = {"name": "m", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    return {"apiVersion": "kubeflow.org/v2beta1", "metadata": meta, "spec": {**spec, "mpiReplicaSpecs": specs}}


def test_workers_of_a_leader_that_has_a_template_begin_with_the_index_behind_it() -> None:
    def offset(value: JsonObject, role: str = "worker", *, by_topology: bool = True) -> object:
        group, kind = "leaderworkerset.x-k8s.io", "LeaderWorkerSet"
        made = queued_pods(group, kind, value, takes_all=False, by_topology=by_topology)
        notes = get(made, ("spec", "leaderWorkerTemplate", f"{role}Template", "metadata", "annotations"))
        return (notes or {}).get(OFFSET)

    assert offset(_led({})) == "1"
    assert offset(_led({}), "leader") is None
    assert offset(_led({}), by_topology=False) is None
    assert offset(_led({f"{K}group-name": "g"})) is None
    alone = _led({})
    del alone["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert offset(alone) is None


def test_workers_of_a_launcher_that_works_too_begin_with_the_index_behind_it() -> None:
    def offset(job: JsonObject, **gates: bool) -> object:
        kinds = kinds_of(SettingsObserved(gates=gates))
        made = waiting(job, "MPIJob", kinds)
        return get(made, ("spec", "mpiReplicaSpecs", "Worker", "template", "metadata", "annotations", OFFSET))

    both: dict[str, dict[str, str]] = {"Launcher": {}, "Worker": {}}
    assert offset(_mpi(both, runLauncherAsWorker=True)) == "1"
    assert offset(_mpi(both, runLauncherAsWorker=True), TopologyAwareScheduling=False) is None
    assert offset(_mpi(both)) is None
    assert offset(_mpi({"Worker": {}}, runLauncherAsWorker=True)) is None
    assert offset(_mpi({"Launcher": {f"{K}group-name": "g"}, "Worker": {}}, runLauncherAsWorker=True)) is None
