"""What a pod that is managed may not say, and what may not become of it.

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


MANAGED = f"{KUEUE}managed"
BOTH = f"both the '{TOTAL}' annotation and the '{GROUP}' label should be set"
GROUP_AT, TOTAL_AT = f"metadata.labels[{GROUP}]", f"metadata.annotations[{TOTAL}]"


@pytest.mark.parametrize(
    ("labels", "notes", "field", "what"),
    [
        ({}, {TOTAL: "3"}, GROUP_AT, BOTH),
        ({GROUP: "g"}, {}, TOTAL_AT, BOTH),
        ({}, {GROUP: "g"}, TOTAL_AT, BOTH),
        ({GROUP: "g"}, {TOTAL: "x"}, TOTAL_AT, "should be a whole number greater than 0"),
        ({GROUP: "g"}, {TOTAL: "0"}, TOTAL_AT, "should be a whole number greater than 0"),
        ({GROUP: "g"}, {TOTAL: ""}, TOTAL_AT, "should be a whole number greater than 0"),
        ({MANAGED: "false"}, {}, f"metadata.labels[{MANAGED}]", "managed label value can only be 'true'"),
        (
            {GROUP: "g", PREBUILT: "w"},
            {TOTAL: "2"},
            f"metadata.labels[{PREBUILT}]",
            "prebuilt workload and pod group should be equal",
        ),
    ],
)
def test_a_pod_says_of_its_group_both_how_it_is_called_and_how_many_pods_it_has(
    labels: dict[str, str], notes: dict[str, str], field: str, what: str
) -> None:
    said = pod(labels, notes, gated=True)
    assert told(None, said) == told(pod(gated=True), said) == [(field, what)]
    assert told(said, {**said, "metadata": {**said["metadata"], "finalizers": []}}) == [], "it was stored before"


def test_a_group_is_called_by_what_can_be_the_name_of_its_workload() -> None:
    (only,) = told(None, pod({GROUP: "My_group"}, {TOTAL: "2"}))
    assert only[0] == GROUP_AT and "can be no name of an object" in only[1]


def test_pods_of_a_whole_group_and_of_what_serves_are_taken() -> None:
    assert told(None, pod({GROUP: "g", PREBUILT: "g", MANAGED: "true"}, {TOTAL: "2"})) == []
    assert told(None, pod(notes={MADE_BY: "statefulset"})) == []
    sets = "leaderworkerset.sigs.k8s.io/"
    assert told(None, pod({f"{sets}name": "s", f"{sets}group-index": "0"}, {f"{sets}size": "2"})) == []
