"""Slices of cards as they are opened and closed: each makes an entry on its tenant's side and counts on its card's."""

from collections.abc import Iterable

import msgspec

from events.billing import LineKind
from events.card import Card
from events.device import DevicesRegistered, NodeObserved
from events.event import Millis
from events.quota import FlavorObserved
from projections.billing.cards.card_book import CHARGED, Account, CardBook, CardCondition
from projections.billing.cards.unused_time import UnusedTime
from projections.billing.entries.attempts import About, Attempt, SliceKey
from projections.billing.entries.entry import BilledSlice, CardEntry, Cause, Holder, entry_id, is_whole
from projections.billing.entries.kept_entries import KeptEntries
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.terms.flavor_labels import FlavorLabels
from projections.devices.card_use import CardUse


class OpenSlice(msgspec.Struct, kw_only=True):
    """A slice that is held; `began` is None while nobody pays for it."""

    kind: LineKind
    holder: Holder
    flavor: str
    pod_set: str
    index: int
    use: CardUse
    attempt: Attempt | None
    began: Cause | None = None
    node_cards: int = 0
    """How many cards its node had when its attempt was given all of them whole; 0 where it was not."""
    asked: CardUse | None = None
    """What its pod asked for, where that is known."""


class CardSide:
    """All cards, who holds what of them, and the entries that have come of it."""

    def __init__(self, scope: LedgerScope, unused: UnusedTime | None) -> None:
        self._window = scope.window
        self.book = CardBook(scope.window, scope.grain, unused)
        self.kept = KeptEntries[CardEntry](scope)
        self.flavor_labels = FlavorLabels()
        self._open: dict[str, dict[SliceKey, OpenSlice]] = {}
        self._nodes: dict[str, NodeObserved] = {}
        self._registered: dict[str, DevicesRegistered] = {}
        self._flavors: dict[str, FlavorObserved] = {}

    def open(self, card: str, key: SliceKey, slice_: OpenSlice, cause: Cause) -> None:
        """Begin to bill a slice of a card; while the card is in a condition that is not charged, it is held for nothing."""
        account = self.book.account(card)
        cause = self._come_to(account, cause)
        self._open.setdefault(card, {})[key] = slice_
        self._weigh(account, slice_.use, 1)
        if account.condition in CHARGED:
            slice_.began = cause

    def close(self, card: str, key: SliceKey, cause: Cause) -> None:
        """End a slice: what it was held for becomes an entry. Nothing happens where it is not open."""
        slice_ = self._open.get(card, {}).pop(key, None)
        if slice_ is None:
            return
        account = self.book.account(card)
        cause = self._come_to(account, cause)
        self._enter(account, slice_, key, cause)
        self._weigh(account, slice_.use, -1)

    def rename(self, card: str, key: SliceKey, kind: LineKind, cause: Cause) -> None:
        """From now on the time of a slice is billed under another kind of line."""
        slice_ = self._open.get(card, {}).get(key)
        if slice_ is None or slice_.kind is kind:
            return
        account = self.book.account(card)
        cause = self._come_to(account, cause)
        self._enter(account, slice_, key, cause)
        slice_.kind = kind
        slice_.began = cause if slice_.began is not None else None

    def bill_to(self, attempt: Attempt, about: About) -> None:
        """All that an attempt holds, and has held of what is still open, is billed to the job that is known by now."""
        attempt.holder = msgspec.structs.replace(attempt.holder, job=about.job, owner_kind=about.owner_kind)
        for key in attempt.keys:
            if (slice_ := self.held(key[-1], key)) is not None:
                slice_.holder = attempt.holder

    def held(self, card: str, key: SliceKey) -> OpenSlice | None:
        """The slice of a card that is held under a key; None if none is."""
        return self._open.get(card, {}).get(key)

    def whole_nodes(self, uses: Iterable[tuple[str, CardUse]]) -> dict[str, int]:
        """By card, how many its node has, where all of them are among these and are used whole."""
        whole = {uuid for uuid, use in uses if is_whole(self.book.account(uuid).card, use.memory, use.cores, use.slots)}
        found: dict[str, int] = {}
        for node in {self.book.account(uuid).node for uuid in whole}:
            registered = self._registered.get(node)
            cards = [card.uuid for card in registered.cards] if registered is not None else []
            if cards and whole.issuperset(cards):
                found.update(dict.fromkeys(cards, len(cards)))
        return found

    def see_node(self, node: NodeObserved, cause: Cause) -> None:
        """Take a node's readiness and labels; slices on it are charged or not from now on."""
        self._nodes[node.name] = node
        self._reconsider(node.name, cause)

    def register(self, registered: DevicesRegistered, cause: Cause) -> None:
        """Set the cards of a node; cards that it no longer registers have no time to account for any more."""
        before = self._registered.get(registered.node)
        self._registered[registered.node] = registered
        stay = {card.uuid for card in registered.cards}
        for card in before.cards if before is not None else ():
            if card.uuid not in stay and self.book.account(card.uuid).node == registered.node:
                self._stand(card.uuid, card, registered.node, CardCondition.GONE, cause)
        self._reconsider(registered.node, cause)

    def remove_node(self, node: str, cause: Cause) -> None:
        """The node is gone, and its cards with it."""
        self._nodes.pop(node, None)
        for card in self._registered.pop(node).cards if node in self._registered else ():
            if self.book.account(card.uuid).node == node:
                self._stand(card.uuid, card, node, CardCondition.GONE, cause)

    def see_flavor(self, flavor: FlavorObserved, cause: Cause) -> None:
        """A flavor stands so: it says which nodes are its own."""
        self._flavors[flavor.name] = flavor
        self.flavor_labels.set(flavor.name, flavor.node_labels, cause.at)
        for node in sorted(self._registered):
            self._reconsider(node, cause)

    def remove_flavor(self, name: str, cause: Cause) -> None:
        """Forget a flavor; cards of nodes that only it covered have none from now on."""
        self._flavors.pop(name, None)
        for node in sorted(self._registered):
            self._reconsider(node, cause)

    def finish(self, at: Millis) -> None:
        """Enter what goes on, as far as the log reaches; nothing may be folded after that."""
        self.book.settle_all(at)
        for card in sorted(self._open):
            for key in sorted(self._open[card]):
                self._enter(self.book.account(card), self._open[card][key], key, None, at)

    def _come_to(self, account: Account, cause: Cause) -> Cause:
        """Sum a card up until then; what comes from behind a time that it has passed counts from that one, in both books."""
        if cause.at < account.since:
            cause = Cause(cause.why, account.since, cause.partition, cause.sequence)
        self.book.settle(account, cause.at)
        return cause

    def _reconsider(self, node: str, cause: Cause) -> None:
        registered = self._registered.get(node)
        for card in registered.cards if registered is not None else ():
            self._stand(card.uuid, card, node, self._condition(card, node), cause)

    def _condition(self, card: Card, node: str) -> CardCondition:
        seen, registered = self._nodes.get(node), self._registered[node]
        if seen is None:
            return CardCondition.GONE
        if not seen.ready:
            return CardCondition.LOST
        if not card.healthy:
            return CardCondition.UNHEALTHY
        return CardCondition.CORDONED if card.uuid in registered.cordoned or seen.unschedulable else CardCondition.OK

    def _stand(self, uuid: str, card: Card, node: str, condition: CardCondition, cause: Cause) -> None:
        """Set the condition of a card; its holders pay only while it can be used."""
        account = self.book.account(uuid)
        flavor = self._flavor(node)
        changed = (account.card, account.node) != (card, node)
        if not changed and (account.condition, account.flavor) == (condition, flavor):
            return
        cause = self._come_to(account, cause)
        paid, pays = account.condition in CHARGED, condition in CHARGED
        mine = self._open.get(uuid, {})
        if paid and (changed or not pays):
            for key, slice_ in mine.items():
                self._enter(account, slice_, key, cause)
                slice_.began = None
        account.card, account.node, account.condition, account.flavor = card, node, condition, flavor
        if pays and (changed or not paid):
            for slice_ in mine.values():
                slice_.began = cause

    def _flavor(self, node: str) -> str:
        """The first flavor by name whose nodes this one is among."""
        seen = self._nodes.get(node)
        if seen is None:
            return ""
        for name, flavor in sorted(self._flavors.items()):
            if flavor.node_labels and all(seen.labels.get(key) == value for key, value in flavor.node_labels.items()):
                return name
        return ""

    def _weigh(self, account: Account, use: CardUse, sign: int) -> None:
        account.memory += sign * use.memory
        account.cores += sign * use.cores
        account.slots += sign * use.slots
        account.holders += sign

    def _enter(
        self, account: Account, slice_: OpenSlice, key: SliceKey, cause: Cause | None, at: Millis | None = None
    ) -> None:
        began, until = slice_.began, cause.at if cause is not None else at or 0
        if began is None or until <= began.at:
            return
        if not self._window.overlaps(began.at, until) and not self.kept.wanted and slice_.attempt is None:
            return
        entry = CardEntry(
            id=entry_id(slice_.kind, slice_.holder, began, *key),
            kind=slice_.kind,
            holder=slice_.holder,
            slice=BilledSlice(
                card=account.card,
                node=account.node,
                flavor=slice_.flavor or account.flavor,
                memory=slice_.use.memory,
                cores=slice_.use.cores,
                slots=slice_.use.slots,
                pod_set=slice_.pod_set,
                index=slice_.index,
                node_cards=slice_.node_cards,
                asked=(slice_.asked.memory, slice_.asked.cores) if slice_.asked is not None else None,
                profile=",".join(sorted({one.profile for one in slice_.use.instances})),
            ),
            since=began.at,
            until=until,
            began=began,
            ended=cause,
        )
        self.kept.keep(entry)
        if slice_.attempt is not None and cause is not None:
            slice_.attempt.entries.append(entry)
