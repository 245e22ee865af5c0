"""What the API server would say of a manifest, said before it is sent: kinds, names, doubled objects, cycles, jobs; all of it at once."""

from pathlib import Path

import pytest
import yaml

from ops.lint.check import lint

KUEUE = "kueue.x-k8s.io/v1beta2"
POD = "spec.template.spec"


def told(tmp_path: Path, *values: dict[str, object]) -> list[tuple[str, str, str]]:
    (tmp_path / "it.yaml").write_text(yaml.safe_dump_all(values))
    return [(one.severity, one.code, one.field) for one in lint([tmp_path / "it.yaml"])]


def named(version: str, kind: str, name: str = "x", **more: object) -> dict[str, object]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def job(
    *, container: dict[str, object] | None = None, pod: dict[str, object] | None = None, **spec: object
) -> dict[str, object]:
    one = {"name": "main", "image": "i", **(container or {})}
    inner = {"restartPolicy": "Never", "containers": [one], **(pod or {})}
    return named("batch/v1", "Job", spec={"template": {"spec": inner}, **spec})


@pytest.mark.parametrize(
    ("value", "code", "field", "instead"),
    [
        (named("batch/v2", "Job"), "UnknownVersion", "apiVersion", "apiVersion: batch/v1"),
        (named("kueue.x-k8s.io/v1", "Cohort"), "UnknownVersion", "apiVersion", f"apiVersion: {KUEUE}"),
        (named(KUEUE, "ClusterKueue"), "UnknownKind", "kind", "one of AdmissionCheck, "),
        (named("v1", "Job"), "UnknownKind", "kind", "apiVersion: batch/v1"),
        (named(KUEUE, "Cohort", "Team_A"), "Invalid", "metadata.name", "name: team-a"),
        (named("v1", "Namespace", "a.b"), "Invalid", "metadata.name", "name: a-b"),
        (named("v1", "Namespace", "a" * 64), "Invalid", "metadata.name", f"name: {'a' * 63}"),
    ],
)
def test_a_kind_a_version_or_a_name_that_is_not_known_is_told_with_one_that_is(
    value: dict[str, object], code: str, field: str, instead: str, tmp_path: Path
) -> None:
    assert ("error", code, field) in told(tmp_path, value)
    (one,) = [one for one in lint([tmp_path / "it.yaml"]) if one.code == code]
    assert one.instead.startswith(instead)


@pytest.mark.parametrize(
    "value",
    [named("example.com/v7", "Anything"), named("kubeflow.org/v1", "PyTorchJob"), named("v1", "Namespace", "a-1")],
)
def test_nothing_is_told_of_kinds_that_somebody_else_defines(value: dict[str, object], tmp_path: Path) -> None:
    assert told(tmp_path, value) == []


def test_an_object_that_is_there_twice_is_an_error_in_one_file_and_a_warning_across_files(tmp_path: Path) -> None:
    cohort = named(KUEUE, "Cohort")
    assert told(tmp_path, cohort, cohort) == [("error", "Doubled", "metadata.name")]
    (tmp_path / "it.yaml").write_text(yaml.safe_dump(cohort))
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(cohort))
    (found,) = lint([tmp_path])
    assert (found.severity, found.code) == ("warning", "Doubled")
    assert found.what == f"the same object is at {tmp_path / 'it.yaml'}:1"
    assert told(tmp_path, cohort, named(KUEUE, "ResourceFlavor"), named(KUEUE, "Cohort", "y")) == []


def test_each_cohort_of_a_cycle_is_told_and_who_only_leads_into_it_is_not(tmp_path: Path) -> None:
    def within(name: str, parent: str) -> dict[str, object]:
        return named(KUEUE, "Cohort", name, spec={"parentName": parent})

    found = told(tmp_path, within("a", "b"), within("b", "c"), within("c", "b"), within("d", "nobody"))
    assert found == [("error", "CohortCycle", "spec.parentName")] * 2
    assert [one.object for one in lint([tmp_path / "it.yaml"])] == ["Cohort b", "Cohort c"]


