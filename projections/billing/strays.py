"""What pods hold of cards by HAMi's annotations beyond what the log has set aside for them: it is held, so it is entered.

Each card keeps per owner what is reserved and what its pods hold, as the card holdings do; the ledger already has the
reserved part on the workload's own lines, so only the rest is entered here.
"""

from events.billing import LineKind
from events.device import PodObserved, PodPlacement
from projections.billing.attempts import SliceKey
from projections.billing.card_side import CardSide, Open
from projections.billing.entry import Cause, Holder
from projections.devices.card_holdings import TERMINAL
from projections.devices.card_stakes import POD, uses_of
from projections.devices.use import IDLE, CardUse, effective_use

Uses = dict[str, CardUse]
"""By card."""


class Strays:
    """Pods and reservations by owner, and the slices that are open because of the difference."""

    def __init__(self, cards: CardSide) -> None:
        self._cards = cards
        self._pods: dict[str, tuple[str, Uses]] = {}
        self._held: dict[tuple[str, str], CardUse] = {}
        """By card and owner."""
        self._reserved: dict[tuple[str, str], CardUse] = {}
        self._reservations: dict[tuple[str, int], Uses] = {}

    def see_pod(self, pod: PodObserved, cause: Cause) -> None:
        """A pod stands so."""
        key = f"{pod.namespace}/{pod.name}"
        on = pod.node or pod.assigned
        use = {} if not on or pod.phase in TERMINAL else effective_use(pod.shares, pod.init, init_done=pod.init_done)
        self._put(key, pod.workload or POD + key, use, cause)

    def remove_pod(self, key: str, cause: Cause) -> None:
        """A pod is gone."""
        if key in self._pods:
            self._put(key, self._pods[key][0], {}, cause)

    def reserved(self, workload: str, number: int, placements: tuple[PodPlacement, ...], cause: Cause) -> None:
        """The log sets cards aside."""
        self.released(workload, number, cause)
        uses = self._reservations[workload, number] = uses_of(placements)
        self._reserve(workload, uses, 1, cause)

    def released(self, workload: str, number: int, cause: Cause) -> None:
        """What was set aside is free again."""
        self._reserve(workload, self._reservations.pop((workload, number), {}), -1, cause)

    def _reserve(self, workload: str, uses: Uses, sign: int, cause: Cause) -> None:
        for card, use in uses.items():
            _weigh(self._reserved, (card, workload), use, sign)
            self._compare(card, workload, cause)

    def _put(self, key: str, owner: str, uses: Uses, cause: Cause) -> None:
        old_owner, old = self._pods.pop(key, (owner, {}))
        if uses:
            self._pods[key] = (owner, uses)
        if (old_owner, old) == (owner, uses):
            return
        for card, use in old.items():
            _weigh(self._held, (card, old_owner), use, -1)
        for card, use in uses.items():
            _weigh(self._held, (card, owner), use, 1)
        for card in sorted(old):
            self._compare(card, old_owner, cause)
        for card in sorted(uses):
            self._compare(card, owner, cause)

    def _compare(self, card: str, owner: str, cause: Cause) -> None:
        """Keep exactly what is held beyond the reservation as open slices."""
        held, reserved = self._held.get((card, owner), IDLE), self._reserved.get((card, owner), IDLE)
        extra = CardUse(
            max(held.slots - reserved.slots, 0),
            max(held.memory - reserved.memory, 0),
            max(held.cores - reserved.cores, 0),
        )
        key: SliceKey = (owner, 0, "", 0, card)
        if extra == (self._cards.held(card, key) or IDLE):
            return
        self._cards.close(card, key, cause)
        if extra != IDLE:
            name = owner.removeprefix(POD)
            slice_ = Open(
                kind=LineKind.UNRESERVED,
                holder=Holder(tenant=name.partition("/")[0], workload=owner, job=name, owner_kind="Pod"),
                flavor="",
                pod_set="",
                index=0,
                use=extra,
                attempt=None,
            )
            self._cards.open(card, key, slice_, cause)


def _weigh(table: dict[tuple[str, str], CardUse], key: tuple[str, str], use: CardUse, sign: int) -> None:
    old = table.get(key, IDLE)
    new = CardUse(old.slots + sign * use.slots, old.memory + sign * use.memory, old.cores + sign * use.cores)
    if new == IDLE:
        table.pop(key, None)
    else:
        table[key] = new
