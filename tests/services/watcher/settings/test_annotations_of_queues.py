import pytest

from events.api.labels import NEVER_PREEMPT
from events.quota import ClusterQueueObserved
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import cluster_queue

PLACES = "kuelog.io/max-concurrent-workloads"


def with_places(text: str) -> ClusterQueueObserved:
    found = cluster_queue(
        {"kind": "ClusterQueue", "metadata": {"name": "a", "annotations": {PLACES: text}}, "spec": {}}
    )
    assert isinstance(found, ClusterQueueObserved)
    return found


@pytest.mark.parametrize("text", ["-5", "", " 7", "1_000", "٣", "1.5", "1e30", "9" * 30, "9" * 5000])
def test_places_that_are_no_plain_whole_number_are_refused_by_name(text: str) -> None:
    with pytest.raises(Refused) as refused:
        with_places(text)
    assert [one.field for one in refused.value.problems] == [f"metadata.annotations[{PLACES}]"]
    assert [one.instead for one in refused.value.problems] == ['a whole number, e.g. "7"']


def test_a_queue_may_have_no_places_at_all() -> None:
    assert with_places("0").max_concurrent == 0


def marked(text: str | None = None) -> ClusterQueueObserved:
    named = {} if text is None else {NEVER_PREEMPT: text}
    found = cluster_queue({"kind": "ClusterQueue", "metadata": {"name": "a", "annotations": named}, "spec": {}})
    assert isinstance(found, ClusterQueueObserved)
    return found


def test_a_queue_says_by_true_or_false_whether_marks_of_its_jobs_count() -> None:
    assert not marked().preemption.marks_ignored and not marked("true").preemption.marks_ignored
    assert marked("false").preemption.marks_ignored
    with pytest.raises(Refused) as refused:
        marked("False")
    assert [one.field for one in refused.value.problems] == [f"metadata.annotations[{NEVER_PREEMPT}]"]
