"""Elastic jobs decided about without bus or cluster: only the difference, the old slice ends with the start of the new."""

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.device import DevicesReleased, DevicesReserved, PodCardsAssigned, PodObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.preemption import PreemptionOrdered
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.slices import (
    WorkloadSliceDropped,
    WorkloadSliceReplaced,
    WorkloadSliceResized,
    WorkloadSliceSubmitted,
)
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    EvictionOrdered,
    JobUnsuspended,
    PodSetAssignment,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    QuotaReleased,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadQueued,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.lifecycle import ADMITTED, FINISHED, QUOTA_RESERVED
from projections.workloads.slices import holder_of, slices_of, steers_job
from services.admitter.barriers import slice_barrier
from tests.stories.small_world import CORES, GPU, MEMORY, Story, job, platform, queue

ROOM = {"nominal": 8, "cards": 8}
WIDE = 30000
"""MiB: one pod a card."""


def elastic(name: str, count: int, *, priority: int = 0, memory: int = 16000, at: int = 0) -> WorkloadSubmitted:
    found = job(name, count=count, priority=priority, memory=memory, at=at)
    return replace(found, spec=replace(found.spec, elastic=True))


def sized(asked: WorkloadSubmitted, count: int) -> WorkloadChanged:
    spec: WorkloadSpec = replace(asked.spec, pod_sets=tuple(replace(one, count=count) for one in asked.spec.pod_sets))
    return WorkloadChanged(workload=asked.workload, spec=spec)


def pod(name: str, *, owner: str = "team/e", held: bool = False, **fields: object) -> PodObserved:
    told = PodObserved(
        namespace="team", name=name, uid=f"uid-{name}", workload=owner, pod_set="main", elastic=True, gated=True
    )
    return replace(told, waits_for_slice=held, **fields)


def cards(told: Story, key: str) -> dict[int, str]:
    devices = told.world.workloads[key].devices
    assert devices is not None
    return {one.index: one.containers[0][0].uuid for one in devices.placements}


def names(said: list[object]) -> list[str]:
    return [type(one).__name__ for one in said]


def used(told: Story) -> int:
    node = told.world.quota.queues["cq"]
    return told.world.quota.usage_by_name(node).get(("v100", "nvidia.com/gpu"), 0)


def test_a_job_that_grows_gets_a_new_slice_for_the_difference_and_the_old_one_ends_in_the_same_commit() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(**ROOM), asked)
    told.decided()
    before = told.commits
    said = told.told(sized(asked, 5)).decided()
    (slice_,) = [one for one in said if isinstance(one, WorkloadSliceSubmitted)]
    assert slice_.replaces == "team/e" and slice_.spec.slice_name == "e" and slice_.spec.pod_sets[0].count == 5
    assert names(said) == [
        "WorkloadSliceSubmitted",
        "WorkloadQueued",
        "WorkloadSliceReplaced",
        "QuotaReserved",
        "DevicesReleased",
        "DevicesReserved",
        "WorkloadAdmitted",
    ]
    (released,) = [one for one in said if isinstance(one, DevicesReleased)]
    assert (released.workload, released.proof) == ("team/e", "replaced by another slice, no pod of it is left")
    (over,) = [one for one in said if isinstance(one, WorkloadSliceReplaced)]
    assert (over.workload, over.by) == ("team/e", slice_.workload)
    old, new = told.world.workloads["team/e"], told.world.workloads[slice_.workload]
    ended = old.condition(FINISHED)
    assert ended is not None and ended.reason == "WorkloadSliceReplaced"
    assert ended.message.startswith("Replaced to accommodate a workload (UID: uid-e, JobUID: uid-e) due to")
    assert new.admission is not None and new.admission.assignments[0].count == 5
    assert new.admission.assignments[0].usage["nvidia.com/gpu"] == 5
    assert used(told) == 5 and told.commits == before + 4


def test_what_a_job_has_already_counts_towards_a_quota_that_is_full_otherwise() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(nominal=8, cards=8), asked, job("other", count=2))
    told.decided()
    said = told.told(sized(asked, 6)).decided()
    assert any(isinstance(one, WorkloadAdmitted) for one in said) and used(told) == 8


def test_a_job_that_wants_more_than_there_is_waits_and_runs_on_meanwhile() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(nominal=6, cards=8), asked, job("other", count=2))
    told.decided()
    said = told.told(sized(asked, 5)).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert refused.reason == "WaitingForQuota" and "1 more needed" in refused.message
    assert told.world.workloads["team/e"].admitted and holder_of(told.world, "team/e") == "team/e"
    said = told.told(WorkloadFinished(workload="team/other", reason="Succeeded")).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [refused.workload]


