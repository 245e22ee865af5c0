"""What is counted by queue is what happened, reckoned otherwise from the records of a world, and it goes on where it was."""

import re
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from events.commit import Commit, Sighting
from events.control import ObjectRemoved
from events.multikueue import ClusterChosen, ClustersNominated
from events.quota import CohortObserved, LocalQueueObserved
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import PodsReady, QuotaReleased, WorkloadDeleted, WorkloadFinished
from projections.counters.counted_in_world import counted_in
from projections.counters.counted_so_far import CountedSoFar
from projections.counters.histogram import HOURS, LONGER, SHORT, empty
from projections.counters.queue_counters import QueueCounters
from projections.counters.series import BOUNDS
from services.runtime.log_port import Entry
from tests.laws.many_hosts import PARTITION
from tests.laws.random_life import Life
from tests.projections.counters.counted_story import CountedStory
from tests.projections.counters.reckoned import Log, Reckoning, messages
from tests.stories.small_world import job, platform, queue

ELSEWHERE = re.compile("execution|gate_removal")
"""Times that are reckoned in tests of their own."""


def hear(counters: QueueCounters, message: Sighting | Commit, entry: Entry) -> None:
    if isinstance(message, Sighting):
        counters.fold_sighting(message)
    elif entry.stream == PARTITION:
        counters.fold_commit(message.author, message.events, message.at, entry.sequence)
        counters.settle()


def counted(log: Log, stored_at: Callable[[int], bool] = lambda _: False) -> QueueCounters:
    """The counters of a log, stored and begun anew from there where it is said."""
    counters = QueueCounters()
    for message, entry in messages(log):
        hear(counters, message, entry)
        if entry.stream == PARTITION and stored_at(entry.sequence):
            stored = msgspec.json.encode(counters.so_far())
            counters = QueueCounters()
            counters.begin_at(msgspec.json.decode(stored, type=CountedSoFar))
    return counters


def test_a_workload_that_is_preempted_and_comes_back_is_counted_at_each_step() -> None:
    story = CountedStory().told(*platform(nominal=1, cards=1, cohort="pool"), CohortObserved(name="pool", parent="all"))
    story.told(SettingsObserved(pods_ready=PodsReadyRule(timeout=600_000)))
    story.at = 100_000
    story.told(job("a", at=40_000)).decided()
    story.told(PodsReady(workload="team/a", ready=True))
    story.at += 4_000
    story.told(job("urgent", priority=9, at=story.at)).decided()
    story.at += 3_000
    story.left()
    story.told(WorkloadFinished(workload="team/urgent", reason="Succeeded")).decided()
    counts = story.counters.counts
    assert counts["kueue_admitted_workloads_total", "cq", ""] == 3, "a twice, urgent once"
    assert counts["kueue_local_queue_admitted_workloads_total", "lq", "team", ""] == 3
    assert counts["kueue_cohort_subtree_admitted_workloads_total", "pool", ""] == 3
    assert counts["kueue_cohort_subtree_admitted_workloads_total", "all", ""] == 3
    assert counts["kueue_preempted_workloads_total", "cq", "InClusterQueue"] == 1
    assert counts["kueue_evicted_workloads_total", "cq", "Preempted", "", ""] == 1
    assert counts["kueue_evicted_workloads_once_total", "cq", "Preempted", "", ""] == 1
    assert counts["kueue_finished_workloads_total", "cq", ""] == 1
    assert counts["kueue_admission_attempts_total", "success"] == 3
    assert counts["kueue_admission_attempts_total", "inadmissible"] >= 1
    times = story.counters.times
    assert times["kueue_ready_wait_time_seconds", "cq", ""].total == 60_020
    assert times["kueue_admitted_until_ready_wait_time_seconds", "cq", ""].total == 10
    assert times["kueue_pods_ready_to_evicted_time_seconds", "cq", "Preempted", ""].total == 4_010
    assert times["kueue_workload_eviction_latency_seconds", "cq", "Preempted"].total == 3_010


def test_a_bound_is_in_its_bucket_and_what_is_larger_than_all_in_none() -> None:
    found = empty(HOURS)
    for took in (-5, 1_000, 1_001, 10_240_000, 10_240_001):
        found = found.observed(HOURS, took)
    assert (found.counts[0], found.counts[1], found.counts[-2], found.counts[-1]) == (2, 1, 1, 1)
    assert found.total == 20_482_002
    assert (len(HOURS), HOURS[-1], len(LONGER), LONGER[-1], SHORT[-1]) == (14, 10_240_000, 16, 40_960_000, 10_240)


