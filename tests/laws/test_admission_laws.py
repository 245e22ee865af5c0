"""Laws of admission, on random platforms: what must hold whatever is asked for and in whatever order."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from events.admission import AdmissionRefused, Mode, RequeueReason
from events.catalogue import AnyEvent
from events.codec import encode
from events.preemption import PreemptionOrdered
from events.quota import ClusterQueueObserved
from events.workload import WorkloadSubmitted
from projections.flavors.first_fit import assign_first_fit
from projections.flavors.mode import Granular
from projections.flavors.search import FlavorSearchSpace, assign
from projections.world import World
from services.admitter.entry import QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.heads import heads
from services.admitter.nomination import nominate
from tests.laws.random_quota import (
    come,
    finish_those_running,
    jobs,
    leave_those_evicted,
    platforms,
    settle,
    with_protections,
)
from tests.stories.small_world import Story

quickly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def used(world: World) -> dict[tuple[str, int], tuple[int, int]]:
    """What each node uses and may use at most, by column."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for node in (*world.quota.queues.values(), *world.quota.cohorts.values()):
        for column, usage in enumerate(node.usage):
            limit = node.borrowing_limit[column]
            most = node.subtree[column]
            if node.parent is not None:
                most = 1 << 40 if limit is None else most + limit
            found[(node.key, column)] = (usage, most)
    return found


@quickly
@given(platforms(), jobs(), st.data())
def test_usage_is_never_above_what_the_tree_allows_but_for_debt_after_quota_was_lowered(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted], data: st.DataObject
) -> None:
    told = Story().told(*platform)
    for job in asked:
        before = used(told.world)
        told.told(job).decided()
        if data.draw(st.booleans()):
            leave_those_evicted(told)
            told.decided()
        for place, (usage, most) in used(told.world).items():
            assert usage <= max(most, before.get(place, (0, 0))[0])
        if data.draw(st.booleans()):
            queue = data.draw(st.sampled_from(sorted(told.world.cluster_queues)))
            told.told(_halved(told.world.cluster_queues[queue]))


def _halved(queue: ClusterQueueObserved) -> ClusterQueueObserved:
    return replace(
        queue,
        groups=tuple(
            replace(
                group,
                flavors=tuple(
                    replace(
                        one,
                        quotas=tuple(
                            replace(quota, nominal=quota.nominal // 2, lending_limit=None) for quota in one.quotas
                        ),
                    )
                    for one in group.flavors
                ),
            )
            for group in queue.groups
        ),
    )


@quickly
@given(platforms(), jobs(), st.randoms(use_true_random=False))
def test_the_order_of_facts_about_different_objects_decides_nothing(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted], chance: random.Random
) -> None:
    facts = [*platform, *asked]
    shuffled = list(facts)
    chance.shuffle(shuffled)
    said = [[encode(event) for event in Story().told(*order).decided()] for order in (facts, shuffled)]
    assert said[0] == said[1]


@quickly
@given(platforms(), jobs())
def test_the_straight_way_finds_what_the_whole_search_finds(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted]
) -> None:
    told = Story().told(*platform, *asked)
    told.decided()
    world = told.world
    for workload in world.workloads.values():
        queue = world.cluster_queue_of(workload)
        if queue is None:
            continue
        node, plan = world.quota.queues[queue.name], plan_for(world, QueueHead(workload=workload, queue=queue))
        straight = assign_first_fit(plan, node)
        if straight is None:
            continue
        names = world.quota.columns.names
        space = FlavorSearchSpace(plan=plan, node=node, names=names, oracle=lambda *_: Granular(Mode.NO_CANDIDATES))
        whole = assign(space)
        assert straight.assignments() == whole.assignments()
        assert (straight.usage, straight.borrow, straight.progress) == (whole.usage, whole.borrow, whole.progress)
        assert (straight.attempts, straight.message) == (whole.attempts, whole.message)


@quickly
@given(platforms(strict=True), jobs())
def test_nobody_starves_in_strict_order(platform: list[AnyEvent], asked: list[WorkloadSubmitted]) -> None:
    told = come(Story().told(*with_protections(platform, claims=True)), asked)
    for _ in range(3 * len(asked)):
        finish_those_running(told)
        settle(told)
    for workload in told.world.workloads.values():
        if workload.finished:
            continue
        queue = told.world.cluster_queue_of(workload)
        assert queue is not None or workload.attempt is None
        if queue is not None:
            first = told.world.lines.of(queue.name).head()
            assert first is not None
            head = told.world.workloads[first.key]
            assert isinstance(head.attempt, AdmissionRefused)
            assert head.attempt.reason == "ExceedsMaxQuota", "only one that can never fit may block a line for ever"


@quickly
@given(platforms(), jobs())
def test_whoever_waits_at_the_front_was_told_a_reason_that_is_true(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted]
) -> None:
    told = come(Story().told(*with_protections(platform, claims=True)), asked)
    world = told.world
    for tree in world.quota.trees():
        entering = heads(world, [tree], told.at)
        entries = [nominate(world, head, told.at) for head in entering]
        rivals = [entry for entry in entries if entry.mode is Mode.PREEMPT]
        for entry in entries:
            last = entry.workload.attempt
            if entry.mode is Mode.FIT:
                assert isinstance(last, AdmissionRefused)
                assert last.reason == "WaitingForQuota"
                assert rivals, "room is kept only for those who would preempt"
            elif not entry.victims:
                assert isinstance(last, AdmissionRefused)
                reason = "WaitingForQuota" if entry.mode is Mode.PREEMPT else entry.refusal()[0]
                assert last.reason == reason
                if not entry.head.parked_as and last.requeue is not RequeueReason.FAILED_AFTER_NOMINATION:
                    assert last.message == entry.refusal()[1]


@quickly
@given(platforms(), jobs(), st.booleans())
def test_with_a_cool_down_nobody_is_preempted_twice_and_everything_comes_to_rest(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted], claims: bool
) -> None:
    told = come(Story().told(*with_protections(platform, cooldown=10**9, claims=claims)), asked)
    stopped = [event.workload for event in told.decisions if isinstance(event, PreemptionOrdered)]
    assert len(stopped) == len(set(stopped))


@quickly
@given(platforms(), jobs())
def test_nobody_is_preempted_before_its_time_or_against_its_mark(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted]
) -> None:
    marked = [replace(job, spec=replace(job.spec, never_preempt=job.created_at == 0)) for job in asked]
    told = Story().told(*with_protections(platform, minimum_runtime=10**6))
    for job in marked:
        told.told(job).decided()
    assert not [event for event in told.decisions if isinstance(event, PreemptionOrdered)]
    told.at += 10**6
    settle(told)
    for event in told.decisions:
        if isinstance(event, PreemptionOrdered):
            assert not told.world.workloads[event.workload].spec.never_preempt


@quickly
@given(platforms(), jobs(), st.data())
def test_what_a_host_remembers_decides_nothing(
    platform: list[AnyEvent], asked: list[WorkloadSubmitted], data: st.DataObject
) -> None:
    both = [Story(unchecked=True, forgetful=forgets).told(*platform) for forgets in (False, True)]
    for job in asked:
        step = data.draw(st.sampled_from(["come", "leave", "finish"]))
        for told in both:
            told.told(job).decided()
            if step == "leave":
                leave_those_evicted(told)
            elif step == "finish":
                finish_those_running(told)
            told.decided()
        remembered, forgot = ([encode(event) for event in told.decisions] for told in both)
        assert remembered == forgot
