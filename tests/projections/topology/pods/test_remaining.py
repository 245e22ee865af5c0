"""Where the pods of an elastic job lie that stay when it becomes smaller, against the rule (docs/rules/topology.md#shrunk)."""

import random
from collections import Counter

from msgspec.structs import replace

from events.device import PodObserved
from events.pod_set import PodSet
from events.topology import PodTopology, TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import EvictionOrdered, PodSetAssignment, WorkloadFinished
from projections.topology.pods.remaining import too_many_go_on, where_pods_remain
from projections.workloads.lifecycle import SecondPass, Workload
from projections.workloads.resizing import Resizing
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SPEC, Room, submitted

LEVELS = ("rack", "kubernetes.io/hostname")
PLACES = tuple((rack, host) for rack in ("r1", "r2") for host in ("a", "b"))
POD_SETS = ("main", "side")
Places = dict[tuple[str, ...], int]


class Shrunk:
    """A job that has become smaller, with pods that lie anywhere; by a number."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.given = {name: self._places() for name in POD_SETS}
        self.counts = {name: max(1, sum(self.given[name].values())) for name in POD_SETS}
        self.pods = [self._pod(index) for index in range(self.chance.randint(0, 12))]
        spec = replace(SPEC, pod_sets=tuple(PodSet(name=name, count=self.counts[name]) for name in POD_SETS))
        told = submitted(spec, reserved=True, admitted_at=MINUTE)
        assert told.adopted is not None
        assignments = tuple(self._assignment(name) for name in POD_SETS)
        self.room = Room(replace(told, adopted=replace(told.adopted, assignments=assignments)), *self.pods)

    def _places(self) -> Places:
        found = self.chance.sample(PLACES, self.chance.randint(0, 3))
        return {place: self.chance.randint(1, 4) for place in found}

    def _assignment(self, name: str) -> PodSetAssignment:
        """A pod set on these places, in any order; one without any is not placed by topology."""
        domains = tuple(TopologyDomain(values=values, count=count) for values, count in self.given[name].items())
        placed = TopologyPlacement(
            flavor="f", requests={"cpu": 1}, assignment=TopologyAssignment(levels=LEVELS, domains=domains)
        )
        return PodSetAssignment(name=name, count=self.counts[name], topology=placed if domains else None)

    def _pod(self, index: int) -> PodObserved:
        pick = self.chance
        selector = dict(zip(LEVELS, pick.choice(PLACES), strict=True))
        return PodObserved(
            namespace="team",
            name=f"p{index}",
            uid=f"p{index}",
            phase=pick.choice(("Pending", "Running", "Running", "Succeeded", "Failed")),
            workload=KEY,
            pod_set=pick.choice(POD_SETS),
            topology=PodTopology(gated=pick.random() < 0.3, node_selector=selector),
            cardless=True,
        )

    def workload(self, *, unhealthy: tuple[str, ...] = (), shrunk: bool = True) -> Workload:
        return replace(
            self.room.workload, resizing=Resizing(shrunk=shrunk), second_pass=SecondPass(unhealthy_nodes=unhealthy)
        )

    def remain(self, name: str, lost: str = "") -> Places:
        """Each pod that is let through keeps its place, but on a host that is lost; of those that were given as many stay as others may come to."""
        lie: Places = Counter(
            tuple(one.topology.node_selector.values())
            for one in self.pods
            if one.pod_set == name
            and one.topology is not None
            and not one.topology.gated
            and one.phase in ("Pending", "Running")
            and one.topology.node_selector[LEVELS[-1]] != lost
        )
        given = self.given[name]
        rest = self.counts[name] - sum(lie.values())
        if not given or rest < 0 or all(count <= given.get(place, 0) for place, count in lie.items()):
            return given
        spare = [place for place, count in given.items() for _ in range(count - lie.get(place, 0))][:rest]
        return Counter(lie) + Counter(spare)

    def too_many(self, lost: str) -> bool:
        """Whether more pods go on than there are to be."""
        return any(
            bool(self.given[name])
            and self.counts[name]
            < sum(
                one.pod_set == name
                and one.topology is not None
                and not one.topology.gated
                and one.phase in ("Pending", "Running")
                and one.topology.node_selector[LEVELS[-1]] != lost
                for one in self.pods
            )
            for name in POD_SETS
        )


def places_of(one: PodSetAssignment) -> Places:
    return {} if one.topology is None else {each.values: each.count for each in one.topology.assignment.domains}


def test_domains_follow_the_pods_that_stay_and_keep_room_for_those_that_come() -> None:
    moved = 0
    for seed in range(600):
        at = Shrunk(seed)
        wanted = [at.remain(name) for name in POD_SETS]
        found = where_pods_remain(at.room.world, at.workload())
        if wanted == [at.given[name] for name in POD_SETS]:
            assert found is None, seed
            continue
        moved += 1
        assert found is not None and [places_of(one) for one in found] == wanted, seed
        for one in found:
            if places_of(one) != at.given[one.name]:
                assert list(places_of(one)) == sorted(places_of(one)), seed
            assert one.count == at.counts[one.name] and (one.topology is None) is not bool(at.given[one.name])
    assert moved > 100


def test_pods_on_a_host_that_is_lost_are_not_among_those_that_stay_and_nobody_is_placed_anew_while_enough_go_on() -> (
    None
):
    moved = held_back = 0
    for seed in range(600):
        at = Shrunk(seed)
        world, wanted = at.room.world, [at.remain(name, "a") for name in POD_SETS]
        found = where_pods_remain(world, at.workload(unhealthy=("a",)), {"a"})
        given = [at.given[name] for name in POD_SETS]
        assert (given if found is None else [places_of(one) for one in found]) == wanted, seed
        moved += found is not None and wanted != [at.remain(name) for name in POD_SETS]
        assert too_many_go_on(world, at.workload(), {"a"}) is at.too_many("a"), seed
        assert not too_many_go_on(world, at.workload(shrunk=False), {"a"})
        held_back += at.too_many("a")
    assert moved > 50 and held_back > 5


def test_nothing_follows_where_nothing_shrank_or_the_job_is_to_stop() -> None:
    seed = next(seed for seed in range(100) if where_pods_remain(Shrunk(seed).room.world, Shrunk(seed).workload()))
    at = Shrunk(seed)
    assert where_pods_remain(at.room.world, at.workload(shrunk=False)) is None
    for end in (EvictionOrdered(workload=KEY, reason="Preempted"), WorkloadFinished(workload=KEY, reason="Succeeded")):
        over = Shrunk(seed)
        over.room.tell(end)
        assert where_pods_remain(over.room.world, over.workload()) is None
