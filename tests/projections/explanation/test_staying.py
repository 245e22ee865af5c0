"""Who waits is told of everybody who holds what it lacks, with a count and the reason for which they are not preempted for it."""

from msgspec.structs import replace

from events.quota import BorrowWithinCohort, LocalQueueObserved, PreemptionPolicy, StopPolicy
from events.settings import SettingsObserved
from events.workload import WorkloadChanged
from ops.queries.explaining import explain
from projections.explanation.words import Staying, Tier
from tests.stories.small_world import Story, job, platform, queue

ANY, LOWER = PreemptionPolicy.ANY, PreemptionPolicy.LOWER_PRIORITY


def stays(story: Story, name: str = "asks") -> tuple[Staying, ...]:
    return explain(story.world, story.world.workloads[f"team/{name}"], story.at, deep=False).staying


def counted(story: Story, name: str = "asks") -> list[tuple[str, int, tuple[str, ...]]]:
    return [(one.reason, one.count, one.workloads) for one in stays(story, name)]


def with_rules(story: Story, name: str, **rules: object) -> Story:
    found = story.world.cluster_queues[name]
    return story.told(replace(found, preemption=replace(found.preemption, **rules)))


def two(*, mine: int = 2, theirs: int = 2, reclaim: PreemptionPolicy = ANY) -> Story:
    """Queue `cq` of others with as many cards as there are, and `mine` beside it, which may reclaim."""
    asks = queue("mine", nominal=mine, reclaim=reclaim, cohort="pool")
    story = Story().told(*platform(nominal=theirs, cards=8, cohort="pool"), asks)
    return story.told(LocalQueueObserved(namespace="team", name="mine", cluster_queue="mine"))


def test_a_policy_of_its_queue_keeps_those_of_lower_priority() -> None:
    story = two(reclaim=PreemptionPolicy.NEVER)
    story.told(*(job(f"a{one}") for one in range(4))).decided()
    story.told(job("asks", priority=100, queue="mine")).decided()
    (group,) = stays(story)
    assert (group.reason, group.count, group.workloads) == ("PolicyForbids", 4, ("team/a0", "team/a1", "team/a2"))
    assert group.cluster_queues == ("cq",)
    assert group.message == "spec.preemption.reclaimWithinCohort of ClusterQueue mine is Never"


def test_those_of_equal_priority_and_of_a_queue_within_its_own_stay() -> None:
    story = with_rules(two(), "mine", within_cluster_queue=LOWER)
    story.told(job("b"), job("c"), job("own", queue="mine", priority=5), job("own-too", queue="mine", priority=5))
    story.decided()
    story.told(job("asks", priority=5, queue="mine")).decided()
    assert counted(story) == [
        ("PriorityNotLower", 2, ("team/own", "team/own-too")),
        ("QueueWithinNominal", 2, ("team/b", "team/c")),
    ]
    assert "withinClusterQueue of ClusterQueue mine is LowerPriority" in stays(story)[0].message


def test_a_mark_protects_for_good_and_time_until_it_is_over() -> None:
    story = two(mine=4, theirs=0)
    marked = job("marked")
    story.told(replace(marked, spec=replace(marked.spec, never_preempt=True)), job("young"), job("old")).decided()
    story.told(job("more")).decided()
    with_rules(story, "cq", minimum_runtime=60_000)
    story.told(job("asks", queue="mine", count=2)).decided()
    time, never = stays(story)
    assert (never.reason, never.count, never.until) == ("NeverPreempt", 1, 0)
    admitted = story.world.workloads["team/young"].admitted_at
    assert admitted is not None
    assert (time.reason, time.count, time.until) == ("MinimumRuntime", 3, admitted + 60_000)
    assert "the first until 1970-01-01T00:01:0" in time.message


def test_who_was_preempted_before_is_named_with_its_cool_down() -> None:
    story = two(mine=2, theirs=0)
    story.told(job("a"), job("b")).decided()
    for key in ("team/a", "team/b"):
        one = story.world.workloads[key]
        story.world.put_workload(replace(one, stops=replace(one.stops, preempted_at=story.at)))
    at = story.at
    with_rules(story, "cq", cooldown=90_000)
    story.told(job("asks", queue="mine")).decided()
    (group,) = stays(story)
    assert (group.reason, group.count, group.until) == ("Cooldown", 2, at + 90_000)


