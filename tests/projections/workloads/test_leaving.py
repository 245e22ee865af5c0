"""What a workload leaves behind when it ends or is gone: nothing that anybody would wait for."""

from msgspec.structs import replace

from events.admission import QuotaReserved, TopologyAssigned
from events.application import DecisionApplied
from events.settings import SettingsObserved
from events.slices import WorkloadSliceSubmitted
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.lifecycle import FINISHED, Workload
from projections.workloads.slices import ELASTIC_JOBS
from services.admitter.decide import Admitter
from services.queue_manager.decide import QueueManager
from tests.services.admitter.test_topology_with_cards import asking, host, racked
from tests.stories.small_world import Story, job, platform


def test_cards_that_were_only_proposed_are_free_when_the_workload_is_deleted() -> None:
    told = Story().told(*platform(), job("a"))
    told.deciders = [QueueManager(), Admitter()]
    told.decided()
    assert told.world.cards.holdings
    told.told(WorkloadDeleted(workload="team/a"))
    assert not told.world.cards.holdings
    assert not [uuid for uuid, use in told.world.cards.used.items() if use.slots]


def test_an_end_that_is_told_twice_is_still_shown() -> None:
    told = Story().told(*platform(), job("a"))
    told.decided()
    end = WorkloadFinished(workload="team/a", reason="Succeeded")
    decided = told.world.workloads["team/a"].decided
    shown = DecisionApplied(workload="team/a", partition="LOG_0", sequence=decided, finished=True)
    told.told(end, shown)
    assert told.world.workloads["team/a"].finish_shown
    told.told(end)
    assert told.world.workloads["team/a"].finish_shown


def test_a_workload_that_has_ended_takes_no_domains_though_the_decision_that_moves_it_comes_later() -> None:
    """In the order of the cards' partition an end may be ahead of what was decided before anybody knew of it."""
    told = racked(host("a", "r1", cards=2), host("b", "r1", cards=2))
    told.told(asking("w", count=2)).decided()
    (first,) = [one for one in told.decisions if isinstance(one, QuotaReserved)]
    assert told.world.domains.held_by("team/w")
    told.told(WorkloadFinished(workload="team/w", reason="Succeeded"))
    told.told(TopologyAssigned(workload="team/w", cluster_queue="cq", assignments=first.assignments))
    assert told.world.domains.held_by("team/w") is None
    assert state_hash(told.world) == state_hash(world_of(tables_of(told.world)))


def elastic(name: str) -> WorkloadSubmitted:
    submitted = job(name)
    return replace(submitted, spec=replace(submitted.spec, elastic=True))


def slice_after(fact: WorkloadFinished | WorkloadDeleted) -> Workload | None:
    """The slice that an elastic job was to grow into, where its end is read ahead of the decision for it."""
    told = Story().told(SettingsObserved(gates={ELASTIC_JOBS: True}), *platform(), elastic("a"))
    told.decided()
    spec = told.world.workloads["team/a"].spec
    told.told(fact)
    told.told(WorkloadSliceSubmitted(workload="team/a-2", replaces="team/a", uid="u", created_at=1, spec=spec))
    return told.world.workloads.get("team/a-2")


def test_no_slice_outlives_a_job_whose_end_is_read_ahead_of_it() -> None:
    ended = slice_after(WorkloadFinished(workload="team/a", reason="Failed", message="no more"))
    assert ended is not None and ended.finished
    over = ended.condition(FINISHED)
    assert over is not None and (over.reason, over.message) == ("Failed", "no more")
    assert slice_after(WorkloadDeleted(workload="team/a")) is None
