from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from events.json_object import JsonObject
from ops.lint.check import lint
from ops.sandbox.embedded_cluster.nodes.node_objects import gpu_node
from tests.places import SCENARIOS

QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
"""


def codes(tmp_path: Path, text: str, *, loose: bool = False) -> list[tuple[str, str, str]]:
    path = tmp_path / "it.yaml"
    path.write_text(dedent(text))
    return [(one.severity, one.code, one.field) for one in lint([path], loose=loose)]


def job(limits: str, meta: str = "name: j, namespace: a") -> str:
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{{meta}}}\n"
        f"spec: {{template: {{spec: {{containers: [{{name: c, image: i, resources: {{limits: {{{limits}}}}}}}], restartPolicy: Never}}}}}}\n"
    )


LIMITS = "spec.template.spec.containers[0].resources.limits"


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("nvidia.com/gpu: 1", [("warning", "WholeCardUncharged", LIMITS)]),
        ("nvidia.com/gpu: 1, nvidia.com/gpumem: 16Gi", [("error", "NotMebibytes", f"{LIMITS}.nvidia.com/gpumem")]),
        ("nvidia.com/gpumem: 16000", [("warning", "CardCountLeftOut", f"{LIMITS}.nvidia.com/gpumem")]),
        (
            "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 150",
            [("error", "NotPercentOfCard", f"{LIMITS}.nvidia.com/gpucores")],
        ),
        ("nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50", []),
    ],
)
def test_what_a_container_asks_of_cards_is_checked(
    limits: str, expected: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    assert codes(tmp_path, job(limits)) == expected


def registered(cards: int, memory: int, split: int) -> str:
    node = gpu_node(
        "n", product="A100-SXM4-80GB", zone="a", cards=cards, memory_mib=memory, model="NVIDIA-A100", split=split
    )
    return yaml.safe_dump(node) + "---\n"


ASKS = "nvidia.com/gpu: {}, nvidia.com/gpumem: {}, nvidia.com/gpucores: 10"
COUNTED = (
    "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: "
    '{nvidia.com/gpu.count: "2", nvidia.com/gpu.memory: "16384"}}\n---\n'
)


@pytest.mark.parametrize("counted", [True, False])
def test_a_container_that_asks_for_more_shares_than_any_node_has_cards_is_told_once(
    tmp_path: Path, counted: bool
) -> None:
    node = COUNTED if counted else registered(cards=2, memory=16000, split=4)
    assert codes(tmp_path, node + job(ASKS.format(2, 8000))) == []
    wanted = [("error", "ExceedsCards", f"{LIMITS}.nvidia.com/gpu")]
    assert codes(tmp_path, node + job(ASKS.format(3, 8000))) == wanted
    assert (
        codes(
            tmp_path,
            registered(cards=8, memory=16000, split=4).replace("name: n\n", "name: m\n")
            + node
            + job(ASKS.format(3, 8000)),
        )
        == []
    )


def test_a_container_may_have_several_pieces_of_a_card_that_is_cut_by_mig(tmp_path: Path) -> None:
    whole = registered(cards=2, memory=16000, split=4)
    assert codes(tmp_path, whole + job(ASKS.format(5, 8000))) == [("error", "ExceedsCards", f"{LIMITS}.nvidia.com/gpu")]
    places = ",".join(f'{{"start":{start},"size":1}}' for start in range(4))
    profile = f'{{"name":"1g.8gb","memoryMB":8000,"core":14,"sliceCount":1,"placements":[{places}]}}'
    cut = whole.replace('"mode":"hami-core"', f'"mode":"mig","migProfiles":[{profile}]', 1)
    assert codes(tmp_path, cut + job(ASKS.format(5, 8000))) == [], "four pieces of the one, and the other"
    assert codes(tmp_path, cut + job(ASKS.format(6, 8000))) == [("error", "ExceedsCards", f"{LIMITS}.nvidia.com/gpu")]


def of_containers(count: int, each: str) -> str:
    value = yaml.safe_load(job(each))
    pod = value["spec"]["template"]["spec"]
    pod["containers"] = [{**pod["containers"][0], "name": f"c{index}"} for index in range(count)]
    return yaml.safe_dump(value)


def test_shares_of_sidecars_take_slots_beside_those_of_the_containers_after_them(tmp_path: Path) -> None:
    def found(**more: str) -> list[tuple[str, str, str]]:
        value = yaml.safe_load(job(ASKS.format(2, 2000)))
        pod = value["spec"]["template"]["spec"]
        pod["initContainers"] = [{**pod["containers"][0], "name": name, **more} for name in ("first", "second")]
        return codes(tmp_path, registered(cards=2, memory=16000, split=2) + yaml.safe_dump(value))

    assert found() == []
    assert found(restartPolicy="Always") == [("error", "ExceedsCardSlots", f"{LIMITS}.nvidia.com/gpu")]


def test_a_pod_that_asks_for_more_shares_than_any_node_has_slots_for_is_told_once(tmp_path: Path) -> None:
    node = registered(cards=2, memory=16000, split=4)
    assert codes(tmp_path, node + of_containers(4, ASKS.format(2, 2000))) == []
    wanted = [("error", "ExceedsCardSlots", f"{LIMITS}.nvidia.com/gpu")]
    assert codes(tmp_path, node + of_containers(5, ASKS.format(2, 2000))) == wanted, "the containers share a node"
    larger, smaller = (registered(cards, 16000, 4).replace("name: n\n", f"name: n{cards}\n") for cards in (3, 1))
    for nodes in (larger + smaller, smaller + larger):
        assert codes(tmp_path, nodes + of_containers(6, ASKS.format(2, 2000))) == []
        assert codes(tmp_path, nodes + of_containers(7, ASKS.format(2, 2000))) == wanted


def platform_of(*labels: str) -> str:
    """A queue with the flavors of these pools, and nothing of nodes."""
    named = ", ".join(f"{{name: {one}, resources: [{{name: cpu, nominalQuota: 99}}]}}" for one in labels)
    flavors = "".join(
        f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {one}}}\n"
        f"spec: {{nodeLabels: {{pool: {one}}}}}\n---\n"
        for one in labels
    )
    return (
        f"{flavors}apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: q}}\n"
        "spec:\n  namespaceSelector: {}\n"
        f"  resourceGroups: [{{coveredResources: [cpu], flavors: [{named}]}}]\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: lq, namespace: a}\n"
        "spec: {clusterQueue: q}\n---\n"
    )


def of_pool(pool: str, cpu: int) -> str:
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: n-{pool}, labels: {{pool: {pool}}}}}\n"
        f"status: {{allocatable: {{cpu: {cpu}}}}}\n---\n"
    )


QUEUED = "name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: lq}"


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (("small", "large"), False),
        (("small",), True),
        (("small", "other"), True),
        ((), False),
    ],
)
def test_a_job_that_no_node_of_its_flavors_can_ever_host_is_told_with_what_they_lack(
    tmp_path: Path, nodes: tuple[str, ...], told: bool
) -> None:
    sizes = {"small": 4, "large": 32, "other": 64}
    text = platform_of("small", "large") + "".join(of_pool(one, sizes[one]) for one in nodes)
    path = tmp_path / "it.yaml"
    path.write_text(text + job("cpu: 16", QUEUED))
    found = [one for one in lint([path]) if one.code == "NoNodeCanHost"]
    assert bool(found) is told
    for one in found:
        assert one.field == "spec.template.spec.containers" and "n-small: cpu 16 of 4" in one.what
        assert "n-other" not in one.what and "of large, small" in one.what


def test_a_node_hosts_just_as_much_as_it_can_allocate(tmp_path: Path) -> None:
    def told(cpu: int) -> bool:
        node = of_pool("small", 8).replace("status: {", "status: {capacity: {cpu: 16}, ")
        return bool(codes(tmp_path, platform_of("small") + node + job(f"cpu: {cpu}", QUEUED)))

    assert [told(cpu) for cpu in (8, 9)] == [False, True]


def test_cards_that_are_too_small_on_every_node_are_told_with_the_reasons_of_the_cards(tmp_path: Path) -> None:
    node = registered(cards=2, memory=16000, split=4)
    (found,) = codes(tmp_path, node + of_containers(3, ASKS.format(1, 12000)))
    assert found == ("error", "NoNodeCanHost", "spec.template.spec.containers")
    (told,) = lint([tmp_path / "it.yaml"])
    assert "n: 2/2 CardInsufficientMemory" in told.what


def test_a_quota_is_compared_with_the_cards_that_the_nodes_of_its_flavor_have_registered(tmp_path: Path) -> None:
    label = "{nvidia.com/gpu.product: A100-SXM4-80GB}"
    flavor = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n"
        f"spec: {{nodeLabels: {label}}}\n---\n"
    )
    group = (
        "  resourceGroups: [{coveredResources: [nvidia.com/gpu, nvidia.com/gpumem], flavors: [{name: f, resources: "
        "[{name: nvidia.com/gpu, nominalQuota: 2}, {name: nvidia.com/gpumem, nominalQuota: %d}]}]}]\n"
    )
    node = registered(cards=2, memory=81559, split=10)
    shares = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
    told = codes(tmp_path, flavor + QUEUE + group % (2 * 81559))
    assert "GpuCountsShares" not in [code for _, code, _ in told], "no name says 81559"
    told = codes(tmp_path, node + flavor + QUEUE + group % (2 * 81559))
    assert ("warning", "GpuCountsShares", shares) in told
    told = codes(tmp_path, node + flavor + QUEUE + group % 160000)
    assert "MegabytesForMebibytes" in [code for _, code, _ in told]
    (one,) = [one for one in lint([tmp_path / "it.yaml"]) if one.code == "MegabytesForMebibytes"]
    assert one.instead == "nominalQuota: 163118"


def test_what_a_card_holds_is_what_its_node_has_registered(tmp_path: Path) -> None:
    node = registered(cards=2, memory=40960, split=10)
    found = codes(tmp_path, node + job("nvidia.com/gpu: 1, nvidia.com/gpumem: 60000"))
    assert found == [("error", "ExceedsCardCapacity", f"{LIMITS}.nvidia.com/gpumem")], "its label says 80GB"


def test_what_no_single_card_can_hold_is_told_from_the_nodes_at_hand(tmp_path: Path) -> None:
    node = 'apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {nvidia.com/gpu.memory: "16384"}}\n---\n'
    found = codes(tmp_path, node + job("nvidia.com/gpu: 4, nvidia.com/gpumem: 20000"))
    assert found == [("error", "ExceedsCardCapacity", f"{LIMITS}.nvidia.com/gpumem")]


def test_a_share_that_leaves_much_of_every_card_unused_is_told(tmp_path: Path) -> None:
    node = 'apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {nvidia.com/gpu.memory: "32768"}}\n---\n'
    found = codes(tmp_path, node + job("nvidia.com/gpu: 1, nvidia.com/gpumem: 4000, nvidia.com/gpucores: 60"))
    assert found == [("warning", "PoorFit", f"{LIMITS}.nvidia.com/gpumem")]


def test_a_field_of_an_older_version_is_unknown_in_the_newest(tmp_path: Path) -> None:
    assert codes(tmp_path, QUEUE + "  cohort: all\n") == [("error", "UnknownField", "spec.cohort")]
    assert codes(tmp_path, QUEUE.replace("v1beta2", "v1beta1") + "  cohort: all\n") == []


def test_a_class_that_is_not_among_the_others_is_named(tmp_path: Path) -> None:
    text = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: high}\nvalue: 1\n---\n"
        + job("cpu: 1", "name: j, namespace: a, labels: {kueue.x-k8s.io/priority-class: hgih}")
    )
    assert codes(tmp_path, text) == [
        ("error", "WorkloadPriorityClassNotFound", "metadata.labels.kueue.x-k8s.io/priority-class")
    ]


def test_loosely_an_annotation_that_names_a_class_of_workloads_takes_effect(tmp_path: Path) -> None:
    text = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: high}\nvalue: 1\n---\n"
        + job("cpu: 1", "name: j, namespace: a, annotations: {kueue.x-k8s.io/priority-class: high}")
    )
    assert [one[:2] for one in codes(tmp_path, text)] == [("error", "AnnotationForLabel")]
    assert [one[:2] for one in codes(tmp_path, text, loose=True)] == [("warning", "AnnotationForLabel")]


def test_a_job_that_leaves_its_namespace_to_the_command_line_is_warned(tmp_path: Path) -> None:
    text = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: l, namespace: a}\nspec: {clusterQueue: q}\n---\n"
        + job("cpu: 1", "name: j, labels: {kueue.x-k8s.io/queue-name: l}")
    )
    assert codes(tmp_path, text) == [("warning", "NamespaceLeftOut", "metadata")]


def test_what_can_be_given_no_meaning_stays_an_error_loosely_too(tmp_path: Path) -> None:
    text = QUEUE + (
        "  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n"
        "    - {name: a, resources: [{name: cpu, nominalQuota: -1}]}\n"
    )
    field = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
    assert ("error", "Invalid", field) in codes(tmp_path, text, loose=True)


def test_one_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text("kind: Namespace\n")
    assert [(Path(one.file).name, one.code) for one in lint([tmp_path])] == [
        ("a.yaml", "Broken"),
        ("b.yaml", "Required"),
        ("b.yaml", "Required"),
    ]


needs_scenarios = pytest.mark.skipif(
    not SCENARIOS.is_dir(), reason=f"the seed's manifests are not at {SCENARIOS}: set KUELOG_SCENARIOS"
)


@needs_scenarios
@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("quick-start", []),
        (
            "use-cases",
            [
                ("conservative-quota.yaml", 6, "warning", "AdmitsNobody"),
                ("hami-quota.yaml", 6, "warning", "AdmitsNobody"),
                ("ml-training.yaml", 5, "warning", "AdmitsNobody"),
                ("multi-tenant.yaml", 16, "error", "FlavorOmitsResource"),
                ("multi-tenant.yaml", 19, "error", "LimitWithoutCohort"),
                ("production-queue.yaml", 5, "warning", "AdmitsNobody"),
                ("two-phase-checks.yaml", 5, "warning", "AdmitsNobody"),
            ],
        ),
        (
            "gpu-research",
            [
                ("cluster-queue.yaml", 1, "warning", "OldVersion"),
                ("cluster-queue.yaml", 5, "warning", "AdmitsNobody"),
                ("cluster-queue.yaml", 9, "error", "FlavorNotFound"),
                ("cluster-queue.yaml", 12, "error", "FlavorNotFound"),
                ("cluster-queue.yaml", 14, "warning", "LimitWithoutCohort"),
                ("flavor.yaml", 1, "warning", "OldVersion"),
                ("job.yaml", 3, "warning", "NamespaceLeftOut"),
                ("job.yaml", 6, "error", "AnnotationForLabel"),
                ("job.yaml", 9, "error", "Required"),
                ("job.yaml", 16, "error", "Required"),
                ("job.yaml", 17, "warning", "WholeCardUncharged"),
                ("local-queue.yaml", 1, "warning", "OldVersion"),
            ],
        ),
    ],
)
def test_the_small_scenarios_of_the_seed_are_told_line_by_line(
    folder: str, expected: list[tuple[str, int, str, str]]
) -> None:
    found = lint([SCENARIOS / folder])
    assert [(Path(one.file).name, one.line, one.severity, one.code) for one in found] == expected


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["x", "16Gi", "cpu", "a", "Never"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["name", "namespace", "spec", "labels", "annotations", "resourceGroups", "flavors", "resources"]
                + [
                    "coveredResources",
                    "template",
                    "containers",
                    "limits",
                    "podSets",
                    "namespaceSelector",
                    "matchLabels",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=15,
)
KINDS = ["ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Workload", "Job", "Namespace", "Node", "Topology"]
VERSIONS = ["kueue.x-k8s.io/v1alpha2", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "v1"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(VERSIONS), junk, junk), max_size=4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_manifest_however_malformed_trips_the_lint(
    objects: list[tuple[str, str, object, object]], loose: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "it.yaml"
        values = [{"kind": k, "apiVersion": v, "metadata": meta, "spec": spec} for k, v, meta, spec in objects]
        path.write_text(yaml.safe_dump_all(values))
        assert all(one.line > 0 and one.what for one in lint([path], loose=loose))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("amd.com/gpu: 1, amd.com/gpucores: 101", f"{LIMITS}.amd.com/gpu"),
        ("hygon.com/dcumem: 1000", f"{LIMITS}.hygon.com/dcunum"),
        ("huawei.com/Ascend910A: 3, huawei.com/Ascend910A-memory: 2000", f"{LIMITS}.huawei.com/Ascend910A"),
        ("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 120", f"{LIMITS}.nvidia.com/gpu"),
        ("amd.com/gpu: 1500m, amd.com/gpumem: 1000", f"{LIMITS}.amd.com/gpu"),
        ("amd.com/gpu: 1, amd.com/gpucores: 100", ""),
    ],
)
def test_what_hami_would_refuse_or_drop_is_told_of_every_vendor(limits: str, expected: str, tmp_path: Path) -> None:
    assert codes(tmp_path, job(limits)) == ([("error", "CardRequestNotRead", expected)] if expected else [])


def test_a_pod_that_hamis_webhook_refuses_is_told(tmp_path: Path) -> None:
    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    privileged = job(asked).replace("{name: c,", "{name: c, securityContext: {privileged: true},")
    assert codes(tmp_path, privileged) == [("error", "CardsRefused", "spec.template.spec.containers")]
    placed = job(asked).replace("{spec: {containers", "{spec: {nodeName: n, containers")
    assert codes(tmp_path, placed) == [("error", "CardsRefused", "spec.template.spec.nodeName")]
    assert codes(tmp_path, placed.replace(asked, "cpu: 1")) == []


def test_scoring_weights_that_hami_cannot_read_are_told(tmp_path: Path) -> None:
    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    weights = "{metadata: {annotations: {hami.io/device-scoring-weights: 'slot=1'}}, spec: {containers"
    found = codes(tmp_path, job(asked).replace("{spec: {containers", weights))
    assert [code for _, code, _ in found] == ["ScoringWeightsNotRead"]


@pytest.mark.parametrize(
    ("policy", "text", "told"),
    [
        ("gpu-scheduler-policy", "binpakc", True),
        ("gpu-scheduler-policy", "Binpack", True),
        ("gpu-scheduler-policy", " binpack", True),
        ("gpu-scheduler-policy", "binpack,nmua", True),
        ("gpu-scheduler-policy", "", True),
        ("gpu-scheduler-policy", "binpack, numa", False),
        ("gpu-scheduler-policy", "mutex,topology-aware", False),
        ("gpu-scheduler-policy", "spread", False),
        ("node-scheduler-policy", "spraed", True),
        ("node-scheduler-policy", "binpack,spread", True),
        ("node-scheduler-policy", "numa", True),
        ("node-scheduler-policy", "spread", False),
    ],
)
def test_a_scheduler_policy_that_hami_does_not_know_is_told(policy: str, text: str, told: bool, tmp_path: Path) -> None:
    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    named = f"{{metadata: {{annotations: {{hami.io/{policy}: '{text}'}}}}, spec: {{containers"
    at = f"spec.template.metadata.annotations[hami.io/{policy}]"
    found = codes(tmp_path, job(asked).replace("{spec: {containers", named))
    assert found == ([("warning", "SchedulerPolicyNotKnown", at)] if told else [])


def test_a_pod_that_hamis_webhook_is_told_to_ignore_is_told(tmp_path: Path) -> None:
    def found(asked: str, label: str, scheduler: str = "") -> list[tuple[str, str, str]]:
        named = f"{{metadata: {{labels: {{hami.io/webhook: {label}}}}}, spec: {{{scheduler}containers"
        return codes(tmp_path, job(asked).replace("{spec: {containers", named))

    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    told = ("warning", "IgnoredByHami", "spec.template.metadata.labels[hami.io/webhook]")
    assert found(asked, "ignore") == found(asked, "ignore", "schedulerName: default-scheduler, ") == [told]
    assert found(asked, "ignore", "schedulerName: hami-scheduler, ") == found(asked, "seen") == []
    assert found("cpu: 1", "ignore") == []


def test_a_pod_that_the_label_of_its_namespace_keeps_from_hami_is_told(tmp_path: Path) -> None:
    def found(asked: str, label: str, namespace: str = "a") -> list[tuple[str, str, str]]:
        space = (
            f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {{hami.io/webhook: {label}}}}}\n"
        )
        return codes(tmp_path, f"{space}---\n{job(asked)}")

    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    assert found(asked, "ignore") == [("warning", "IgnoredByHami", "metadata.namespace")]
    assert found(asked, "seen") == found(asked, "ignore", "other") == found("cpu: 1", "ignore") == []


def test_a_pod_with_cards_that_another_scheduler_is_to_place_is_told(tmp_path: Path) -> None:
    def found(asked: str, scheduler: str) -> list[tuple[str, str, str]]:
        return codes(
            tmp_path, job(asked).replace("{spec: {containers", f"{{spec: {{schedulerName: {scheduler}, containers")
        )

    asked = "nvidia.com/gpu: 1, nvidia.com/gpumem: 16000, nvidia.com/gpucores: 50"
    assert found(asked, "volcano") == [("warning", "NotPlacedByHami", "spec.template.spec.schedulerName")]
    assert found(asked, "hami-scheduler") == found(asked, "default-scheduler") == found("cpu: 1", "volcano") == []


HAMI_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: hami-scheduler-device, namespace: kube-system}
data:
  device-config.yaml: |
    nvidia: {resourceCountName: acme.io/gpu, resourceMemoryName: acme.io/mem, resourceCoreName: %s}
"""


