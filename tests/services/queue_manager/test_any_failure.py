"""Which hosts have failed, which pods never get there and what is lost, against the rules, in random clusters.

The rules are docs/rules/topology.md#node-failures, #not-ready, #stranded-pods and docs/rules/eviction.md#node-failures, each
answered from the facts anew.
"""

import random
from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from events.card import Card, CardShare
from events.device import DevicesRegistered, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from events.pod_set import PodSet
from events.quota import FlavorObserved
from events.selector import Effect, Taint, Toleration
from events.topology import PodTopology, TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import CheckState, CheckStatus, Owner, PodSetAssignment, PodSetUpdate
from projections.topology.placement.node_failures import lost_place, review_places, stranded_pods, unhealthy_nodes
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SECOND, SHAPE, SPEC, Room, settings, submitted

HOST = "kubernetes.io/hostname"
HOSTS = ("a", "b", "c", "d")
GATES = (
    "TASFailedNodeReplacement",
    "TASReplaceNodeOnPodTermination",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeDueToNotReadyOverFixedTime",
)
ON_BY_DEFAULT = GATES[:3]
POD_SETS = ("left", "main", "side")
CARDS = tuple(
    Card(uuid=f"gpu-{index}", index=index, slots=4, memory=1000, model="V100", vendor="NVIDIA") for index in range(3)
)
OVER = ("Succeeded", "Failed")


