"""What pods placed by topology hold of the leaves of each flavor, and what is free there.

Rule: docs/rules/topology.md#usage

What is on the log counts for every flavor that has the leaf, if leaves are hosts; what a cycle only tries counts for the
flavor that it is tried on.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec

from events.amount import Requests
from events.device import NodeObserved
from events.quota import FlavorObserved
from events.topology import TopologyAssignment, TopologyObserved, TopologyPlacement
from events.workload import PodSetAssignment
from projections.topology.domains.room import LeafAmounts, LeafFits, LeafRoom, LeafUsage, capacity_of, held_by, take
from projections.topology.domains.tree import HOSTNAME, TopologyTree, leaf_key, same_place, tree_of
from projections.topology.requests.topology_request import FlavorRoom
from projections.trail import Trail


class _Offer(msgspec.Struct, frozen=True):
    """The leaves of a flavor, and what its nodes offer there less what pods hold that no queue places."""

    tree: TopologyTree
    capacity: LeafAmounts
    fits: LeafFits
    """Of pods as things stand."""
    empty_fits: LeafFits
    """Of pods where nobody is placed by topology."""


class DomainTables(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that domains are made of; the tables belong to the world and change."""

    flavors: Mapping[str, FlavorObserved]
    topologies: Mapping[str, TopologyObserved]
    nodes: Mapping[str, NodeObserved]
    node_usage: Mapping[str, Mapping[str, int]]
    """By node, what pods hold there that are not placed by topology."""