def test_hamis_own_configuration_is_checked_and_says_by_which_names_cards_are_asked_for(tmp_path: Path) -> None:
    wrong = ("error", "Invalid", "data[device-config.yaml].nvidia.resourceCoreName")
    assert codes(tmp_path, HAMI_MAP % "cores") == [wrong]
    named = job("acme.io/gpu: 1, acme.io/mem: 16Gi")
    assert codes(tmp_path, named) == []
    assert codes(tmp_path, HAMI_MAP % "acme.io/cores" + "---\n" + named) == [
        ("error", "NotMebibytes", f"{LIMITS}.acme.io/mem")
    ]


def test_a_flavor_that_names_a_topology_that_is_not_among_the_files_is_told(tmp_path: Path) -> None:
    def files(name: str) -> str:
        topology = an("Topology", "racks", {"levels": [{"nodeLabel": "example.com/rack"}]})
        flavor = an("ResourceFlavor", "placed", {"topologyName": name, "nodeLabels": {"zone": "a"}})
        return yaml.safe_dump_all([topology, flavor])

    assert ("error", "TopologyNotFound", "spec.topologyName") in codes(tmp_path, files("rakcs"))
    assert all(code != "TopologyNotFound" for _, code, _ in codes(tmp_path, files("racks")))


def test_a_topology_annotation_that_cannot_be_meant_is_told_at_its_line(tmp_path: Path) -> None:
    note = "kueue.x-k8s.io/podset-slice-size"
    text = job("cpu: 1").replace("template: {spec", f"template: {{metadata: {{annotations: {{{note}: two}}}}, spec")
    field = f"spec.template.metadata.annotations[{note}]"
    assert ("error", "Invalid", field) in codes(tmp_path, text)


