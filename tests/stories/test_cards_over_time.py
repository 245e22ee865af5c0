"""Cards that fail and come back, plugins that fall silent, pods that take what is not theirs: what is decided, and when."""

from typing import Any

from msgspec.structs import replace

from events.card import Card, CardShare
from events.control import ObjectRemoved
from events.device import (
    AllocationStale,
    CapacityCovered,
    CapacityShort,
    CardReturned,
    DevicesRegistered,
    DevicesReleased,
    DriftDetected,
    DriftKind,
    DriftResolved,
    NodeObserved,
    PluginLost,
    PodObserved,
)
from events.quota import FlavorObserved
from events.settings import DevicePolicy, SettingsObserved
from events.workload import WorkloadFinished
from projections.devices.capacity.offer import cap, offers
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from tests.stories.small_world import MEMORY, Story, job, platform


def registered(*unhealthy: int, cards: int = 4, **more: Any) -> DevicesRegistered:
    return DevicesRegistered(
        node="n1",
        cards=tuple(
            Card(uuid=f"GPU-{i}", index=i, slots=10, memory=32768, model="NVIDIA-V100", healthy=i not in unhealthy)
            for i in range(cards)
        ),
        **more,
    )


def pod(name: str, card: str, memory: int = 16000, *, workload: str = "", node: str = "n1", **more: Any) -> PodObserved:
    share = CardShare(uuid=card, vendor="NVIDIA", memory=memory, cores=50)
    return PodObserved(
        namespace="team", name=name, uid=name, node=node, workload=workload, phase="Running", shares=((share,),), **more
    )


def drift(said: list[Any]) -> list[tuple[str, DriftKind | None, str]]:
    return [(type(e).__name__, e.kind, e.holder) for e in said if isinstance(e, DriftDetected | DriftResolved)]


def test_a_card_that_failed_comes_back_after_a_quiet_minute_and_twice_that_the_next_time() -> None:
    told = Story().told(*platform(cards=4))
    told.told(registered(0)).decided()
    assert not told.world.cards.cards_of("n1").cards[0].healthy
    told.told(registered()).decided()
    assert not told.world.cards.cards_of("n1").cards[0].healthy, "reported well, and not trusted yet"
    assert told.world.next_deadline() is not None, "the partition wakes by itself"
    assert told.later(59_000) == []
    assert [type(event) for event in told.later(1_000)] == [CardReturned]
    assert told.world.cards.cards_of("n1").cards[0].healthy
    told.told(registered(0)).told(registered()).decided()
    assert told.later(119_000) == []
    assert [type(event) for event in told.later(1_000)] == [CardReturned]


def test_a_card_that_fails_again_while_it_is_watched_begins_anew() -> None:
    told = Story().told(*platform(cards=4), registered(0), registered())
    told.at += 50_000
    told.told(registered(0), registered())
    assert told.later(60_000) == []
    assert [type(event) for event in told.later(60_000)] == [CardReturned]


def test_a_silent_plugin_loses_its_cards_after_a_minute_and_has_them_back_when_it_speaks() -> None:
    told = Story().told(*platform(cards=4), registered(silent=("NVIDIA",)))
    assert told.decided() == []
    assert told.later(59_999) == []
    assert [type(event) for event in told.later(1)] == [PluginLost]
    assert not any(card.healthy for card in told.world.cards.cards_of("n1").cards)
    told.told(registered())
    assert all(card.healthy for card in told.world.cards.cards_of("n1").cards)


def test_a_job_is_not_given_a_card_that_is_out_of_service_or_cordoned() -> None:
    told = Story().told(*platform(cards=3), registered(0, cards=3, cordoned=("GPU-1",)), job("a"))
    told.decided()
    assert sorted(told.world.cards.stakes) == ["GPU-2"]


def test_an_unmanaged_pod_is_named_and_charged_and_its_end_resolves_it() -> None:
    told = Story().told(*platform(cards=1))
    said = told.told(pod("thief", "GPU-0", 20000)).decided()
    assert drift(list(said)) == [("DriftDetected", DriftKind.UNMANAGED, "pod:team/thief")]
    assert told.told(job("a")).world.cards.used["GPU-0"].memory == 20000
    told.decided()
    assert not told.world.workloads["team/a"].admitted, "the card has no room for it"
    said = told.told(ObjectRemoved(kind="Pod", namespace="team", name="thief")).decided()
    assert drift(list(said)) == [("DriftResolved", DriftKind.UNMANAGED, "pod:team/thief")]
    assert told.world.workloads["team/a"].admitted


