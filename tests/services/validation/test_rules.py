from typing import Any

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from services.validation.every_kind import validate, validate_update
from services.validation.fields.names import why_no_label_value, why_no_subdomain, why_not_qualified
from services.validation.problem import Problem, Severity

SETTINGS = SettingsObserved()


def an(kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "it"}, **fields}


def told(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(one.code, one.field) for one in problems]


def queue(resources: list[JsonObject] | None = None, **spec: Any) -> JsonObject:
    quotas = [{"name": "cpu", "nominalQuota": 9}] if resources is None else resources
    own = {"coveredResources": ["cpu"], "flavors": [{"name": "x86", "resources": quotas}]}
    return an("ClusterQueue", spec={"namespaceSelector": {}, "resourceGroups": [own], **spec})


def group(flavor: str, resource: str) -> JsonObject:
    quotas = [{"name": resource, "nominalQuota": 1}]
    return {"coveredResources": [resource], "flavors": [{"name": flavor, "resources": quotas}]}


def pods(*sets: JsonObject, **spec: Any) -> JsonObject:
    return an("Workload", spec={"podSets": list(sets), **spec})


CLASS = "spec.priorityClassRef"
OF_PODS: JsonObject = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}


def in_class(reference: JsonObject, priority: int | None = 0) -> JsonObject:
    return pods({}, priority=priority, priorityClassRef=reference)


CHECKS = "spec.admissionChecksStrategy.admissionChecks"
FROM: JsonObject = {"key": "zone", "valueFromProvisioningClassDetail": "zone"}


def check(**spec: Any) -> JsonObject:
    return an("AdmissionCheck", spec={"controllerName": "example.com/c", **spec})


def tolerating(**toleration: Any) -> JsonObject:
    return an("ResourceFlavor", spec={"tolerations": [toleration]})


TAINTS, TOLERATIONS = "spec.nodeTaints", "spec.tolerations"
QUOTA = "spec.resourceGroups[0].flavors[0].resources"