class Cluster:
    """One random cluster with a workload in it; by a number."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        pick = self.chance
        self.gates = {gate: pick.random() < 0.5 for gate in GATES if pick.random() < 0.4}
        self.nodes = {one.name: one for one in self._nodes()}
        self.flavors = {name: FlavorObserved(name=name, tolerations=self._tolerations()) for name in ("f", "g")}
        self.pod_sets = tuple(
            PodSet(name=name, count=2, shape=replace(SHAPE, tolerations=self._tolerations())) for name in POD_SETS
        )
        self.updates = {name: self._tolerations() for name in POD_SETS if pick.random() < 0.4}
        self.given = tuple(self._given(name) for name in POD_SETS)
        self.pods = tuple(self._pods())
        self.is_pod = pick.random() < 0.2
        self.placements = tuple(self._placements()) if pick.random() < 0.6 else ()
        self.registered = {name: tuple(self._cards()) for name in HOSTS if pick.random() < 0.8}
        self.room = self._room()

    def _nodes(self) -> Iterator[NodeObserved]:
        pick = self.chance
        for host in HOSTS:
            if pick.random() < 0.15:
                continue
            name = pick.choice((host, host, host, f"node-{host}", pick.choice(HOSTS)))
            labels = {HOST: host} if pick.random() < 0.9 else {}
            effects = (Effect.NO_SCHEDULE, Effect.NO_EXECUTE, Effect.PREFER_NO_SCHEDULE)
            taints = tuple(
                Taint(key=key, value="", effect=pick.choice(effects)) for key in ("x", "y") if pick.random() < 0.3
            )
            ready = pick.random() < 0.6
            since = 0 if ready else pick.choice((0, MINUTE * 60 - pick.choice((29, 30, 31)) * SECOND))
            yield NodeObserved(name=name, labels=labels, ready=ready, not_ready_since=since, taints=taints)

    def _tolerations(self) -> tuple[Toleration, ...]:
        pick = self.chance
        return tuple(
            Toleration(key=key, operator="Exists", seconds=pick.choice((None, None, 60)))
            for key in ("x", "y")
            if pick.random() < 0.3
        )

    def _given(self, name: str) -> PodSetAssignment:
        pick = self.chance
        flavors = {"cpu": pick.choice("fg"), "gpu": pick.choice("fg")}
        levels = pick.choice(((HOST,), (HOST,), ("rack", HOST), ("rack",), ()))
        if not levels:
            return PodSetAssignment(name=name, count=2, flavors=flavors)
        domains = tuple(
            TopologyDomain(values=(*("r" for _ in levels[1:]), host), count=1) for host in pick.sample(HOSTS, 2)
        )
        placed = TopologyPlacement(
            flavor="f", requests={"cpu": 1000}, assignment=TopologyAssignment(levels=levels, domains=domains)
        )
        return PodSetAssignment(name=name, count=2, flavors=flavors, topology=placed)

    def _pods(self) -> Iterator[PodObserved]:
        pick = self.chance
        for index in range(6):
            share = CardShare(uuid="gpu-0", vendor="NVIDIA", memory=100, cores=10)
            placed = PodTopology(
                gated=pick.random() < 0.2, node_selector=pick.choice(({HOST: pick.choice(HOSTS)}, {"rack": "r"}))
            )
            yield PodObserved(
                namespace="team",
                name=f"p{index}",
                uid=f"p{index}",
                node=pick.choice(("", *sorted({*HOSTS, *self.nodes}))),
                phase=pick.choice(("Pending", "Pending", "Running", "Running", *OVER)),
                workload=pick.choice((KEY, KEY, KEY, "team/other")),
                pod_set=pick.choice((*POD_SETS, "unknown")),
                topology=pick.choice((placed, placed, None)),
                shares=pick.choice(((), ((share,),))),
                terminating=pick.random() < 0.2,
            )

    def _placements(self) -> Iterator[PodPlacement]:
        pick = self.chance
        for index in range(pick.randint(1, 3)):
            share = CardShare(uuid=pick.choice(CARDS).uuid, vendor="NVIDIA", memory=100, cores=10)
            yield PodPlacement(
                pod_set=pick.choice(POD_SETS), index=index, node=pick.choice(HOSTS), containers=((share,),)
            )

    def _cards(self) -> Iterator[Card]:
        for card in CARDS:
            if self.chance.random() < 0.8:
                yield replace(card, healthy=self.chance.random() < 0.8)

    def _room(self) -> Room:
        room = Room(settings(gates=self.gates), *self.flavors.values(), *self.nodes.values())
        room.tell(*(DevicesRegistered(node=name, cards=cards) for name, cards in self.registered.items()))
        updates = tuple(PodSetUpdate(name=name, tolerations=found) for name, found in self.updates.items())
        checks = (CheckStatus(name="check", state=CheckState.READY, updates=updates),)
        owner = Owner(kind="Pod" if self.is_pod else "Job", name="j", uid="j", api_version="v1")
        told = submitted(
            replace(SPEC, pod_sets=self.pod_sets), reserved=True, admitted_at=MINUTE, owner=owner, checks=checks
        )
        assert told.adopted is not None
        room.tell(replace(told, adopted=replace(told.adopted, assignments=self.given)))
        admission = room.workload.admission
        assert admission is not None
        if self.placements:
            room.tell(DevicesReserved(workload=KEY, reservation=admission.reservation, placements=self.placements))
        return room.tell(*self.pods)

    def on(self, gate: str) -> bool:
        return self.gates.get(gate, gate in ON_BY_DEFAULT)

    # What the rules say.

    def host_of(self, node: str) -> str:
        return self.nodes[node].labels.get(HOST, node) if node in self.nodes else node

    def node_of(self, host: str) -> NodeObserved | None:
        """Of several nodes that say they are a host the one of that name, or the first."""
        found = [name for name in self.nodes if self.host_of(name) == host]
        return self.nodes[host if host in found else min(found)] if found else None

    def hosts_of(self, one: PodSetAssignment) -> list[str]:
        """The hosts that a pod set is placed on; none where its domains are no hosts."""
        if one.topology is None or one.topology.assignment.levels[-1] != HOST:
            return []
        return [domain.values[-1] for domain in one.topology.assignment.domains]

    def goes_on(self, node: str) -> bool:
        return any(
            one.node == node and one.workload == KEY and not one.terminating and one.phase not in OVER
            for one in self.pods
        )

    def keeps_off(self, node: NodeObserved, pod_sets: Sequence[PodSetAssignment]) -> bool:
        """Whether pods of one of these do not tolerate a taint, or only for a time."""
        if not self.on("TASReplaceNodeOnNodeTaints"):
            return False
        hard = {one.key for one in node.taints if one.effect is not Effect.PREFER_NO_SCHEDULE}
        for one in pod_sets:
            template = next(each.shape.tolerations for each in self.pod_sets if each.name == one.name)
            of_flavors = [each for name in one.flavors.values() for each in self.flavors[name].tolerations]
            all_of_them = [*template, *of_flavors, *self.updates.get(one.name, ())]
            if hard - {each.key for each in all_of_them if each.seconds is None}:
                return True
        return False

    def failed(self, host: str) -> bool:
        node = self.node_of(host)
        if node is None:
            return True
        empty, waits = not self.goes_on(node.name), self.on("TASReplaceNodeOnPodTermination")
        if node.ready:
            placed = [one for one in self.given if host in self.hosts_of(one)]
            return self.keeps_off(node, placed) and (empty or not waits)
        long = self.room.at - node.not_ready_since >= 30 * SECOND
        for_a_time = self.on("TASReplaceNodeDueToNotReadyOverFixedTime") or not waits
        return (for_a_time and long) or (waits and empty)

    def failed_hosts(self) -> tuple[str, ...]:
        if not self.nodes or not self.on("TASFailedNodeReplacement") or self.is_pod:
            return ()  # What belongs to a single pod keeps its place.
        hosts = dict.fromkeys(host for one in self.given for host in self.hosts_of(one))
        return tuple(host for host in hosts if self.failed(host))

    def stranded(self) -> list[str]:
        return [one.name for one in self.pods if one.workload == KEY and self.never_gets_there(one)]

    def never_gets_there(self, pod: PodObserved) -> bool:
        if pod.topology is None or pod.topology.gated or pod.node or pod.terminating or pod.phase != "Pending":
            return False
        its = [one for one in self.given if one.name == pod.pod_set] or self.given
        host = pod.topology.node_selector.get(HOST)
        if host is None or not any(self.hosts_of(one) for one in its):
            return False
        its = [one for one in its if host in self.hosts_of(one)]
        node = self.node_of(host)
        return not its or (node is not None and (not node.ready or self.keeps_off(node, its)))

    def lost(self) -> str:
        """Nodes of cards that nobody looks for others of, or else cards that have failed."""
        given = {one.name: one for one in self.given}
        apart = {one.node for one in self.placements if self.host_of(one.node) not in self.hosts_of(given[one.pod_set])}
        moved = self.on("TASFailedNodeReplacement") and not self.is_pod
        nodes = [
            node
            for node in sorted({one.node for one in self.placements})
            if (node in apart or not moved) and self.is_lost(node)
        ]
        if nodes:
            return f"unhealthy node(s): {','.join(nodes)}"
        cards = sorted(
            {share.uuid for one in self.placements for (share,) in one.containers if self.broken(one, share)}
        )
        return f"failed card(s): {','.join(cards)}" if cards else ""

    def is_lost(self, node: str) -> bool:
        if node not in self.nodes:
            return bool(self.nodes)
        return not self.nodes[node].ready and not self.goes_on(node)

    def broken(self, placement: PodPlacement, share: CardShare) -> bool:
        cards = {one.uuid: one for one in self.registered.get(placement.node, ())}
        return not cards[share.uuid].healthy if share.uuid in cards else bool(cards)


@pytest.mark.parametrize("begin", range(0, 800, 200))
def test_what_has_failed_and_what_is_stranded_and_lost_is_what_the_rules_say(begin: int) -> None:
    for seed in range(begin, begin + 200):
        at = Cluster(seed)
        world, workload = at.room.world, at.room.workload
        assert unhealthy_nodes(world, workload, at.room.at) == at.failed_hosts(), seed
        assert [one.name for one in stranded_pods(world, workload)] == at.stranded(), seed
        found, lost = lost_place(world, workload), at.lost()
        assert found == (f"Workload was evicted as there was no replacement for {lost}" if lost else ""), seed


def test_who_has_domains_or_cards_of_a_node_is_looked_at_when_something_happens_to_it_and_nobody_else() -> None:
    for seed in range(300):
        at = Cluster(seed)
        world = at.room.world
        hosts = {host for one in at.given if one.topology is not None for host in lowest(one.topology.assignment)}
        for name in sorted({*at.nodes, *HOSTS}):
            list(world.work.take_all("queue-manager"))
            review_places(world, name)
            concerned = {name, at.host_of(name)} & hosts or any(one.node == name for one in at.placements)
            looked_at = KEY in world.work.waiting("queue-manager")
            assert looked_at is (bool(concerned) or at.nodes.keys() == {name}), (seed, name)


def lowest(assignment: TopologyAssignment) -> list[str]:
    return [domain.values[-1] for domain in assignment.domains]
