"""The kinds of jobs that a configuration names: each is known and named once, and so is each field."""

import pytest

from events.json_object import JsonObject
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of


def problem(**part: object) -> str:
    with pytest.raises(ConfigurationBroken) as refused:
        configuration_of({"integrations": part}, "it")
    return refused.value.problem


@pytest.mark.parametrize("field", ["framework", "labelKeyToCopy"])
def test_a_field_that_nobody_knows_is_refused(field: str) -> None:
    assert problem(**{field: ["batch/job"]}) == f"integrations: Object contains unknown field `{field}`"


def test_kinds_are_known_or_of_the_form_by_which_somebody_else_s_are_named() -> None:
    assert problem(frameworks=["batch/jobs"]).startswith("frameworks: batch/jobs is not known; there are ")
    for name in ("Sweep", "Sweep.v1"):
        wanted = f"externalFrameworks: {name} is not of the form Kind.version.group"
        assert problem(externalFrameworks=[name]) == wanted


@pytest.mark.parametrize("options", [{}, None, {"podSelector": {"matchLabels": {"a": "b"}}}])
def test_options_for_pods_are_taken_and_mean_nothing_as_to_kueue(options: JsonObject | None) -> None:
    found = configuration_of({"integrations": {"frameworks": ["pod"], "podOptions": options}}, "it")
    assert found.settings.frameworks == ("pod",)
    assert found.ignored == (() if options is None else ("integrations.podOptions",))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"frameworks": ["batch/job", "pod", "batch/job"]}, 'integrations.frameworks[2]: Duplicate value: "batch/job"'),
        (
            {"externalFrameworks": ["Sweep.v1.a.example", "Sweep.v1.a.example"]},
            'integrations.externalFrameworks[1]: Duplicate value: "Sweep.v1.a.example"',
        ),
        (
            {"frameworks": ["batch/job"], "externalFrameworks": ["Sweep.v1.a.example", "Job.v1.batch"]},
            'integrations.externalFrameworks[1]: Duplicate value: "Job.v1.batch"',
        ),
        (
            {"externalFrameworks": ["Job.v1.batch"]},
            'integrations.externalFrameworks[0]: Duplicate value: "Job.v1.batch"',
        ),
        (
            {"frameworks": ["statefulset"], "externalFrameworks": ["StatefulSet.v1.apps"]},
            'integrations.externalFrameworks[0]: Duplicate value: "StatefulSet.v1.apps"',
        ),
    ],
)
def test_a_kind_that_is_named_twice_is_refused(part: dict[str, object], said: str) -> None:
    assert problem(**part) == said


def test_kinds_that_somebody_else_manages_may_be_those_that_kuelog_knows_but_is_not_to_manage() -> None:
    part = {"frameworks": ["batch/job"], "externalFrameworks": ["RayJob.v1.ray.io", "Sweep.v1.a.example"]}
    found = configuration_of({"integrations": part}, "it").settings
    assert found.external_frameworks == ("RayJob.v1.ray.io", "Sweep.v1.a.example")
