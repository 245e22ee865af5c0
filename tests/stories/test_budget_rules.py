"""Budgets in fractions and in money: thresholds, renewal, carry-over, shares of users, approvals, and what becomes of whom at the end."""

from fractions import Fraction

import pytest
from msgspec.structs import replace

from events.admission import WorkloadAdmitted
from events.budget import (
    AtTheEnd,
    Budget,
    BudgetLimits,
    BudgetPeriod,
    BudgetPrice,
    BudgetRenewed,
    BudgetThresholdReached,
    MoreApproved,
    RunningAtTheEnd,
)
from events.catalogue import AnyEvent, Decision
from events.control import ObjectProblem, ObjectRefused, ObjectRemoved
from events.quota import AdmissionCheckObserved, CheckRule, ClusterQueueObserved, NamespaceObserved
from events.timestamp import parse_timestamp
from events.upkeep import CheckSettled
from events.workload import (
    EvictionOrdered,
    PodsGone,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadParked,
    WorkloadSubmitted,
)
from projections.budgets.amounts import number_of
from projections.budgets.budget_usage import HOUR, BudgetUsage, allowed, settled
from projections.budgets.enforcement import EXHAUSTED
from projections.budgets.rates import CONTROLLER, rates
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.watcher.fields.budget_text import approvals, budget, budget_limits, prices, with_policy
from tests.stories.small_world import GPU, Story, job, platform, queue

FRIDAY = parse_timestamp("2026-01-30T12:00:00Z")
FEBRUARY = parse_timestamp("2026-02-01T00:00:00Z")
CHECK = AdmissionCheckObserved(name="money", controller=CONTROLLER)
WHOLE = "ClusterQueue/cq"


def with_budget(found: Budget | None, nominal: int = 8) -> ClusterQueueObserved:
    return replace(queue("cq", nominal=nominal), checks=(CheckRule(name="money"),), budget=found)


def begun(found: Budget, *more: AnyEvent, check: AdmissionCheckObserved = CHECK) -> Story:
    told = Story()
    told.at = FRIDAY
    return told.told(*platform(), check, with_budget(found), *more)


def of_user(name: str, user: str, count: int = 1) -> WorkloadSubmitted:
    found = job(name, count=count)
    assert isinstance(found, WorkloadSubmitted)
    return replace(found, spec=replace(found.spec, user=user))


def news(said: list[Decision]) -> list[tuple[str, str, int]]:
    return [(one.budget, one.resource, one.percent) for one in said if isinstance(one, BudgetThresholdReached)]


def admitted(said: list[Decision]) -> list[str]:
    return [one.workload for one in said if isinstance(one, WorkloadAdmitted)]


def parked(said: list[Decision]) -> WorkloadParked:
    (found,) = [one for one in said if isinstance(one, WorkloadParked)]
    return found


