"""What may not become of a pod that is managed.

Rule: docs/rules/objects.md#pods
"""

from typing import Any

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from services.jobs.job_change_rules import job_problems

KUEUE = "kueue.x-k8s.io/"
GATE = f"{KUEUE}admission"
QUEUE, GROUP, LIMIT = f"{KUEUE}queue-name", f"{KUEUE}pod-group-name", f"{KUEUE}max-exec-time-seconds"
CLASS, PREBUILT = f"{KUEUE}priority-class", f"{KUEUE}prebuilt-workload-name"
TOTAL, RETRIABLE = f"{KUEUE}pod-group-total-count", f"{KUEUE}retriable-in-group"
MADE_BY = f"{KUEUE}pod-suspending-parent"


def pod(
    labels: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    *,
    gated: bool = False,
    phase: str = "Running",
    **meta: Any,
) -> JsonObject:
    spec = {"schedulingGates": [{"name": GATE}] if gated else []}
    metadata = {"name": "p", "labels": {QUEUE: "lq", **(labels or {})}, "annotations": notes or {}, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def told(old: JsonObject | None, new: JsonObject) -> list[tuple[str, str]]:
    return [(one.field, one.what) for one in job_problems(old, new, SettingsObserved())]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({LIMIT: "60"}, {LIMIT: "6000"}, "field is immutable"),
        ({LIMIT: "60"}, {}, "field is immutable"),
        ({QUEUE: "lq"}, {QUEUE: "other"}, "field is immutable"),
        ({QUEUE: "lq"}, {QUEUE: ""}, "field is immutable"),
        ({PREBUILT: "a"}, {PREBUILT: "b"}, "field is immutable"),
        ({}, {CLASS: "high"}, "WorkloadPriorityClass cannot be added to a non-suspended workload"),
    ],
)
def test_a_pod_that_runs_keeps_its_queue_its_time_and_its_workload_and_is_given_no_class(
    before: dict[str, str], after: dict[str, str], what: str
) -> None:
    (label,) = before | after
    refused = [(f"metadata.labels[{label}]", what)]
    assert told(pod(before), pod(after)) == refused
    ended = pod(after, phase="Succeeded")
    gated = (pod(before, gated=True), pod(after, gated=True))
    assert told(pod(before, phase="Succeeded"), ended) == told(*gated) == [], "it does not run"


def test_a_pod_stays_in_its_group_also_while_it_waits() -> None:
    in_group, notes = {GROUP: "a"}, {TOTAL: "2"}
    refused = [(f"metadata.labels[{GROUP}]", "field is immutable")]
    assert told(pod(in_group, notes, gated=True), pod({GROUP: "b"}, notes, gated=True)) == refused
    assert told(pod(in_group, notes), pod({}, {})) == refused
    noted = {GROUP: "a", TOTAL: "2"}
    assert told(pod(in_group, notes), pod({}, noted)) == [], "it names the same by annotation"
    assert told(pod(gated=True), pod(in_group, notes, gated=True)) == [], "it had none"


def test_a_group_that_fails_for_good_does_not_become_one_whose_pods_are_replaced() -> None:
    named = {GROUP: "a"}
    final, again = {TOTAL: "2", RETRIABLE: "false"}, {TOTAL: "2", RETRIABLE: "true"}
    what = "unretriable pod group can't be converted to retriable"
    assert told(pod(named, final), pod(named, again)) == [(f"metadata.annotations[{RETRIABLE}]", what)]
    assert told(pod(named, again), pod(named, final)) == []


def test_what_serves_has_its_pods_named_as_they_are_let_through() -> None:
    waits = pod({QUEUE: ""}, {MADE_BY: "statefulset"}, gated=True)
    through = pod({GROUP: "w", PREBUILT: "w", CLASS: "high"}, {MADE_BY: "statefulset", TOTAL: "2"})
    assert told(waits, through) == []
    other = pod({QUEUE: "other", GROUP: "w", PREBUILT: "w", CLASS: "high"}, {MADE_BY: "statefulset", TOTAL: "2"})
    assert [field for field, _ in told(through, other)] == [f"metadata.labels[{QUEUE}]"]
