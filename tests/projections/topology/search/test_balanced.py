"""Pods that are balanced, held against all sets of racks and of hosts there are (docs/rules/topology.md#balanced)."""

import random
from collections.abc import Mapping
from itertools import combinations
from typing import TypeVar

from tests.projections.topology.makers import flavor_with, gates, placed, request

T = TypeVar("T")
LEVELS = ("rack", "host")


def tightest(room: Mapping[T, int], count: int) -> list[frozenset[T]]:
    """The smallest sets that hold so many, and of these the ones with least room to spare."""
    for size in range(1, len(room) + 1):
        enough = [one for one in combinations(room, size) if sum(room[each] for each in one) >= count]
        least = min((sum(room[each] for each in one) for one in enough), default=0)
        if enough:
            return [frozenset(one) for one in enough if sum(room[each] for each in one) == least]
    return []


def even_part(room: Mapping[str, int], count: int) -> int:
    """How many each of the hosts can take at least, if it is to be as few of them as possible."""
    roomiest = sorted(room.values(), reverse=True)
    few = next((size for size in range(1, len(room) + 1) if sum(roomiest[:size]) >= count), 0)
    return min(count // few, roomiest[few - 1]) if few else 0


def test_pods_lie_evenly_on_the_fewest_hosts_of_the_fewest_racks_that_spare_least_of_hosts_that_take_an_even_part() -> (
    None
):
    tried = several = 0
    for seed in range(1500):
        chance = random.Random(seed)
        racks = {f"r{rack}": [f"h{rack}{host}" for host in range(chance.randint(1, 4))] for rack in range(3)}
        room = {host: chance.randint(0, 6) for hosts in racks.values() for host in hosts}
        count = chance.randint(2, 14)
        part = even_part(room, count)
        large = {host: cpu for host, cpu in room.items() if cpu >= part}
        taken = {rack: sum(large.get(host, 0) for host in hosts) for rack, hosts in racks.items()}
        ways = [
            (hosts, part * len(hosts))
            for chosen in tightest(taken, count)
            for hosts in tightest(
                {host: large[host] for rack in chosen for host in racks[rack] if host in large}, count
            )
        ]
        if not part or not ways or any(least > count for _, least in ways):
            continue
        centre = {f"{rack}/{host}": room[host] for rack, hosts in racks.items() for host in hosts}
        asked = request(count=count, preferred="rack")
        found = placed(flavor_with(LEVELS, centre), asked, with_gates=gates("balanced"))["main"].assignment
        assert found is not None, seed
        pods = {one.values[-1]: one.count for one in found.domains}
        assert frozenset(pods) in {hosts for hosts, _ in ways}, seed
        assert sum(pods.values()) == count and min(pods.values()) >= part, seed
        assert all(number <= room[host] for host, number in pods.items()), seed
        tried, several = tried + 1, several + (len(pods) > 1)
    assert tried > 500 and several > 300


def test_beside_a_leader_no_host_gets_more_than_it_has_room_for() -> None:
    tried = 0
    for seed in range(600):
        chance = random.Random(seed)
        room = {f"r{rack}/h{rack}{host}": chance.randint(0, 6) for rack in range(3) for host in range(3)}
        count, leader = chance.randint(2, 14), chance.randint(1, 4)
        both = (
            request("workers", count=count, group="g", preferred="rack"),
            request("leader", count=1, group="g", preferred="rack", requests={"cpu": leader}),
        )
        found = placed(flavor_with(LEVELS, room), *both, with_gates=gates("balanced"))
        if found["workers"].failure:
            continue
        held: dict[str, int] = {}
        for name, each, wanted in (("workers", 1, count), ("leader", leader, 1)):
            placement = found[name].assignment
            assert placement is not None and sum(one.count for one in placement.domains) == wanted, seed
            for one in placement.domains:
                held[one.values[-1]] = held.get(one.values[-1], 0) + one.count * each
        assert all(held.get(host.partition("/")[2], 0) <= cpu for host, cpu in room.items()), seed
        tried += 1
    assert tried > 400
