"""How fast cards are folded and found: `python -m tests.laws.card_speed`, on 1,000 nodes with 8 cards each."""

import time
from collections.abc import Callable

from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from events.quota import FlavorObserved
from events.settings import DevicePolicy, SettingsObserved
from projections.devices.capacity.offer import cap
from projections.devices.holdings.drift import all_findings
from projections.devices.placement.gang import Gang, place
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from tests.projections.devices.makers import MODEL, Fleet, card, container, gang

NODES, CARDS, LIVES = 1000, 8, 20_000
SPOT = LogPosition(partition="FACTS", sequence=1, at=5)


def timed(name: str, what: Callable[[], object], times: int = 300) -> None:
    """Print p50 and p99 of doing it so many times."""
    taken: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        what()
        taken.append(1000 * (time.perf_counter() - begun))
    taken.sort()
    print(f"{name:<44} p50 {taken[times // 2]:7.2f} ms  p99 {taken[times * 99 // 100]:7.2f} ms")


def registered() -> World:
    """A world with all nodes."""
    world = World()
    for i in range(NODES):
        cards = tuple(Card(uuid=f"G{i}-{j}", index=j, slots=10, memory=32768, model=MODEL) for j in range(CARDS))
        evolve(world, NodeObserved(name=f"n{i:04}"), SPOT)
        evolve(world, DevicesRegistered(node=f"n{i:04}", cards=cards), SPOT)
    world.settle()
    return world


def lives() -> list[AnyEvent]:
    """Five events for each of many workloads: reserved, seen three times, released."""
    events: list[AnyEvent] = []
    for k in range(LIVES):
        node, key = f"n{k % NODES:04}", f"t/w{k}"
        shares = ((CardShare(uuid=f"G{k % NODES}-{k // NODES % CARDS}", vendor="NVIDIA", memory=1000, cores=2),),)
        placement = PodPlacement(pod_set="main", index=0, node=node, containers=shares)
        events.append(DevicesReserved(workload=key, reservation=1, placements=(placement,)))
        events.extend(
            PodObserved(namespace="t", name=f"p{k}", uid=str(k), node=node, workload=key, phase=phase, shares=shares)
            for phase in ("Pending", "Running", "Succeeded")
        )
        events.append(DevicesReleased(workload=key, reservation=1, proof="job finished"))
    return events


def main() -> None:
    world, events = registered(), lives()
    begun = time.perf_counter()
    for count, event in enumerate(events):
        evolve(world, event, SPOT)
        if count % 50 == 0:
            world.settle()
    print(f"{len(events):,} device events folded in {time.perf_counter() - begun:.2f} s")
    timed("every difference between log and cluster", lambda: all_findings(world.cards, world.nodes, world.pods), 20)
    evolve(world, FlavorObserved(name="f"), SPOT)
    evolve(world, SettingsObserved(device_policies={"f": DevicePolicy.CAP}), SPOT)
    timed("the cap of a flavor, nothing new about cards", lambda: cap(world, "f", "nvidia.com/gpumem"))

    def reckon() -> None:
        evolve(world, NodeObserved(name="n0000"), SPOT)
        cap(world, "f", "nvidia.com/gpumem")

    timed("the cap of a flavor, after news of a node", reckon, 50)
    fleet = Fleet(**{f"n{i:04}": [card(f"G{i}-{j}") for j in range(CARDS)] for i in range(NODES)})

    def placed(*gangs: Gang) -> Callable[[], object]:
        return lambda: place(fleet.cards, fleet.nodes, gangs, fleet.trail)

    half = container(gpu=1, mem=16000, cores=50)
    placed(gang(1, half))()
    timed("a pod", placed(gang(1, half)))
    timed("a gang of 64 half cards", placed(gang(64, half)))
    timed("a gang of 64 pods with 8 whole cards each", placed(gang(64, container(gpu=8))))
    timed(
        "32 half cards and 32 pods with 4 each", placed(gang(32, half, name="a"), gang(32, container(gpu=4), name="b"))
    )
    timed("a refusal", placed(gang(1, container(gpu=1, mem=40000))))
    timed("a refusal of two pod sets", placed(gang(4, half, name="a"), gang(1, container(gpu=1, mem=40000), name="b")))


if __name__ == "__main__":
    main()
