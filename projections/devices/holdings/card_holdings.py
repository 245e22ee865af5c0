"""What each workload and pod holds of which card: what the log has reserved, and what HAMi's annotations show.

A holding is keyed by workload and attempt. The admitter proposes one with the quota; the accountant confirms or drops
it. Each card keeps a stake per owner, a workload or a pod that belongs to none: what is reserved for it and what its
pods hold. The larger of both is charged, so that the books are right in whatever order facts and decisions come.
"""

from collections.abc import Iterable, KeysView, Mapping, Sequence
from functools import partial

import msgspec

from events.card import Card, CardShare
from events.device import DevicesRegistered, PodObserved, PodPlacement
from events.event import Millis
from projections.devices.card_use import IDLE, CardUse, NodeCards, effective_use, whole_of
from projections.devices.fit.card_checks import SOFT_SPLIT_NODE
from projections.devices.fit.fills import KnownFills
from projections.devices.fit.mig import unknown_pieces
from projections.devices.fit.node_summary import NodeSummary, summarized
from projections.devices.fit.pick import MIG_MODE
from projections.devices.holdings.card_care import CardCare
from projections.devices.holdings.card_stakes import (
    POD,
    Holding,
    PodHold,
    Stake,
    exceeds,
    holding_key,
    is_less,
    uses_of,
)
from projections.devices.holdings.card_tenants import qualities_of, sharing_of, tenants_of
from projections.devices.vendors.table import METAX_SLICE
from projections.trail import Trail

TERMINAL = frozenset({"Succeeded", "Failed"})
__all__ = ["POD", "TERMINAL", "CardHoldings", "Holding", "holding_key"]

_NOTHING = Stake()
_OFFER = ""
"""Stands for what all cards offer, where versions are kept by node."""


class _Idle(msgspec.Struct, frozen=True):
    """What is known of nodes as they are where nobody holds anything, by the same versions."""

    digests: dict[str, tuple[int, NodeSummary]]
    fills: KnownFills