def test_a_job_that_changes_its_mind_while_it_waits_changes_the_slice_that_waits() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(nominal=6, cards=8), asked, job("other", count=2))
    told.decided()
    told.told(sized(asked, 5)).decided()
    said = told.told(sized(asked, 3)).decided()
    assert "WorkloadSliceResized" in names(said) and "WorkloadSliceReplaced" in names(said)
    assert used(told) == 5
    assert sum(not one.finished for one in told.world.workloads.values()) == 2


def test_a_job_that_shrinks_gives_quota_back_at_once_and_cards_when_its_pods_are_gone() -> None:
    asked = elastic("e", 4, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=4), asked)
    told.decided()
    assert len(set(cards(told, "team/e").values())) == 4
    told.told(*(pod(f"e-{i}") for i in range(4))).decided()
    said = told.told(sized(asked, 1)).decided()
    assert [one.pod_sets[0].count for one in said if isinstance(one, WorkloadSliceResized)] == [1]
    assert used(told) == 1 and len(cards(told, "team/e")) == 4, "which pods end is not known yet"
    gone = [pod(f"e-{i}", phase="Succeeded") for i in (0, 2, 3)]
    said = told.told(*gone).decided()
    assert [len(one.placements) for one in said if isinstance(one, DevicesReserved)][-1] == 1
    kept = {one.pod: one.index for one in told.world.pod_cards["team/e"]}
    assert list(cards(told, "team/e")) == [kept["e-1"]]


def test_pods_that_stay_keep_their_cards_and_only_new_ones_are_given_some() -> None:
    asked = elastic("e", 2, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=4), asked)
    told.decided()
    told.told(pod("e-0"), pod("e-1"))
    assigned = {one.pod: one.index for one in told.decided() if isinstance(one, PodCardsAssigned)}
    before = cards(told, "team/e")
    said = told.told(sized(asked, 4)).decided()
    (new,) = [one.workload for one in said if isinstance(one, WorkloadAdmitted)]
    after = cards(told, new)
    assert {after[index] for index in assigned.values()} == set(before.values())
    assert len(set(after.values())) == 4
    said = told.told(pod("e-2"), pod("e-3")).decided()
    fresh = {one.pod: after[one.index] for one in said if isinstance(one, PodCardsAssigned)}
    assert set(fresh) == {"e-2", "e-3"} and not set(fresh.values()) & set(before.values())
    assert not told.world.cards.attempts_of("team/e"), "what was reserved for the old slice is held once"


def test_pods_that_wait_for_a_later_slice_are_given_no_cards_of_those_too_many() -> None:
    asked = elastic("e", 4, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=4), asked)
    told.decided()
    told.told(*(pod(f"e-{i}") for i in range(4))).decided()
    told.told(sized(asked, 1)).decided()
    told.told(sized(asked, 7)).decided()
    said = told.told(*(pod(f"e-{i}", phase="Succeeded") for i in (0, 2, 3)), pod("e-4", held=True)).decided()
    assert not [one for one in said if isinstance(one, PodCardsAssigned)]
    assert len(cards(told, "team/e")) == 1


def test_a_pod_that_was_let_through_in_the_place_of_another_gets_the_cards_that_this_one_was_told() -> None:
    told = Story().told(*platform(nominal=16, cards=4), elastic("e", 1, memory=WIDE))
    told.decided()
    told.told(pod("e-1", held=True)).decided()
    assert [one.pod for one in told.world.pod_cards["team/e"]] == ["e-1"]
    told.told(pod("e-0")).decided()
    assert [one.pod for one in told.world.pod_cards["team/e"]] == ["e-0"]


def test_a_pod_that_was_told_its_cards_keeps_them_when_others_come_that_would_be_before_it() -> None:
    told = Story().told(*platform(nominal=16, cards=4), elastic("e", 2, memory=WIDE))
    told.decided()
    told.told(pod("e-9", held=True)).decided()
    told.told(pod("e-1", held=True), pod("e-2", held=True)).decided()
    assert {one.pod: one.index for one in told.world.pod_cards["team/e"]} == {"e-9": 0, "e-1": 1}