def test_a_plain_queue_is_fine() -> None:
    assert validate(queue(), SETTINGS) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (queue([{"name": "cpu", "nominalQuota": -1}]), [("Invalid", f"{QUOTA}[0].nominalQuota")]),
        (queue([{"name": "cpu", "nominalQuota": "12Q"}]), [("Invalid", f"{QUOTA}[0].nominalQuota")]),
        (queue([{"name": "cpu"}]), [("Required", f"{QUOTA}[0].nominalQuota")]),
        (
            queue([{"name": "cpu", "nominalQuota": 1, "borrowingLimit": 1}]),
            [("Invalid", f"{QUOTA}[0].borrowingLimit")],
        ),
        (
            queue([{"name": "cpu", "nominalQuota": 1, "lendingLimit": 2}], cohortName="c"),
            [("Invalid", f"{QUOTA}[0].lendingLimit")],
        ),
        (
            queue([{"name": "cpu", "nominalQuota": 1}, {"name": "memory", "nominalQuota": 1}]),
            [("ResourceNotCovered", f"{QUOTA}[1].name")],
        ),
        (
            queue([{"name": "cpu", "nominalQuota": 1, "lendingLimit": 1}]),
            [("Invalid", f"{QUOTA}[0].lendingLimit")],
        ),
        (
            queue([{"name": "cpu", "nominalQuota": 1, "borrowingLimit": -1}], cohortName="c"),
            [("Invalid", f"{QUOTA}[0].borrowingLimit")],
        ),
        (
            queue(resourceGroups=[group("a", "cpu"), group("b", "cpu")]),
            [("Duplicate", "spec.resourceGroups[1].coveredResources[0]")],
        ),
        (
            queue(resourceGroups=[group("a", "cpu"), group("a", "memory")]),
            [("Duplicate", "spec.resourceGroups[1].flavors[0].name")],
        ),
        (
            an("Cohort", spec={"resourceGroups": [group("a", "cpu"), group("a", "memory")]}),
            [("Duplicate", "spec.resourceGroups[1].flavors[0].name")],
        ),
        (queue(queueingStrategy="Fastest"), [("NotSupported", "spec.queueingStrategy")]),
        (queue(fairSharing={"weight": "-1"}), [("Invalid", "spec.fairSharing")]),
        (queue(fairSharing={"weight": "1n"}), [("Invalid", "spec.fairSharing")]),
        (queue(preemption={"borrowWithinCohort": {"policy": "LowerPriority"}}), [("Invalid", "spec.preemption")]),
        (
            queue(flavorFungibility={"preference": "PreemptionOverBorrowing"}),
            [("Invalid", "spec.flavorFungibility.preference")],
        ),
        (
            queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
            [("Required", "spec.namespaceSelector.matchExpressions[0].values")],
        ),
        (
            queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
            [("Forbidden", "spec.namespaceSelector.matchExpressions[0].values")],
        ),
        (an("Cohort", spec={"parentName": "it"}), [("Invalid", "spec.parentName")]),
        (an("LocalQueue"), [("Required", "spec.clusterQueue")]),
        (an("ResourceFlavor", spec={"topologyName": "t"}), [("Required", "spec.nodeLabels")]),
        (
            an("ResourceFlavor", spec={"nodeTaints": [{"key": "a", "effect": "NoSchedule"}] * 2}),
            [("Duplicate", "spec.nodeTaints[1]")],
        ),
        (
            an("ResourceFlavor", spec={"nodeLabels": {f"l{index}": "a" for index in range(9)}}),
            [("TooMany", "spec.nodeLabels")],
        ),
        (
            an("ResourceFlavor", spec={"nodeTaints": [{"key": "a", "effect": ""}]}),
            [("Required", f"{TAINTS}[0].effect")],
        ),
        (
            an("ResourceFlavor", spec={"nodeTaints": [{"key": "a", "effect": "Never"}]}),
            [("NotSupported", f"{TAINTS}[0].effect")],
        ),
        (tolerating(key="a", operator="Exists", value="b"), [("Invalid", f"{TOLERATIONS}[0].value")]),
        (tolerating(operator="Equal", value="b"), [("Invalid", f"{TOLERATIONS}[0].operator")]),
        (tolerating(value="b"), [("Invalid", f"{TOLERATIONS}[0].operator")]),
        (tolerating(key="a", operator="Gt", value="3"), [("NotSupported", f"{TOLERATIONS}[0].operator")]),
        (tolerating(key="a", effect="Never"), [("NotSupported", f"{TOLERATIONS}[0].effect")]),
        (
            tolerating(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
            [("Invalid", f"{TOLERATIONS}[0].effect")],
        ),
        (tolerating(key="a", operator="Exists", tolerationSeconds=5), [("Invalid", f"{TOLERATIONS}[0].effect")]),
        (an("AdmissionCheck", spec={}), [("Required", "spec.controllerName")]),
        (check(controllerName=""), [("Required", "spec.controllerName")]),
        (check(controllerName="c" * 254), [("TooLong", "spec.controllerName")]),
        (
            check(parameters={"apiGroup": "", "kind": "", "name": ""}),
            [("Required", f"spec.parameters.{name}") for name in ("apiGroup", "kind", "name")],
        ),
        (
            check(parameters={"apiGroup": "A_b", "kind": "1", "name": "a.b"}),
            [("Invalid", f"spec.parameters.{name}") for name in ("apiGroup", "kind", "name")],
        ),
        (queue(cohortName="Team_A"), [("Invalid", "spec.cohortName")]),
        (queue(cohortName="c" * 254), [("TooLong", "spec.cohortName")]),
        (queue(admissionScope={}), [("Required", "spec.admissionScope.admissionMode")]),
        (queue(admissionChecksStrategy={}), [("Required", "spec.admissionChecksStrategy.admissionChecks")]),
        (queue(admissionChecksStrategy={"admissionChecks": []}), [("Invalid", CHECKS)]),
        (
            queue(admissionChecksStrategy={"admissionChecks": [{"name": f"k{index}"} for index in range(65)]}),
            [("TooMany", CHECKS)],
        ),
        (queue(admissionChecksStrategy={"admissionChecks": [{"name": ""}]}), [("Required", f"{CHECKS}[0].name")]),
        (
            queue(admissionChecksStrategy={"admissionChecks": [{"name": "k", "onFlavors": ["x86", "x86"]}]}),
            [("Duplicate", f"{CHECKS}[0].onFlavors[1]")],
        ),
        (
            queue(admissionChecksStrategy={"admissionChecks": [{"name": "k"}, {"name": "k"}]}),
            [("Duplicate", f"{CHECKS}[1].name")],
        ),
        (an("Cohort", spec={"parentName": "Top_"}), [("Invalid", "spec.parentName")]),
        (an("LocalQueue", spec={"clusterQueue": "Team_A"}), [("Invalid", "spec.clusterQueue")]),
        (
            an("ResourceFlavor", spec={"nodeLabels": {"a": "b"}, "topologyName": "T_"}),
            [("Invalid", "spec.topologyName")],
        ),
        (pods({}, queueName="Q_"), [("Invalid", "spec.queueName")]),
        (an("MultiKueueCluster", spec={"clusterSource": {}}), [("Required", "spec.clusterSource")]),
        (
            an(
                "MultiKueueCluster",
                spec={"clusterSource": {"kubeConfig": {"location": ""}, "clusterProfileRef": {"name": "c"}}},
            ),
            [
                ("Required", "spec.clusterSource.kubeConfig.location"),
                ("Forbidden", "spec.clusterSource.clusterProfileRef"),
            ],
        ),
        (an("MultiKueueConfig", spec={"clusters": ["a", "b", "a"]}), [("Duplicate", "spec.clusters[2]")]),
        (an("MultiKueueConfig", spec={"clusters": ["a" * 257]}), [("TooLong", "spec.clusters[0]")]),
        (
            an("ProvisioningRequestConfig", spec={"provisioningClassName": "c", "parameters": {"a": "b" * 256}}),
            [("TooLong", "spec.parameters[a]")],
        ),
        (
            an("ProvisioningRequestConfig", spec={"provisioningClassName": "c", "managedResources": ["cpu", "cpu"]}),
            [("Duplicate", "spec.managedResources[1]")],
        ),
        (
            an(
                "ProvisioningRequestConfig",
                spec={"provisioningClassName": "c", "podSetUpdates": {"nodeSelector": [FROM, FROM]}},
            ),
            [("Duplicate", "spec.podSetUpdates.nodeSelector[1].key")],
        ),
        (
            an("Workload", spec={"podSets": [{"count": 2, "minCount": 3}]}),
            [("Invalid", "spec.podSets[0].minCount")],
        ),
        (pods({"count": -1}), [("Invalid", "spec.podSets[0].count")]),
        (pods({"count": 2, "minCount": 0}), [("Invalid", "spec.podSets[0].minCount")]),
        (pods({"count": 2, "minCount": -3}), [("Invalid", "spec.podSets[0].minCount")]),
        (pods({}, maximumExecutionTimeSeconds=0), [("Invalid", "spec.maximumExecutionTimeSeconds")]),
        (pods(), [("Invalid", "spec.podSets")]),
        (pods(*({"name": f"p{index}"} for index in range(19))), [("TooMany", "spec.podSets")]),
        (pods({"name": "a"}, {"name": "b"}, {"name": "a"}), [("Duplicate", "spec.podSets[2].name")]),
        (pods({}, {"name": "main"}), [("Duplicate", "spec.podSets[1].name")]),
        (pods({"name": "Work_ers"}), [("Invalid", "spec.podSets[0].name")]),
        (pods({"name": "x" * 64}), [("TooLong", "spec.podSets[0].name")]),
        (in_class({}), [("Required", f"{CLASS}.{name}") for name in ("group", "kind", "name")]),
        (
            in_class({**OF_PODS, "group": "", "kind": ""}),
            [("NotSupported", f"{CLASS}.group"), ("NotSupported", f"{CLASS}.kind")],
        ),
        (in_class({**OF_PODS, "kind": "WorkloadPriorityClass"}), [("Invalid", f"{CLASS}.kind")]),
        (in_class({**OF_PODS, "group": "kueue.x-k8s.io"}), [("Invalid", f"{CLASS}.kind")]),
        (in_class({**OF_PODS, "name": "Hi_gh"}), [("Invalid", f"{CLASS}.name")]),
        (in_class(OF_PODS, priority=None), [("Required", "spec.priority")]),
        (pods({}, preemptionGates=[{"name": ""}]), [("Required", "spec.preemptionGates[0].name")]),
        (
            an("Topology", spec={"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}]}),
            [("Invalid", "spec.levels[0].nodeLabel")],
        ),
        (
            an("Topology", spec={"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "zone"}, {"nodeLabel": "a b"}]}),
            [("Duplicate", "spec.levels[1].nodeLabel"), ("Invalid", "spec.levels[2].nodeLabel")],
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value.get("spec"))[:60],
)
def test_a_broken_rule_is_named_at_its_field(value: JsonObject, expected: list[tuple[str, str]]) -> None:
    found = validate(value, SETTINGS)
    assert told(found) == expected
    assert all(one.severity is Severity.ERROR for one in found)


def test_a_workload_without_pods_and_one_of_many_pod_sets_are_fine() -> None:
    assert validate(pods({"count": 0}), SETTINGS) == []
    assert validate(pods(*({"name": f"p{index}"} for index in range(18))), SETTINGS) == []


def test_a_name_that_was_stored_under_older_rules_holds_nobody_up() -> None:
    stored = pods({"name": "Work_ers"})
    assert validate_update(stored, {**stored, "spec": {**stored["spec"], "active": False}}, SETTINGS) == []
    assert told(validate_update(stored, pods({"name": "Work.ers"}), SETTINGS)) == [("Invalid", "spec.podSets[0].name")]


def test_tolerations_that_pods_can_have_are_fine_and_what_stands_is_not_judged_again() -> None:
    fine = [
        {"operator": "Exists"},
        {"key": "a", "value": "b"},
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5},
    ]
    assert validate(an("ResourceFlavor", spec={"tolerations": fine}), SETTINGS) == []
    stored = tolerating(key="a", operator="Exists", value="b")
    labelled = {**stored, "spec": {**stored["spec"], "nodeLabels": {"a": "b"}}}
    assert validate_update(stored, labelled, SETTINGS) == []
    assert told(validate_update(stored, tolerating(key="a", operator="Exists", value="c"), SETTINGS)) == [
        ("Invalid", f"{TOLERATIONS}[0].value")
    ]


def test_a_name_that_is_empty_stands_for_none() -> None:
    assert validate(queue(cohortName=""), SETTINGS) == []
    assert validate(an("Cohort", spec={"parentName": ""}), SETTINGS) == []
    assert validate(an("ResourceFlavor", spec={"topologyName": ""}), SETTINGS) == []
    assert validate(pods({}, queueName=""), SETTINGS) == []
    concurrent = SettingsObserved(gates={"ConcurrentAdmission": True})
    migration = {"constraints": {"lastAcceptableFlavorName": ""}}
    assert validate(queue(concurrentAdmissionPolicy={"migration": migration}), concurrent) == [], (
        "nor does it say a mode"
    )
    assert validate(queue(concurrentAdmissionPolicy={}), concurrent) == []


def test_a_limit_of_just_as_much_as_there_is_and_a_quota_of_nothing_are_fine() -> None:
    quotas = [{"name": "cpu", "nominalQuota": 1, "lendingLimit": 1, "borrowingLimit": 0}]
    assert validate(queue(quotas, cohortName="c"), SETTINGS) == []
    assert validate(queue([{"name": "cpu", "nominalQuota": 0}]), SETTINGS) == []
    lends = {**group("a", "cpu"), "flavors": [{"name": "a", "resources": [{**quotas[0], "lendingLimit": 2}]}]}
    cohort = an("Cohort", spec={"parentName": "c", "resourceGroups": [lends]})
    assert validate(cohort, SETTINGS) == [], "members lend, too"
    borrows = {"borrowWithinCohort": {"policy": "LowerPriority"}, "reclaimWithinCohort": "Any"}
    assert validate(queue(preemption=borrows), SETTINGS) == []
    assert validate(queue(preemption={"borrowWithinCohort": {"policy": "Never"}}), SETTINGS) == []
    assert validate(an("ResourceFlavor", spec={"nodeLabels": {f"l{index}": "a" for index in range(8)}}), SETTINGS) == []


def test_a_value_from_a_closed_list_is_answered_with_the_list() -> None:
    (found,) = validate(queue(stopPolicy="Halt"), SETTINGS)
    assert found.instead == "one of Hold, HoldAndDrain, None"


def test_a_field_of_the_wrong_type_is_told_in_plain_words() -> None:
    (found,) = validate(an("ClusterQueue", spec={"resourceGroups": "gpu"}), SETTINGS)
    assert (found.field, found.what) == ("spec.resourceGroups", "a text stands where a list is expected")


@pytest.mark.parametrize(
    ("kind", "before", "after", "field"),
    [
        ("LocalQueue", {"clusterQueue": "a"}, {"clusterQueue": "b"}, "spec.clusterQueue"),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "b"}, "spec.controllerName"),
        (
            "ResourceFlavor",
            {"topologyName": "t", "nodeLabels": {"a": "b"}},
            {"topologyName": "u", "nodeLabels": {"a": "b"}},
            "spec.topologyName",
        ),
    ],
)
def test_what_may_not_change_is_named(kind: str, before: JsonObject, after: JsonObject, field: str) -> None:
    assert told(validate_update(an(kind, spec=before), an(kind, spec=after), SETTINGS)) == [("Invalid", field)]
    assert validate_update(an(kind, spec=before), an(kind, spec=before), SETTINGS) == []


def test_a_flavor_keeps_its_topology_and_may_change_what_else_it_says() -> None:
    spec = {"topologyName": "t", "nodeLabels": {"a": "b"}}
    before = an("ResourceFlavor", spec=spec)
    more = {
        "nodeLabels": {"a": "c"},
        "nodeTaints": [{"key": "k", "effect": "NoSchedule"}],
        "tolerations": [{"key": "k"}],
    }
    assert validate_update(before, an("ResourceFlavor", spec={**spec, **more}), SETTINGS) == []
    assert validate_update(an("ResourceFlavor", spec={"nodeLabels": {"a": "b"}}), before, SETTINGS) == []
    (problem,) = validate_update(before, an("ResourceFlavor", spec={"nodeLabels": {"a": "b"}}), SETTINGS)
    assert (problem.field, problem.what) == ("spec.topologyName", "topologyName is immutable when topologyName is set")


def test_a_workload_may_be_in_a_class_of_either_kind_and_what_it_said_before_is_not_judged_again() -> None:
    assert validate(in_class(OF_PODS), SETTINGS) == []
    of_kueue = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    assert validate(in_class(of_kueue), SETTINGS) == []
    stored = in_class({**OF_PODS, "group": "", "kind": ""})
    assert validate_update(stored, {**stored, "spec": {**stored["spec"], "active": False}}, SETTINGS) == []


def reserved(**spec: Any) -> JsonObject:
    condition = {
        "type": "QuotaReserved",
        "status": "True",
        "reason": "QuotaReserved",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"conditions": [condition], "admission": {"clusterQueue": "q"}}
    return an("Workload", spec={"queueName": "a", **spec}, status=status)


def test_a_workload_stays_in_its_queue_while_it_holds_quota() -> None:
    assert told(validate_update(reserved(), reserved(queueName="b"), SETTINGS)) == [("Invalid", "spec.queueName")]


def test_a_workload_keeps_its_pod_sets_its_queue_and_the_kind_of_its_class_while_it_holds_quota_and_no_longer() -> None:
    one, other = {"name": "main", "count": 2}, {"name": "main", "count": 3}
    plain = {"group": "g", "kind": "PriorityClass", "name": "a"}
    changes: list[tuple[JsonObject, JsonObject, str]] = [
        ({"podSets": [one]}, {"podSets": [other]}, "spec.podSets.0"),
        ({"podSets": [one]}, {"podSets": [one, {"name": "more"}]}, "spec.podSets"),
        ({"queueName": "a"}, {"queueName": "b"}, "spec.queueName"),
        ({"priorityClassRef": plain}, {}, "spec.priorityClassRef"),
        ({}, {"priorityClassRef": plain}, "spec.priorityClassRef"),
        (
            {"priorityClassRef": plain},
            {"priorityClassRef": {**plain, "kind": "WorkloadPriorityClass"}},
            "spec.priorityClassRef.kind",
        ),
    ]
    for before, after, field in changes:
        old, new = ({"podSets": [one], "priority": 0, **spec} for spec in (before, after))
        changed = validate_update(reserved(**old), reserved(**new), SETTINGS)
        assert field in [each.field for each in changed if each.what == "field is immutable"], field
        waits = validate_update(an("Workload", spec=old), an("Workload", spec=new), SETTINGS)
        assert not [each for each in waits if each.what == "field is immutable"], field


@pytest.mark.parametrize(("after", "wrong"), [("a", []), ("", []), ("b", [("Invalid", "status.clusterName")])])
def test_a_workload_stays_in_its_cluster_until_it_is_in_none(after: str, wrong: list[tuple[str, str]]) -> None:
    def in_cluster(name: str) -> JsonObject:
        value = reserved()
        return {**value, "status": {**value["status"], **({"clusterName": name} if name else {})}}

    assert told(validate_update(in_cluster("a"), in_cluster(after), SETTINGS)) == wrong


def test_a_workload_may_change_the_class_of_its_queue_priority_but_not_that_of_its_pods() -> None:
    def of(kind: str, name: str) -> JsonObject:
        return reserved(priorityClassRef={"group": "g", "kind": kind, "name": name})

    assert validate_update(of("WorkloadPriorityClass", "a"), of("WorkloadPriorityClass", "b"), SETTINGS) == []
    assert told(validate_update(of("PriorityClass", "a"), of("PriorityClass", "b"), SETTINGS)) == [
        ("Invalid", "spec.priorityClassRef.name")
    ]


def test_a_gate_of_kueue_switches_its_rule() -> None:
    value = an(
        "Workload", spec={"podSets": [{"template": {"spec": {"containers": [{"resources": {"limits": {"cpu": -1}}}]}}}]}
    )
    field = "spec.podSets[0].template.spec.containers[0].resources.limits[cpu]"
    assert told(validate(value, SETTINGS)) == [("Invalid", field)]
    assert validate(value, SettingsObserved(gates={"WorkloadValidateResourcesAreNonNegative": False})) == []


def test_a_check_for_a_flavor_that_the_queue_has_not_is_refused_when_it_is_new_and_let_be_when_it_is_stored() -> None:
    def of(flavor: str, weight: str = "1") -> JsonObject:
        rules = {"admissionChecks": [{"name": "k", "onFlavors": [flavor]}]}
        return queue(admissionChecksStrategy=rules, fairSharing={"weight": weight})

    wrong = [("NotSupported", "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]")]
    stored = of("elsewhere")
    assert told(validate(stored, SETTINGS)) == wrong
    assert told(validate_update(stored, of("elsewhere", "2"), SETTINGS)) == []
    assert told(validate_update(stored, of("nowhere"), SETTINGS)) == wrong
    grown = [*stored["spec"]["resourceGroups"], group("more", "memory")]
    with_more = {**stored, "spec": {**stored["spec"], "resourceGroups": grown}}
    assert told(validate_update(stored, with_more, SETTINGS)) == wrong, "its flavors change"
    strict = SettingsObserved(gates={"RejectUpdatesToCQWithInvalidOnFlavors": True})
    assert told(validate_update(stored, of("elsewhere", "2"), strict)) == wrong


@pytest.mark.parametrize("name", ["cpu", "nvidia.com/gpu", "a.b-c/D_e.1", "x" * 63])
def test_qualified_names_pass(name: str) -> None:
    assert why_not_qualified(name) == []


@pytest.mark.parametrize("name", ["", "@cpu", "a/b/c", "/gpu", "Nvidia.com/gpu", "gpu-", "x" * 64, "nvidia.com/"])
def test_names_that_are_not_qualified_are_told_why(name: str) -> None:
    assert why_not_qualified(name)


def test_labels_may_be_empty_and_subdomains_may_not() -> None:
    assert why_no_label_value("") == []
    assert why_no_label_value("a b")
    assert why_no_subdomain("")
    assert why_no_subdomain("example.com") == []


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"required": "a" * 64}, ("TooLong", "required", "a text of more than 63 characters", "at most 63")),
        ({"subGroupCount": -1}, ("Invalid", "subGroupCount", "a number below 0", "at least 0")),
        (
            {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 1}] * 4},
            (
                "TooMany",
                "podsetSliceRequiredTopologyConstraints",
                "a list with more than 3 entries",
                "at most 3",
            ),
        ),
    ],
)
def test_what_a_field_may_hold_is_said_in_its_own_words(asked: JsonObject, problem: tuple[str, ...]) -> None:
    (found,) = validate(an("Workload", spec={"podSets": [{"topologyRequest": asked}]}), SETTINGS)
    field = found.field.removeprefix("spec.podSets[0].topologyRequest.")
    assert (found.code, field, found.what, found.instead) == problem
