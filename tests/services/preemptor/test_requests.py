"""A request for room ends with its answer, and means its victims only as they were admitted when it was made."""

from collections.abc import Sequence

from msgspec.structs import replace

from events.admission import PreemptionRequested, QuotaReserved, Victim
from events.catalogue import AnyEvent
from events.preemption import PreemptionOrdered
from events.quota import StopPolicy
from events.workload import PodsGone, WorkloadChanged, WorkloadFinished
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from tests.stories.small_world import Story, job, platform


def ordered(said: Sequence[AnyEvent]) -> list[str]:
    return [event.workload for event in said if isinstance(event, PreemptionOrdered)]


def asked(said: Sequence[AnyEvent]) -> list[PreemptionRequested]:
    return [event for event in said if isinstance(event, PreemptionRequested)]


def before_the_answer() -> Story:
    """`urgent` has asked for the room of `a`, and nobody has answered yet."""
    told = Story(unchecked=True).told(*platform(nominal=1, cards=1), job("a"))
    told.decided()
    told.deciders = [one for one in told.deciders if not isinstance(one, Preemptor)]
    told.told(job("urgent", priority=9)).decided()
    return told


def answer(told: Story) -> list[AnyEvent]:
    told.commits += 1
    return list(Preemptor().decide(told.world, LogPosition(partition="LOG_0", sequence=told.commits, at=told.at)))


def gone(told: Story, name: str) -> None:
    stopped = told.world.workloads[f"team/{name}"].stops.stopped_by
    told.told(PodsGone(workload=f"team/{name}", decision=f"LOG_0/{stopped}"))


def test_a_victim_is_named_with_the_admission_in_which_it_was_found() -> None:
    told = before_the_answer()
    admission = told.world.workloads["team/a"].admission
    assert admission is not None
    (victim,) = told.world.requests["team/urgent"].victims
    assert victim == Victim(workload="team/a", reason="InClusterQueue", admission=admission.reservation)


def test_a_preemptor_that_starts_now_does_not_answer_again_what_was_answered() -> None:
    told = before_the_answer()
    assert ordered(answer(told)) == ["team/a"]
    told.world.review_all()
    assert not answer(told)
    gone(told, "a")
    # The quota is raised meanwhile, so both get in: the request of the one has nothing to do with the other's new admission.
    told.told(*platform(nominal=4, cards=4)).decided()
    assert told.world.workloads["team/a"].admitted
    told.world.review_all()
    assert not answer(told)


def test_a_request_whose_victim_holds_quota_by_a_later_admission_is_made_again() -> None:
    told = before_the_answer()
    world, old = told.world, told.world.requests["team/urgent"]
    bygone = tuple(replace(victim, admission=victim.admission - 1) for victim in old.victims)
    world.trail.put(world.requests, "team/urgent", replace(old, victims=bygone))
    world.quota.touch("cq")
    assert not answer(told), "who holds quota by another admission is not meant"
    (again,) = asked(told.decided())
    assert again.victims == old.victims
    assert ordered(answer(told)) == ["team/a"]


def test_whoever_has_finished_meanwhile_is_not_told_to_go() -> None:
    told = before_the_answer()
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded"))
    assert not ordered(answer(told))


def test_whoever_was_told_to_go_by_another_is_not_told_again() -> None:
    told = before_the_answer()
    told.told(PreemptionOrdered(workload="team/a", preemptor="team/other", reason="InClusterQueue", message="go"))
    assert not answer(told)


def test_who_is_parked_or_asks_for_something_else_asks_for_no_room_any_more() -> None:
    told = before_the_answer()
    queue = told.world.cluster_queues["cq"]
    told.told(replace(queue, stop=StopPolicy.HOLD)).decided()
    assert not ordered(answer(told))
    told = before_the_answer()
    spec = replace(told.world.workloads["team/urgent"].spec, priority=0)
    told.told(WorkloadChanged(workload="team/urgent", spec=spec))
    assert not ordered(answer(told))


def test_a_request_of_an_older_log_means_its_victims_as_they_are_but_only_once() -> None:
    told = before_the_answer()
    world, old = told.world, told.world.requests["team/urgent"]
    unbound = tuple(replace(victim, admission=0) for victim in old.victims)
    world.trail.put(world.requests, "team/urgent", replace(old, victims=unbound))
    assert ordered(answer(told)) == ["team/a"]
    world.review_all()
    assert not answer(told)
    gone(told, "a")
    told.deciders = [QueueManager()]
    told.decided()
    told.told(next(event for event in told.decisions if isinstance(event, QuotaReserved)))
    assert world.workloads["team/a"].reserved and "team/urgent" in world.requests
    world.review_all()
    assert not answer(told), "it has left, and was let in again"


def test_what_was_answered_is_part_of_the_state() -> None:
    told = before_the_answer()
    before = state_hash(told.world)
    answer(told)
    assert told.world.answered == {"team/urgent": told.commits}
    assert state_hash(told.world) != before
    told.world.settle()
    restored = world_of(tables_of(told.world))
    assert state_hash(restored) == state_hash(told.world)
    assert restored.answered == told.world.answered


def test_the_room_goes_to_the_one_that_asked_for_it() -> None:
    told = before_the_answer()
    answer(told)
    gone(told, "a")
    assert [e.workload for e in told.decided() if isinstance(e, QuotaReserved)] == ["team/urgent"]