def test_cards_assigned_to_a_pod_while_another_slice_took_its_place_are_the_pod_s_in_that_one() -> None:
    """The cards' partition has not read yet what was decided about quota."""
    asked = elastic("e", 2, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=4), asked)
    told.decided()
    told.told(pod("e-0")).decided()
    (known,) = told.world.pod_cards["team/e"]
    said = told.told(sized(asked, 3)).decided()
    (new,) = [one.workload for one in said if isinstance(one, WorkloadAdmitted)]
    told.told(replace(known, index=1, pod="e-2", uid="uid-e-2"))
    told.told(pod("e-1"), pod("e-2")).decided()
    assert {one.pod: one.index for one in told.world.pod_cards[new]} == {"e-0": 0, "e-1": 2, "e-2": 1}


def test_pods_too_many_that_are_wanted_again_before_they_have_ended_keep_their_cards_though_no_other_card_is_left() -> (
    None
):
    asked = elastic("e", 2, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=2), asked)
    told.decided()
    told.told(pod("e-0"), pod("e-1")).decided()
    before = cards(told, "team/e")
    told.told(sized(asked, 1)).decided()
    said = told.told(sized(asked, 2)).decided()
    (new,) = [one.workload for one in said if isinstance(one, WorkloadAdmitted)]
    assert cards(told, new) == before


def test_a_slice_that_was_replaced_while_pods_too_many_still_ran_is_given_no_cards_again() -> None:
    asked = elastic("e", 2, memory=15000)
    told = Story().told(*platform(nominal=8, cards=5), asked)
    told.decided()
    told.told(pod("e-0"), pod("e-1")).decided()
    told.told(sized(asked, 1)).decided()
    said = told.told(sized(asked, 2)).decided()
    (new,) = [one.workload for one in said if isinstance(one, WorkloadAdmitted)]
    assert [one.workload for one in said if isinstance(one, DevicesReserved)] == [new]
    assert len(cards(told, new)) == 2 and not told.world.cards.attempts_of("team/e")


def test_the_slice_before_is_no_victim_and_others_make_room_for_the_difference_alone() -> None:
    asked = elastic("e", 2, priority=10)
    told = Story().told(*platform(nominal=4, cards=8), asked, job("low"), job("low-2"))
    told.decided()
    said = told.told(sized(asked, 3)).decided()
    assert [one.workload for one in said if isinstance(one, PreemptionOrdered)] == ["team/low"]
    (request,) = [one for one in said if isinstance(one, PreemptionRequested)]
    assert [one.workload for one in request.victims] == ["team/low"]
    stopped = told.world.workloads["team/low"].stops.stopped_by
    said = told.told(PodsGone(workload="team/low", decision=f"LOG_0/{stopped}")).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [request.workload]
    assert used(told) == 4


def in_two_queues(*objects: AnyEvent) -> Story:
    """Besides that of the platform, which has nothing of its own, a queue that has some."""
    own = LocalQueueObserved(namespace="team", name="own", cluster_queue="own")
    return Story().told(*platform(nominal=0, cards=9, within=PreemptionPolicy.NEVER, cohort="lent"), own, *objects)


def test_a_slice_that_is_preempted_is_not_replaced_by_a_larger_one_in_the_same_cycle_and_nobody_makes_room_for_that_one() -> (
    None
):
    asked = elastic("e", 7, priority=5)
    rules = PreemptionRules(within_cluster_queue=PreemptionPolicy.LOWER_PRIORITY)
    told = in_two_queues(queue("own", nominal=8, reclaim=PreemptionPolicy.ANY, cohort="lent"), asked, job("low", at=1))
    told.told(replace(told.world.cluster_queues["cq"], preemption=rules)).decided()
    said = told.told(sized(asked, 8), job("new", queue="own", count=4)).decided()
    (request,) = [one for one in said if isinstance(one, PreemptionRequested)]
    assert (request.workload, [one.workload for one in request.victims]) == ("team/new", ["team/e"])
    assert "WorkloadSliceReplaced" not in names(said) and told.world.workloads["team/low"].reserved


def test_what_some_pods_of_a_slice_give_back_others_of_it_may_use() -> None:
    asked = elastic("e", 5)
    (workers,) = asked.spec.pod_sets
    for order in ((0, 1), (1, 0)):
        groups = [replace(workers, name="more", count=1), workers]
        sets = tuple(groups[index] for index in order)
        of_two = replace(asked, spec=replace(asked.spec, pod_sets=sets))
        told = Story().told(*platform(nominal=6, cards=9), of_two)
        told.decided()
        wanted = replace(of_two.spec, pod_sets=tuple(replace(one, count=3) for one in sets))
        said = told.told(WorkloadChanged(workload="team/e", spec=wanted)).decided()
        assert "WorkloadSliceReplaced" in names(said) and used(told) == 6


