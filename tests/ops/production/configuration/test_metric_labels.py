"""Labels of one's own on metrics: what is taken, and what is refused in Kueue's words."""

from typing import Any

import pytest

from events.settings import LabelSource, MetricLabel
from ops.production.configuration.configuration_file import ConfigurationBroken, ReadConfiguration, configuration_of

AT = "metrics.customLabels"
ON = {"CustomMetricLabels": True}


def read(*labels: dict[str, Any], gates: dict[str, bool] | None = None, **others: Any) -> ReadConfiguration:
    found = {"metrics": {"customLabels": list(labels), **others}, "featureGates": ON if gates is None else gates}
    return configuration_of(found, "config.yaml")


def test_labels_are_settings_with_where_their_values_come_from() -> None:
    found = read(
        {"name": "team"},
        {"name": "center", "sourceKind": "LocalQueue", "sourceAnnotationKey": "billing.example.com/center"},
        {"name": "env", "sourceKind": "Cohort", "sourceLabelKey": "environment", "trackedValues": ["prod", "test"]},
    )
    assert found.settings.metric_labels == (
        MetricLabel(name="team", source=LabelSource.CLUSTER_QUEUE, label="team"),
        MetricLabel(name="center", source=LabelSource.LOCAL_QUEUE, annotation="billing.example.com/center"),
        MetricLabel(name="env", source=LabelSource.COHORT, label="environment", tracked=("prod", "test")),
    )
    assert found.ignored == ()


def test_without_the_gate_they_are_checked_and_named_as_of_no_meaning() -> None:
    found = read({"name": "team"}, gates={})
    assert found.settings.metric_labels == ()
    assert found.ignored == ("metrics.customLabels without the feature gate CustomMetricLabels",)
    with pytest.raises(ConfigurationBroken, match="must match"):
        read({"name": "1"}, gates={})


def test_where_kueue_s_manager_serves_its_metrics_is_of_no_meaning() -> None:
    assert read(bindAddress=":8443", enableClusterQueueResources=True).ignored == (
        "metrics.bindAddress",
        "metrics.enableClusterQueueResources",
    )


def several(count: int, kind: str, first: int = 0) -> list[dict[str, Any]]:
    return [{"name": f"l{number}", "sourceKind": kind} for number in range(first, first + count)]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([{"name": "a-b"}], f'{AT}[0].name: Invalid value: "a-b": must match ^[a-zA-Z][a-zA-Z0-9_]*$'),
        ([{"name": "a"}, {"name": "a"}], f'{AT}[1].name: Duplicate value: "a"'),
        (
            [{"name": "a", "sourceLabelKey": "b", "sourceAnnotationKey": "c"}],
            f"{AT}[0]: sourceLabelKey and sourceAnnotationKey are mutually exclusive",
        ),
        ([{"name": "a", "sourceLabelKey": "b c"}], f'{AT}[0].sourceLabelKey: Invalid value: "b c"'),
        ([{"name": "a", "sourceAnnotationKey": "B/c/d"}], f'{AT}[0].sourceAnnotationKey: Invalid value: "B/c/d"'),
        ([{"name": "a_"}], f'{AT}[0].name: Invalid value: "a_": write the key of a label'),
        (
            [{"name": "a", "trackedValues": ["x", "x"]}],
            f"{AT}[0].trackedValues: Invalid value: ['x', 'x']: must not contain duplicates",
        ),
        (
            [{"name": "a", "trackedValues": [str(number) for number in range(17)]}],
            f"{AT}[0].trackedValues: Too many: 17: must have at most 16 items",
        ),
        (several(7, "Cohort"), f"{AT}: too many custom labels for source kind Cohort: found 7, expected <= 6"),
        (several(21, "Cohort"), f"{AT}: Too many: 21: must have at most 20 items"),
        ([{"name": "a", "sourceKind": "Node"}], f"{AT}[0].sourceKind: unknown source kind: Node"),
        (
            [{"name": "a", "sourceKind": "Workload"}],
            f"{AT}[0].sourceKind: labels of Workloads are not told here: write one of ClusterQueue, LocalQueue, Cohort",
        ),
    ],
)
def test_what_can_not_be_is_refused_at_its_field(labels: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ConfigurationBroken) as refused:
        read(*labels)
    assert told in str(refused.value)


def test_six_labels_of_each_kind_are_taken() -> None:
    labels = [*several(6, "Cohort"), *several(6, "LocalQueue", 6), *several(6, "ClusterQueue", 12)]
    assert len(read(*labels).settings.metric_labels) == 18
