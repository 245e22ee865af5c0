"""A key with nothing behind it is a key that is not there, as it is to Kueue."""

from pathlib import Path

import pytest

from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of, read_configuration
from ops.production.configuration.versions import OLDER


@pytest.mark.parametrize(
    "text",
    [
        "waitForPodsReady:",
        "resources:",
        "integrations:",
        "integrations:\n  frameworks:",
        "multiKueue:",
        "featureGates:",
        "metrics:",
        "kuelog:",
        "fairSharing:",
        "objectRetentionPolicies:\n  workloads:",
        "manageJobsWithoutQueueName: null",
        "health:",
        "waitForPodsReady:\n  requeuingStrategy:\n    backoffLimitCount: null\n    backoffBaseSeconds: null",
        "waitForPodsReady:\n  requeuingStrategy:\n    timestamp:",
    ],
)
def test_what_has_nothing_behind_it_is_as_if_it_were_not_there(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert read_configuration(path) == configuration_of({}, "nothing")


def test_what_the_older_version_says_where_nothing_is_said_holds_there_too() -> None:
    assert configuration_of({"apiVersion": OLDER, "waitForPodsReady": None}, "it").settings.pods_ready is None
    said = {"apiVersion": OLDER, "waitForPodsReady": {"enable": True, "timeout": None}}
    found = configuration_of(said, "it").settings.pods_ready
    assert found is not None and found.timeout == 300_000


def test_within_lists_of_parts_as_well() -> None:
    said = {"resources": {"transformations": [{"input": "cpu", "strategy": None, "outputs": None}]}}
    (found,) = configuration_of(said, "it").settings.transformations
    assert (found.input, found.outputs) == ("cpu", {})


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("featureGates:\n  PartialAdmission:", "featureGates"),
        ("resources: {transformations: [{input: cpu, outputs: {a: null}}]}", "outputs"),
        ("admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: null}}", "resourceWeights"),
        ("managedJobsNamespaceSelector: {matchLabels: {a: null}}", "managedJobsNamespaceSelector"),
        ("integrations: {frameworks: [null]}", "frameworks"),
    ],
)
def test_a_name_of_ones_own_needs_a_value(tmp_path: Path, text: str, field: str) -> None:
    """Go reads a zero there, which nobody means: `false`, or nothing of a resource."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationBroken, match=field):
        read_configuration(path)