class CardHoldings:
    """The ledger of cards. All changes go through the trail."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.care = CardCare(trail)
        self.nodes: dict[str, DevicesRegistered] = {}
        self.homes: dict[str, tuple[str, ...]] = {}
        """The node that registers each card; several only where one registers a card that is not its own."""
        self._versions: dict[str, int] = {}
        """By node, which change was the last; no number is used twice, and an undo brings the old one back."""
        self._changes = 0
        self.count = [0]
        """How many changes there were to any card; what is undone was none."""
        self.offered: dict[tuple[str, str], tuple[int, object, dict[str, int]]] = {}
        """A cache of offers by flavor and resource, each with its version; kept outside the trail."""
        self._summaries: dict[str, tuple[int, NodeSummary]] = {}
        """A cache of node summaries with their versions, kept outside the trail; an outdated one is made anew when asked for."""
        self.fills = KnownFills()
        """A cache of how many pods nodes take, by shape of the pods and version of the node; kept outside the trail."""
        self._idle = _Idle({}, KnownFills())
        """The same two caches as they are where nobody holds anything."""
        self._tried: dict[str, tuple[CardShare, ...]] = {}
        """By card what a trial has given of it, where its vendor looks at who shares it."""
        self.used: dict[str, CardUse] = {}
        """Per card UUID what is taken of it."""
        self.stakes: dict[str, dict[str, Stake]] = {}
        """Per card UUID and owner."""
        self.holdings: dict[str, Holding] = {}
        """By `workload@reservation`."""
        self._attempts: dict[str, dict[str, None]] = {}
        """The keys of each workload's holdings."""
        self.pods: dict[str, PodHold] = {}
        """Living pods on nodes."""
        self.living: dict[str, dict[str, None]] = {}
        """Living pods by owner."""
        self.dirty_cards: dict[str, None] = {}
        """Cards that have changed since the accountant last looked at them; a hint, kept outside the trail."""
        self.dirty_workloads: dict[str, None] = {}
        """Workloads whose holdings were added or whose pods have gone since then; a hint as well."""

    def register(self, registered: DevicesRegistered) -> None:
        """Take the cards that a node registers, in place of those that it had before."""
        self._leave_home(registered.node)
        self._trail.put(self.nodes, registered.node, registered)
        for card in registered.cards:
            homes = tuple(sorted({*self.homes.get(card.uuid, ()), registered.node}))
            self._trail.put(self.homes, card.uuid, homes)
        self.change_service(registered.node)

    def remove_node(self, node: str) -> None:
        """The node is gone; what its cards held stays on the books until its holders are gone too."""
        self._leave_home(node)
        self._trail.drop(self.nodes, node)
        self.touch(node)
        self.touch(_OFFER)

    def cards_of(self, node: str) -> NodeCards:
        """The cards of one node and what is taken of each; those out of service count as unhealthy."""
        registered = self.nodes[node]
        cards = tuple(
            card if not card.healthy or self.in_service(node, card) else msgspec.structs.replace(card, healthy=False)
            for card in registered.cards
        )
        sharing = sharing_of(cards, self.stakes, self._attempts, self.holdings, self._tried)
        return NodeCards(
            node=node,
            cards=cards,
            cordoned=frozenset(registered.cordoned),
            used={card.uuid: self.used.get(card.uuid, IDLE) for card in cards},
            pair_scores=registered.pair_scores,
            annotations={**_soft_split(registered), **registered.link_scores},
            tenants=tenants_of(sharing),
            qualities=qualities_of(sharing),
        )

    def registered(self, uuid: str) -> Card | None:
        """A card as its node registers it; None of one that no node does."""
        home = next(iter(self.homes.get(uuid, ())), None)
        return None if home is None else next(card for card in self.nodes[home].cards if card.uuid == uuid)

    def in_service(self, node: str, card: Card) -> bool:
        """Whether new pods may have the card, cordons and what is free on it aside."""
        if card.mode == MIG_MODE and unknown_pieces(self.used.get(card.uuid, IDLE)):
            return False
        return self.care.in_service(node, card)

    def summary_of(self, node: str) -> NodeSummary:
        """The summary of a node's cards, made anew only when something about them has changed."""
        version = self._versions[node]
        known = self._summaries.get(node)
        if known is None or known[0] != version:
            known = self._summaries[node] = (version, summarized(self.cards_of(node)))
        return known[1]

    def version(self, node: str) -> int:
        """Changes whenever anything about a node's cards does; an undo brings the old one back."""
        return self._versions[node]

    def versions_of(self, nodes: Iterable[str]) -> list[int]:
        """The versions of nodes, in their order; 0 of those that never had cards."""
        versions = self._versions
        return [versions.get(node, 0) for node in nodes]

    def empty(self) -> None:
        """Take away all that anybody has of cards, for the time of a trial; the caller undoes it by the trail."""
        self._trail.note(partial(self._swap, self.used, self.stakes, self._tried))
        self._swap({}, {}, {})

    def _swap(
        self,
        used: dict[str, CardUse],
        stakes: dict[str, dict[str, Stake]],
        tried: dict[str, tuple[CardShare, ...]],
    ) -> None:
        self.used, self.stakes, self._tried = used, stakes, tried
        other = _Idle(self._summaries, self.fills)
        self._summaries, self.fills, self._idle = self._idle.digests, self._idle.fills, other

    def propose(self, workload: str, reservation: int, placements: tuple[PodPlacement, ...]) -> None:
        """Charge the cards that the admitter found, until the accountant confirms or refuses them, instead of those before."""
        before = self.holdings.get(holding_key(workload, reservation))
        given = () if before is None else before.placements if before.confirmed else before.given
        self._drop(holding_key(workload, reservation))
        self._hold(
            Holding(workload=workload, reservation=reservation, placements=placements, confirmed=False, given=given)
        )

    def confirm(self, workload: str, reservation: int, placements: tuple[PodPlacement, ...]) -> None:
        """The accountant gives these cards, whatever was proposed."""
        self._drop(holding_key(workload, reservation))
        self._hold(Holding(workload=workload, reservation=reservation, placements=placements, confirmed=True))

    def withdraw(self, workload: str, reservation: int) -> None:
        """The attempt is over before the accountant confirmed it.

        What he had given under it before stays given until he says that it is released: others may know of that alone.
        """
        key = holding_key(workload, reservation)
        holding = self.holdings.get(key)
        if holding is not None and not holding.confirmed:
            self._drop(key)
            if holding.given:
                self.confirm(workload, reservation, holding.given)

    def release(self, workload: str, reservation: int) -> None:
        """The cards of an attempt are free again."""
        self._drop(holding_key(workload, reservation))

    def vacate(self, workload: str) -> None:
        """Take away all that a workload and its pods have, for the time of a trial; the caller undoes it."""
        for key in list(self._attempts.get(workload, ())):
            self._drop(key)
        for key in list(self.living.get(workload, ())):
            self.remove_pod(key)

    def stakes_of(self, workload: str) -> dict[str, Stake]:
        """What a workload has of each card."""
        uuids = {uuid for holding in self.attempts_of(workload) for uuid in uses_of(holding.placements)}
        uuids.update(uuid for key in self.living.get(workload, ()) for uuid in self.pods[key].use)
        return {uuid: self._stake(uuid, workload) for uuid in sorted(uuids)}

    def stake(self, uuid: str, workload: str, stake: Stake) -> None:
        """Say what a workload has of a card, for the time of a trial; the caller undoes it by the trail."""
        self._set(uuid, workload, stake)

    def observe_pod(self, pod: PodObserved, at: Millis = 0) -> bool:
        """Take note of what a pod holds by HAMi's annotations; whether more of a card is free by it, for nothing is reserved for what it held."""
        key, node = f"{pod.namespace}/{pod.name}", pod.node or pod.assigned
        before = self._let_go(key)
        if not node or pod.phase in TERMINAL:
            self.care.pod_gone(key)
            return self._has_lessened(before)
        use = effective_use(pod.shares, pod.init, sidecars=pod.sidecars, init_done=pod.init_done)
        if use or pod.workload:
            hold = PodHold(owner=pod.workload or POD + key, node=node, use=use)
            self._trail.put(self.pods, key, hold)
            self._trail.add(self.living, hold.owner, key)
            for uuid, amount in use.items():
                stake = self._stake(uuid, hold.owner)
                self._set(uuid, hold.owner, Stake(stake.reserved, stake.held.plus(amount)))
        self.care.pod_seen(key, pod, at)
        return self._has_lessened(before)

    def remove_pod(self, key: str) -> bool:
        """The pod is gone, and holds nothing any more; whether more of a card is free because of it."""
        self.care.pod_gone(key)
        return self._has_lessened(self._let_go(key))

    def holders(self) -> KeysView[str]:
        """The keys of workloads for which cards are reserved or in use."""
        return self._attempts.keys()

    def attempts_of(self, workload: str) -> list[Holding]:
        """The holdings of a workload, by attempt."""
        return [self.holdings[key] for key in sorted(self._attempts.get(workload, ()))]

    def trial(self, placements: Sequence[PodPlacement]) -> None:
        """Charge placements for the time of a trial; the caller undoes it by the trail."""
        for uuid, use in uses_of(placements).items():
            self._change(uuid, self.used.get(uuid, IDLE).plus(use))
        for share in (share for one in placements for shares in one.containers for share in shares):
            if share.vendor == METAX_SLICE:
                self._trail.put(self._tried, share.uuid, (*self._tried.get(share.uuid, ()), share))

    def overfull(self, nodes: Iterable[str]) -> bool:
        """Whether any card of these nodes holds more than it has."""
        return any(
            exceeds(on.used[card.uuid], whole_of(card))
            for on in (self.cards_of(node) for node in nodes if node in self.nodes)
            for card in on.cards
        )

    def overfull_of(self, placements: Sequence[PodPlacement]) -> bool:
        """Whether a card that these placements name holds more than it has."""
        named = uses_of(placements)
        return any(
            exceeds(on.used[card.uuid], whole_of(card))
            for on in (self.cards_of(node) for node in sorted({one.node for one in placements}) if node in self.nodes)
            for card in on.cards
            if card.uuid in named
        )

    def all_cards(self) -> Iterable[NodeCards]:
        """Every node's cards, by node name."""
        return (self.cards_of(node) for node in sorted(self.nodes))

    def touch(self, node: str) -> None:
        """Something about a node's cards has changed."""
        self._changes += 1
        self._trail.put(self._versions, node, self._changes)
        self._trail.set_item(self.count, 0, self.count[0] + 1)

    def note_leaving(self, workload: str) -> None:
        """A workload has lost its quota: the cards that it holds are on their way back."""
        if self._attempts.get(workload):
            self._trail.set_item(self.count, 0, self.count[0] + 1)

    def change_service(self, node: str) -> None:
        """Cards of a node have come into service or gone out of it, or the node itself has."""
        self.touch(_OFFER)
        if node in self.nodes:
            self.touch(node)
            self.mark_node_dirty(node)

    def offer_version(self) -> int:
        """Changes whenever what cards offer to workloads may have: not when workloads take cards or give them back."""
        return self._versions.get(_OFFER, 0)

    def mark_node_dirty(self, node: str) -> None:
        """Have all cards of a node looked at."""
        if node in self.nodes:
            self.dirty_cards.update(dict.fromkeys(card.uuid for card in self.nodes[node].cards))

    def mark_all_dirty(self) -> None:
        """Have every card looked at: what a replay does, that has seen no earlier turn."""
        self.dirty_cards.update(dict.fromkeys((*self.homes, *self.stakes, *self.care.told)))

    def mark_card_done(self, card: str) -> None:
        """A dirty card has been looked at; if that is taken back, it is dirty again."""
        self._trail.drop(self.dirty_cards, card)

    def mark_workload_done(self, workload: str) -> None:
        """A workload's holdings have been looked at; if that is taken back, they are dirty again."""
        self._trail.drop(self.dirty_workloads, workload)

    def mark_all_done(self) -> None:
        """Every dirty card has been looked at, or nobody here looks at cards."""
        self._trail.clear(self.dirty_cards)
        self._trail.clear(self.dirty_workloads)

    def _leave_home(self, node: str) -> None:
        self.mark_node_dirty(node)
        for card in self.nodes[node].cards if node in self.nodes else ():
            left = tuple(home for home in self.homes.get(card.uuid, ()) if home != node)
            if left:
                self._trail.put(self.homes, card.uuid, left)
            else:
                self._trail.drop(self.homes, card.uuid)

    def _hold(self, holding: Holding) -> None:
        key = holding_key(holding.workload, holding.reservation)
        self._trail.put(self.holdings, key, holding)
        self._trail.add(self._attempts, holding.workload, key)
        self.dirty_workloads[holding.workload] = None
        for uuid, use in uses_of(holding.placements).items():
            stake = self._stake(uuid, holding.workload)
            self._set(uuid, holding.workload, Stake(stake.reserved.plus(use), stake.held))

    def _drop(self, key: str) -> None:
        holding = self.holdings.get(key)
        if holding is None:
            return
        self._trail.drop(self.holdings, key)
        self._trail.take(self._attempts, holding.workload, key)
        for uuid, use in uses_of(holding.placements).items():
            stake = self._stake(uuid, holding.workload)
            self._set(uuid, holding.workload, Stake(stake.reserved.minus(use), stake.held))

    def _let_go(self, key: str) -> dict[str, CardUse]:
        """Have a pod hold nothing; what was taken of each of its cards before, by whomever."""
        hold = self.pods.get(key)
        if hold is None:
            return {}
        before = {uuid: self.used.get(uuid, IDLE) for uuid in hold.use}
        self._trail.drop(self.pods, key)
        self._trail.take(self.living, hold.owner, key)
        self.dirty_workloads[hold.owner] = None
        for uuid, use in hold.use.items():
            stake = self._stake(uuid, hold.owner)
            self._set(uuid, hold.owner, Stake(stake.reserved, stake.held.minus(use)))
        return before

    def _has_lessened(self, before: Mapping[str, CardUse]) -> bool:
        return any(is_less(self.used.get(uuid, IDLE), use) for uuid, use in before.items())

    def _stake(self, uuid: str, owner: str) -> Stake:
        return self.stakes.get(uuid, {}).get(owner, _NOTHING)

    def _set(self, uuid: str, owner: str, stake: Stake) -> None:
        row = self.stakes.get(uuid)
        if row is None:
            row = dict[str, Stake]()
            self._trail.put(self.stakes, uuid, row)
        before = row.get(owner, _NOTHING).charged()
        if stake == _NOTHING:
            self._trail.drop(row, owner)
        else:
            self._trail.put(row, owner, stake)
        after = stake.charged()
        self._trail.put(self.dirty_cards, uuid, None)
        if owner.startswith(POD):
            self.touch(_OFFER)
        if before != after:
            self._change(uuid, self.used.get(uuid, IDLE).minus(before).plus(after))

    def _change(self, uuid: str, use: CardUse) -> None:
        self._trail.put(self.used, uuid, use)
        for node in self.homes.get(uuid, ()):
            self.touch(node)


def _soft_split(registered: DevicesRegistered) -> dict[str, str]:
    """What a node says of whether it splits chips by software, as HAMi reads it; nothing where it leaves that to the configuration."""
    if registered.soft_split or registered.never_soft_split:
        return {SOFT_SPLIT_NODE: "true" if registered.soft_split else "false"}
    return {}
