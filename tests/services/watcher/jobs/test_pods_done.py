"""How many pods of a job are done, as its Workload is told."""

from typing import Any

from events.catalogue import Fact
from events.json_object import JsonObject
from events.workload import PodsReclaimed
from services.watcher.view import View
from tests.services.watcher.test_view import job


def done(view: View, *, suspend: bool, **status: Any) -> list[dict[str, int]]:
    """What is told when a job of two pods at a time, which has four completions, stands so."""
    value: JsonObject = job()
    value["spec"] |= {"parallelism": 2, "completions": 4, "suspend": suspend}
    value["status"] = status
    told: list[Fact] = view.see("Job", value)
    return [one.counts for one in told if isinstance(one, PodsReclaimed)]


def test_while_pods_run_no_fewer_are_done_than_before_and_how_many_are_is_told_anew_when_none_does() -> None:
    view = View()
    assert done(view, suspend=True) == []
    assert done(view, suspend=False, succeeded=3) == [{"main": 1}]
    assert done(view, suspend=False, succeeded=1) == [], "some are made again"
    assert done(view, suspend=True, succeeded=1) == [{}]
    assert done(view, suspend=True, succeeded=3) == [{"main": 1}]
