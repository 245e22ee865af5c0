"""Mistakes in a configuration file are found before a service starts with it."""

from pathlib import Path

import pytest

from ops.lint.check import lint
from services.validation.problem import Severity

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def found_in(folder: Path, text: str) -> list[tuple[str, str]]:
    file = folder / "configuration.yaml"
    file.write_text(HEAD + text)
    return [(one.field, one.what) for one in lint([file])]


@pytest.mark.parametrize(
    ("text", "field", "what"),
    [
        ("multiKueue: {workerLostTimeout: soon}", "multiKueue.workerLostTimeout", "'soon' is not a duration"),
        ("multiKueue: {nix: 1}", "multiKueue", "unknown field `nix`"),
        ("nix: 1", "", "unknown field nix"),
        ("waitForPodsReady: {timeout: -5m}", "waitForPodsReady.timeout", "-5m"),
    ],
)
def test_a_configuration_that_services_would_refuse_is_an_error(
    tmp_path: Path, text: str, field: str, what: str
) -> None:
    ((at, said),) = found_in(tmp_path, text)
    assert at == field and what in said


def test_a_good_configuration_and_one_of_others_have_nothing_wrong(tmp_path: Path) -> None:
    assert found_in(tmp_path, "manageJobsWithoutQueueName: true") == []
    file = tmp_path / "other.yaml"
    file.write_text("apiVersion: example.com/v1\nkind: Configuration\nmetadata: {name: x}\nnix: 1\n")
    assert lint([file]) == []


def test_a_mapping_that_can_not_be_is_found_where_it_is(tmp_path: Path) -> None:
    assert found_in(tmp_path, "resources: {deviceClassMappings: [{name: x, deviceClassNames: [a]}]}") == []
    ((field, what),) = found_in(tmp_path, "resources: {deviceClassMappings: [{name: x, deviceClassNames: []}]}")
    assert field == "resources.deviceClassMappings[0].deviceClassNames"
    assert what == "at least one device class name is required"


def test_a_mistake_in_a_config_map_is_found_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    inner = (HEAD + "multiKueue: {workerLostTimeout: soon}").replace("\n", "\n    ")
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kueue-manager-config, namespace: kueue-system}\ndata:\n"
    file.write_text(f"{head}  controller_manager_config.yaml: |\n    {inner}\n")
    (found,) = lint([file])
    assert found.field == "data[controller_manager_config.yaml].multiKueue.workerLostTimeout"
    file.write_text(f"{head}  controller_manager_config.yaml: '['\n")
    (found,) = lint([file])
    assert found.field == "data[controller_manager_config.yaml]"


KUEUES = "health: {healthProbeBindAddress: ':8081'}\n"


def warned(folder: Path, text: str) -> list[tuple[str, str, str]]:
    file = folder / "configuration.yaml"
    file.write_text(HEAD + text)
    return [(one.severity, one.code, one.field) for one in lint([file])]


def test_a_file_of_kueue_s_that_names_no_kinds_is_told_that_it_means_more_here(tmp_path: Path) -> None:
    told = [(Severity.WARNING, "AllKindsManaged", "integrations.frameworks")]
    assert warned(tmp_path, KUEUES) == told
    assert warned(tmp_path, KUEUES + "integrations:\n") == told
    assert warned(tmp_path, KUEUES + "integrations: {frameworks: [batch/job]}") == []
    assert warned(tmp_path, "manageJobsWithoutQueueName: false") == [], "nothing in it is of Kueue's manager"


def test_a_feature_gate_that_means_nothing_here_is_told(tmp_path: Path) -> None:
    text = "featureGates: {ShortWorkloadNames: true, LendingLimit: true, PartialAdmission: false}"
    assert warned(tmp_path, text) == [(Severity.WARNING, "NoMeaningHere", "featureGates.ShortWorkloadNames")]
