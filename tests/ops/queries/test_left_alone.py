"""Who asks about something on which a service has failed is told so, and what to do; nothing fails once more."""

from collections.abc import Sequence
from io import StringIO
from typing import Any

import msgspec
import pytest
from rich.console import Console

from events.quota import LocalQueueObserved
from events.workload import WorkloadChanged
from ops.cli.questions.explain import show
from ops.cli.questions.explain_queue import show_queue
from ops.queries.explaining import explain
from ops.queries.queue_explained import explain_queue
from projections.explanation.words import Tier
from projections.world import World
from services.accountant import allocation
from services.admitter import cycle
from services.admitter import decide as admitter
from services.admitter.nomination import nominate
from services.applier.queue_status.status_patches import Statuses, status_patch
from tests.stories.small_world import Story, job, platform, queue


def fails(*_: object) -> Any:
    raise ValueError("no order")


def asked(story: Story, key: str) -> tuple[Any, str]:
    found = explain(story.world, story.world.workloads[key], story.at)
    told = StringIO()
    show(msgspec.to_builtins(found), Console(file=told, width=300))
    return found, told.getvalue()


def asked_queue(story: Story, name: str) -> str:
    told = StringIO()
    show_queue(explain_queue(story.world, name, story.at), Console(file=told, width=300))
    return told.getvalue()


def conditions(story: Story, statuses: Statuses, found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The conditions of the cluster queue, as they are written to what was found of it."""
    place = ("ClusterQueue", "", "cq")
    status = statuses.changed(story.world, story.at).get(place)
    patch = status_patch(place, status, found, story.at) if status is not None else None
    found["status"] = {**found.get("status", {}), **((patch or {}).get("status", {}))}
    return [(one["type"], one["status"], one["message"]) for one in found["status"]["conditions"]]


def test_a_workload_that_is_set_aside_says_by_whom_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().told(*platform(), job("bad"))
    monkeypatch.setattr(cycle, "nominate", fails)
    story.decided()
    assert "SetAside" in story.world.workloads["team/bad"].conditions
    found, told = asked(story, "team/bad")
    assert (found.tier, found.reason) == (Tier.RULES, "SetAside")
    assert "because of an error of kuelog's: SetAside" in told
    assert "the admitter failed on workload team/bad and leaves it alone: ValueError: no order" in told
    assert "change the job, its queue or a flavor, and it is tried again" in told
    monkeypatch.setattr(cycle, "nominate", nominate)
    spec = story.world.workloads["team/bad"].spec
    story.told(WorkloadChanged(workload="team/bad", spec=spec)).decided()
    found, told = asked(story, "team/bad")
    assert found.left_alone == () and "set aside" not in told


def test_a_queue_whose_tree_is_set_aside_says_so_as_do_all_who_wait_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    heads, statuses, found = admitter.heads, Statuses(), dict[str, Any]()
    story = Story().told(*platform())
    assert [one[0] for one in conditions(story, statuses, found)] == ["Active"]

    def fails_on_cq(world: World, trees: Sequence[str], at: int) -> Any:
        return fails() if "queue/cq" in trees else heads(world, trees, at)

    monkeypatch.setattr(admitter, "heads", fails_on_cq)
    other = LocalQueueObserved(namespace="team", name="lq2", cluster_queue="else")
    story.told(job("a"), queue("else", nominal=1), other, job("there", queue="lq2"), job("late", queue="lq2"))
    story.decided()
    why = "the admitter failed on tree queue/cq and leaves it alone: ValueError: no order"
    told = asked(story, "team/a")[1]
    assert why in told and "change a queue, cohort or flavor of the tree, and it is tried again" in told
    assert why in (queue_told := asked_queue(story, "cq")) and "change a queue, cohort" in queue_told
    assert "set aside" not in asked_queue(story, "else") + asked(story, "team/late")[1]
    [aside] = [one for one in conditions(story, statuses, found) if one[0] == "SetAside"]
    assert aside[1] == "True" and aside[2].startswith(why) and "To do: change a queue" in aside[2]
    monkeypatch.setattr(admitter, "heads", heads)
    story.told(queue("cq", nominal=5)).decided()
    assert "set aside" not in asked_queue(story, "cq")
    assert [one[:2] for one in conditions(story, statuses, found)] == [("Active", "True"), ("SetAside", "False")]


def test_who_waits_for_an_accountant_that_has_failed_on_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().told(*platform(), job("bad"))
    monkeypatch.setattr(allocation, "_give", fails)
    story.decided()
    found, told = asked(story, "team/bad")
    assert found.state == "reserved" and found.tier is Tier.RULES
    assert "the accountant failed on workload team/bad and leaves it alone: ValueError: no order" in told


def test_who_is_on_hold_in_a_tree_that_is_set_aside_is_told_both(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().told(*platform(), job("a"))
    monkeypatch.setattr(admitter, "heads", fails)
    story.decided()
    spec = msgspec.structs.replace(story.world.workloads["team/a"].spec, on_hold=True)
    story.told(WorkloadChanged(workload="team/a", spec=spec))
    found, told = asked(story, "team/a")
    assert found.reason == "OnHold" and found.fix == "take the job off hold"
    assert "the admitter failed on tree queue/cq" in told
