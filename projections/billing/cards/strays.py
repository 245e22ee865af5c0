"""What pods hold of cards by HAMi's annotations beyond what the log has set aside for them: it is held, so it is entered.

Each card keeps per owner what is reserved and what its pods hold, as the card holdings do; the ledger already has the
reserved part on the workload's own lines, so only the rest is entered here: as held elsewhere, while as many slots of the
reservation are held by none of its pods (docs/rules/billing.md#elsewhere), else as unreserved.
"""

from collections.abc import Iterable

import msgspec

from events.billing import LineKind
from events.device import PodObserved, PodPlacement
from projections.billing.cards.card_side import CardSide, OpenSlice
from projections.billing.entries.attempts import SliceKey
from projections.billing.entries.entry import Cause, Holder
from projections.devices.card_use import IDLE, CardUse, effective_use
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.holdings.card_stakes import POD, uses_of

Uses = dict[str, CardUse]
"""By card."""


class Strays:
    """Pods and reservations by owner, and the slices that are open because of the difference."""

    def __init__(self, cards: CardSide) -> None:
        self._cards = cards
        self._pods: dict[str, tuple[str, Uses]] = {}
        self._holding: dict[str, int] = {}
        """By owner, how many of its pods hold anything: while none does, nothing is held beyond what is reserved."""
        self._held: dict[tuple[str, str], CardUse] = {}
        """By card and owner."""
        self._reserved: dict[tuple[str, str], CardUse] = {}
        self._reservations: dict[tuple[str, int], Uses] = {}
        self._holders: dict[str, Holder] = {}
        """The holder of each workload's last reservation."""
        self._missing: dict[str, int] = {}
        """By owner, slots that are reserved and that none of its pods holds."""
        self._beyond: dict[str, set[str]] = {}
        """By owner, the cards of which its pods hold more than is reserved."""

    def see_pod(self, pod: PodObserved, cause: Cause) -> None:
        """Take what a pod uses of cards; nothing once it has ended or while it is on no node."""
        key = f"{pod.namespace}/{pod.name}"
        on = pod.node or pod.assigned
        use: dict[str, CardUse] = {}
        if on and pod.phase not in TERMINAL:
            use = effective_use(pod.shares, pod.init, sidecars=pod.sidecars, init_done=pod.init_done)
        self._put(key, pod.workload or POD + key, use, cause)

    def remove_pod(self, key: str, cause: Cause) -> None:
        """Forget a pod that was deleted: it uses nothing any more."""
        if key in self._pods:
            self._put(key, self._pods[key][0], {}, cause)

    def hand_over(self, old: str, by: str, cause: Cause) -> None:
        """Have the pods of a workload slice count for the slice that replaces it."""
        for key in [key for key, (owner, _) in self._pods.items() if owner == old]:
            self._put(key, by, self._pods[key][1], cause)

    def reserved(self, holder: Holder, placements: tuple[PodPlacement, ...], cause: Cause) -> None:
        """Take the cards that are reserved for an attempt, in place of what was reserved for it before."""
        workload, number = holder.workload, holder.attempt
        self.released(workload, number, cause)
        self._holders[workload] = msgspec.structs.replace(holder, attempt=0)
        uses = self._reservations[workload, number] = uses_of(placements)
        self._reserve(workload, uses, 1, cause)

    def released(self, workload: str, number: int, cause: Cause) -> None:
        """What was set aside is free again."""
        self._reserve(workload, self._reservations.pop((workload, number), {}), -1, cause)

    def forget(self, workload: str) -> None:
        """Forget to whom a workload's stray use is billed."""
        self._holders.pop(workload, None)

    def _reserve(self, workload: str, uses: Uses, sign: int, cause: Cause) -> None:
        for card, use in uses.items():
            self._weigh(self._reserved, (card, workload), use, sign)
        self._compare(workload, uses, cause)

    def _put(self, key: str, owner: str, uses: Uses, cause: Cause) -> None:
        old_owner, old = self._pods.pop(key, (owner, {}))
        for of, change in ((old_owner, -bool(old)), (owner, bool(uses))):
            self._holding[of] = self._holding.get(of, 0) + change
            if not self._holding[of]:
                del self._holding[of]
        if uses:
            self._pods[key] = (owner, uses)
        if (old_owner, old) == (owner, uses):
            return
        for card, use in old.items():
            self._weigh(self._held, (card, old_owner), use, -1)
        for card, use in uses.items():
            self._weigh(self._held, (card, owner), use, 1)
        if old_owner == owner:
            self._compare(owner, {**old, **uses}, cause)
        else:
            self._compare(old_owner, old, cause)
            self._compare(owner, uses, cause)

    def _weigh(self, table: dict[tuple[str, str], CardUse], key: tuple[str, str], use: CardUse, sign: int) -> None:
        """Change what is held or reserved, and with it how many slots are missing."""
        owner = key[1]
        before = self._lacks(*key)
        _add(table, key, use, sign)
        missing = self._missing.get(owner, 0) + self._lacks(*key) - before
        if missing:
            self._missing[owner] = missing
        else:
            self._missing.pop(owner, None)

    def _lacks(self, card: str, owner: str) -> int:
        held, reserved = self._held.get((card, owner), IDLE), self._reserved.get((card, owner), IDLE)
        return max(reserved.slots - held.slots, 0)

    def _beyond_on(self, card: str, owner: str) -> CardUse:
        """What is held of a card beyond the reservation."""
        held, reserved = self._held.get((card, owner), IDLE), self._reserved.get((card, owner), IDLE)
        return CardUse(
            max(held.slots - reserved.slots, 0),
            max(held.memory - reserved.memory, 0),
            max(held.cores - reserved.cores, 0),
        )

    def _compare(self, owner: str, changed: Iterable[str], cause: Cause) -> None:
        """Keep exactly what is held beyond the reservation as open slices."""
        if owner not in self._holding and owner not in self._beyond:
            return
        beyond = self._beyond.setdefault(owner, set())
        cards = sorted(beyond.union(changed))
        missing = self._missing.get(owner, 0)
        for card in cards:
            extra = self._beyond_on(card, owner)
            elsewhere = 0 < extra.slots <= missing
            missing -= extra.slots if elsewhere else 0
            self._open(card, owner, extra, LineKind.ELSEWHERE if elsewhere else LineKind.UNRESERVED, cause)
            (beyond.discard if extra == IDLE else beyond.add)(card)
        if not beyond:
            del self._beyond[owner]

    def _open(self, card: str, owner: str, extra: CardUse, kind: LineKind, cause: Cause) -> None:
        key: SliceKey = (owner, 0, "", 0, card)
        name = owner.removeprefix(POD)
        own = Holder(tenant=name.partition("/")[0], workload=owner, job=name, owner_kind="Pod")
        holder, open_ = self._holders.get(owner, own), self._cards.held(card, key)
        if (extra, holder) == ((open_.use, open_.holder) if open_ is not None else (IDLE, holder)):
            self._cards.rename(card, key, kind, cause)
            return
        self._cards.close(card, key, cause)
        if extra != IDLE:
            slice_ = OpenSlice(
                kind=kind,
                holder=holder,
                flavor="",
                pod_set="",
                index=0,
                use=extra,
                attempt=None,
            )
            self._cards.open(card, key, slice_, cause)


def _add(table: dict[tuple[str, str], CardUse], key: tuple[str, str], use: CardUse, sign: int) -> None:
    old = table.get(key, IDLE)
    new = CardUse(old.slots + sign * use.slots, old.memory + sign * use.memory, old.cores + sign * use.cores)
    if new == IDLE:
        table.pop(key, None)
    else:
        table[key] = new
