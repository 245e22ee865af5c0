from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.json_object import JsonObject
from services.validation.conversion.convert import STORED, to_v1beta2, written_field
from services.validation.conversion.from_beta1 import topology_slices
from services.validation.problem import Problem


def read(value: JsonObject) -> tuple[JsonObject, list[Problem]]:
    made = to_v1beta2(value)
    return made.value, made.problems


def kueue(version: str, kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": {"name": "it"}, **fields}


def test_what_is_not_of_kueue_stays_as_it_is() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"cohort": "x"}}
    assert read(job) == (job, [])


def test_a_beta1_cluster_queue_gets_the_newer_names_without_a_warning() -> None:
    old = kueue(
        "v1beta1",
        "ClusterQueue",
        spec={
            "cohort": "all",
            "admissionChecks": ["budget"],
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        },
        status={"pendingWorkloadsStatus": {}, "fairSharing": {"weightedShare": 3, "admissionFairSharingStatus": {}}},
    )
    assert read(old) == (
        kueue(
            "v1beta2",
            "ClusterQueue",
            spec={
                "cohortName": "all",
                "admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]},
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
            },
            status={"fairSharing": {"weightedShare": 3}},
        ),
        [],
    )


def test_a_beta1_workload_gets_a_reference_to_its_class_and_the_time_spelled_right() -> None:
    old = kueue(
        "v1beta1",
        "Workload",
        spec={"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
        status={"accumulatedPastExexcutionTimeSeconds": 7},
    )
    assert read(old)[0] == kueue(
        "v1beta2",
        "Workload",
        spec={"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}},
        status={"accumulatedPastExecutionTimeSeconds": 7},
    )


@pytest.mark.parametrize("source", [{}, {"priorityClassSource": ""}, {"priorityClassSource": "example.com/class"}])
def test_a_class_of_which_a_beta1_workload_does_not_say_where_it_is_has_no_newer_form_and_its_number_stays(
    source: JsonObject,
) -> None:
    old = kueue("v1beta1", "Workload", spec={"priority": 5, "priorityClassName": "high", **source})
    assert read(old)[0]["spec"] == {"priority": 5}


def test_a_class_of_an_alpha_workload_is_that_of_its_pods() -> None:
    old = kueue("v1alpha2", "Workload", spec={"priority": 5, "priorityClassName": "high"})
    reference = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
    assert read(old)[0]["spec"] == {"priority": 5, "priorityClassRef": reference}


@pytest.mark.parametrize(
    ("kind", "part", "old", "new"),
    [
        ("Cohort", "spec", {"parent": "root"}, {"parentName": "root"}),
        ("LocalQueue", "status", {"flavorUsage": [1], "flavors": [2]}, {"flavorsUsage": [1]}),
        ("AdmissionCheck", "spec", {"retryDelayMinutes": 15, "controllerName": "c"}, {"controllerName": "c"}),
        (
            "MultiKueueCluster",
            "spec",
            {"kubeConfig": {"location": "s"}},
            {"clusterSource": {"kubeConfig": {"location": "s"}}},
        ),
    ],
)
def test_other_beta1_fields_find_their_new_place(kind: str, part: str, old: JsonObject, new: JsonObject) -> None:
    assert read(kueue("v1beta1", kind, **{part: old})) == (kueue("v1beta2", kind, **{part: new}), [])


def test_neighbouring_domains_with_equal_counts_share_a_slice() -> None:
    domains = [
        {"values": ["b", "h1"], "count": 2},
        {"values": ["b", "h2"], "count": 2},
        {"values": ["c", "h3"], "count": 1},
    ]
    assert topology_slices(domains) == [
        {
            "domainCount": 2,
            "podCounts": {"universal": 2},
            "valuesPerLevel": [{"universal": "b"}, {"individual": {"roots": ["h1", "h2"]}}],
        },
        {"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "c"}, {"universal": "h3"}]},
    ]


def test_an_alpha_flavor_takes_its_node_labels_from_its_own_and_keeps_those() -> None:
    old = kueue("v1alpha2", "ResourceFlavor", taints=[{"key": "spot", "effect": "NoSchedule"}])
    old["metadata"]["labels"] = {"instance-type": "spot"}
    found, problems = read(old)
    assert found == {
        "apiVersion": STORED,
        "kind": "ResourceFlavor",
        "metadata": {"name": "it", "labels": {"instance-type": "spot"}},
        "spec": {"nodeLabels": {"instance-type": "spot"}, "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}]},
    }
    assert [one.code for one in problems] == ["OldVersion"]


def alpha_queue(**spec: Any) -> JsonObject:
    return kueue("v1alpha2", "ClusterQueue", spec=spec)


def test_alpha_resources_with_the_same_flavors_become_one_group() -> None:
    found, problems = read(
        alpha_queue(
            cohort="all",
            resources=[
                {"name": "cpu", "flavors": [{"name": "a", "quota": {"min": 1, "max": "2500m"}}, {"name": "b"}]},
                {"name": "memory", "flavors": [{"name": "a", "quota": {"min": "4Gi", "max": "10Gi"}}, {"name": "b"}]},
            ],
        )
    )
    assert found["spec"] == {
        "cohortName": "all",
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory"],
                "flavors": [
                    {
                        "name": "a",
                        "resources": [
                            {"name": "cpu", "nominalQuota": 1, "borrowingLimit": "1500m"},
                            {"name": "memory", "nominalQuota": "4Gi", "borrowingLimit": "6Gi"},
                        ],
                    },
                    {
                        "name": "b",
                        "resources": [{"name": "cpu", "nominalQuota": 0}, {"name": "memory", "nominalQuota": 0}],
                    },
                ],
            }
        ],
    }
    assert [one.code for one in problems] == ["OldVersion"]


def test_an_alpha_maximum_without_a_cohort_is_told_to_have_no_effect() -> None:
    _, problems = read(alpha_queue(resources=[{"name": "gpu", "flavors": [{"name": "v100", "quota": {"max": 200}}]}]))
    assert [(one.code, one.field) for one in problems] == [
        ("LimitWithoutCohort", "spec.resources[0].flavors[0].quota.max"),
        ("OldVersion", "apiVersion"),
    ]


def test_an_alpha_flavor_in_two_different_lists_has_no_newer_form() -> None:
    _, problems = read(
        alpha_queue(
            resources=[
                {"name": "cpu", "flavors": [{"name": "a"}]},
                {"name": "memory", "flavors": [{"name": "a"}, {"name": "b"}]},
            ]
        )
    )
    assert [one.code for one in problems] == ["FlavorInTwoGroups", "OldVersion"]


def test_a_maximum_below_the_minimum_is_named() -> None:
    _, problems = read(
        alpha_queue(cohort="c", resources=[{"name": "cpu", "flavors": [{"name": "a", "quota": {"min": 3, "max": 2}}]}])
    )
    assert [one.what for one in problems][0] == "max 2 is less than min 3"


def test_an_alpha_workload_keeps_its_admission_where_newer_ones_have_it() -> None:
    old = kueue(
        "v1alpha2",
        "Workload",
        spec={"admission": {"clusterQueue": "q"}, "podSets": [{"name": "main", "spec": {"containers": []}}]},
    )
    found, _ = read(old)
    assert found["spec"] == {"podSets": [{"name": "main", "template": {"spec": {"containers": []}}}]}
    assert found["status"] == {"admission": {"clusterQueue": "q"}}


def test_problems_are_told_at_the_fields_as_they_were_written() -> None:
    queue = alpha_queue(
        resources=[{"name": "cpu", "flavors": [{"name": "a"}]}, {"name": "gpu", "flavors": [{"name": "b"}]}]
    )
    assert written_field(queue, "spec.resourceGroups[1].flavors[0].name") == "spec.resources[1].flavors[0].name"
    assert (
        written_field(queue, "spec.resourceGroups[1].flavors[0].resources[0].nominalQuota")
        == "spec.resources[1].flavors[0].quota"
    )
    beta = kueue("v1beta1", "ClusterQueue", spec={"cohort": "x", "admissionChecks": ["c"]})
    assert written_field(beta, "spec.cohortName") == "spec.cohort"
    assert written_field(beta, "spec.admissionChecksStrategy.admissionChecks[0].name") == "spec.admissionChecks[0]"


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "flavors", "quota", "min", "max", "resources", "cohort", "podSets", "spec"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(["v1alpha2", "v1beta1", "v1beta2"]),
    st.sampled_from(["ClusterQueue", "ResourceFlavor", "Workload", "LocalQueue", "Cohort"]),
    junk,
    junk,
)
def test_no_object_however_malformed_trips_the_conversion(version: str, kind: str, spec: Any, status: Any) -> None:
    found, _ = read(kueue(version, kind, spec=spec, status=status))
    assert found["apiVersion"] == STORED