def test_a_job_that_was_evicted_while_it_wanted_more_queues_again_as_the_slice_that_waited() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=2, cards=8), asked)
    told.decided()
    told.told(sized(asked, 3)).decided()
    told.told(job("high", count=2, priority=10)).decided()
    assert told.world.workloads["team/e"].evicted
    stopped = told.world.workloads["team/e"].stops.stopped_by
    said = told.told(PodsGone(workload="team/e", decision=f"LOG_0/{stopped}")).decided()
    assert [one.message for one in said if isinstance(one, WorkloadSliceDropped)] == [
        "Replaced to accommodate a new workload slice"
    ]
    (waiting,) = [key for key, one in told.world.workloads.items() if one.spec.elastic and not one.finished]
    told.told(sized(asked, 2), WorkloadFinished(workload="team/high", reason="Succeeded")).decided()
    assert told.world.workloads[waiting].admitted and used(told) == 2


def test_what_is_told_of_a_job_is_true_of_the_slice_that_has_its_quota_until_another_has_taken_its_place() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=4, cards=8), asked, job("other", count=2))
    told.decided()
    said = told.told(sized(asked, 3)).decided()
    (waits,) = [one.workload for one in said if isinstance(one, AdmissionRefused)]
    told.told(sized(asked, 2), PodsReady(workload="team/e", ready=True), sized(asked, 3))
    assert told.world.workloads["team/e"].is_true("PodsReady") and not told.world.workloads[waits].is_true("PodsReady")
    told.told(WorkloadFinished(workload="team/other", reason="Succeeded")).decided()
    over = told.world.workloads["team/e"].condition(FINISHED)
    assert over is not None and over.reason == "WorkloadSliceReplaced"
    told.told(PodsReady(workload="team/e", ready=True))
    assert told.world.workloads[waits].is_true("PodsReady")


def test_the_pods_of_a_slice_run_on_while_the_one_in_its_place_waits_for_a_check() -> None:
    check = AdmissionCheckObserved(name="slow", controller="x", active=True)
    told = Story().told(*platform(**ROOM), asked := elastic("e", 2))
    told.decided()
    told.told(check, replace(queue("cq", nominal=8), checks=(CheckRule(name="slow"),)))
    told.told(sized(asked, 3)).decided()
    (runs,) = slices_of(told.world, "team/e")
    assert runs.key != "team/e" and runs.reserved and not runs.admitted
    assert runs.pods_may_run and not steers_job(told.world, runs), "the job is left as it is"


def test_a_slice_does_not_take_the_place_of_one_that_is_being_stopped() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=4, cards=8), asked, job("other", count=2))
    told.decided()
    said = told.told(sized(asked, 3)).decided()
    (waits,) = [one.workload for one in said if isinstance(one, AdmissionRefused)]
    told.told(EvictionOrdered(workload="team/e", reason="PodsReadyTimeout"))
    said = told.told(WorkloadFinished(workload="team/other", reason="Succeeded")).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert (refused.workload, refused.message) == (waits, "Workload slice team/e is being stopped")
    stopped = told.world.workloads["team/e"].stops.stopped_by
    told.told(PodsGone(workload="team/e", decision=f"LOG_0/{stopped}")).decided()
    assert told.world.workloads[waits].admitted and used(told) == 3


def test_a_slice_is_not_tried_before_the_one_that_it_replaces_has_its_cards() -> None:
    told = Story().told(*platform(**ROOM), elastic("e", 2))
    told.decided()
    world, old = told.world, told.world.workloads["team/e"]
    following = replace(old, key="team/n", admission=None, spec=replace(old.spec, replaces="team/e"))
    assert slice_barrier(world, following, world.cluster_queues["cq"]) is None
    world.put_workload(replace(old, devices=None))
    barrier = slice_barrier(world, following, world.cluster_queues["cq"])
    assert barrier is not None and barrier[1] == "Workload slice team/e has no cards yet"
    plain = PodSet(name="main", count=2, shape=PodShape())
    world.put_workload(replace(old, devices=None, spec=replace(old.spec, pod_sets=(plain,))))
    assert slice_barrier(world, following, world.cluster_queues["cq"]) is None, "it asks for none"


