"""What a Job may not say of its completions and of the least number of its pods, when it is made and when it is changed."""

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from services.jobs.job_change_rules import job_problems

FEWER, AS_MANY = "kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/job-completions-equal-parallelism"
AS_MANY_AT = f"metadata.annotations[{AS_MANY}]"
SETTINGS = SettingsObserved()


def job(*, suspended: bool = True, notes: dict[str, str], **spec: object) -> JsonObject:
    meta = {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "team"}, "annotations": notes}
    whole = {"parallelism": 3, "completions": 3, "completionMode": "Indexed", "template": {"spec": {}}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {**whole, "suspend": suspended}}


def told(old: JsonObject | None, new: JsonObject) -> list[tuple[str, str]]:
    return [(one.field, one.what) for one in job_problems(old, new, SETTINGS)]


@pytest.mark.parametrize(
    ("notes", "spec", "problems"),
    [
        ({}, {"completions": 4}, []),
        ({AS_MANY: "true"}, {}, []),
        ({AS_MANY: "false"}, {"completions": 4, "completionMode": "NonIndexed"}, []),
        ({AS_MANY: "yes"}, {}, [(AS_MANY_AT, 'strconv.ParseBool: parsing "yes": invalid syntax')]),
        (
            {AS_MANY: "1"},
            {"completions": 4},
            [("spec.completions", f"should be equal to parallelism when {AS_MANY} is annotation is true")],
        ),
        ({AS_MANY: "true"}, {"parallelism": None, "completions": 1}, []),
        (
            {AS_MANY: "true"},
            {"completionMode": "NonIndexed"},
            [(AS_MANY_AT, "should not be enabled for NonIndexed jobs")],
        ),
    ],
    ids=str,
)
def test_a_job_whose_completions_follow_its_pods_has_as_many_and_indexes(
    notes: dict[str, str], spec: JsonObject, problems: list[tuple[str, str]]
) -> None:
    assert told(None, job(notes=notes, **spec)) == problems
    assert told(job(notes={}), job(notes=notes, **spec)) == problems, "also when it is changed"


def test_a_job_that_was_wrong_before_is_not_refused_for_that_again() -> None:
    wrong = job(notes={AS_MANY: "true"}, completions=4)
    assert told(wrong, {**wrong, "metadata": {**wrong["metadata"], "finalizers": ["f"]}}) == []


def test_whether_completions_follow_stays_as_it_is_while_the_job_runs() -> None:
    old, new = (job(suspended=False, notes={AS_MANY: said}) for said in ("true", "false"))
    assert told(old, new) == [(AS_MANY_AT, "field is immutable while the job is not suspended")]
    assert told(old, job(suspended=False, notes={AS_MANY: "T"})) == [], "it says the same"
    assert told(old, job(notes={AS_MANY: "false"})) == []


def test_the_least_number_of_pods_is_judged_again_when_it_changes() -> None:
    field = f"metadata.annotations[{FEWER}]"
    before = job(notes={FEWER: "1"})
    assert told(before, job(notes={FEWER: "2"})) == []
    assert told(before, job(notes={FEWER: "3"})) == [(field, "should be between 0 and 2")]
    assert told(job(notes={FEWER: "3"}), job(notes={FEWER: "3"}, completions=5)) == [], "it did not change"


@pytest.mark.parametrize("label", ["kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/prebuilt-workload-name"])
def test_a_label_names_a_queue_or_workload_by_what_can_be_its_name(label: str) -> None:
    def naming(name: str) -> JsonObject:
        made = job(notes={})
        return {**made, "metadata": {**made["metadata"], "labels": {label: name}}}

    at = f"metadata.labels[{label}]"
    assert [field for field, _ in told(None, naming("indexed_job"))] == [at]
    assert [field for field, _ in told(naming("team"), naming("Team"))] == [at]
    assert told(None, naming("team.a-1")) == []
    assert told(naming("Team"), naming("Team")) == [], "that was stored before"


def labelled(labels: dict[str, str], *, suspended: bool = False, **notes: str) -> JsonObject:
    made = job(suspended=suspended, notes=notes)
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


@pytest.mark.parametrize(("before", "after"), [("a", "b"), ("a", ""), ("", "b")])
def test_a_job_that_runs_stays_in_the_workload_that_it_names_unless_it_is_elastic(before: str, after: str) -> None:
    old, new = ({PREBUILT: name} if name else {} for name in (before, after))
    refused = [(f"metadata.labels[{PREBUILT}]", "field is immutable")]
    assert told(labelled(old), labelled(new)) == refused
    assert told(labelled(old, suspended=True), labelled(new)) == refused, "it names another one as it starts"
    assert told(labelled(old), labelled(new, suspended=True)) == []
    elastic = {"kueue.x-k8s.io/elastic-job": "true"}
    assert told(labelled(old, **elastic), labelled(new, **elastic)) == []
    noted = {PREBUILT: "a"}
    assert told(labelled({}, **noted), labelled({}, **{PREBUILT: "b"})) == refused
    assert told(labelled(noted), labelled({}, **noted)) == [], "it names the same"


def test_a_pod_that_runs_stays_in_the_workload_that_it_names() -> None:
    def pod(name: str, *gates: str) -> JsonObject:
        waits = {"schedulingGates": [{"name": gate} for gate in gates]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {PREBUILT: name}}, "spec": waits}

    gate = "kueue.x-k8s.io/admission"
    assert told(pod("a"), pod("b")) == [(f"metadata.labels[{PREBUILT}]", "field is immutable")]
    assert told(pod("a", gate), pod("b", gate)) == []


LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"
LIMIT_AT = f"metadata.labels[{LIMIT}]"


@pytest.mark.parametrize("seconds", ["abc", "0", "-5", "1.5", ""])
def test_how_long_a_job_may_run_is_a_whole_number_of_seconds(seconds: str) -> None:
    refused = [(LIMIT_AT, "should be a whole number greater than 0")]
    assert told(None, labelled({LIMIT: seconds}, suspended=True)) == refused
    assert told(labelled({LIMIT: "60"}, suspended=True), labelled({LIMIT: seconds}, suspended=True)) == refused
    stored = labelled({LIMIT: seconds}, suspended=True)
    assert told(stored, stored) == [], "that was stored before"
    pod = {**labelled({LIMIT: seconds}), "apiVersion": "v1", "kind": "Pod"}
    assert told(None, pod) == refused
    assert told(None, labelled({LIMIT: "60"})) == told(None, labelled({})) == []