def test_a_pod_that_holds_another_card_than_the_log_gave_is_named_and_both_are_charged() -> None:
    told = Story().told(*platform(cards=2), job("a"))
    told.decided()
    (given,) = told.world.cards.stakes
    other = "GPU-1" if given == "GPU-0" else "GPU-0"
    said = told.told(pod("a-0", other, workload="team/a")).decided()
    assert drift(list(said)) == [("DriftDetected", DriftKind.UNRESERVED, "team/a")]
    assert {uuid: use.memory for uuid, use in told.world.cards.used.items()} == {given: 16000, other: 16000}


def test_a_card_that_fails_under_a_job_is_told_with_its_holder_until_the_job_has_let_go() -> None:
    told = Story().told(*platform(cards=1), job("a"))
    told.decided()
    assert drift(list(told.told(pod("a-0", "GPU-0", workload="team/a")).decided())) == []
    said = told.told(registered(0, cards=1)).decided()
    assert drift(list(said)) == [("DriftDetected", DriftKind.UNHEALTHY, "team/a")]
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert told.world.cards.holdings, "its pod is still there"
    said = told.told(ObjectRemoved(kind="Pod", namespace="team", name="a-0")).decided()
    assert [type(event) for event in said] == [DevicesReleased, DriftResolved]
    assert told.world.cards.used["GPU-0"].slots == 0


def test_a_lost_node_keeps_its_holders_on_the_books_and_its_return_resolves_it() -> None:
    told = Story().told(*platform(cards=1), job("a"))
    told.decided()
    told.told(pod("a-0", "GPU-0", workload="team/a"))
    said = told.told(NodeObserved(name="n1", labels={"card": "v100"}, ready=False)).decided()
    assert drift(list(said)) == [("DriftDetected", DriftKind.NODE_LOST, "team/a")]
    said = told.told(ObjectRemoved(kind="Node", name="n1")).decided()
    assert ("DriftDetected", DriftKind.UNREGISTERED, "team/a") in drift(list(said))
    stale = [event for event in said if isinstance(event, AllocationStale)]
    assert [(event.pod, event.cards, event.message) for event in stale] == [
        ("team/a-0", ("GPU-0",), "its node is gone")
    ]
    assert told.world.cards.used["GPU-0"].memory == 16000, "named, and released only on proof"
    said = told.told(NodeObserved(name="n1", labels={"card": "v100"}), registered(cards=1)).decided()
    assert drift(list(said)) == [("DriftResolved", DriftKind.UNREGISTERED, "team/a")]
    assert not told.world.cards.care.stale and not told.world.cards.care.told


def test_a_pod_that_does_not_go_is_told_stale_a_minute_after_its_time() -> None:
    told = Story().told(*platform(cards=1))
    told.told(pod("ghost", "GPU-0")).decided()
    gone_by = told.at + 30_000
    told.told(pod("ghost", "GPU-0", terminating=True, gone_by=gone_by)).decided()
    assert told.later(80_000) == []
    (said,) = told.later(10_000)
    assert isinstance(said, AllocationStale) and (said.pod, said.since) == ("team/ghost", gone_by)
    assert told.later(600_000) == [], "told once"
    told.told(ObjectRemoved(kind="Pod", namespace="team", name="ghost"))
    assert told.world.cards.used["GPU-0"].slots == 0


def test_cards_that_hami_has_given_but_could_not_bind_are_held_and_told_stale() -> None:
    told = Story().told(*platform(cards=1))
    told.told(replace(pod("stuck", "GPU-0", node=""), phase="Pending", assigned="n1", bind_failed=True)).decided()
    assert told.world.cards.used["GPU-0"].memory == 16000
    said = told.later(60_000)
    assert [type(event) for event in said] == [AllocationStale]