def test_a_stopped_queue_keeps_its_own() -> None:
    story = two(mine=2, theirs=0)
    story.told(job("a"), job("b")).decided()
    story.told(replace(story.world.cluster_queues["cq"], stop=StopPolicy.HOLD))
    story.told(job("asks", queue="mine")).decided()
    assert counted(story) == [("QueueInactive", 2, ("team/a", "team/b"))]


def test_where_all_that_may_go_do_not_suffice_that_is_said_and_who_goes_already_is_counted_apart() -> None:
    story = Story().told(*platform(nominal=4, cards=8))
    story.told(job("low"), job("high", priority=100, count=3)).decided()
    story.told(job("first", priority=50)).decided()
    assert story.world.workloads["team/low"].evicted
    story.told(job("asks", priority=60, count=2)).decided()
    assert counted(story) == [
        ("Leaving", 1, ("team/low",)),
        ("PriorityNotLower", 1, ("team/high",)),
    ]
    enough = Story().told(*platform(nominal=4, cards=8))
    enough.told(job("low"), job("high", priority=100, count=3)).decided()
    enough.told(job("asks", priority=60, count=2)).decided()
    assert counted(enough) == [("NotEnough", 1, ("team/low",)), ("PriorityNotLower", 1, ("team/high",))]
    assert stays(enough)[0].message == "they may be preempted, but all of them together do not hold enough"


def test_who_would_borrow_is_told_that_nobody_goes_for_a_borrower_and_who_has_a_rule_for_that_is_not() -> None:
    story = two(mine=1, theirs=1, reclaim=LOWER)
    story.told(*(replace(queue("third", nominal=2, cohort="pool"), name="third"),))
    story.told(job("own", queue="mine", priority=100)).decided()
    story.told(*(job(f"a{one}") for one in range(3))).decided()
    story.told(job("asks", queue="mine", priority=50)).decided()
    assert ("BorrowingForbids", 3) in [(one.reason, one.count) for one in stays(story)]
    with_rules(story, "mine", borrow_within_cohort=BorrowWithinCohort(policy=LOWER))
    assert explain(story.world, story.world.workloads["team/asks"], story.at).staying == ()


def test_where_shares_are_compared_it_is_said_that_shares_may_keep_them() -> None:
    story = Story().told(SettingsObserved(fair_sharing=True))
    mine = queue("mine", nominal=0, reclaim=ANY, cohort="pool")
    story.told(*platform(nominal=0, cards=8, cohort="pool"), mine, queue("lender", nominal=2, cohort="pool"))
    story.told(LocalQueueObserved(namespace="team", name="mine", cluster_queue="mine"))
    story.told(job("a"), job("own", queue="mine")).decided()
    story.told(job("asks", queue="mine")).decided()
    told = {one.reason: one.message for one in stays(story)}
    assert "share" in told["NotEnough"], told


def test_who_fits_or_can_never_fit_or_has_victims_is_told_of_nobody() -> None:
    story = Story().told(*platform(nominal=2, cards=8))
    story.told(job("low"), job("low-too")).decided()
    story.told(job("asks", priority=5), job("giant", count=3)).decided()
    assert counted(story) == []
    assert counted(story, "giant") == []
    assert counted(story, "low") == []


def test_one_is_not_told_of_the_slice_whose_place_it_takes() -> None:
    story = Story().told(*platform(nominal=2, cards=8))
    story.told(job("a"), job("b")).decided()
    story.told(job("asks", count=2)).decided()
    one = story.world.workloads["team/asks"]
    story.told(WorkloadChanged(workload=one.key, spec=replace(one.spec, replaces="team/a")))
    assert counted(story) == [("PriorityNotLower", 1, ("team/b",))]


def test_who_waits_for_those_it_preempts_in_a_queue_without_a_cohort_is_told_of_its_queue() -> None:
    story = Story().told(*platform(nominal=1, cards=4), job("low"))
    story.decided()
    story.told(job("asks", priority=5))
    for reason in ("MayPreempt", "WaitingForPreemptedWorkloads"):
        found = explain(story.world, story.world.workloads["team/asks"], story.at)
        assert (found.tier, found.reason) == (Tier.QUEUE, reason)
        story.decided()
