"""Budgets: what is held counts, who comes when it is used up waits without quota, and a new period lets them in."""

import pytest
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.budget import Budget, BudgetPeriod, BudgetRenewed, BudgetThresholdReached
from events.catalogue import Decision
from events.quota import AdmissionCheckObserved, CheckRule, NamespaceObserved
from events.timestamp import parse_timestamp
from events.upkeep import CheckSettled
from events.workload import CheckState, QuotaReleased, WorkloadFinished, WorkloadParked, WorkloadQueued
from ops.queries.explaining import explain
from projections import world
from projections.budgets.budget_usage import BudgetUsage, changes_after, settled
from projections.budgets.enforcement import EXHAUSTED
from projections.budgets.rates import CONTROLLER
from projections.calendar import begin, end
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.watcher.fields.budget_text import budget
from services.watcher.fields.check_states import admission_check
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import cluster_queue, namespace
from tests.stories.small_world import GPU, Story, job, platform, queue

HOUR = 3_600_000
FRIDAY = parse_timestamp("2026-01-30T12:00:00Z")
CHECK = AdmissionCheckObserved(name="money", controller=CONTROLLER)
WORDS = "The budget of ClusterQueue cq is used up: 3 hours of nvidia.com/gpu per month; workloads wait until 2026-02-01T00:00:00Z"


def with_budget(hours: int | None, nominal: int = 8):  # type: ignore[no-untyped-def]
    limit = None if hours is None else Budget(period=BudgetPeriod.MONTH, limits={GPU: hours}, thresholds=(100,))
    return replace(queue("cq", nominal=nominal), checks=(CheckRule(name="money"),), budget=limit)


def begun(hours: int = 3) -> Story:
    told = Story()
    told.at = FRIDAY
    return told.told(*platform(), CHECK, with_budget(hours))


def later(told: Story, ms: int) -> list[object]:
    return about_workloads(told.later(ms))


def about_workloads(said: list[Decision]) -> list[object]:
    """Without what is told of the budget itself (test_budget_rules.py)."""
    return [event for event in said if not isinstance(event, BudgetThresholdReached | BudgetRenewed)]


def kinds(said: list[object]) -> list[str]:
    return [type(event).__name__ for event in said]


def test_who_comes_within_the_budget_passes_the_check() -> None:
    told = begun().told(job("a"))
    said = told.decided()
    (check,) = [event for event in said if isinstance(event, CheckSettled)]
    assert (check.check.name, check.check.state) == ("money", CheckState.READY)
    assert kinds(said)[-1] == "WorkloadAdmitted"


def test_who_comes_when_it_is_used_up_waits_with_the_date_and_without_quota() -> None:
    told = begun().told(job("a"))
    told.decided()
    assert later(told, 3 * HOUR) == [], "who runs runs on"
    parked = told.told(job("b")).decided()[-1]
    assert isinstance(parked, WorkloadParked)
    assert (parked.reason, parked.message) == (EXHAUSTED, WORDS)
    assert not told.world.workloads["team/b"].reserved
    why = explain(told.world, told.world.workloads["team/b"], told.at)
    assert (why.reason, why.message, why.line.position) == (EXHAUSTED, WORDS, 0)
    assert told.told(job("c")).decided()[1:] == [replace(parked, workload="team/c")]
    assert later(told, HOUR) == [], "nothing is told again while it stays so"
    assert told.world.next_deadline() == parse_timestamp("2026-02-01T00:00:00Z")
    said = later(told, parse_timestamp("2026-02-01T00:00:00Z") - told.at)
    assert [event.workload for event in said if isinstance(event, WorkloadAdmitted)] == ["team/b", "team/c"]


def test_who_asks_for_nothing_of_it_is_let_in() -> None:
    told = Story()
    told.at = FRIDAY
    limit = Budget(period=BudgetPeriod.DAY, limits={"nvidia.com/other": 0})
    told.told(*platform(), CHECK, replace(with_budget(None), budget=limit), job("a"))
    assert "WorkloadAdmitted" in kinds(told.decided())


