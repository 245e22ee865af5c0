"""Mistakes in a ProvisioningRequestConfig, named by field."""

from typing import Any

import pytest

from events.settings import SettingsObserved
from services.validation.every_kind import validate


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"provisioningClassName": "Not A Class"}, "spec.provisioningClassName"),
        ({"retryStrategy": {"backoffLimitCount": -1}}, "spec.retryStrategy.backoffLimitCount"),
        ({"retryStrategy": {"backoffBaseSeconds": -60}}, "spec.retryStrategy.backoffBaseSeconds"),
        ({"retryStrategy": {"backoffLimitCount": "three"}}, "spec.retryStrategy.backoffLimitCount"),
        ({"podSetMergePolicy": "Whatever"}, "spec.podSetMergePolicy"),
        (
            {"podSetUpdates": {"nodeSelector": [{"key": "a b", "valueFromProvisioningClassDetail": "x"}]}},
            "spec.podSetUpdates.nodeSelector[0].key",
        ),
    ],
)
def test_a_mistake_is_named(spec: dict[str, Any], field: str) -> None:
    assert [one.field for one in validate(config(**spec), SettingsObserved())] == [field]


def test_a_good_one_is_let_through() -> None:
    good = config(managedResources=["nvidia.com/gpu"], retryStrategy={"backoffLimitCount": 0})
    assert validate(good, SettingsObserved()) == []


def config(**spec: Any) -> dict[str, Any]:
    return {
        "kind": "ProvisioningRequestConfig",
        "metadata": {"name": "c"},
        "spec": {"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", **spec},
    }
