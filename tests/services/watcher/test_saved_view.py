"""A watcher begins at a saved view and reads back the rest: it knows what it would know from all facts, and tells the same."""

import gc
import weakref

import msgspec
import pytest

from events.codec import encode
from events.commit import Sighting
from events.object_version import ObjectVersion
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.subjects import FACTS, fact_subject
from events.workload import PodsReady, WorkloadDeleted
from ops.production.log.jetstream.shelf import MemoryShelf
from ops.production.log.memory import MemoryBus
from services.runtime.log_port import Message, Stream
from services.watcher.log_reading import ReportedByAll
from services.watcher.saved_view import EVERY, KEY, ViewSaver
from services.watcher.seen_versions import SeenVersions
from services.watcher.view import View
from services.watcher.workloads.job_report import JobReport
from tests.stories.small_world import job, platform


def blank(settings: SettingsObserved | None = None) -> ReportedByAll:
    return ReportedByAll(View(settings=settings), SeenVersions())


async def tell(facts: Stream, *told: object, begin: int = 0) -> None:
    messages = [
        Message(
            fact_subject("", type(fact).__name__),
            encode(Sighting(id=f"{begin + i}", at=1000 + i, author="watcher", fact=fact)),  # pyright: ignore[reportArgumentType]
            f"{begin + i}",
        )
        for i, fact in enumerate(told)
    ]
    await facts.publish(messages)


FIRST = (
    *platform(),
    PriorityClassObserved(name="high", value=7, workload=True),
    job("a"),
    job("b"),
    PodsReady(workload="team/a", ready=True),
    SettingsObserved(fair_sharing=True),
)
THEN = (WorkloadDeleted(workload="team/b"), job("c"), PodsReady(workload="team/c", ready=True))


def everything(told: ReportedByAll) -> dict[str, object]:
    """All that folding has left in a watcher, whatever it is called."""
    view = {name: value for name, value in vars(told.view).items() if isinstance(value, dict)}
    versions = {name: value for name, value in vars(told.versions).items() if isinstance(value, dict)}
    return {**view, "versions": versions, "settings": told.settings, "epoch": told.epoch, "position": told.position}


async def test_a_saved_view_and_the_rest_are_what_all_facts_are() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST)
    saver = ViewSaver(facts, shelf, None, blank)
    await saver.save()
    await tell(facts, *THEN, begin=100)
    whole, begun = blank(), blank()
    await whole.read_back(facts)
    await saver.restore(begun)
    assert begun.position == len(FIRST)
    await begun.read_back(facts)
    assert everything(begun) == everything(whole)
    await saver.save()
    [newest, _] = await shelf.labels(KEY)
    assert newest.upto == {FACTS: len(FIRST) + len(THEN)}
    await saver.save()
    assert len({one.sha256 for one in await shelf.labels(KEY)}) == 2, "what is saved already is not saved again"


async def test_the_more_objects_a_view_holds_the_more_facts_it_takes_until_it_is_saved_again() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    saver = ViewSaver(facts, shelf, None, blank)
    assert saver.due(EVERY, 1) and not saver.due(EVERY - 1, 1) and saver.due(1, 10) and not saver.due(0, 10)
    about = [ObjectVersion(kind="Job", namespace="team", name=name, uid=name, version=7) for name in "abc"]
    told = [Sighting(id=one.uid, at=1, author="watcher", about=one, fact=job(one.uid)) for one in about]
    await facts.publish([Message(fact_subject("", "WorkloadSubmitted"), encode(one), one.id) for one in told])
    await saver.save()
    assert not saver.due(EVERY + 2, 1) and saver.due(EVERY + 3, 1)
    fresh = ViewSaver(facts, shelf, None, blank)
    await fresh.restore(blank())
    assert not fresh.due(EVERY + 2, 1) and fresh.due(EVERY + 3, 1)


async def test_workloads_of_a_saved_view_that_ask_for_the_same_hold_one_specification() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST)
    saver, begun = ViewSaver(facts, shelf, None, blank), blank()
    await saver.save()
    await saver.restore(begun)
    assert begun.view.workloads["team/a"].spec is begun.view.workloads["team/b"].spec


async def test_what_a_watcher_has_reported_is_saved_as_one_flat_value_as_it_always_was() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST)
    await ViewSaver(facts, shelf, None, blank).save()
    [one] = shelf.kept[KEY]
    saved = msgspec.json.decode(one.data)["workloads"]
    spec = msgspec.json.decode(msgspec.json.encode(job("a").spec))
    blank_report = {"gone": "", "reclaimed": {}, "finished": False, "checks": {}, "active": True, "parent": ""}
    rest = {"owner_uid": "", "unsuspended": 0, "suspended_by": "", "injected": False, "opened": {}, "named": []}
    flat = {
        "uid": "uid-a",
        "source": "Job/team/a",
        "spec": spec,
        "ready": True,
        **blank_report,
        **rest,
        "version": 0,
        "target": "",
    }
    assert list(saved["team/a"].items()) == list(flat.items())


async def test_workloads_of_a_saved_view_that_only_wait_hold_what_all_hold_of_whom_nothing_was_said() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST, job("c"))
    saver, begun = ViewSaver(facts, shelf, None, blank), blank()
    await saver.save()
    await saver.restore(begun)
    ready, waits, other = (begun.view.workloads[f"team/{name}"] for name in "abc")
    assert ready.job == JobReport(ready=True)
    assert waits.job is other.job and ready.own_object is waits.own_object is other.own_object


@pytest.mark.parametrize(
    "harm", ["another log", "a shorter log", "broken bytes", "a broken report", "another configuration"]
)
async def test_a_view_that_is_not_of_this_log_and_configuration_is_passed_over(harm: str) -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST)
    await ViewSaver(facts, shelf, None, blank).save()
    settings: SettingsObserved | None = None
    match harm:
        case "another log":
            facts = MemoryBus().memory(FACTS)
            await tell(facts, *reversed(FIRST))
        case "a shorter log":
            facts.truncate(3)
        case "broken bytes":
            [one] = shelf.kept[KEY]
            shelf.kept[KEY] = [msgspec.structs.replace(one, data=one.data[:-9])]
        case "a broken report":
            [one] = shelf.kept[KEY]
            shelf.kept[KEY] = [
                msgspec.structs.replace(one, data=one.data.replace(b'"team/b":{"uid":', b'"team/b":{"u":'))
            ]
            assert shelf.kept[KEY] != [one]
        case _:
            settings = SettingsObserved(fair_sharing=True)
    told = blank(settings)
    await ViewSaver(facts, shelf, settings, blank).restore(told)
    assert everything(told) == everything(blank(settings))


async def test_nothing_of_the_view_that_was_folded_to_save_it_is_left() -> None:
    facts, shelf = MemoryBus().memory(FACTS), MemoryShelf()
    await tell(facts, *FIRST)
    made: list[weakref.ref[View]] = []

    def begin() -> ReportedByAll:
        found = blank()
        made.append(weakref.ref(found.view))
        return found

    gc.disable()
    try:
        await ViewSaver(facts, shelf, None, begin).save()
        assert [one() for one in made] == [None]
    finally:
        gc.enable()