@pytest.mark.parametrize("seed", [9, 12, 56, 58])
def test_over_a_random_life_the_counters_are_what_the_records_of_the_world_say(seed: int) -> None:
    log = Life(seed, fresh=0).live(60).hosts.log
    reckoning, found = Reckoning(), counted(log)
    for message, entry in messages(log):
        reckoning.hear(message, entry)
    said = [one for one, entry in messages(log) if isinstance(one, Commit) and entry.stream == PARTITION]
    for commit in said:
        reckoning.counts["kuelog_commits_total", commit.author] += 1
        for event in commit.events:
            reckoning.counts["kuelog_events_total", commit.author, type(event).__name__] += 1
    names = {one[0] for one in reckoning.counts}
    assert reckoning.counts.total() > 30, "something happened"
    assert {series: n for series, n in found.counts.items() if series[0] in names} == reckoning.counts
    for series, all_of_it in reckoning.took.items():
        bounds = BOUNDS.get(series[0], HOURS)
        expected = empty(bounds)
        for each in all_of_it:
            expected = expected.observed(bounds, each)
        assert found.times[series] == expected, series
    assert {series for series in found.times if not ELSEWHERE.search(series[0])} == set(reckoning.took)


@pytest.mark.parametrize("seed", [5, 40])
def test_counters_that_were_stored_and_begun_anew_are_the_same_as_those_that_went_on(seed: int) -> None:
    log = Life(seed, fresh=0).live(40).hosts.log
    straight, again = counted(log), counted(log, lambda sequence: sequence % 7 == 0)
    assert msgspec.json.encode(again.so_far()) == msgspec.json.encode(straight.so_far())


@pytest.mark.parametrize("seed", [5, 27])
def test_counters_that_go_on_from_a_world_count_what_comes_as_those_that_have_counted_all(seed: int) -> None:
    log = Life(seed, fresh=0).live(40).hosts.log
    middle = len(log[PARTITION]) // 2
    reckoning, straight, begun = Reckoning(), QueueCounters(), QueueCounters()
    before: dict[tuple[str, ...], int] = {}
    for message, entry in messages(log):
        reckoning.hear(message, entry)
        hear(straight, message, entry)
        if entry.stream == PARTITION and entry.sequence == middle:
            begun.begin_at(counted_in(reckoning.world))
            before = dict(straight.counts)
        elif before:
            hear(begun, message, entry)
    more = {series: count - before.get(series, 0) for series, count in straight.counts.items()}
    assert begun.counts == {series: count for series, count in more.items() if count}


def test_what_is_counted_ahead_is_taken_back() -> None:
    story = CountedStory().told(*platform(nominal=4, cards=2), job("a"))
    story.decided()
    counters = story.counters
    counters.settle()
    before = msgspec.json.encode(counters.so_far())
    with counters.trail.trial():
        counters.fold(WorkloadFinished(workload="team/a", reason="Succeeded"), story.at)
        assert counters.counts["kueue_finished_workloads_total", "cq", ""] == 1
    assert msgspec.json.encode(counters.so_far()) == before


def test_the_series_of_a_queue_go_with_it_and_those_of_others_stay() -> None:
    story = CountedStory().told(*platform(nominal=1, cards=2), queue("other", nominal=4))
    story.told(LocalQueueObserved(namespace="team", name="side", cluster_queue="other"))
    story.told(LocalQueueObserved(namespace="lq", name="team", cluster_queue="other"))
    story.told(job("a"), job("b", queue="side"))
    story.decided()
    gone = (
        ObjectRemoved(kind="LocalQueue", namespace="team", name="lq"),
        ObjectRemoved(kind="ClusterQueue", name="cq"),
    )
    before = {*story.counters.counts, *story.counters.times}
    with story.counters.trail.trial():
        story.counters.fold(gone[1], story.at)
    assert {*story.counters.counts, *story.counters.times} == before
    for one in gone:
        story.counters.fold(one, story.at)
    dropped = before - {*story.counters.counts, *story.counters.times}
    assert ("kueue_admitted_workloads_total", "cq", "") in dropped
    assert ("kueue_local_queue_admission_wait_time_seconds", "lq", "team", "") in dropped
    assert {series[1] for series in dropped} == {"cq", "lq"}
    assert not [series for series in before - dropped if {"cq", "lq"} & set(series)]
    assert all("side" not in series and "other" not in series and "success" not in series for series in dropped)


LOCAL_QUEUE_GONE = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
CLUSTER_QUEUE_GONE = ObjectRemoved(kind="ClusterQueue", name="cq")
FINISHED = ("kueue_finished_workloads_total", "cq", "")
FINISHED_LOCALLY = ("kueue_local_queue_finished_workloads_total", "lq", "team", "")


def stored(counters: QueueCounters) -> QueueCounters:
    """Counters that go on from what these hand out to be stored."""
    counters.settle()
    again = QueueCounters()
    again.begin_at(msgspec.json.decode(msgspec.json.encode(counters.so_far()), type=CountedSoFar))
    return again