def test_an_evicted_slice_that_runs_on_gives_its_quota_back_only_when_its_pods_are_gone() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=4, cards=8), asked)
    told.decided()
    told.told(sized(asked, 4)).decided()
    new = holder_of(told.world, "team/e")
    said = told.told(job("high", count=2, priority=10)).decided()
    assert [one.workload for one in said if isinstance(one, PreemptionOrdered | EvictionOrdered)] == [new]
    assert not any(isinstance(one, QuotaReleased) for one in said)
    gone = PodsGone(workload="team/e", decision=f"LOG_0/{told.world.workloads[new].stops.stopped_by}")
    assert any(isinstance(one, QuotaReleased) for one in told.told(gone).decided())


def test_the_end_of_the_job_ends_all_slices_and_its_deletion_forgets_them() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=3, cards=8), asked)
    told.decided()
    told.told(sized(asked, 3)).decided()
    told.told(sized(asked, 4)).decided()
    told.told(WorkloadFinished(workload="team/e", reason="Succeeded")).decided()
    assert all(one.finished for one in told.world.workloads.values()) and used(told) == 0
    told.told(WorkloadDeleted(workload="team/e")).decided()
    assert not told.world.workloads and not told.world.chains


def test_a_saved_world_has_the_same_slices() -> None:
    asked = elastic("e", 2, memory=WIDE)
    told = Story().told(*platform(nominal=16, cards=4), asked)
    told.decided()
    told.told(pod("e-0"), pod("e-1")).decided()
    told.told(sized(asked, 3)).decided()
    told.told(pod("e-2", held=True)).decided()
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert {key: list(found) for key, found in again.elastic_pods.items() if found} == {
        key: list(found) for key, found in told.world.elastic_pods.items() if found
    }


def test_reserving_and_admitting_of_a_slice_names_the_one_before() -> None:
    asked = elastic("e", 1)
    told = Story().told(*platform(**ROOM), asked)
    told.decided()
    said = told.told(sized(asked, 2)).decided()
    index = next(i for i, one in enumerate(said) if isinstance(one, QuotaReserved))
    before = said[index - 1]
    assert isinstance(before, WorkloadSliceReplaced) and before.workload == "team/e"


def made_by_others(name: str, count: int, *, replaces: str = "") -> WorkloadSubmitted:
    """A slice whose object was there before its job, as that of a copy in another cluster."""
    found = elastic(name, count)
    spec = replace(found.spec, slice_name="e" if replaces else "", replaces=replaces)
    return replace(found, owner=None, spec=spec)


def of_another_cluster() -> Story:
    """A job runs in a slice that others have made, and its next one has taken the place of that."""
    owner = elastic("e", 2).owner
    assert owner is not None
    told = Story().told(*platform(**ROOM), made_by_others("e", 2), WorkloadOwned(workload="team/e", owner=owner))
    told.decided()
    said = told.told(made_by_others("next", 4, replaces="team/e")).decided()
    assert [one.by for one in said if isinstance(one, WorkloadSliceReplaced)] == ["team/next"]
    return told.told(WorkloadOwned(workload="team/next", owner=owner))


def test_slices_that_others_have_made_take_each_other_s_place_and_go_one_by_one() -> None:
    told = of_another_cluster()
    assert used(told) == 4 and told.world.workloads["team/next"].admitted
    told.told(WorkloadDeleted(workload="team/e")).decided()
    assert set(told.world.workloads) == {"team/next"} and used(told) == 4
    told.told(WorkloadDeleted(workload="team/next")).decided()
    assert not told.world.workloads and not told.world.chains and used(told) == 0


def test_a_slice_that_waits_ends_as_soon_as_others_have_made_the_next_one() -> None:
    told = Story(unchecked=True).told(*platform(nominal=1, cards=8), made_by_others("e", 2))
    told.decided()
    said = told.told(made_by_others("next", 4, replaces="team/e")).decided()
    dropped, queued = said[:2]
    assert isinstance(dropped, WorkloadSliceDropped) and (dropped.workload, dropped.by) == ("team/e", "team/next")
    assert isinstance(queued, WorkloadQueued) and queued.workload == "team/next"


