"""Kueue's configuration file is read for what it says about decisions, and what can't be understood is named."""

from pathlib import Path

import pytest

from events.json_object import JsonObject
from events.multikueue import BY_ESTIMATE, INCREMENTAL, AccessProvider, ClusterOrder, MultiKueueSettings
from events.selector import LabelSelector, Operator, Requirement
from events.settings import AdmissionFairSharing, DevicePolicy, FairStrategy, QuotaCheckStrategy
from ops.production.configuration.configuration_file import (
    ConfigurationBroken,
    configuration_of,
    read_configuration,
)

FILE = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
pprofBindAddress: ":8083"
integrations: {frameworks: [batch/job, statefulset], labelKeysToCopy: [team, cost], podOptions: {}}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector:
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]
fairSharing: {preemptionStrategies: [LessThanInitialShare]}
admissionFairSharing: {usageHalfLifeTime: 1h30m, resourceWeights: {cpu: 1.5}}
waitForPodsReady:
  timeout: 5m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10}
resources:
  excludeResourcePrefixes: [example.com]
  quotaCheckStrategy: IgnoreUndeclared
  transformations:
  - {input: nvidia.com/gpumem, strategy: Replace, multiplyBy: nvidia.com/gpu, outputs: {total: 1}}
objectRetentionPolicies: {workloads: {afterFinished: 1h}}
featureGates: {PartialAdmission: false}
kuelog: {devicePolicies: {v100: Cap}}
"""


def test_every_part_that_decides_something_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FILE)
    found = read_configuration(path)
    settings = found.settings
    assert settings.fair_sharing and settings.fair_strategies == (FairStrategy.LESS_THAN_INITIAL_SHARE,)
    assert settings.admission_fair_sharing is not None and settings.pods_ready is not None
    assert (settings.admission_fair_sharing.half_life, settings.admission_fair_sharing.resource_weights) == (
        5_400_000,
        {"cpu": "1.5"},
    )
    assert (settings.pods_ready.timeout, settings.pods_ready.backoff_limit) == (300_000, 3)
    assert settings.transformations[0].outputs == {"total": "1"}
    assert settings.undeclared is QuotaCheckStrategy.IGNORE_UNDECLARED
    assert (settings.retain_finished, settings.gates) == (3_600_000, {"PartialAdmission": False})
    assert settings.device_policies == {"v100": DevicePolicy.CAP}
    assert found.ignored == ("health", "integrations.podOptions", "pprofBindAddress")
    assert settings.frameworks == ("batch/job", "statefulset")
    assert settings.without_queue and settings.copied_labels == ("cost", "team")
    assert settings.managed_namespaces == LabelSelector(expressions=(but("kube-system"), but("kuelog-system")))


def but(*names: str) -> Requirement:
    return Requirement(key="kubernetes.io/metadata.name", operator=Operator.NOT_IN, values=names)


@pytest.mark.parametrize(("file", "own"), [({}, "kuelog-system"), ({"namespace": "gpus"}, "gpus")])
def test_jobs_are_managed_everywhere_but_in_kube_system_and_where_kuelog_runs(file: JsonObject, own: str) -> None:
    plain = configuration_of(file, "here").settings.managed_namespaces
    assert plain == LabelSelector(expressions=(but("kube-system", own),))
    chosen = {**file, "managedJobsNamespaceSelector": {"matchLabels": {"jobs": "ours"}}}
    assert configuration_of(chosen, "here").settings.managed_namespaces == LabelSelector(labels={"jobs": "ours"})


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
        {"matchExpressions": [{"key": "stage", "operator": "NotIn", "values": ["test"]}]},
    ],
)
def test_a_selector_that_matches_kube_system_is_refused_as_by_kueue(selector: JsonObject) -> None:
    with pytest.raises(ConfigurationBroken, match='managedJobsNamespaceSelector: .*should not match the "kube-system"'):
        configuration_of({"managedJobsNamespaceSelector": selector}, "here")


def test_a_config_map_is_read_as_it_lies_in_the_cluster(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    inner = "\n".join(f"    {line}" for line in FILE.strip().splitlines())
    path.write_text(f"kind: ConfigMap\ndata:\n  controller_manager_config.yaml: |\n{inner}\n")
    assert read_configuration(path).settings.fair_sharing


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fairSharring: {}", "unknown field fairSharring"),
        ("waitForPodsReady: {requeuingStrategy: {backoffBaseSeconds: -1}}", "waitForPodsReady.requeuingStrategy"),
        (
            "waitForPodsReady: {requeuingStrategy: {backoffMaxSeconds: 3000000000}}",
            "waitForPodsReady.requeuingStrategy",
        ),
        ("waitForPodsReady: {timeout: 5 minutes}", "'5 minutes' is not a duration"),
        ("fairSharing: {preemptionStrategies: [Greedy]}", r"fairSharing\.preemptionStrategies"),
        ("resources: {transformations: [{strategy: Retain}]}", "input"),
        (
            "integrations: {frameworks: [batch/jobs]}",
            "frameworks: batch/jobs is not known; there are .*batch/job, deploy",
        ),
        ("managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Is}]}", "unknown operator 'Is'"),
        ("kind: Deployment", "expected a Configuration"),
        ("a: [", "broken YAML: .*, on line 1"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_field(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationBroken, match=problem):
        read_configuration(path)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("resources: {transformations: [{input: a, outputs: {b: lots}}]}", "resources.transformations[0].outputs[b]"),
        ("resources: {transformations: [{input: a, outputs: {b: -1}}]}", "resources.transformations[0].outputs[b]"),
        ("resources: {transformations: [{input: a, outputs: {b: .inf}}]}", "resources.transformations[0].outputs[b]"),
        ("admissionFairSharing: {usageHalfLifeTime: soon}", "admissionFairSharing.usageHalfLifeTime"),
        (
            "admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: NaN}}",
            "admissionFairSharing.resourceWeights[cpu]",
        ),
        (
            "admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: much}}",
            "admissionFairSharing.resourceWeights[cpu]",
        ),
        ("waitForPodsReady: {timeout: 5 minutes}", "waitForPodsReady.timeout"),
        ("waitForPodsReady: {timeout: [5]}", "waitForPodsReady.timeout"),
        ("objectRetentionPolicies: {workloads: {afterFinished: x}}", "objectRetentionPolicies.workloads.afterFinished"),
        ("featureGates: {A: 1}", "featureGates"),
        ("7: x", "7"),
        (
            "managedJobsNamespaceSelector: {matchExpressions: [{key: a, operator: Maybe}]}",
            "managedJobsNamespaceSelector",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_field(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationBroken) as told:
        read_configuration(path)
    assert str(path) in str(told.value) and field in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"[" * 5000, b"kind: ConfigMap\ndata: [a]", b"kind: ConfigMap\ndata: 5", b"- a"]
)
def test_what_is_no_configuration_at_all_is_told_as_that(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationBroken):
        read_configuration(path)


def test_jobs_whose_pods_do_not_get_ready_are_stopped_after_half_an_hour_unless_that_is_turned_off() -> None:
    plain = configuration_of({}, "nothing").settings.pods_ready
    assert plain is not None
    assert (plain.timeout, plain.recovery_timeout, plain.block_admission, plain.backoff_limit) == (
        1_800_000,
        None,
        False,
        None,
    )
    assert configuration_of({"waitForPodsReady": {"enable": False}}, "off").settings.pods_ready is None


def test_without_a_half_life_nothing_is_remembered_of_past_usage() -> None:
    found = configuration_of({"admissionFairSharing": {}}, "it").settings.admission_fair_sharing
    assert found == AdmissionFairSharing(half_life=0, sampling=300_000)


def test_where_hami_is_and_what_its_scheduler_was_told_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "kuelog: {hami: {namespace: hami-system, nodeSchedulerPolicy: spread, gpuSchedulerPolicy: 'numa, binpack'}}"
    )
    found = read_configuration(path).settings.hami
    assert (found.namespace, found.node_policy, found.card_policy) == ("hami-system", "spread", "numa,binpack")
    assert found.device_config == "hami-scheduler-device"
    path.write_text("kuelog: {hami: {gpuSchedulerPolicy: tightest}}")
    with pytest.raises(ConfigurationBroken, match="kuelog.hami.gpuSchedulerPolicy: 'tightest' is no policy"):
        read_configuration(path)


def test_how_other_clusters_are_dispatched_to_is_read() -> None:
    part = {
        "gcInterval": "5m",
        "origin": "west",
        "workerLostTimeout": "30m",
        "dispatcherName": INCREMENTAL,
        "incrementalDispatcherConfig": {"stepSize": 2},
        "externalFrameworks": [{"name": "Render.v1.farm.example.com"}],
    }
    found = configuration_of({"multiKueue": part}, "it")
    wanted = MultiKueueSettings(
        origin="west",
        worker_lost_timeout=1_800_000,
        dispatcher=INCREMENTAL,
        step_size=2,
        external_frameworks=("Render.v1.farm.example.com",),
    )
    assert (found.settings.multikueue, found.ignored) == (wanted, ("multiKueue.gcInterval",))
    assert configuration_of({}, "it").settings.multikueue == MultiKueueSettings(), "on, as in Kueue"
    assert configuration_of({"featureGates": {"MultiKueue": False}}, "it").settings.multikueue is None


RUNS = {"command": "/p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


@pytest.mark.parametrize("field", ["accessProviders", "credentialsProviders"])
def test_who_gives_access_to_clusters_is_read(field: str) -> None:
    more = {"args": ["-v"], "env": [{"name": "A", "value": "1"}], "provideClusterInfo": True, "installHint": "get it"}
    found = configuration_of(
        {"multiKueue": {"clusterProfile": {field: [{"name": "p", "execConfig": RUNS | more}]}}}, "it"
    )
    version = RUNS["apiVersion"]
    provider = AccessProvider(
        name="p", command="/p", args=("-v",), env={"A": "1"}, api_version=version, cluster_info=True
    )
    assert (found.settings.multikueue, found.ignored) == (MultiKueueSettings(access_providers=(provider,)), ())


def test_how_clusters_are_asked_beforehand_is_read() -> None:
    part = {"dispatcherName": BY_ESTIMATE, "byEstimateConfig": {"order": ["Price", "Spread"], "timeout": "3s"}}
    found = configuration_of({"multiKueue": part}, "it").settings.multikueue
    order = (ClusterOrder.PRICE, ClusterOrder.SPREAD)
    assert found == MultiKueueSettings(dispatcher=BY_ESTIMATE, order=order, estimate_timeout=3_000)
    plain = configuration_of({"multiKueue": {"dispatcherName": BY_ESTIMATE}}, "it").settings.multikueue
    assert plain == MultiKueueSettings(dispatcher=BY_ESTIMATE), "by the earliest start, within ten seconds"


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"byEstimateConfig": {}}, f"multiKueue.byEstimateConfig: is only valid when dispatcherName is {BY_ESTIMATE}"),
        (
            {"dispatcherName": BY_ESTIMATE, "byEstimateConfig": {"order": ["Price", "Price"]}},
            'byEstimateConfig.order: Invalid value: "Price, Price": name some of EarliestStart, Price, Locality, Spread, each once',
        ),
        ({"dispatcherName": BY_ESTIMATE, "byEstimateConfig": {"order": []}}, "byEstimateConfig.order: Invalid value"),
        ({"dispatcherName": BY_ESTIMATE, "byEstimateConfig": {"order": ["Luck"]}}, "multiKueue.byEstimateConfig"),
        (
            {"dispatcherName": BY_ESTIMATE, "byEstimateConfig": {"timeout": "0s"}},
            'multiKueue.byEstimateConfig.timeout: Invalid value: "0s": must be greater than 0',
        ),
        ({"gcInterval": "-5s"}, 'multiKueue.gcInterval: Invalid value: "-5s": must be greater than or equal to 0'),
        (
            {"workerLostTimeout": "-1m"},
            'multiKueue.workerLostTimeout: Invalid value: "-1m": must be greater than or equal to 0',
        ),
        ({"workerLostTimeout": "soon"}, "multiKueue.workerLostTimeout: 'soon' is not a duration"),
        ({"origin": "=]"}, 'multiKueue.origin: Invalid value: "=]"'),
        (
            {"incrementalDispatcherConfig": {"stepSize": 2}},
            "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher",
        ),
        (
            {"dispatcherName": INCREMENTAL, "incrementalDispatcherConfig": {"stepSize": 0}},
            "stepSize: Invalid value: 0: must be greater than or equal to 1",
        ),
        ({"externalFrameworks": [{"name": "Render"}]}, "must be in 'kind.version.group' format"),
        ({"externalFrameworks": [{"name": "Job.v1.batch"}]}, "conflicts with a built-in MultiKueue adapter"),
        (
            {"externalFrameworks": [{"name": "R.v1.example.com"}, {"name": "R.v1.example.com"}]},
            'multiKueue.externalFrameworks[1].name: Duplicate value: "R.v1.example.com"',
        ),
        ({"dispatcher": "x"}, "multiKueue"),
        (
            {"clusterProfile": {"accessProviders": [{"execConfig": RUNS}]}},
            "multiKueue.clusterProfile.accessProviders[0].name: Required value",
        ),
        *(
            (
                {"clusterProfile": {"accessProviders": [{"name": "p", "execConfig": {**RUNS, one: ""}}]}},
                f"multiKueue.clusterProfile.accessProviders[0].execConfig.{one}: Required value",
            )
            for one in RUNS
        ),
        (
            {
                "clusterProfile": {
                    one: [{"name": "p", "execConfig": RUNS}] for one in ("accessProviders", "credentialsProviders")
                }
            },
            "accessProviders and credentialsProviders are mutually exclusive",
        ),
    ],
)
def test_what_is_wrong_about_other_clusters_is_said_in_kueue_s_words(part: JsonObject, problem: str) -> None:
    with pytest.raises(ConfigurationBroken) as refused:
        configuration_of({"multiKueue": part}, "it")
    assert problem in str(refused.value)