def test_of_a_queue_that_is_gone_nothing_is_counted_until_there_is_another_one_of_its_name() -> None:
    story = CountedStory().told(*platform(nominal=2, cards=2), job("a"), job("b"), job("c"), job("d"))
    story.decided()
    local_queue, cluster_queue = story.world.local_queues["team/lq"], story.world.cluster_queues["cq"]
    story.told(LOCAL_QUEUE_GONE, CLUSTER_QUEUE_GONE)
    with story.counters.trail.trial():
        story.counters.fold(local_queue, story.at)
        story.counters.fold(WorkloadFinished(workload="team/d", reason="Succeeded"), story.at)
        assert story.counters.counts[FINISHED_LOCALLY] == 1
    story.counters = stored(story.counters)
    for name in ("c", "d"):
        story.told(WorkloadFinished(workload=f"team/{name}", reason="Succeeded"))
    assert not [one for one in (*story.counters.counts, *story.counters.times) if {"cq", "lq"} & set(one)]
    story.told(local_queue, cluster_queue, WorkloadFinished(workload="team/a", reason="Succeeded"))
    assert (story.counters.counts[FINISHED], story.counters.counts[FINISHED_LOCALLY]) == (1, 1)


def test_of_queues_that_are_gone_only_those_are_remembered_in_which_a_workload_was() -> None:
    story = CountedStory().told(*platform(nominal=1, cards=1), job("a"), job("b"))
    story.decided()
    story.told(LOCAL_QUEUE_GONE, CLUSTER_QUEUE_GONE)
    for number in range(5000):
        story.counters.fold(ObjectRemoved(kind="LocalQueue", namespace="team", name=f"short-{number}"), story.at)
    story.counters.settle()
    assert len(story.counters.so_far().gone) < 2000
    story.told(WorkloadFinished(workload="team/b", reason="Succeeded"))
    assert FINISHED_LOCALLY not in story.counters.counts and FINISHED not in story.counters.counts


def test_where_counting_begins_in_a_saved_world_queues_that_were_gone_are_gone() -> None:
    story = CountedStory().told(*platform(nominal=1, cards=1), job("a"), job("b"))
    story.decided()
    story.told(LOCAL_QUEUE_GONE)
    story.counters.settle()
    before = story.counters.so_far()
    story.counters = QueueCounters()
    story.counters.begin_at(counted_in(story.world, before))
    story.told(WorkloadFinished(workload="team/b", reason="Succeeded"))
    assert FINISHED_LOCALLY not in story.counters.counts and story.counters.counts[FINISHED] == 1


def test_what_was_counted_of_a_cohort_goes_with_its_object_and_begins_at_0_where_queues_still_name_it() -> None:
    story = CountedStory().told(*platform(nominal=2, cards=2, cohort="pool"), CohortObserved(name="pool", parent="all"))
    story.told(job("a")).decided()
    name = "kueue_cohort_subtree_admitted_workloads_total"
    story.told(ObjectRemoved(kind="Cohort", name="pool"))
    assert {one: n for one, n in story.counters.counts.items() if one[0] == name} == {(name, "all", ""): 1}
    story.told(job("b")).decided()
    assert story.counters.counts[name, "pool", ""] == story.counters.counts[name, "all", ""] == 1


def test_who_comes_by_another_door_is_counted_there() -> None:
    story = CountedStory().told(*platform(nominal=1, cards=2), queue("other", nominal=4))
    story.told(LocalQueueObserved(namespace="team", name="side", cluster_queue="other"))
    story.told(job("a"), job("b", queue="side"))
    story.decided()
    assert story.counters.counts["kueue_local_queue_admitted_workloads_total", "side", "team", ""] == 1
    assert story.counters.counts["kueue_admitted_workloads_total", "other", ""] == 1


def test_each_cluster_in_which_a_workload_is_tried_counts_once_for_an_attempt_and_so_does_the_one_where_it_runs() -> (
    None
):
    story = CountedStory().told(*platform(nominal=1, cards=1), job("a"))
    story.decided()
    for clusters in (("w1",), ("w1", "w2"), ("w1", "w2")):
        story.counters.fold(ClustersNominated(workload="team/a", check="mk", clusters=clusters), story.at)
    story.counters.fold(ClusterChosen(workload="team/a", check="mk", cluster="w2"), story.at)
    story.counters.fold(QuotaReleased(workload="team/a", reason="Evicted"), story.at)
    story.counters.fold(ClustersNominated(workload="team/a", check="mk", clusters=("w1",)), story.at)
    counts = story.counters.counts
    dispatched = [counts["multikueue_workloads_dispatched_total", "cq", name] for name in ("w1", "w2")]
    assert dispatched == [2, 1]
    assert counts["multikueue_workloads_admitted_total", "cq", "w2"] == 1


def test_the_slice_that_goes_on_is_counted_after_the_one_before_it_is_deleted() -> None:
    story, spec = CountedStory(), replace(job("e").spec, elastic=True)
    story.told(*platform(), replace(job("e"), owner=None, spec=spec)).decided()
    story.told(replace(job("next"), owner=None, spec=replace(spec, replaces="team/e", slice_name="e"))).decided()
    story.told(WorkloadDeleted(workload="team/e")).decided()
    counters = QueueCounters()
    counters.begin_at(story.counters.so_far())
    end = WorkloadFinished(workload="team/next", reason="Succeeded")
    for one in (story.counters, counters):
        one.fold(end, 9000)
        assert [count for series, count in one.counts.items() if series[0] == "kueue_finished_workloads_total"] == [1]
    assert (
        counted_in(story.world, story.counters.so_far()).alone == story.counters.so_far().alone == {"team/next": False}
    )