def test_a_slice_that_others_have_made_becomes_smaller_by_its_own_object_and_never_larger_by_itself() -> None:
    told = of_another_cluster()
    asked = made_by_others("next", 4, replaces="team/e")
    assert not told.told(sized(asked, 6)).decided() and used(told) == 4, "others make the next slice"
    told.told(sized(asked, 4)).decided()
    smaller = sized(made_by_others("next", 4, replaces="team/e"), 1)
    assert names(told.told(smaller).decided())[0] == "WorkloadSliceResized"
    assert used(told) == 1
    told.told(sized(elastic("e", 2), 2)).decided()
    assert used(told) == 1, "what the slice before asks for says nothing of this one"


@pytest.mark.parametrize("owned", [False, True], ids=["without a job", "of a job"])
def test_the_end_of_a_slice_that_others_have_made_is_that_of_the_next_one_only_where_a_job_has_ended(
    *, owned: bool
) -> None:
    told = Story().told(*platform(nominal=2, cards=8), made_by_others("e", 2))
    told.decided()
    told.told(made_by_others("next", 4, replaces="team/e")).decided()
    owner = elastic("e", 2).owner
    assert owner is not None
    if owned:
        told.told(WorkloadOwned(workload="team/e", owner=owner))
    told.told(WorkloadFinished(workload="team/e", reason="Succeeded"))
    assert told.world.workloads["team/e"].finished
    assert told.world.workloads["team/next"].finished is owned


def test_what_is_seen_of_a_job_concerns_the_slice_that_it_runs_in_whichever_it_names() -> None:
    told = of_another_cluster()
    stopped = told.told(job("high", count=8, priority=10)).decided()
    assert [one.workload for one in stopped if isinstance(one, PreemptionOrdered)] == ["team/next"]
    decision = f"LOG_0/{told.world.workloads['team/next'].stops.stopped_by}"
    said = told.told(PodsGone(workload="team/next", decision=decision)).decided()
    assert [one.workload for one in said if isinstance(one, QuotaReleased)] == ["team/next"]
    told.told(WorkloadFinished(workload="team/next", reason="Succeeded")).decided()
    assert told.world.workloads["team/next"].finished


def found_in(name: str, count: int, *, let_in: bool = True, replaces: str = "") -> WorkloadSubmitted:
    """A slice of `e` as another manager has left it; its first one is over, and not on the log."""
    asked = elastic("e", count)
    told = AdoptedStatus(
        conditions=tuple(
            Condition(type=kind, status=ConditionStatus.TRUE, reason=kind, since=500)
            for kind in (QUOTA_RESERVED, ADMITTED)
        ),
        cluster_queue="cq",
        assignments=(
            PodSetAssignment(
                name="main",
                count=count,
                flavors=dict.fromkeys((GPU, MEMORY, CORES), "v100"),
                usage={GPU: count, MEMORY: count * 16000, CORES: count * 50},
            ),
        ),
    )
    spec = replace(asked.spec, slice_name="first", replaces=replaces)
    return replace(asked, workload=f"team/{name}", spec=spec, adopted=told if let_in else None)


def test_a_job_that_is_found_in_a_later_slice_runs_on_in_it_and_its_facts_name_the_first() -> None:
    asked = elastic("first", 2)
    told = Story().told(*platform(**ROOM), pod("e-0", owner="team/first"), found_in("second", 2))
    assert told.decided() == [] and used(told) == 2
    assert list(told.world.elastic_pods["team/second"]) == ["team/e-0"], "also a pod that was seen before its job"
    said = told.told(sized(asked, 3), pod("e-1", owner="team/first", held=True)).decided()
    (slice_,) = [one for one in said if isinstance(one, WorkloadSliceSubmitted)]
    assert slice_.replaces == "team/second" and slice_.spec.slice_name == "first"
    assert used(told) == 3 and holder_of(told.world, "team/first") == slice_.workload
    told.told(sized(asked, 1)).decided()
    assert used(told) == 1
    told.told(WorkloadFinished(workload="team/first", reason="Succeeded")).decided()
    assert used(told) == 0
    told.told(WorkloadDeleted(workload="team/first")).decided()
    assert not told.world.workloads and not told.world.chains


def test_a_slice_that_is_found_waiting_beside_another_takes_its_place_here() -> None:
    waits = found_in("third", 4, let_in=False, replaces="team/second")
    told = Story().told(*platform(**ROOM), found_in("second", 2), waits)
    said = told.decided()
    assert [(one.workload, one.by) for one in said if isinstance(one, WorkloadSliceReplaced)] == [
        ("team/second", "team/third")
    ]
    assert used(told) == 4


