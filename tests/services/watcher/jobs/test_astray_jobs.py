"""Jobs that run while the managed job that owns them waits."""

from events.catalogue import Fact
from events.control import ObjectMended, ObjectRefused
from events.json_object import JsonObject
from events.workload import WorkloadSubmitted
from services.watcher.view import View
from tests.services.watcher.jobs.test_managed_jobs import owned, unnamed
from tests.services.watcher.test_view import job

STOPPED = {"conditions": [{"type": "Suspended", "status": "True"}]}


def top(*, suspend: bool = True, decided: bool = False, stopped: bool = False) -> JsonObject:
    """A managed job, that was started once if it is `decided`."""
    value = job()
    notes = {"kuelog.io/decision": "LOG_0/1"} if decided else {}
    value["metadata"] = {**value["metadata"], "name": "top", "uid": "uid-top", "annotations": notes}
    return {**value, "spec": {**value["spec"], "suspend": suspend}, "status": STOPPED if stopped else {}}


def child(*, suspend: bool = False, queue: bool = False) -> JsonObject:
    value = owned(job() if queue else unnamed(job()), "child", "Job", "top")
    return {**value, "spec": {**value["spec"], "suspend": suspend}}


def told_of(facts: list[Fact]) -> list[str]:
    """The owners for which those that are refused have to wait."""
    assert all(isinstance(one, ObjectRefused) for one in facts)
    return [one.owner for one in facts if isinstance(one, ObjectRefused)]


def test_a_job_that_runs_while_its_owner_waits_is_told_until_it_is_suspended() -> None:
    """A reference to any waiting job would be a way around quota."""
    for queue in (False, True):
        view = View()
        assert [type(one) for one in view.see("Job", top())] == [WorkloadSubmitted]
        (refused,) = view.see("Job", child(queue=queue))
        assert isinstance(refused, ObjectRefused)
        assert (refused.name, refused.uid, refused.running, refused.owner) == ("child", "uid-child", 1, "Job/team/top")
        assert view.see("Job", child(queue=queue)) == [] and view.see("Job", top()) == []
        mended = ObjectMended(kind="Job", namespace="team", name="child")
        assert view.see("Job", child(queue=queue, suspend=True)) == [mended]
        assert told_of(view.see("Job", child(queue=queue))) == ["Job/team/top"], "somebody lets it run again"


def test_it_runs_with_its_owner_and_is_told_when_that_has_stopped() -> None:
    view = View()
    view.see("Job", top())
    view.see("Job", top(suspend=False, decided=True))
    assert view.see("Job", child()) == []
    stops = view.see("Job", top(decided=True))
    assert not any(isinstance(one, ObjectRefused) for one in stops), "the controller of its owner may suspend it"
    facts = view.see("Job", top(decided=True, stopped=True))
    assert told_of([one for one in facts if isinstance(one, ObjectRefused)]) == ["Job/team/top"]
    resumes = view.see("Job", top(suspend=False, decided=True))
    assert ObjectMended(kind="Job", namespace="team", name="child") in resumes


def test_it_is_the_highest_managed_one_that_has_to_run() -> None:
    view = View()
    view.see("Job", top())
    view.see("Job", child(suspend=True))
    low = owned(unnamed(job()), "low", "Job", "child")
    low["spec"] = {**low["spec"], "suspend": False}
    assert told_of(view.see("Job", low)) == ["Job/team/top"], "over others"
    assert View().see("Job", child()) == [], "nobody manages its owner"


def test_what_ran_already_when_it_was_listed_goes_on() -> None:
    """An upgrade stops nothing that ran before."""
    for names in (["top", "child"], ["child", "top"]):
        values = {"top": top(), "child": child()}
        view = View()
        found = [values[name] for name in names]
        view.expect("Job", found)
        facts = [fact for one in found for fact in view.see("Job", one)] + view.settle("Job")
        assert [type(one) for one in facts] == [WorkloadSubmitted]
        assert view.see("Job", top()) == [] and view.see("Job", child()) == []
        view.see("Job", child(suspend=True))
        assert told_of(view.see("Job", child())) == ["Job/team/top"], "it has begun anew"


def test_what_ran_when_it_was_listed_is_let_in_with_its_owner_and_stops_with_that() -> None:
    view = View()
    view.expect("Job", [])
    view.see("Job", top())
    assert view.see("Job", child()) == []
    view.settle("Job")
    view.see("Job", top(suspend=False, decided=True))
    facts = view.see("Job", top(decided=True, stopped=True))
    assert [one.owner for one in facts if isinstance(one, ObjectRefused)] == ["Job/team/top"]
