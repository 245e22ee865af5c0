"""A decider that fails on one workload or tree leaves just that alone, on record, and decides all others."""

from collections.abc import Sequence

import pytest

from events.admission import AdmissionRefused, WorkloadAdmitted
from events.catalogue import Decision
from events.event import Millis
from events.quota import LocalQueueObserved
from events.setting_aside import SetAside
from events.workload import WorkloadChanged
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.accountant import allocation
from services.admitter import cycle
from services.admitter import decide as admitter
from services.admitter.entry import AdmissionEntry, QueueHead
from services.admitter.nomination import nominate
from services.preemptor.decide import Preemptor
from services.queue_manager import decide as queue_manager
from services.queue_manager.reconcile import reconcile
from services.runtime.partition.guard import guarded
from tests.stories.small_world import Story, job, platform, queue


def admitted(said: list[Decision]) -> list[str]:
    return sorted(event.workload for event in said if isinstance(event, WorkloadAdmitted))


def aside(said: list[Decision]) -> list[tuple[str, str, str]]:
    return [(one.service, one.workload or one.tree, one.reason) for one in said if isinstance(one, SetAside)]


def three() -> Story:
    return Story().told(*platform(), job("a"), job("bad", priority=9), job("c"))


def test_who_cannot_be_nominated_leaves_the_line_and_is_tried_again_when_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(world: World, head: QueueHead, at: Millis) -> AdmissionEntry:
        if head.workload.key == "team/bad":
            world.quota.add_usage("cq", {0: 500})
            raise KeyError("flavor")
        return nominate(world, head, at)

    with monkeypatch.context() as patched:
        patched.setattr(cycle, "nominate", fails)
        told = three()
        said = told.decided()
        assert aside(said) == [("admitter", "team/bad", "KeyError: 'flavor'")]
        assert admitted(said) == ["team/a", "team/c"]
        assert not [event for event in said if isinstance(event, AdmissionRefused)], "what it had tried is taken back"
        assert not told.decided(), "it is left alone"
    spec = told.world.workloads["team/bad"].spec
    assert admitted(told.told(WorkloadChanged(workload="team/bad", spec=spec)).decided()) == ["team/bad"]
    assert not told.world.aside


def test_a_tree_whose_cycle_fails_is_set_aside_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = admitter.heads

    def fails(world: World, trees: Sequence[str], at: Millis) -> list[QueueHead]:
        if "queue/cq" in trees:
            raise ValueError("no order")
        return heads(world, trees, at)

    monkeypatch.setattr(admitter, "heads", fails)
    told = three().told(
        queue("else", nominal=2),
        LocalQueueObserved(namespace="team", name="lq2", cluster_queue="else"),
        job("there", queue="lq2"),
    )
    said = told.decided()
    assert aside(said) == [("admitter", "queue/cq", "ValueError: no order")]
    assert admitted(said) == ["team/there"]


def test_the_queue_manager_leaves_one_workload_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(world: World, workload: Workload, at: Millis) -> list[Decision]:
        if workload.key == "team/bad":
            raise RecursionError("maximum recursion depth exceeded while calling a Python object")
        return reconcile(world, workload, at)

    monkeypatch.setattr(queue_manager, "reconcile", fails)
    said = three().decided()
    assert aside(said) == [("queue-manager", "team/bad", "RecursionError: it is nested too deeply")]
    assert admitted(said) == ["team/a", "team/c"]


def test_the_preemptor_leaves_one_request_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Story().told(*platform(nominal=1, cards=1), job("a"))
    told.decided()

    def fails(*_: object) -> list[Decision]:
        raise TypeError("what?")

    monkeypatch.setattr(Preemptor, "_answer", fails)
    assert aside(told.told(job("urgent", priority=9)).decided()) == [("preemptor", "team/urgent", "TypeError: what?")]


def test_the_accountant_leaves_one_workload_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    give = allocation._give

    def fails(world: World, workload: Workload) -> Decision:
        if workload.key == "team/bad":
            raise LookupError("<card at 0x7f00deadbeef>")
        return give(world, workload)

    monkeypatch.setattr(allocation, "_give", fails)
    said = three().decided()
    assert aside(said) == [("accountant", "team/bad", "LookupError: <card at 0x>")]
    assert admitted(said) == ["team/a", "team/c"]


def test_a_lack_of_memory_is_no_fault_of_a_workload() -> None:
    def fails() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        guarded(fails, "admitter", workload="team/a")