def an(kind: str, name: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_whole_cards_are_no_matter_where_the_queue_counts_nothing_but_cards(tmp_path: Path) -> None:
    queue = QUEUE + (
        "  resourceGroups: [{coveredResources: [%s], flavors: [{name: f, resources: [%s]}]}]\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: lq, namespace: a}\nspec: {clusterQueue: q}\n---\n"
    )
    cards, parts = "nvidia.com/gpu", "nvidia.com/gpu, nvidia.com/gpumem"
    for covered, expected in ((cards, False), (parts, True)):
        quotas = ", ".join(f"{{name: {one}, nominalQuota: 8}}" for one in covered.split(", "))
        told = codes(tmp_path, queue % (covered, quotas) + job("nvidia.com/gpu: 1", QUEUED))
        assert ("WholeCardUncharged" in [code for _, code, _ in told]) is expected


def test_a_queue_that_is_not_there_is_answered_with_those_of_the_jobs_own_namespace(tmp_path: Path) -> None:
    door = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {}, namespace: {}}}\nspec: {{clusterQueue: q}}\n---\n"
    doors = "".join(door.format("main", f"team-{one}") for one in "bcdefgh")
    path = tmp_path / "it.yaml"
    path.write_text(doors + job("cpu: 1", QUEUED))
    (found,) = lint([path])
    assert found.code == "LocalQueueNotFound"
    assert found.instead.endswith("team-b/main, team-c/main, team-d/main, team-e/main, team-f/main and 2 more")
    path.write_text(doors + door.format("own", "a") + job("cpu: 1", QUEUED))
    assert [one.instead for one in lint([path])] == ["one of own"]
