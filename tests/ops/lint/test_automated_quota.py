"""Quota that is to follow other clusters, and does not, is found before anybody relies on it."""

from pathlib import Path

import pytest

from ops.lint.check import lint

CONFIG = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: all}
spec: {clusters: [w1], quotaManagement: MANAGEMENT}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: elsewhere}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: elsewhere}]}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [FLAVORS]
"""
FLAVOR = "{name: NAME, resources: [{name: cpu, nominalQuota: 1}]}"
ONE, TWO = FLAVOR.replace("NAME", "a"), f"{FLAVOR.replace('NAME', 'a')}, {FLAVOR.replace('NAME', 'b')}"
SETTINGS = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfeatureGates: {MultiKueueManagerQuotaAutomation: GATE}\n"
ON, OFF = SETTINGS.replace("GATE", "true"), SETTINGS.replace("GATE", "false")
IN_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n}\ndata:\n  controller_manager_config.yaml: |\n"
)
IN_MAP += "".join(f"    {line}\n" for line in ON.splitlines())
NO_EFFECT, CANNOT = ("spec.quotaManagement", "QuotaAutomationOff"), ("spec.resourceGroups", "QuotaCannotFollow")


@pytest.mark.parametrize(
    ("settings", "management", "flavors", "said"),
    [
        ("", "Automated", ONE, [NO_EFFECT]),
        (OFF, "Automated", TWO, [NO_EFFECT]),
        (ON, "Automated", ONE, []),
        (IN_MAP, "Automated", ONE, []),
        (ON, "Automated", TWO, [CANNOT]),
        (ON, "Manual", TWO, []),
        ("", "Manual", ONE, []),
    ],
)
def test_what_has_no_effect_or_can_t_follow_is_a_warning(
    tmp_path: Path, settings: str, management: str, flavors: str, said: list[tuple[str, str]]
) -> None:
    text = CONFIG.replace("MANAGEMENT", management).replace("FLAVORS", flavors)
    (tmp_path / "queues.yaml").write_text(text)
    if settings:
        (tmp_path / "settings.yaml").write_text(settings)
    found = lint([tmp_path])
    assert [(one.field, one.code) for one in found] == said
    assert all(one.severity == "warning" for one in found)


def test_a_word_that_is_none_of_kueue_s_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(CONFIG.replace("MANAGEMENT", "Sometimes").replace("FLAVORS", ONE))
    assert [(one.field, one.severity) for one in lint([tmp_path]) if one.severity == "error"] == [
        ("spec.quotaManagement", "error")
    ]