@pytest.mark.parametrize(
    ("value", "code", "field"),
    [
        (job(parallelism=-1), "Invalid", "spec.parallelism"),
        (job(completions=-1), "Invalid", "spec.completions"),
        (job(backoffLimit=-1), "Invalid", "spec.backoffLimit"),
        (job(completionMode="Numbered"), "NotSupported", "spec.completionMode"),
        (job(completionMode="Indexed"), "Required", "spec.completions"),
        (job(pod={"restartPolicy": "Always"}), "Required", f"{POD}.restartPolicy"),
        (job(pod={"restartPolicy": None}), "Required", f"{POD}.restartPolicy"),
        (job(pod={"containers": []}), "Required", f"{POD}.containers"),
        (job(container={"name": "Main"}), "Invalid", f"{POD}.containers[0].name"),
        (job(container={"image": ""}), "Required", f"{POD}.containers[0].image"),
        (
            job(pod={"initContainers": [{"name": "main", "image": "i"}]}),
            "Duplicate",
            f"{POD}.containers[0].name",
        ),
        (
            job(container={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}}),
            "Invalid",
            f"{POD}.containers[0].resources.requests[cpu]",
        ),
        (
            job(container={"resources": {"requests": {"example.com/licence": 1}}}),
            "Required",
            f"{POD}.containers[0].resources.limits[example.com/licence]",
        ),
    ],
)
def test_what_the_api_refuses_of_a_job_is_told(value: dict[str, object], code: str, field: str, tmp_path: Path) -> None:
    assert told(tmp_path, value) == [("error", code, field)]


def test_a_job_that_the_api_takes_is_told_nothing(tmp_path: Path) -> None:
    sound = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}
    assert told(tmp_path, job(container=sound, parallelism=2, completions=2, completionMode="Indexed")) == []


def test_a_field_of_the_wrong_type_does_not_hide_the_other_mistakes(tmp_path: Path) -> None:
    resource = {"name": "cpu", "nominalQuota": -4}
    group = {"coveredResources": ["cpu", "cpu"], "flavors": [{"name": "f", "resources": [resource]}]}
    spec = {"namespaceSelector": {}, "queueingStrategy": "FIFO", "stopPolicy": "Maybe", "resourceGroups": [group]}
    assert sorted(told(tmp_path, named(KUEUE, "ClusterQueue", spec=spec))) == [
        ("error", "Duplicate", "spec.resourceGroups[0].coveredResources[1]"),
        ("error", "Invalid", "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"),
        ("error", "NotSupported", "spec.queueingStrategy"),
        ("error", "NotSupported", "spec.stopPolicy"),
    ]


def test_a_job_of_ray_that_would_run_on_without_quota_is_named(tmp_path: Path) -> None:
    stays = named("ray.io/v1", "RayJob", spec={"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {}}}}})
    stays["metadata"] = {"name": "x", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    assert ("error", "Invalid", "spec.shutdownAfterJobFinishes") in told(tmp_path, stays)


def test_what_the_webhook_refuses_of_the_gates_sizes_and_growth_of_a_new_job_is_named(tmp_path: Path) -> None:
    gated = queued(job(parallelism=2), {"kueue.x-k8s.io/admission-gated-by": "not a gate"})
    shrinking = queued(job(parallelism=2), {"kueue.x-k8s.io/job-min-parallelism": "2"})
    head = {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
    growing = queued(
        named("ray.io/v1", "RayCluster", spec={"enableInTreeAutoscaling": True, "headGroupSpec": head}), {}
    )
    named_fields = {
        "metadata.annotations[kueue.x-k8s.io/admission-gated-by]": gated,
        "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]": shrinking,
        "spec.enableInTreeAutoscaling": growing,
    }
    for field, value in named_fields.items():
        assert field in [of for severity, _, of in told(tmp_path, value) if severity == "error"]


def test_a_job_that_names_no_queue_is_told_nothing_of_what_only_the_webhook_refuses(tmp_path: Path) -> None:
    shrinking = job(parallelism=2)
    shrinking["metadata"] = {"name": "x", "annotations": {"kueue.x-k8s.io/job-min-parallelism": "2"}}
    assert told(tmp_path, shrinking) == []


def test_a_job_whose_queue_is_an_empty_name_is_told_that_it_is_none(tmp_path: Path) -> None:
    empty = job()
    empty["metadata"] = {"name": "x", "labels": {"kueue.x-k8s.io/queue-name": ""}}
    assert ("error", "Invalid", "metadata.labels[kueue.x-k8s.io/queue-name]") in told(tmp_path, empty)


def queued(value: dict[str, object], annotations: dict[str, str]) -> dict[str, object]:
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    return {**value, "metadata": {"name": "x", "namespace": "team", "labels": labels, "annotations": annotations}}
