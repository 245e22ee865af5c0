"""Which ordinary cards a pod gets on a node, by docs/rules/devices.md alone: one container after the other, card by card."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from events.card import Card, CardRequest


class Taken(NamedTuple):
    """What is taken of a card."""

    slots: int = 0
    memory: int = 0
    cores: int = 0


class Wanted(NamedTuple):
    """What the pod says besides its requests, and what its namespace may still take."""

    policy: str
    numa_bind: bool
    memory_left: int | None
    cores_left: int | None
    weights: Taken
    """How much slots, cores and memory count where cards are ordered."""


class Had(NamedTuple):
    """What a container has of which card, and whether it is over before the next one starts."""

    ends: bool
    shares: list[tuple[str, Taken]]


class Outcome(NamedTuple):
    """The cards by container, or how often each reason was given and of how many cards."""

    cards: list[list[str]] | None
    refusals: dict[str, int]
    looked_at: int


class FitByDefinition:
    """One pod on one node."""

    def __init__(self, cards: Sequence[Card], used: dict[str, Taken], wanted: Wanted) -> None:
        self.cards, self.start, self.wanted = cards, used, wanted

    def fit(self, requests: Sequence[CardRequest | None], init: int, sidecars: Sequence[int] = ()) -> Outcome:
        used, cards = dict(self.start), list(self.cards)
        had: list[Had] = []
        found: list[list[str]] = []
        for index, request in enumerate(requests):
            ends = index < init and index not in sidecars
            if request is None:
                found.append([])
                continue
            order = self.ordered(cards, used)
            picked, refusals = self.pick(order, used, request, [*had, Had(ends, [])])
            if len(picked) < request.count:
                return Outcome(None, refusals, 0 if "NodeInsufficientDevice" in refusals else len(cards))
            found.append([one.uuid for one in picked])
            had.append(Had(ends, self.shares(picked, request)))
            if ends:
                continue
            cards = order
            for uuid, share in had[-1].shares:
                used[uuid] = plus(used.get(uuid, Taken()), share)
        return Outcome(found, {}, 0)

    def ordered(self, cards: Sequence[Card], used: dict[str, Taken]) -> list[Card]:
        """From the last one tried to the first."""

        def key(card: Card) -> tuple[Fraction | int, ...]:
            taken = used.get(card.uuid, Taken())
            full = self.wanted.weights.slots * Fraction(taken.slots, card.slots)
            full += self.wanted.weights.memory * Fraction(taken.memory, card.memory)
            full += self.wanted.weights.cores * Fraction(taken.cores, card.cores)
            if self.wanted.policy == "mutex":
                return (-taken.slots, card.numa)
            if self.wanted.policy == "binpack":
                return (-card.numa, full) if self.wanted.numa_bind else (full, card.numa)
            return (card.numa, -full) if self.wanted.numa_bind else (-full, card.numa)

        return sorted(cards, key=key)

    def pick(
        self, order: Sequence[Card], used: dict[str, Taken], request: CardRequest, had: list["Had"]
    ) -> tuple[list[Card], dict[str, int]]:
        if request.count > len(order):
            return [], {"NodeInsufficientDevice": 1}
        refusals: dict[str, int] = {}
        picked: list[Card] = []
        numa: int | None = None
        for card in reversed(order):
            why = "" if card.healthy else "CardNotHealth"
            if not why and self.wanted.numa_bind and card.numa != numa:
                refusals["NumaNotFit"] = refusals.get("NumaNotFit", 0) + len(picked)
                numa, picked = card.numa, []
            told = most_of([*had[:-1], Had(had[-1].ends, self.shares([*picked, card], request))])
            why = why or self.lacks(card, used.get(card.uuid, Taken()), request, told)
            if why:
                refusals[why] = refusals.get(why, 0) + 1
                continue
            picked.append(card)
            if len(picked) == request.count:
                return picked, {}
        if picked:
            refusals["AllocatedCardsInsufficientRequest"] = len(picked)
        return picked, {why: times for why, times in refusals.items() if times}

    def shares(self, picked: Sequence[Card], request: CardRequest) -> list[tuple[str, Taken]]:
        return [(one.uuid, Taken(1, self.memory(one, request), request.cores)) for one in picked]

    def lacks(self, card: Card, taken: Taken, request: CardRequest, told: Taken) -> str:
        memory, cores = self.memory(card, request), request.cores
        most = ((self.wanted.memory_left, told.memory), (self.wanted.cores_left, told.cores))
        if taken.slots >= card.slots:
            return "CardTimeSlicingExhausted"
        if self.wanted.policy == "mutex" and taken.slots:
            return "ExclusiveDeviceAllocateConflict"
        if any(left is not None and amount > left for left, amount in most):
            return "ResourceQuotaNotFit"
        if card.memory - taken.memory < memory:
            return "CardInsufficientMemory"
        if card.cores - taken.cores < cores:
            return "CardInsufficientCore"
        if cores == 100 and taken.slots:
            return "ExclusiveDeviceAllocateConflict"
        if taken.cores == 100 and not cores:
            return "CardComputeUnitsExhausted"
        return ""

    def memory(self, card: Card, request: CardRequest) -> int:
        return request.memory or card.memory * (request.percent or 0) // 100


def plus(one: Taken, other: Taken) -> Taken:
    """Both together."""
    return Taken(one.slots + other.slots, one.memory + other.memory, one.cores + other.cores)


def most_of(had: Sequence[Had]) -> Taken:
    """What containers have in all, each card with the most that is had of it at a time."""
    running: dict[str, Taken] = {}
    most: dict[str, Taken] = {}
    for ends, shares in had:
        now = dict(running)
        for uuid, share in shares:
            now[uuid] = plus(now.get(uuid, Taken()), share)
        for uuid, taken in now.items():
            most[uuid] = Taken(*map(max, zip(taken, most.get(uuid, Taken()), strict=True)))
        running = running if ends else now
    total = Taken()
    for taken in most.values():
        total = plus(total, taken)
    return total