def test_another_class_of_the_job_is_that_of_all_its_slices() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(nominal=6, cards=8), asked, job("other", count=2))
    told.decided()
    told.told(sized(asked, 5)).decided()
    wanted = sized(asked, 5)
    told.told(replace(wanted, spec=replace(wanted.spec, priority=7, gated_by=("a.io/x",)))).decided()
    slices = [one for one in told.world.workloads.values() if one.spec.elastic]
    assert [(one.spec.priority, one.spec.gated_by) for one in slices] == [(7, ("a.io/x",))] * 2


def test_a_job_that_asks_for_as_many_other_pods_keeps_its_slice_and_asks_for_them_when_it_has_lost_its_quota() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(nominal=4, cards=8), asked)
    told.decided()
    others = sized(asked, 4)
    (main,) = others.spec.pod_sets
    other = replace(main, shape=replace(main.shape, node_selector={"zone": "b"}))
    others = replace(others, spec=replace(others.spec, pod_sets=(other,)))
    assert told.told(others).decided() == []
    assert told.world.workloads["team/e"].admitted and used(told) == 4
    said = told.told(job("high", count=4, priority=10)).decided()
    assert "PreemptionOrdered" in names(said)
    gone = PodsGone(workload="team/e", decision=f"LOG_0/{told.world.workloads['team/e'].stops.stopped_by}")
    (resized,) = [one for one in told.told(gone).decided() if isinstance(one, WorkloadSliceResized)]
    assert resized.pod_sets == (other,) and told.world.workloads["team/e"].spec.pod_sets == (other,)


def _with_another(asked: WorkloadSubmitted, count: int) -> WorkloadChanged:
    (main,) = asked.spec.pod_sets
    return WorkloadChanged(
        workload=asked.workload, spec=replace(asked.spec, pod_sets=(replace(main, name="more", count=count), main))
    )


def test_a_job_that_asks_for_another_pod_set_while_it_runs_stops_and_is_let_in_anew_with_it() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(**ROOM), asked)
    told.decided()
    (ordered,) = told.told(_with_another(asked, 1)).decided()
    message = "The job asks for 1 pods for more, which was let in with none"
    assert ordered == EvictionOrdered(workload="team/e", reason="NoMatchingWorkload", message=message)
    stopped = told.world.workloads["team/e"].stops.stopped_by
    told.told(PodsGone(workload="team/e", decision=f"LOG_0/{stopped}")).decided()
    now = told.world.workloads["team/e"]
    assert now.admitted and [(one.name, one.count) for one in now.spec.pod_sets] == [("more", 1), ("main", 2)]


def test_a_job_that_asks_for_another_pod_set_while_a_slice_of_it_waits_stops_and_that_slice_gets_in_alone() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=4, cards=8), asked)
    told.decided()
    told.told(sized(asked, 6)).decided()
    said = told.told(_with_another(asked, 1)).decided()
    assert [one.reason for one in said if isinstance(one, EvictionOrdered)] == ["NoMatchingWorkload"]
    stopped = told.world.workloads["team/e"].stops.stopped_by
    told.told(PodsGone(workload="team/e", decision=f"LOG_0/{stopped}")).decided()
    (running,) = [one for one in told.world.workloads.values() if one.admitted]
    assert running.key != "team/e" and [one.name for one in running.spec.pod_sets] == ["more", "main"]
    assert used(told) == 3


def test_a_job_that_grows_and_names_its_pod_sets_in_another_order_keeps_the_flavor_of_each() -> None:
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
    few, more = PodSet(name="few", count=1, shape=shape), PodSet(name="more", count=3, shape=shape)
    asked = elastic("e", 1)
    asked = replace(asked, spec=replace(asked.spec, pod_sets=(few, more)))
    small = FlavorQuotas(flavor="small", quotas=(Quota(resource="cpu", nominal=1000),))
    large = FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=9000),))
    groups = (ResourceGroup(resources=("cpu",), flavors=(small, large)),)
    told = Story().told(*platform(**ROOM), FlavorObserved(name="small"), replace(queue("cq", nominal=0), groups=groups))
    told.told(asked).decided()
    turned = replace(asked.spec, pod_sets=(replace(more, count=4), few))
    told.told(WorkloadChanged(workload="team/e", spec=turned)).decided()
    (running,) = [one for one in told.world.workloads.values() if one.admitted and not one.finished]
    assert running.key != "team/e" and running.admission is not None
    held = [(one.name, one.count, one.flavors["cpu"]) for one in running.admission.assignments]
    assert held == [("more", 4, "v100"), ("few", 1, "small")]


