"""What is still to be applied: of one workload only the latest, and nothing that is being written already."""

from msgspec.structs import replace

from events.workload import Owner, WorkloadSpec
from projections.workloads.lifecycle import Workload
from services.applier.backlog import Backlog
from services.applier.plan import Application

WORKLOAD = Workload(
    key="team/w",
    uid="u",
    owner=Owner(kind="Job", name="j", uid="j"),
    created_at=0,
    generation=1,
    spec=WorkloadSpec(queue="lq", pod_sets=()),
)


def at(sequence: int) -> Application:
    return Application(workload="team/w", partition="LOG_0", sequence=sequence, of=WORKLOAD)


def test_what_is_being_written_is_not_written_once_more() -> None:
    backlog = Backlog()
    backlog.offer(at(1), 0)
    assert backlog.soon() == at(1)
    backlog.offer(at(1), 0)
    assert not backlog.newer("team/w")
    backlog.done(at(1), 0)
    assert backlog.soon() is None


def test_what_is_newer_is_written_next_unless_it_does_not_come_to_stand() -> None:
    backlog = Backlog()
    backlog.offer(at(1), 0)
    assert backlog.soon() == at(1)
    backlog.offer(at(2), 0)
    assert backlog.newer("team/w")
    backlog.offer(at(1), 0)
    assert not backlog.newer("team/w")
    backlog.offer(at(3), 0)
    backlog.done(at(1), 0)
    assert backlog.soon() == at(3)


def test_the_oldest_urgent_application_counts_from_its_first_offer_until_it_is_written_or_dropped() -> None:
    backlog = Backlog()
    backlog.offer(replace(at(1), aside=True), 50)
    assert (backlog.oldest, backlog.urgent, backlog.low) == (None, 0, 1), "the rest has time"
    backlog.offer(at(2), 100)
    backlog.offer(at(3), 200)
    assert (backlog.oldest, backlog.urgent, backlog.low) == (100, 1, 0)
    assert backlog.soon() == at(3)
    backlog.offer(at(4), 300)
    assert (backlog.oldest, backlog.urgent) == (100, 1)
    backlog.done(at(1), 0)
    assert backlog.oldest == 300
    backlog.drop("team/w")
    assert (backlog.oldest, backlog.urgent) == (None, 0)