def test_a_raise_lets_in_and_a_removal_too() -> None:
    for hours in (9, None):
        told = begun(0).told(job("a"))
        assert kinds(about_workloads(told.decided())) == ["ChecksRequired", "WorkloadParked"]
        said = about_workloads(told.told(with_budget(hours)).decided())
        assert isinstance(said[0], WorkloadQueued) and "WorkloadAdmitted" in kinds(said)


def test_a_budget_without_the_check_binds_nobody() -> None:
    told = Story()
    told.at = FRIDAY
    told.told(*platform(), replace(with_budget(0), checks=()), job("a"))
    assert "WorkloadAdmitted" in kinds(told.decided())


def test_a_namespace_has_a_budget_of_its_own() -> None:
    told = begun(100)
    limit = Budget(period=BudgetPeriod.WEEK, limits={GPU: 2})
    told.told(NamespaceObserved(name="team", budget=limit), job("a", count=2))
    told.decided()
    later(told, HOUR)
    parked = told.told(job("b")).decided()[-1]
    assert isinstance(parked, WorkloadParked) and "Namespace team is used up: 2 hours" in parked.message
    assert "until 2026-02-02T00:00:00Z" in parked.message, "weeks begin on Mondays"
    said = told.told(NamespaceObserved(name="team")).decided()
    assert "WorkloadAdmitted" in kinds(said)


def test_what_is_reserved_when_the_budget_ends_gives_its_quota_back() -> None:
    told = Story()
    told.at = FRIDAY
    other = AdmissionCheckObserved(name="slow", controller="somebody.else")
    both = replace(with_budget(1), checks=(CheckRule(name="money"), CheckRule(name="slow")))
    told.told(*platform(), CHECK, other, both, job("a"))
    assert "WorkloadAdmitted" not in kinds(told.decided())
    told.at += HOUR
    said = told.told(AdmissionCheckObserved(name="slow", controller="somebody.else")).decided()
    (released,) = [event for event in said if isinstance(event, QuotaReleased)]
    assert (released.reason, released.withdrawn) == (EXHAUSTED, True)
    assert isinstance(said[-1], WorkloadParked | QuotaReleased) or "WorkloadParked" in kinds(said)


def test_the_count_is_exact_and_follows_every_change() -> None:
    told = begun(100).told(job("a", count=2))
    told.decided()
    start = told.at
    later(told, 5000)
    told.told(job("b"))
    told.decided()
    second = told.at
    later(told, 7000)
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded"))
    told.decided()
    first_end = told.at
    later(told, 1000)
    spent = settled(told.world.budgets["ClusterQueue/cq"], told.at)
    assert spent.amounts[GPU] == 2 * (first_end - start) + (told.at - second)
    assert spent.running[GPU] == 1
    midnight = settled(spent, parse_timestamp("2026-02-01T00:00:05Z"))
    assert (midnight.began, midnight.amounts[GPU]) == (parse_timestamp("2026-02-01T00:00:00Z"), 5000)


def test_who_waits_in_line_when_it_ends_is_told_at_that_time() -> None:
    told = begun().told(with_budget(3, nominal=1), job("a"), job("b"))
    told.decided()
    assert told.world.workloads["team/b"].line == "cq" and not told.world.workloads["team/b"].reserved
    began = told.world.budgets["ClusterQueue/cq"].at
    assert told.world.next_deadline() == began + 3 * HOUR, "so a replay finds nothing that was not said"
    assert later(told, 3 * HOUR - 1 - (told.at - began)) == []
    (parked,) = later(told, 1)
    assert isinstance(parked, WorkloadParked) and (parked.workload, parked.reason) == ("team/b", EXHAUSTED)
    assert told.world.next_deadline() == parse_timestamp("2026-02-01T00:00:00Z")
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert not told.world.workloads["team/b"].reserved


def test_a_deadline_that_another_one_has_overtaken_wakes_nobody() -> None:
    told = begun().told(job("a"), job("b", count=2))
    told.decided()
    told.told(WorkloadFinished(workload="team/b", reason="Succeeded")).decided()
    spent = told.world.budgets["ClusterQueue/cq"]
    due = changes_after(spent, spent.at)
    assert due is not None and due > told.at + 2 * HOUR
    list(told.world.work.take("queue-manager"))
    told.world.advance(told.at + HOUR + 1)
    assert list(told.world.work.take("queue-manager")) == []