def test_half_an_hour_is_half_an_hour() -> None:
    told = begun(budget("nvidia.com/gpu=0.5h per month"), job("a"))
    told.decided()
    since = told.world.budgets[WHOLE].at
    told.at = since
    assert not news(told.later(HOUR // 2 * 8 // 10 - 1)) and news(told.later(1)) == [(WHOLE, GPU, 80)]
    assert not news(told.later(HOUR // 10 - 1)) and news(told.later(1)) == [(WHOLE, GPU, 100)]
    assert "0.5 hours of nvidia.com/gpu per month" in parked(told.told(job("b")).decided()).message


def test_money_is_spent_by_the_millisecond_and_a_new_price_counts_from_then_on() -> None:
    check = replace(CHECK, prices=prices("nvidia.com/gpu=2.50 EUR"))
    told = begun(budget("10 EUR per month"), job("a", count=2), check=check)
    told.decided()
    start = told.world.budgets[WHOLE].at
    told.later(1000)
    told.told(replace(check, prices=prices("nvidia.com/gpu=3 EUR")))
    changed = told.at
    told.later(HOUR)
    spent = settled(told.world.budgets[WHOLE], told.at)
    assert spent.amounts["EUR"] == 5_000_000 * (changed - start) + 6_000_000 * (told.at - changed)
    assert spent.running == {**spent.running, "EUR": 6_000_000}
    ends = told.at + -(-(10_000_000 * HOUR - spent.amounts["EUR"]) // 6_000_000)
    assert news(told.later(ends - told.at - 1)) == [(WHOLE, "EUR", 80)]
    assert news(told.later(1)) == [(WHOLE, "EUR", 100)]
    waits = parked(told.told(job("b")).decided())
    assert (waits.reason, waits.message) == (
        EXHAUSTED,
        "The budget of ClusterQueue cq is used up: 10 EUR per month; workloads wait until 2026-02-01T00:00:00Z",
    )


def test_what_costs_nothing_is_let_in_when_the_money_is_spent() -> None:
    told = begun(budget("0 EUR per month"), job("a"), check=replace(CHECK, prices=prices("cpu=1 EUR")))
    assert admitted(told.decided()) == ["team/a"]


def test_a_price_of_the_flavor_comes_before_that_of_all_and_each_unit_has_its_own_measure() -> None:
    found = prices("nvidia.com/gpu=2 EUR, nvidia.com/gpu@a100=4.5 EUR, cpu=0.03 EUR, memory=0.004 EUR, cpu=0.05 USD")
    held = [("a100", GPU, 2), ("v100", GPU, 1), ("v100", "cpu", 1500), ("v100", "memory", 3 * 2**29)]
    exact = Fraction(9) + 2 + Fraction(15, 10) * Fraction(3, 100) + Fraction(3, 2) * Fraction(4, 1000)
    assert rates(held, found) == {"EUR": exact * 10**6, "USD": 75_000, GPU: 3, "cpu": 1500, "memory": 3 * 2**29}
    assert rates(held, tuple(reversed(found))) == rates(held, found), "in whatever order they are written"
    assert rates([("v100", "ephemeral-storage", 2**30)], prices("ephemeral-storage=1 EUR"))["EUR"] == 10**6


def test_a_rate_is_rounded_once_to_a_millionth_half_to_even() -> None:
    found = (BudgetPrice(resource="x", currency="EUR", price=5000),)
    assert [rates([("f", "x", amount)], found)["EUR"] for amount in (1, 2, 3, 5)] == [0, 1, 2, 2]


def test_thresholds_are_told_once_and_again_when_what_was_reached_is_not_any_more() -> None:
    found = with_policy(budget("nvidia.com/gpu=4h per month"), "thresholds=25%/50%")
    told = begun(found, job("a", count=2))
    told.decided()
    assert news(told.later(HOUR // 2)) == [(WHOLE, GPU, 25)]
    assert not news(told.later(HOUR // 4))
    assert news(told.later(HOUR // 4)) == [(WHOLE, GPU, 50)]
    assert not news(told.told(with_budget(replace(found, limits={GPU: 8}))).decided())
    assert news(told.later(HOUR)) == [(WHOLE, GPU, 50)]
    assert told.world.budgets[WHOLE].told == {GPU: 50}


def test_the_end_is_told_also_where_the_policy_does_not_name_it() -> None:
    told = begun(with_policy(budget("nvidia.com/gpu=2h per month"), "thresholds=50%"), job("a"))
    told.decided()
    assert news(told.later(HOUR)) == [(WHOLE, GPU, 50)]
    assert news(told.later(HOUR)) == [(WHOLE, GPU, 100)]


def test_another_limit_in_its_place_keeps_the_count_and_another_period_begins_anew() -> None:
    told = begun(budget("nvidia.com/gpu=4h per month"), job("a"))
    told.decided()
    since = told.world.budgets[WHOLE].at
    told.later(HOUR)
    told.told(with_budget(budget("nvidia.com/gpu=5h per month")))
    assert settled(told.world.budgets[WHOLE], told.at).amounts[GPU] == told.at - since
    told.told(with_budget(budget("nvidia.com/gpu=5h per day")))
    assert settled(told.world.budgets[WHOLE], told.at).amounts.get(GPU, 0) == 0
    assert settled(told.world.budgets[WHOLE], told.at + HOUR).amounts[GPU] == HOUR, "who runs is counted on"


def test_a_new_period_is_told_after_one_in_which_something_was() -> None:
    told = begun(budget("nvidia.com/gpu=1h per month"), job("a"))
    told.decided()
    assert news(told.later(HOUR)) == [(WHOLE, GPU, 100)]
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    said = told.later(FEBRUARY - told.at)
    assert [one for one in said if isinstance(one, BudgetRenewed)] == [BudgetRenewed(budget=WHOLE, began=FEBRUARY)]
    assert not told.world.budgets[WHOLE].told
    assert not any(isinstance(one, BudgetRenewed) for one in told.later(28 * 24 * HOUR))


@pytest.mark.parametrize(
    ("running", "days", "left"),
    [
        (0, 1, 4 * HOUR),
        (0, 40, 5 * HOUR),
        (1, 1, 10 * HOUR - 24 * HOUR + 14 * HOUR),
        (1, 3, 0),
    ],
)
def test_what_is_left_over_is_carried_up_to_its_bound(running: int, days: int, left: int) -> None:
    found = Budget(period=BudgetPeriod.DAY, limits={GPU: 10}, carry_over=50)
    midnight = parse_timestamp("2026-01-30T00:00:00Z")
    usage = BudgetUsage(budget=found, began=midnight, at=midnight + 23 * HOUR, amounts={GPU: 6 * HOUR}, running={})
    if running:
        usage = replace(usage, running={GPU: 1}, amounts={GPU: 9 * HOUR})
    later = settled(usage, midnight + days * 24 * HOUR)
    assert later.carried.get(GPU, 0) == left
    assert allowed(later, GPU) == 10 * HOUR + left


@pytest.mark.parametrize("period", list(BudgetPeriod))
@pytest.mark.parametrize("rate", [0, 1, 2, 5])
def test_many_periods_at_once_carry_what_each_after_the_other_does(period: BudgetPeriod, rate: int) -> None:
    found = Budget(period=period, limits={GPU: 60}, carry_over=70)
    usage = BudgetUsage(budget=found, began=FRIDAY, at=FRIDAY, running={GPU: rate} if rate else {})
    usage = settled(replace(usage, began=0, at=0), FRIDAY)
    step = usage
    for hour in range(0, 24 * 100, 7):
        step = settled(step, FRIDAY + hour * HOUR)
        assert settled(usage, FRIDAY + hour * HOUR) == step


def test_nothing_is_carried_over_where_the_policy_does_not_say_so() -> None:
    usage = BudgetUsage(budget=budget("nvidia.com/gpu=10h per day"), began=FRIDAY - 12 * HOUR, at=FRIDAY)
    assert settled(usage, FRIDAY + 24 * HOUR).carried == {}


def test_each_user_has_a_share_of_its_own_and_who_names_nobody_has_one_together() -> None:
    found = replace(budget("nvidia.com/gpu=100h per month"), each_user=budget_limits("nvidia.com/gpu=1h"))
    told = begun(found, of_user("a", "ann"), of_user("x", ""), of_user("y", ""))
    told.decided()
    assert told.later(HOUR // 2) and set(told.world.budgets) == {WHOLE, f"{WHOLE}/users/ann", f"{WHOLE}/users/"}
    said = told.told(of_user("b", "ann"), of_user("c", "ben"), of_user("z", "")).decided()
    assert admitted(said) == ["team/b", "team/c"]
    assert parked(said).message.startswith("The budget of user (none named) in ClusterQueue cq is used up: 1 hours")
    said = told.later(HOUR // 4)
    assert (f"{WHOLE}/users/ann", GPU, 100) in news(said)
    said = told.told(of_user("d", "ann"), of_user("e", "ben")).decided()
    assert admitted(said) == ["team/e"] and "user ann in ClusterQueue cq" in parked(said).message
    assert told.world.budgets[WHOLE].running[GPU] == sum(
        one.running.get(GPU, 0) for scope, one in told.world.budgets.items() if scope != WHOLE
    )
    told.told(with_budget(replace(found, each_user=None))).decided()
    assert set(told.world.budgets) == {WHOLE}
    assert told.world.workloads["team/d"].admitted


def test_who_is_only_warned_gets_in_and_the_check_says_so() -> None:
    told = begun(with_policy(budget("nvidia.com/gpu=0h per month"), "end=Warn"), job("a"))
    said = told.decided()
    assert admitted(said) == ["team/a"] and news(said) == [(WHOLE, GPU, 100)]
    (check,) = [one.check for one in said if isinstance(one, CheckSettled)]
    assert check.message.endswith("workloads get in all the same; the next period begins at 2026-02-01T00:00:00Z")


def test_who_has_to_ask_is_let_in_by_an_approval_of_its_period_alone() -> None:
    found = with_policy(budget("nvidia.com/gpu=1h per month"), "end=Ask")
    told = begun(found, job("a"))
    told.decided()
    told.later(HOUR)
    waits = parked(told.told(job("b")).decided())
    assert waits.message.endswith(
        "workloads wait until 2026-02-01T00:00:00Z, or until somebody approves of more "
        "(kuelog budget approve clusterqueue/cq)"
    )
    december = MoreApproved(
        began=parse_timestamp("2025-12-01T00:00:00Z"), more=budget_limits("nvidia.com/gpu=9h"), by="x"
    )
    assert not admitted(told.told(with_budget(replace(found, approved=(december,)))).decided())
    approved = approvals("2026-01: nvidia.com/gpu=1h by ann", BudgetPeriod.MONTH)
    said = told.told(with_budget(replace(found, approved=approved))).decided()
    assert admitted(said) == ["team/b"] and told.world.budgets[WHOLE].told == {}
    said = told.later(HOUR)
    assert news(said) == [(WHOLE, GPU, 100)]
    assert "1 hours of nvidia.com/gpu per month and 1 hours of nvidia.com/gpu carried over or approved" in (
        parked(told.told(job("c")).decided()).message
    )


def test_an_approval_for_a_user_is_that_users_alone() -> None:
    found = replace(
        with_policy(budget("100 EUR per month"), "end=Ask"),
        each_user=budget_limits("nvidia.com/gpu=0h"),
        approved=approvals("2026-01: nvidia.com/gpu=1h for ann by ben", BudgetPeriod.MONTH),
    )
    told = begun(found, of_user("a", "ann"), of_user("b", "carl"))
    said = told.decided()
    assert admitted(said) == ["team/a"] and parked(said).workload == "team/b"


def test_who_runs_is_stopped_where_the_policy_says_so_and_comes_back_in_the_next_period() -> None:
    told = begun(with_policy(budget("nvidia.com/gpu=1h per month"), "running=Stop"), job("a"))
    told.decided()
    said = told.later(HOUR)
    (stop,) = [one for one in said if isinstance(one, EvictionOrdered)]
    assert (stop.workload, stop.reason) == ("team/a", EXHAUSTED) and "1 hours of nvidia.com/gpu" in stop.message
    said = told.told(
        PodsGone(workload="team/a", decision=f"LOG_0/{told.world.workloads['team/a'].stops.stopped_by}")
    ).decided()
    assert parked(said).reason == EXHAUSTED
    assert not told.world.budgets[WHOLE].running
    assert admitted(told.later(FEBRUARY - told.at)) == ["team/a"]


@pytest.mark.parametrize("policy", ["end=Hold", "end=Warn", "end=Ask", "running=Continue"])
def test_who_runs_runs_on_above_the_budget_where_the_policy_does_not_say_otherwise(policy: str) -> None:
    told = begun(with_policy(budget("nvidia.com/gpu=1h per month"), policy), job("a"))
    told.decided()
    assert not [one for one in (*told.later(HOUR), *told.later(HOUR)) if isinstance(one, EvictionOrdered)]
    assert settled(told.world.budgets[WHOLE], told.at).amounts[GPU] > HOUR


def test_of_two_budgets_that_are_used_up_the_one_is_told_that_is_renewed_last() -> None:
    week = NamespaceObserved(name="team", budget=budget("nvidia.com/gpu=0h per week"))
    told = begun(budget("nvidia.com/gpu=0h per month"), week, job("a"))
    waits = parked(told.decided())
    assert waits.message == (
        "The budget of Namespace team is used up: 0 hours of nvidia.com/gpu per week; "
        "workloads wait until 2026-02-02T00:00:00Z"
    )


def test_a_snapshot_keeps_all_of_it_and_a_story_that_forgets_its_hints_decides_the_same() -> None:
    found = replace(
        with_policy(budget("nvidia.com/gpu=2h, 100 EUR per day"), "carryOver=100%, thresholds=10%/50%"),
        each_user=budget_limits("nvidia.com/gpu=1h"),
    )
    check = replace(CHECK, prices=prices("nvidia.com/gpu=2.5 EUR"))
    stories = [Story(), Story(forgetful=True)]
    for told in stories:
        told.at = FRIDAY
        told.told(*platform(), check, with_budget(found), of_user("a", "ann"), of_user("b", "ben"))
        told.decided()
        for _ in range(30):
            told.later(HOUR + 7)
        told.world.settle()
    left, right = stories
    assert left.decisions == right.decisions and news(left.decisions)
    again = world_of(tables_of(left.world))
    assert state_hash(again) == state_hash(left.world) and again.budgets == left.world.budgets
    again.advance(left.at)
    assert again.next_deadline() == left.world.next_deadline()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nvidia.com/gpu=0.5h", BudgetLimits(limits={GPU: 5}, scale=10)),
        ("cpu=0.00001h, nvidia.com/gpu=2h", BudgetLimits(limits={"cpu": 1000, GPU: 200_000}, scale=100_000)),
        ("5000.50 EUR, nvidia.com/gpu=1.5h", BudgetLimits(limits={"EUR": 5_000_500_000, GPU: 15}, scale=10)),
    ],
)
def test_limits_are_exact(text: str, found: BudgetLimits) -> None:
    assert budget_limits(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "nvidia.com/gpu=0.000001h",
        "1.0000001 EUR",
        "1e3 EUR",
        "-5 EUR",
        "5 EUR, 6 EUR",
        "5 Euro",
        "EUR=5h",
        "nvidia.com/gpu=1,5h",
    ],
)
def test_what_is_no_exact_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself
        budget_limits(text)


@pytest.mark.parametrize(
    "text",
    [
        "end=Stop",
        "end",
        "running=Stop,end=Warn",
        "thresholds=0%",
        "thresholds=101%",
        "carryOver=x%",
        "end=Hold,end=Ask",
        "more=1",
    ],
)
def test_a_policy_that_can_t_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself
        with_policy(budget("1 EUR per day"), text)


@pytest.mark.parametrize(
    "text", ["2026-02-31: 1 EUR by ann", "2026-11: 1 EUR by ann", "2026-11-23: 1 EUR", "2026-11-23 by ann", "x"]
)
def test_an_approval_names_a_day_that_a_period_begins_with_and_who_approves(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself
        approvals(text, BudgetPeriod.DAY)


@pytest.mark.parametrize(
    ("text", "period"),
    [("2026-11-24: 1 EUR by ann", BudgetPeriod.WEEK), ("2026-11-01: 1 EUR by ann", BudgetPeriod.MONTH)],
)
def test_an_approval_names_no_other_day_of_a_week_and_none_of_a_month(text: str, period: BudgetPeriod) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself
        approvals(text, period)
    (monday,) = approvals("2026-11-23: 1 EUR by ann", BudgetPeriod.WEEK)
    assert monday.began == parse_timestamp("2026-11-23T00:00:00Z")


@pytest.mark.parametrize(
    "text", ["nvidia.com/gpu=1", "nvidia.com/gpu=1 EUR, nvidia.com/gpu=2 EUR", "=1 EUR", "a=1.00000000001 EUR"]
)
def test_a_price_that_can_t_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text itself
        prices(text)


def test_amounts_are_told_as_people_write_them() -> None:
    assert number_of("EUR", 12_500_000 * HOUR) == "12.5"
    assert number_of("cpu", 1500 * HOUR) == "1.5"
    assert number_of(GPU, HOUR // 3) == "0.333333"
    assert number_of(GPU, -HOUR) == "-1"


def test_policies_and_their_defaults() -> None:
    found = with_policy(budget("1 EUR per day"), "end=Ask, running=Stop, thresholds=90%/50%, carryOver=25%")
    assert (found.at_end, found.running) == (AtTheEnd.ASK, RunningAtTheEnd.STOP)
    assert (found.thresholds, found.carry_over) == ((50, 90), 25)
    plain = budget("1 EUR per day")
    assert (plain.at_end, plain.running, plain.thresholds, plain.carry_over) == (
        AtTheEnd.HOLD,
        RunningAtTheEnd.CONTINUE,
        (80, 100),
        0,
    )


@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue"])
def test_who_asks_for_a_queue_that_was_refused_is_told_so_and_not_that_there_is_none(kind: str) -> None:
    facts = [one for one in platform() if type(one).__name__ != f"{kind}Observed"]
    told = Story().told(*facts, job("a"))
    name, space = ("lq", "team") if kind == "LocalQueue" else ("cq", "")
    assert parked(told.decided()).message == f"{kind} {name} doesn't exist"
    problem = ObjectProblem(field="spec.x", message="y", instead="z")
    told.told(ObjectRefused(kind=kind, namespace=space, name=name, problems=(problem,)))
    waits = parked(told.decided())
    assert (waits.reason, waits.message) == ("Misconfigured", f"{kind} {name} was refused: spec.x: y (write z)")
    told.told(ObjectRemoved(kind=kind, namespace=space, name=name))
    assert parked(told.decided()).message == f"{kind} {name} doesn't exist"
    assert admitted(told.told(*[one for one in platform() if one not in facts]).decided()) == ["team/a"]


def test_who_waits_hears_of_the_end_of_a_budget_from_a_fact_that_is_ahead_of_the_clock_whoever_remembers_what() -> None:
    said: list[list[Decision]] = []
    for forgetful in (False, True):
        told = Story(unchecked=True, forgetful=forgetful)
        told.at = FRIDAY
        told.told(*platform(), CHECK, with_budget(budget("nvidia.com/gpu=3h per month"), nominal=1))
        told.told(job("a"), job("b"))
        told.decided()
        told.at += 4 * HOUR
        told.told(WorkloadDeleted(workload="team/a"))
        told.at -= 4 * HOUR
        said.append(told.decided())
    assert said[0] == said[1] and parked(said[0]).workload == "team/b"


def test_who_runs_on_into_a_period_in_which_that_is_too_long_is_heard_of_when_it_is() -> None:
    told = Story(unchecked=True)
    told.at = FRIDAY
    limited = with_budget(Budget(period=BudgetPeriod.MONTH, limits={GPU: 50}, running=RunningAtTheEnd.STOP))
    told.told(*platform(), CHECK, limited, job("a"))
    assert admitted(told.decided()) == ["team/a"]
    assert news(told.later(FEBRUARY - FRIDAY)) == [], "a day and a half is not too long"
    assert news(told.later(40 * HOUR)) == [(WHOLE, GPU, 80)]
    assert [one.reason for one in told.later(10 * HOUR) if isinstance(one, EvictionOrdered)] == [EXHAUSTED]
