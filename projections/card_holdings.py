"""Who holds what of which card: reserved by the log, or taken by pods that no reservation covers.

A holding is keyed by workload and attempt. The admitter proposes one with the quota; the accountant confirms or drops
it. Pods of a workload that has a holding are covered by it; all others are charged as they stand.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from events.device import DevicesRegistered, PodObserved, PodPlacement
from projections.devices.digest import NodeDigest, digest
from projections.devices.use import IDLE, CardUse, NodeCards, effective_use
from projections.trail import Trail

TERMINAL = frozenset({"Succeeded", "Failed"})


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of one attempt of one workload."""

    workload: str
    reservation: int
    placements: tuple[PodPlacement, ...]
    confirmed: bool


class CardHoldings:
    """The ledger of cards. All changes go through the trail."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.nodes: dict[str, DevicesRegistered] = {}
        self._home: dict[str, str] = {}
        """The node of each card."""
        self._versions: dict[str, int] = {}
        """By node, which change was the last; no number is used twice, and an undo brings the old one back."""
        self._changes = 0
        self._digests: dict[str, tuple[int, NodeDigest]] = {}
        """Kept outside the trail: one of another version is made anew when asked for."""
        self.used: dict[str, CardUse] = {}
        """Per card UUID what is taken of it."""
        self.holdings: dict[str, Holding] = {}
        """By `workload@reservation`."""
        self.pods: dict[str, dict[str, CardUse]] = {}
        """What is charged for pods that no holding covers, by pod."""

    def register(self, registered: DevicesRegistered) -> None:
        """A node's cards are these."""
        self._trail.put(self.nodes, registered.node, registered)
        for card in registered.cards:
            self._trail.put(self._home, card.uuid, registered.node)
        self._touch(registered.node)

    def remove_node(self, node: str) -> None:
        """The node is gone; what its cards held stays on the books until its holders are gone too."""
        self._trail.drop(self.nodes, node)
        self._touch(node)

    def cards_of(self, node: str) -> NodeCards:
        """The cards of one node and what is taken of each."""
        registered = self.nodes[node]
        return NodeCards(
            node=node,
            cards=registered.cards,
            cordoned=frozenset(registered.cordoned),
            used={card.uuid: self.used.get(card.uuid, IDLE) for card in registered.cards},
            pair_scores=registered.pair_scores,
        )

    def digest(self, node: str) -> NodeDigest:
        """The cards of one node in short."""
        version = self._versions[node]
        known = self._digests.get(node)
        if known is None or known[0] != version:
            known = self._digests[node] = (version, digest(self.cards_of(node)))
        return known[1]

    def propose(self, workload: str, reservation: int, placements: tuple[PodPlacement, ...]) -> None:
        """Charge the cards that the admitter found, until the accountant has spoken."""
        self._hold(Holding(workload=workload, reservation=reservation, placements=placements, confirmed=False))

    def confirm(self, workload: str, reservation: int, placements: tuple[PodPlacement, ...]) -> None:
        """The accountant gives these cards, whatever was proposed."""
        self._drop(holding_key(workload, reservation))
        self._hold(Holding(workload=workload, reservation=reservation, placements=placements, confirmed=True))

    def withdraw(self, workload: str, reservation: int) -> None:
        """The attempt is over before the accountant confirmed it."""
        key = holding_key(workload, reservation)
        holding = self.holdings.get(key)
        if holding is not None and not holding.confirmed:
            self._drop(key)

    def release(self, workload: str, reservation: int) -> None:
        """The cards of an attempt are free again."""
        self._drop(holding_key(workload, reservation))

    def covers(self, workload: str) -> bool:
        """Whether any attempt of the workload holds cards, confirmed."""
        return any(holding.workload == workload and holding.confirmed for holding in self.holdings.values())

    def observe_pod(self, pod: PodObserved, *, covered: bool) -> None:
        """Charge a pod for the cards that HAMi gave it, unless a holding covers it or it is over."""
        key = f"{pod.namespace}/{pod.name}"
        self.remove_pod(key)
        if covered or not pod.node or pod.phase in TERMINAL:
            return
        charged = effective_use(pod.shares, pod.init, init_done=pod.init_done)
        if charged:
            self._trail.put(self.pods, key, charged)
            self._charge(charged)

    def remove_pod(self, key: str) -> None:
        """The pod is gone, and holds nothing any more."""
        charged = self.pods.get(key)
        if charged is not None:
            self._trail.drop(self.pods, key)
            self._credit(charged)

    def trial(self, placements: Sequence[PodPlacement]) -> None:
        """Charge placements for the time of a trial; the caller undoes it by the trail."""
        for placement in placements:
            self._charge(effective_use(placement.containers, placement.init))

    def overfull(self, nodes: Iterable[str]) -> bool:
        """Whether any card of these nodes holds more than it has."""
        return any(
            use.memory > card.memory or use.cores > card.cores or use.slots > card.slots
            for on in (self.cards_of(node) for node in nodes)
            for card in on.cards
            for use in (on.used[card.uuid],)
        )

    def _hold(self, holding: Holding) -> None:
        self._trail.put(self.holdings, holding_key(holding.workload, holding.reservation), holding)
        for placement in holding.placements:
            self._charge(effective_use(placement.containers, placement.init))

    def _drop(self, key: str) -> None:
        holding = self.holdings.get(key)
        if holding is None:
            return
        self._trail.drop(self.holdings, key)
        for placement in holding.placements:
            self._credit(effective_use(placement.containers, placement.init))

    def _charge(self, charged: Mapping[str, CardUse]) -> None:
        for uuid, use in charged.items():
            self._change(uuid, self.used.get(uuid, IDLE).plus(use))

    def _credit(self, charged: Mapping[str, CardUse]) -> None:
        for uuid, use in charged.items():
            self._change(uuid, self.used.get(uuid, IDLE).minus(use))

    def _change(self, uuid: str, use: CardUse) -> None:
        self._trail.put(self.used, uuid, use)
        if uuid in self._home:
            self._touch(self._home[uuid])

    def _touch(self, node: str) -> None:
        self._changes += 1
        self._trail.put(self._versions, node, self._changes)

    def stir_all(self) -> None:
        """Have every card looked at."""

    def calm(self) -> None:
        """Every card that was stirred has been looked at."""

    def all_cards(self) -> Iterable[NodeCards]:
        """Every node's cards, by node name."""
        return (self.cards_of(node) for node in sorted(self.nodes))


def holding_key(workload: str, reservation: int) -> str:
    """The key of an attempt's holding."""
    return f"{workload}@{reservation}"