def test_a_snapshot_keeps_what_is_spent_and_when_to_look_again() -> None:
    told = begun().told(job("a"))
    told.decided()
    later(told, 3 * HOUR)
    told.told(job("b")).decided()
    told.world.settle()
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert again.budgets == told.world.budgets
    again.advance(told.at)
    assert again.next_deadline() == parse_timestamp("2026-02-01T00:00:00Z")


def test_a_world_without_budgets_keeps_none() -> None:
    told = Story().told(*platform(), job("a"))
    told.decided()
    assert not told.world.budgets and not told.world.budgeted


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("nvidia.com/gpu=500h per month", {GPU: 500}),
        (" cpu=20h , nvidia.com/gpu=1h  per day", {"cpu": 20_000, GPU: 1}),
    ],
)
def test_how_a_budget_is_written(text: str, limits: dict[str, int]) -> None:
    assert budget(text).limits == limits


@pytest.mark.parametrize(
    "text", ["500h per month", "gpu=5 per month", "gpu=5h", "gpu=5h per year", "gpu=5h,gpu=6h per day"]
)
def test_a_bad_budget_is_refused_with_an_example(text: str) -> None:
    annotated = {"name": "x", "annotations": {"kuelog.io/budget": text}}
    with pytest.raises(Refused) as refused:
        namespace({"kind": "Namespace", "metadata": annotated})
    (told,) = refused.value.problems
    assert "kuelog.io/budget" in told.field and "nvidia.com/gpu=500h per month" in told.instead


def test_the_objects_of_the_cluster_say_it() -> None:
    annotated = {"name": "x", "annotations": {"kuelog.io/budget": "nvidia.com/gpu=5h per week"}}
    told = cluster_queue({"metadata": annotated, "spec": {}})
    assert told.budget == Budget(period=BudgetPeriod.WEEK, limits={GPU: 5})  # type: ignore[union-attr]
    check = admission_check({"metadata": {"name": "money"}, "spec": {"controllerName": CONTROLLER}})
    assert check.active  # type: ignore[union-attr]


def test_periods_begin_in_utc() -> None:
    at = parse_timestamp("2026-12-31T23:59:59Z")
    assert begin(BudgetPeriod.DAY, at) == parse_timestamp("2026-12-31T00:00:00Z")
    assert begin(BudgetPeriod.WEEK, at) == parse_timestamp("2026-12-28T00:00:00Z")
    assert begin(BudgetPeriod.MONTH, at) == parse_timestamp("2026-12-01T00:00:00Z")
    assert {end(period, at) for period in (BudgetPeriod.DAY, BudgetPeriod.MONTH)} == {
        parse_timestamp("2027-01-01T00:00:00Z")
    }


def test_a_budget_that_is_told_of_a_time_long_past_is_looked_at_once_and_not_for_every_period_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Story()
    told.at = -(10**12)
    told.told(*platform(), replace(with_budget(0), budget=Budget(period=BudgetPeriod.DAY, limits={GPU: 0})))
    asked: list[int] = []

    def counted(usage: BudgetUsage, at: int) -> int | None:
        asked.append(at)
        return changes_after(usage, at)

    monkeypatch.setattr(world, "changes_after", counted)
    told.world.advance(FRIDAY)
    assert len(asked) <= 4
    due = told.world.next_deadline()
    assert due is not None and FRIDAY < due <= FRIDAY + 24 * HOUR


def test_a_budget_that_is_set_within_a_period_counts_from_then_on_against_all_of_its_limit() -> None:
    told = Story()
    told.at = FRIDAY
    told.told(*platform(), CHECK, with_budget(None), job("a")).decided()
    later(told, 5 * HOUR)
    told.told(with_budget(3)).decided()
    known = told.world.budgets["ClusterQueue/cq"]
    assert settled(known, told.at).amounts.get(GPU, 0) == 0
    assert settled(known, told.at + HOUR).amounts[GPU] == HOUR, "who runs is counted from then on"
    told.at += 2 * HOUR
    assert settled(told.told(with_budget(None), with_budget(3)).world.budgets["ClusterQueue/cq"], told.at).amounts == {}
