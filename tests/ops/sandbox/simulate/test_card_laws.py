"""What the laws of cards say of a card for one alone that others get as well, and of who is stopped for want of cards."""

from events.card import CardShare
from events.catalogue import Decision
from events.device import DevicesRefused, DevicesReserved, PodPlacement
from ops.sandbox.simulate.partition_laws import CardLaws
from projections.evolve import evolve
from projections.log_position import LogPosition
from tests.stories.small_world import Story, job, platform


def given(workload: str, cores: int, *, card: str = "GPU-0") -> DevicesReserved:
    share = CardShare(uuid=card, vendor="NVIDIA", memory=1000, cores=cores)
    placement = PodPlacement(pod_set="main", index=0, node="n1", containers=((share,),))
    return DevicesReserved(workload=workload, reservation=1, placements=(placement,))


def broken_by(story: Story, *events: Decision) -> list[str]:
    laws, position = CardLaws(story.world), LogPosition(partition="DEVICES_default", sequence=1, at=10_000)
    for event in events:
        evolve(story.world, event, position)
        laws.hear(event, position)
    return laws.broken


def test_who_has_all_cores_of_a_card_at_once_has_it_alone() -> None:
    (said,) = broken_by(Story().told(*platform()), given("team/a", 100), given("team/b", 0))
    assert "gives card GPU-0 to others beside one who has it for himself" in said
    assert broken_by(Story().told(*platform()), given("team/a", 100), given("team/b", 0, card="GPU-1")) == []
    assert broken_by(Story().told(*platform()), given("team/a", 50), given("team/b", 50)) == []


def test_who_runs_without_cards_is_not_stopped_for_want_of_them() -> None:
    *others, cards = platform()
    story = Story().told(*others, job("a"))
    story.decided()
    admission = story.world.workloads["team/a"].admission
    assert admission is not None and story.world.workloads["team/a"].admitted
    story.told(cards)
    refused = DevicesRefused(
        workload="team/a", reservation=admission.reservation, reason="WaitingForDevices", message=""
    )
    (said,) = broken_by(story, refused)
    assert "stops team/a, which runs, for want of cards" in said