def test_a_pod_that_is_done_gives_back_what_its_job_needs_no_more_and_not_what_the_one_in_its_place_has() -> None:
    asked = elastic("e", 2)
    told = Story().told(*platform(nominal=2, cards=8), asked)
    told.decided()
    told.told(sized(asked, 4)).decided()
    (waits,) = [key for key in told.world.workloads if key != "team/e"]
    told.told(PodsReclaimed(workload="team/e", counts={"main": 1})).decided()
    assert used(told) == 2, "three pods are needed of four, and it has room for two"
    assert told.world.workloads[waits].reclaimable == {"main": 1}
    told.told(PodsReclaimed(workload="team/e", counts={"main": 3})).decided()
    assert used(told) == 1


def test_a_job_that_becomes_smaller_first_does_without_pods_that_are_done() -> None:
    asked = elastic("e", 4)
    told = Story().told(*platform(**ROOM), asked)
    told.decided()
    told.told(PodsReclaimed(workload="team/e", counts={"main": 1})).decided()
    assert used(told) == 3
    told.told(sized(asked, 2)).decided()
    assert used(told) == 2, "one of the three that ran ends"
    assert not any(told.world.workloads["team/e"].reclaimable.values()), "none of those that are left is done"
    told.told(PodsReclaimed(workload="team/e", counts={"main": 1})).decided()
    assert used(told) == 1


def test_a_slice_in_the_queue_of_another_tree_gets_in_when_the_one_before_has_given_its_quota_back() -> None:
    asked = elastic("e", 2)
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
    asked = replace(asked, spec=replace(asked.spec, pod_sets=(PodSet(name="main", count=2, shape=shape),)))
    flavors = (FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=9000),)),)
    groups = (ResourceGroup(resources=("cpu",), flavors=flavors),)
    told = Story(unchecked=True).told(
        *platform(**ROOM), *(replace(queue(name, nominal=0), groups=groups) for name in ("cq", "other")), asked
    )
    told.told(LocalQueueObserved(namespace="team", name="elsewhere", cluster_queue="other")).decided()
    moved = replace(sized(asked, 3).spec, queue="elsewhere")
    said = told.told(WorkloadChanged(workload="team/e", spec=moved)).decided()
    (refused,) = [one for one in said if isinstance(one, AdmissionRefused)]
    assert refused.message == "Workload slice team/e runs in ClusterQueue cq"
    told.told(EvictionOrdered(workload="team/e", reason="PodsReadyTimeout")).decided()
    assert not told.world.workloads[refused.workload].reserved
    stopped = told.world.workloads["team/e"].stops.stopped_by
    told.told(PodsGone(workload="team/e", decision=f"LOG_0/{stopped}")).decided()
    assert told.world.workloads[refused.workload].admitted


@pytest.mark.parametrize("gate", [True, False])
def test_a_job_whose_annotation_is_gone_goes_on_in_slices(*, gate: bool) -> None:
    told = Story().told(*platform(**ROOM), asked := elastic("e", 2))
    told.decided()
    told.told(replace(told.world.settings, gates={"ElasticJobsViaWorkloadSlices": gate}))
    told.told(sized(replace(asked, spec=replace(asked.spec, elastic=False, priority=7)), 3))
    told.decided()
    (runs,) = slices_of(told.world, "team/e")
    assert runs.admitted and runs.spec.elastic and runs.spec.replaces == "team/e"
    assert (runs.spec.priority, runs.spec.pod_sets[0].count) == (7, 3)
    told.told(WorkloadDeleted(workload="team/e")).decided()
    assert not told.world.workloads and not used(told)


def test_a_job_that_is_elastic_stays_so_when_new_ones_can_t_be_any_more() -> None:
    told = Story()
    told.told(*platform(**ROOM), asked := elastic("e", 2))
    told.decided()
    without = replace(told.world.settings, gates={"ElasticJobsViaWorkloadSlices": False})
    told.told(without, sized(asked, 3))
    told.decided()
    (runs,) = slices_of(told.world, "team/e")
    assert runs.admitted and runs.spec.replaces == "team/e" and runs.spec.pod_sets[0].count == 3
    told.told(WorkloadDeleted(workload="team/e"))
    told.decided()
    assert not told.world.workloads and not told.world.chains and not used(told)
    told.told(JobUnsuspended(workload="team/e", generation=1), elastic("f", 2))
    told.decided()
    assert told.world.workloads["team/f"].admitted and not told.world.workloads["team/f"].spec.elastic