class TopologyUsage:
    """The ledger of domains. All changes go through the trail."""

    __slots__ = ("_held", "_hosts", "_offers", "_own", "_tables", "_trail", "_tried", "_overlapping")

    def __init__(self, trail: Trail, tables: DomainTables) -> None:
        self._trail, self._tables = trail, tables
        self._overlapping = True
        """Whether flavors whose leaves are hosts see each other's pods (gate TASHandleOverlappingFlavors)."""
        self._held: dict[str, tuple[TopologyPlacement, ...]] = {}
        """By workload that holds quota."""
        self._hosts = LeafUsage()
        self._own: dict[str, LeafUsage] = {}
        """By flavor."""
        self._tried: dict[str, dict[str, Requests]] = {}
        """By flavor and leaf, what is tried beside the usage; negative for victims."""
        self._offers: dict[str, _Offer] = {}
        """A cache by flavor, kept outside the trail: whatever it was made of takes it away when it changes or is undone."""

    def use(self, *, overlapping: bool) -> None:
        """Whether flavors whose leaves are hosts see each other's pods from now on."""
        self._trail.note(partial(setattr, self, "_overlapping", self._overlapping))
        self._overlapping = overlapping

    def charge(self, workload: str, assignments: Iterable[PodSetAssignment]) -> None:
        """The workload holds these domains from now on, instead of those that it held."""
        self.release(workload)
        placements = tuple(one.topology for one in assignments if one.topology is not None)
        if placements:
            self._trail.put(self._held, workload, placements)
            self._count(placements, 1)

    def release(self, workload: str) -> None:
        """The workload holds no domains any more."""
        placements = self._held.get(workload)
        if placements is not None:
            self._trail.drop(self._held, workload)
            self._count(placements, -1)

    def node_changed(self, before: NodeObserved | None, after: NodeObserved | None) -> None:
        """A node came, went or changed. To be called when the table of nodes says so already."""
        if before is None or after is None or not same_place(before, after):
            self.offers_changed()
            return
        self._offer_more(after.name, before.allocatable, -1)
        self._offer_more(after.name, after.allocatable, 1)

    def node_usage_changed(self, node: str, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        """Pods of a node that no queue places hold something else than before."""
        self._offer_more(node, before, 1)
        self._offer_more(node, after, -1)

    def offers_changed(self) -> None:
        """What flavors offer is to be gathered anew, now and when this is undone: a flavor, a topology or a node is another."""
        self._offers.clear()
        self._trail.note(self._offers.clear)

    def flavor_gone(self, flavor: str) -> None:
        """The flavor is removed: it offers nothing, and what pods hold is no longer kept by the leaves of its tree."""
        for usage in (self._hosts, self._own.get(flavor)):
            if usage is not None:
                usage.forget(flavor)
        self.offers_changed()

    def has(self, flavor: str) -> bool:
        """Whether the flavor has a topology, and it is there."""
        found = self._tables.flavors.get(flavor)
        return found is not None and bool(found.topology) and found.topology in self._tables.topologies

    def room(self, flavor: str) -> FlavorRoom | None:
        """What is free on the leaves of a flavor as things stand; None for one without a topology."""
        offer = self._offer(flavor)
        if offer is None:
            return None
        usage = self._hosts if self.shares_hosts(offer.tree) else self._own.get(flavor)
        view = None if usage is None else usage.on(flavor, offer.tree)
        tried = self._tried.get(flavor, {})
        return self._of(
            flavor, LeafRoom(tree=offer.tree, capacity=offer.capacity, usage=view, taken=tried, fits=offer.fits)
        )

    def shares_hosts(self, tree: TopologyTree) -> bool:
        """Whether the leaves of a tree are hosts that count the pods of other flavors as well."""
        return self._overlapping and tree.by_host

    def empty_room(self, flavor: str) -> FlavorRoom | None:
        """What would be free if no pods were placed by topology; None for a flavor without one."""
        offer = self._offer(flavor)
        return (
            None
            if offer is None
            else self._of(flavor, LeafRoom(tree=offer.tree, capacity=offer.capacity, fits=offer.empty_fits))
        )

    def rooms(self, flavors: Iterable[str], *, empty: bool = False) -> dict[str, FlavorRoom]:
        """The same for several flavors, by name, without those that have no topology; `empty` as if no pods were placed by it."""
        found = {name: self.empty_room(name) if empty else self.room(name) for name in sorted(flavors)}
        return {name: room for name, room in found.items() if room is not None}

    def held_by(self, workload: str) -> "HeldDomains | None":
        """The domains of a workload, to take them away or give them back on trial; None when it holds none."""
        placements = self._held.get(workload)
        return None if placements is None else HeldDomains(self, placements)

    def flavors_of(self, workload: str) -> frozenset[str]:
        """The flavors whose domains a workload holds."""
        return frozenset(one.flavor for one in self._held.get(workload, ()))

    def sharing(self, flavors: frozenset[str]) -> list[str]:
        """The flavors that have other room when pods of these come or go, in order."""
        if not self._overlapping:
            return sorted(flavors)
        return sorted({*flavors, *(name for name in self._tables.flavors if self.has(name))})

    def held(self) -> Mapping[str, tuple[TopologyPlacement, ...]]:
        """The domains that are held, by workload."""
        return self._held

    def try_with(self, placements: Iterable[TopologyPlacement], times: int) -> None:
        """Count placements beside the usage, on trial; with -1 they are taken away."""
        for one in placements:
            tried = self._tried.setdefault(one.flavor, {})
            pod = held_by(one.requests)
            for domain in one.assignment.domains:
                leaf, pods = _leaf(one.assignment, domain.values), domain.count * times
                take(tried, leaf, pod, pods)
                self._trail.note(partial(take, tried, leaf, pod, -pods))

    def _of(self, flavor: str, room: LeafRoom) -> FlavorRoom:
        return FlavorRoom(room=room, tolerations=self._tables.flavors[flavor].tolerations)

    def _count(self, placements: Sequence[TopologyPlacement], times: int) -> None:
        for one in placements:
            pod = held_by(one.requests)
            usages = [self._own.setdefault(one.flavor, LeafUsage())]
            if _by_host(one.assignment):
                usages.append(self._hosts)
            for domain in one.assignment.domains:
                leaf, pods = _leaf(one.assignment, domain.values), domain.count * times
                for usage in usages:
                    usage.add(leaf, pod, pods)
                    self._trail.note(partial(usage.add, leaf, pod, -pods))

    def _offer(self, flavor: str) -> _Offer | None:
        found = self._offers.get(flavor)
        if found is None and self.has(flavor):
            found = self._offers[flavor] = self._gathered(self._tables.flavors[flavor])
        return found

    def _gathered(self, flavor: FlavorObserved) -> _Offer:
        tables = self._tables
        levels = tables.topologies[flavor.topology].levels
        tree = tree_of(flavor.topology, levels, flavor.node_labels, tables.nodes.values())
        capacity = capacity_of(tree, tables.nodes.values())
        for node, usage in tables.node_usage.items():
            leaf = tree.leaf_by_node.get(node)
            if leaf is not None:
                capacity.add(leaf, usage, -1)
        return _Offer(tree, capacity, LeafFits(), LeafFits())

    def _offer_more(self, node: str, amounts: Mapping[str, int], times: int) -> None:
        for offer in self._offers.values():
            leaf = offer.tree.leaf_by_node.get(node)
            if leaf is not None:
                offer.capacity.add(leaf, amounts, times)
        self._trail.note(self._offers.clear)


class HeldDomains:
    """Placements in the ledger that are taken away or given back on trial."""

    __slots__ = ("_ledger", "placements")

    def __init__(self, ledger: TopologyUsage, placements: tuple[TopologyPlacement, ...]) -> None:
        self._ledger, self.placements = ledger, placements

    def vacate(self) -> None:
        """Their pods are gone, until the trial ends."""
        self._ledger.try_with(self.placements, -1)

    def occupy(self) -> None:
        """Their pods are there (again), until the trial ends."""
        self._ledger.try_with(self.placements, 1)

    def fit(self) -> bool:
        """Whether each domain is there and has room for its pods, beside those of pod sets before them, as things stand.

        Rule: docs/rules/topology.md#other-domains
        """
        ledger, beside = self._ledger, dict[str, dict[str, Requests]]()
        for one in self.placements:
            found = ledger.room(one.flavor)
            if found is None:
                return False
            pod = held_by(one.requests)
            assumed = beside.setdefault("" if ledger.shares_hosts(found.room.tree) else one.flavor, {})
            if not msgspec.structs.replace(found.room, assumed=assumed).holds(one.assignment, pod):
                return False
            for domain in one.assignment.domains:
                take(assumed, _leaf(one.assignment, domain.values), pod, domain.count)
        return True


def _leaf(assignment: TopologyAssignment, values: Sequence[str]) -> str:
    return leaf_key(values, by_host=_by_host(assignment))


def _by_host(assignment: TopologyAssignment) -> bool:
    """Whether its leaves are hosts, which are known by themselves also where all levels are listed, as others may write them."""
    return assignment.levels[-1:] == (HOSTNAME,)