def test_what_the_cards_offer_stands_beside_the_quota_and_caps_it_where_that_is_wanted() -> None:
    told = Story().told(*platform(nominal=8, cards=4))
    told.told(registered(0, cordoned=("GPU-1",)), pod("thief", "GPU-2", 10000))
    (offer,) = [each for each in offers(told.world, "v100") if each.resource == MEMORY]
    assert (offer.nominal, offer.registered, offer.unhealthy, offer.cordoned, offer.unmanaged, offer.offered) == (
        8 * 16384,
        4 * 32768,
        32768,
        32768,
        10000,
        2 * 32768 - 10000,
    )
    assert cap(told.world, "v100", MEMORY) is None
    told.told(SettingsObserved(device_policies={"v100": DevicePolicy.CAP}))
    assert cap(told.world, "v100", MEMORY) == 2 * 32768 - 10000
    assert cap(told.world, "v100", "cpu") is None
    told.told(FlavorObserved(name="v100", node_labels={"card": "v100"}, device_policy=DevicePolicy.IGNORE))
    assert cap(told.world, "v100", MEMORY) is None, "the flavor's own word counts more"


def test_cards_of_nodes_that_are_not_ready_or_cordoned_are_not_offered_and_those_that_workloads_hold_are() -> None:
    told = Story().told(*platform(nominal=8, cards=4), job("a", count=2))
    told.decided()
    node = told.world.nodes["n1"]
    for change, absent, cordoned in (
        (node, 0, 0),
        (replace(node, ready=False), 4, 0),
        (replace(node, unschedulable=True), 0, 4),
    ):
        (offer,) = [each for each in offers(told.told(change).world, "v100") if each.resource == MEMORY]
        assert (offer.registered, offer.unmanaged) == (4 * 32768, 0)
        assert (offer.absent, offer.cordoned) == (absent * 32768, cordoned * 32768)
        assert offer.offered == (4 - absent - cordoned) * 32768
    told.told(ObjectRemoved(kind="Node", namespace="", name="n1"))
    assert [each.registered for each in offers(told.world, "v100") if each.resource == MEMORY] == [0]


def test_a_shortage_is_told_under_warn_with_its_numbers_and_once_more_when_it_is_over() -> None:
    told = Story().told(*platform(nominal=8, cards=4), SettingsObserved(device_policies={"v100": DevicePolicy.WARN}))
    assert told.decided() == []
    short = [event for event in told.told(registered(0)).decided() if isinstance(event, CapacityShort)]
    assert [(event.resource, event.nominal, event.offered) for event in short] == [
        ("nvidia.com/gpucores", 400, 300),
        (MEMORY, 131072, 98304),
    ]
    assert short[1].message == (
        "quotas promise 131072 nvidia.com/gpumem of flavor v100; its cards offer 98304 of 131072 registered "
        "(32768 unhealthy)"
    )
    told.told(registered())
    assert [type(event) for event in told.later(60_000)] == [CardReturned, CapacityCovered, CapacityCovered]


def test_what_is_remembered_of_cards_outlives_a_snapshot() -> None:
    told = Story().told(*platform(cards=2), job("a"), registered(0, silent=("NVIDIA",)), registered(1))
    told.told(pod("thief", "GPU-1"), pod("ghost", "GPU-0", terminating=True, gone_by=5)).decided()
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert again.cards.stakes == {uuid: row for uuid, row in told.world.cards.stakes.items() if row}


def test_a_mig_card_with_a_share_whose_piece_nobody_tells_is_out_of_service_until_it_is_gone() -> None:
    told = Story().told(*platform(cards=1))
    whole = Card(uuid="GPU-0", slots=7, memory=81920, model="NVIDIA-A100", mode="mig")
    told.told(DevicesRegistered(node="n1", cards=(whole,)), pod("blind", "GPU-0", 10000)).decided()
    assert not told.world.cards.cards_of("n1").cards[0].healthy
    assert (DriftKind.UNHEALTHY, "pod:team/blind") in [
        (one.kind, one.holder) for one in told.world.cards.care.told["GPU-0"]
    ]
    told.told(ObjectRemoved(kind="Pod", namespace="team", name="blind")).decided()
    assert told.world.cards.cards_of("n1").cards[0].healthy
    assert not told.world.cards.care.told


def test_what_was_looked_at_is_not_looked_at_again_unless_it_is_taken_back() -> None:
    told = Story().told(*platform(cards=2), pod("thief", "GPU-0"))
    mark = told.world.mark()
    accountant = told.deciders[-1]
    first = accountant.decide(told.world, LogPosition(partition="D", sequence=1, at=told.at))
    assert not told.world.cards.dirty_cards
    assert accountant.decide(told.world, LogPosition(partition="D", sequence=2, at=told.at)) == []
    told.world.undo(mark)
    assert accountant.decide(told.world, LogPosition(partition="D", sequence=1, at=told.at)) == first != []
