"""Which devices are there, and who has which: by claim, pod and workload, as the log has them."""

from events.catalogue import AnyEvent
from events.claims import ClaimedDevice, ClaimUser, DeviceClassMapping, ResourceClaimObserved, ResourceSliceObserved
from events.control import ObjectRemoved
from events.device import PodObserved
from events.settings import SettingsObserved
from projections.claims.held_devices import DevicePlace, devices_on_record, held_twice
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.world import World

MAPPED = SettingsObserved(device_class_mappings=(DeviceClassMapping(resource="gpus", classes=("a",)),))
SLICE = ResourceSliceObserved(name="s", driver="d", pool="n1", node="n1", devices=("g0", "g1"))
POD = PodObserved(namespace="team", name="p", uid="u-p", node="n1", workload="team/w", cardless=True)


def held(name: str, *devices: str, pod: str = "p", **says: object) -> ResourceClaimObserved:
    given = tuple(ClaimedDevice(driver="d", pool="n1", device=one, device_class="a", **says) for one in devices)
    users = (ClaimUser(name=pod),) if pod else ()
    return ResourceClaimObserved(namespace="team", name=name, devices=given, pods=users)


def world_after(*events: AnyEvent) -> World:
    world = World()
    for number, event in enumerate(events):
        evolve(world, event, LogPosition(partition="FACTS", sequence=number, at=number))
    return world


def shown(world: World) -> dict[str, list[tuple[str, tuple[str, ...], tuple[str, ...], str]]]:
    return {
        one.place.device: [(each.claim, each.pods, each.workloads, each.resource) for each in one.holders]
        for one in devices_on_record(world)
    }


def test_a_device_is_held_by_the_workload_of_the_pods_that_use_its_claim() -> None:
    world = world_after(MAPPED, SLICE, held("c", "g1"), POD)
    assert shown(world) == {"g0": [], "g1": [("team/c", ("p",), ("team/w",), "gpus")]}
    assert all(one.published and one.node == "n1" for one in devices_on_record(world))


def test_a_claim_that_no_pod_uses_is_of_the_pod_that_it_was_made_for() -> None:
    claim = ResourceClaimObserved(
        namespace="team", name="c", devices=held("c", "g0").devices, made_for=ClaimUser(name="p")
    )
    assert shown(world_after(MAPPED, SLICE, POD, claim))["g0"] == [("team/c", ("p",), ("team/w",), "gpus")]


def test_what_is_held_and_not_published_any_more_stays_on_record_until_the_claim_is_gone() -> None:
    gone = [
        ObjectRemoved(kind="ResourceSlice", name="s"),
        ObjectRemoved(kind="ResourceClaim", namespace="team", name="c"),
    ]
    world = world_after(MAPPED, SLICE, held("c", "g1"), POD, gone[0])
    assert [(one.place.device, one.published) for one in devices_on_record(world)] == [("g1", False)]
    assert devices_on_record(world_after(MAPPED, SLICE, held("c", "g1"), POD, *gone)) == []


def test_nothing_is_on_record_where_no_class_is_mapped_any_more() -> None:
    assert devices_on_record(world_after(MAPPED, SLICE, held("c", "g1"), SettingsObserved())) == []


def test_two_claims_have_one_device_only_by_shares_of_it_or_for_administrators() -> None:
    twice = world_after(MAPPED, held("c", "g0"), held("e", "g0"))
    assert held_twice(twice) == [DevicePlace("d", "n1", "g0")]
    assert held_twice(world_after(MAPPED, held("c", "g0"), held("e", "g0", admin=True))) == []
    assert held_twice(world_after(MAPPED, held("c", "g0", share="1"), held("e", "g0", share="2"))) == []


def test_what_is_on_record_is_saved_and_undone_with_the_world() -> None:
    world = world_after(MAPPED, SLICE, held("c", "g1"), POD)
    kept = world_of(tables_of(world))
    assert (shown(kept), state_hash(kept)) == (shown(world), state_hash(world))
    before = state_hash(world)
    with world.trial():
        evolve(world, SettingsObserved(), LogPosition(partition="FACTS", sequence=9, at=9))
        assert devices_on_record(world) == []
    assert state_hash(world) == before
