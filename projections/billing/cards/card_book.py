"""The other side of the ledger: where the time of every card went, to the last MiB·ms.

Of each card, in any stretch of time: used + idle + stranded + cordoned + unhealthy + lost - over = capacity x time,
in memory, in cores and in cards. A card that is unhealthy, or whose node is not ready, is charged to nobody.
"""

from collections.abc import Iterator
from enum import IntEnum

import msgspec

from events.card import Card
from events.event import Millis
from projections.billing.cards.unused_time import UnusedTime
from projections.billing.entries.entry import Window


class Part(IntEnum):
    """What becomes of a card's time: each millisecond of each card goes to exactly one of these."""

    USED = 0
    IDLE = 1
    STRANDED = 2
    """Free on a card that has no slot, no memory or no cores left for anybody."""
    CORDONED = 3
    """Free on a card that an operator keeps new pods from."""
    UNHEALTHY = 4
    LOST = 5
    """Its node is not ready."""
    OVER = 6
    """Used beyond what the card has; to be taken off."""


class CardCondition(IntEnum):
    """The condition of a card, which decides whether its holders pay and what its free time counts as."""

    GONE = 0
    """No node registers it: it has no time to give."""
    OK = 1
    CORDONED = 2
    UNHEALTHY = 3
    LOST = 4


CHARGED = frozenset({CardCondition.OK, CardCondition.CORDONED})
"""In which conditions its holders pay."""


class Account(msgspec.Struct, kw_only=True):
    """One card, its condition and what is held of it, and since when these have not changed."""

    card: Card
    node: str
    flavor: str = ""
    condition: CardCondition = CardCondition.GONE
    since: Millis = 0
    memory: int = 0
    cores: int = 0
    slots: int = 0
    holders: int = 0


class Sums(msgspec.Struct):
    """MiB·ms, percent·ms and card·ms by part, and what they must come to."""

    memory: list[int]
    cores: list[int]
    cards: list[int]
    capacity: tuple[int, int, int] = (0, 0, 0)

    def plus(self, other: "Sums") -> None:
        """Add the sums of another card or bucket to these."""
        for mine, theirs in ((self.memory, other.memory), (self.cores, other.cores), (self.cards, other.cards)):
            for part in Part:
                mine[part] += theirs[part]
        a, b = self.capacity, other.capacity
        self.capacity = (a[0] + b[0], a[1] + b[1], a[2] + b[2])

    @property
    def balanced(self) -> bool:
        """Whether every part is accounted for."""
        return all(
            sum(row) - 2 * row[Part.OVER] == whole
            for row, whole in zip((self.memory, self.cores, self.cards), self.capacity, strict=True)
        )


def no_sums() -> Sums:
    """Sums that nothing has been added to."""
    return Sums([0] * len(Part), [0] * len(Part), [0] * len(Part))


class CardTimeKey(msgspec.Struct, frozen=True, order=True):
    """A card where it was, and the beginning of the stretch that is summed up."""

    card: str
    node: str
    flavor: str
    model: str
    bucket: Millis


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """A time in which nothing about a card has changed, and how it stood."""

    account: Account
    until: Millis


CardSums = dict[CardTimeKey, Sums]


class CardBook:
    """Sums by card within a window. With a grain they are kept as stretches, and summed up card by card when asked for."""

    def __init__(self, window: Window, grain: Millis | None = None, unused: UnusedTime | None = None) -> None:
        self.window, self.grain, self.unused = window, grain, unused
        self.sums: CardSums = {}
        """The window as one stretch; nothing where there is a grain."""
        self.accounts: dict[str, Account] = {}
        self._stretches: dict[str, list[Stretch]] = {}

    def by_card(self) -> Iterator[tuple[str, CardSums]]:
        """The sums of one card after the other, so that those of all hours of all cards never lie side by side."""
        if self.grain is None:
            cards: dict[str, CardSums] = {}
            for key, sums in self.sums.items():
                cards.setdefault(key.card, {})[key] = sums
            yield from sorted(cards.items())
            return
        for card, stretches in sorted(self._stretches.items()):
            found: CardSums = {}
            for one in stretches:
                for bucket, length in buckets(self.window, self.grain, one.account.since, one.until):
                    _add(found, one.account, bucket, length)
            yield card, found

    def account(self, uuid: str) -> Account:
        """The account of a card; of one that no node registers there is one, too."""
        found = self.accounts.get(uuid)
        if found is None:
            card = Card(uuid=uuid, slots=0, memory=0, cores=0, model="")
            found = self.accounts[uuid] = Account(card=card, node="")
        return found

    def settle(self, account: Account, at: Millis) -> None:
        """Sum up how the card stood until now; whatever changes about it is changed after that."""
        if account.condition is not CardCondition.GONE:
            if self.unused is not None:
                _add_free(self.unused, account, at)
            for bucket, length in buckets(self.window, None, account.since, at):
                if self.grain is None:
                    _add(self.sums, account, bucket, length)
                else:
                    stretch = Stretch(msgspec.structs.replace(account), at)
                    self._stretches.setdefault(account.card.uuid, []).append(stretch)
        account.since = at

    def settle_all(self, at: Millis) -> None:
        """Add the time of every card up to now to its sums."""
        for account in self.accounts.values():
            self.settle(account, at)


def _add(found: CardSums, account: Account, bucket: Millis, length: Millis) -> None:
    card = account.card
    key = CardTimeKey(card.uuid, account.node, account.flavor, card.model, bucket)
    sums = found.get(key)
    if sums is None:
        sums = found[key] = no_sums()
    whole = sums.capacity
    sums.capacity = (whole[0] + card.memory * length, whole[1] + card.cores * length, whole[2] + length)
    if account.condition not in CHARGED:
        part = Part.UNHEALTHY if account.condition is CardCondition.UNHEALTHY else Part.LOST
        sums.memory[part] += card.memory * length
        sums.cores[part] += card.cores * length
        sums.cards[part] += length
        return
    rest = _rest_of(account)
    for row, used, total in ((sums.memory, account.memory, card.memory), (sums.cores, account.cores, card.cores)):
        row[Part.USED] += used * length
        if total >= used:
            row[rest] += (total - used) * length
        else:
            row[Part.OVER] += (used - total) * length
    sums.cards[Part.USED if account.holders else rest] += length


def _add_free(unused: UnusedTime, account: Account, at: Millis) -> None:
    card, rest = account.card, _rest_of(account)
    free = card.memory - account.memory
    if account.condition in CHARGED and rest in {Part.IDLE, Part.STRANDED} and free > 0:
        stranded = rest is Part.STRANDED
        unused.add(account.flavor, card.model, free, account.since, at, stranded=stranded)


def _rest_of(account: Account) -> Part:
    """What the free part of a card counts as."""
    if account.condition is CardCondition.CORDONED:
        return Part.CORDONED
    card = account.card
    full = account.slots >= card.slots or account.memory >= card.memory > 0 or account.cores >= card.cores > 0
    return Part.STRANDED if full and account.holders else Part.IDLE


def buckets(window: Window, grain: Millis | None, since: Millis, until: Millis) -> Iterator[tuple[Millis, Millis]]:
    """The stretches of the window that a time lies in: the beginning of each, and how much of it."""
    begin, end = max(since, window.since), min(until, window.until)
    if grain is None:
        if end > begin:
            yield window.since, end - begin
        return
    while begin < end:
        bucket = begin // grain * grain
        cut = min(bucket + grain, end)
        yield bucket, cut - begin
        begin = cut
