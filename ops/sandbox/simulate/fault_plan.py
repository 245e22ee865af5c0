"""What goes wrong in a history: a schedule that a seed makes, each fault a piece of data that can be left out by its index."""

import random
from collections.abc import Collection, Sequence
from enum import StrEnum

import msgspec

from events.event import Millis


class FaultKind(StrEnum):
    """The kinds of faults, by the names that are given on the command line."""

    KILL = "kill"
    """A process dies between two steps; its successor begins from the log."""
    PAUSE = "pause"
    """A process gets no turn for a while, and then goes on with what it was at."""
    MESSAGE_LOST = "message-lost"
    """A message to the bus does not arrive, and its sender learns it."""
    ACK_LOST = "ack-lost"
    """A message is stored, and its sender gets no answer."""
    ACK_UNRESOLVED = "ack-unresolved"
    """The same, and the sender can't look either whether it was stored."""
    MESSAGE_DOUBLED = "message-doubled"
    """A fact is stored twice: the repetition came after the bus had forgotten the first."""
    MESSAGE_LATE = "message-late"
    """A message lies on the way to the bus for a while."""
    DELIVERY_LATE = "delivery-late"
    """What a process is to read of the log comes late."""
    DELIVERY_DOUBLED = "delivery-doubled"
    """A process is handed again what it has read."""
    BUS_DOWN = "bus-restart"
    """Nobody reaches the bus for a while."""
    API_CONFLICT = "api-409"
    API_EXPIRED = "api-410"
    """The API server forgets its history, and all watches break."""
    API_BUSY = "api-429"
    API_BROKEN = "api-5xx"
    API_CUT = "api-cut"
    """What was asked of the API server is done, and the answer is lost."""
    API_SLOW = "api-slow"
    WATCH_GAP = "watch-gap"
    """All watches break."""
    LATE_WATCHER = "late-watcher"
    """One watcher sees everything late."""
    CLOCK_SKEW = "clock-skew"
    """The clock of a process goes wrong for a while."""
    QUOTA = "quota"
    QUEUE_STOP = "queue-stop"
    """An administrator stops a queue, and has what runs there go, too, or not."""
    COHORT = "cohort-move"
    NODE = "node-loss"
    CARD = "card-failure"
    PRICE = "price"
    POISON_OBJECT = "poison-object"
    """Somebody creates an object that can't be understood."""
    POISON_MESSAGE = "poison-message"
    """Somebody stores a message that can't be understood or that does not follow; an operator has it skipped later."""
    FORGED_MESSAGE = "forged-message"
    """Somebody with the rights of one service says what only another may say."""
    STREAM_ROLL = "stream-roll"
    """A stream takes nothing in while it is rolled, and what was rolled goes from the bus when nobody needs it any more."""
    LOST_TAIL = "lost-tail"
    """The bus restarts without the last messages of its streams, though it had acknowledged them."""
    LEASE_LOST = "lease-lost"
    """The bus forgets a lease: another takes it while its holder still believes in it."""
    LEASE_STOLEN = "lease-stolen"
    """A lease is held by nobody that is there, until it runs out."""
    LEASE_LATE = "lease-late"
    """Questions of a process about leases lie on the way for a while."""
    LEASE_ANSWERED_LATE = "lease-answered-late"
    """What a process asked of leases is done, and the answer lies on the way until it may count no more."""
    LEASE_UNANSWERED = "lease-unanswered"
    """What a process asked of leases is done, and the answer is lost."""
    LEASES_AWAY = "leases-away"
    """A process can't ask for leases for a while: after long enough it works without, beside who has taken them."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault."""

    index: int
    at: Millis
    """Since the beginning."""
    kind: FaultKind
    process: int = 0
    """Which of the processes it strikes."""
    number: int = 0
    """How much, or which: each kind takes it as it needs it."""
    lasts: Millis = 0

    def __str__(self) -> str:
        lasts = f" for {self.lasts} ms" if self.lasts else ""
        return f"{self.index}: {self.kind} at {self.at} ms{lasts} (process {self.process}, number {self.number})"


ALL = tuple(FaultKind)
_OF_LEASES = (
    FaultKind.LEASE_LOST,
    FaultKind.LEASE_STOLEN,
    FaultKind.LEASE_LATE,
    FaultKind.LEASE_ANSWERED_LATE,
    FaultKind.LEASE_UNANSWERED,
    FaultKind.LEASES_AWAY,
)
_APART = frozenset({FaultKind.STREAM_ROLL, FaultKind.LOST_TAIL, *_OF_LEASES})
"""Kinds that are drawn by themselves, and not among the others."""
_TOGETHER = tuple(kind for kind in ALL if kind not in _APART)
_CLOSE, _SOON_MS = 0.5, 4000
_EVERY = 7
"""In one of so many seeds streams roll."""
_RACKS_EVERY = 4
"""In one of so many seeds pods are placed by topology."""
_LOST_EVERY = 5
"""In one of so many seeds the bus loses tails."""
_LEASES_EVERY = 3
"""In one of so many seeds replicas hold leases."""


def schedule_of(seed: int, span: Millis, kinds: Sequence[FaultKind] = ALL) -> list[Fault]:
    """The faults of a seed, in the order of their time. Kinds that are left out take nothing from the others.

    Most seeds draw theirs from a few kinds, so that these meet each other often; and most come soon after the one before.
    """
    chance = random.Random(f"{seed}/faults")  # noqa: S311 - a world, not a secret
    drawn = chance.sample(_TOGETHER, chance.choice((2, 3, 4, 6, len(_TOGETHER))))
    found: list[Fault] = []
    at = chance.randrange(1000, span)
    for index in range(chance.randrange(2, 13)):
        kind = chance.choice(drawn)
        soon = at + chance.randrange(_SOON_MS)
        at = soon if chance.random() < _CLOSE and soon < span else chance.randrange(1000, span)
        fault = Fault(
            index=index,
            at=at,
            kind=kind,
            process=chance.randrange(64),
            number=chance.randrange(1 << 30),
            lasts=chance.choice((0, 50, 500, 3000, 20_000, 120_000)),
        )
        found.append(fault)
    found += _rolls(seed, span, len(found))
    found += _lost_tails(seed, span, len(found))
    found += _lost_hosts(seed, span, len(found))
    found += _of_leases(seed, span, len(found))
    return sorted((one for one in found if one.kind in kinds), key=lambda one: (one.at, one.index))


def rolls(seed: int) -> bool:
    """Whether streams roll in a seed, unless that is left out."""
    return seed % _EVERY == 0


def has_racks(seed: int) -> bool:
    """Whether pods are placed by topology in a seed."""
    return seed % _RACKS_EVERY == 0


def has_leases(seed: int) -> bool:
    """Whether replicas hold leases in a seed; in the others each tries, as where leases can't be asked for."""
    return seed % _LEASES_EVERY == 1


def replicas_of(seed: int) -> int:
    """How many replicas of each service there are where they hold leases."""
    return random.Random(f"{seed}/replicas").choice((2, 2, 3))  # noqa: S311 - a world, not a secret


def _of_leases(seed: int, span: Millis, index: int) -> list[Fault]:
    chance = random.Random(f"{seed}/leases")  # noqa: S311 - a world, not a secret
    found = range(chance.choice((0, 2, 4, 8))) if has_leases(seed) else ()
    return [
        Fault(
            index=index + number,
            at=chance.randrange(1000, span),
            kind=chance.choice(_OF_LEASES),
            process=chance.randrange(64),
            number=chance.randrange(1 << 30),
            lasts=chance.choice((200, 1500, 3000, 20_000)),
        )
        for number in found
    ]


def _lost_hosts(seed: int, span: Millis, index: int) -> list[Fault]:
    """Where pods lie by topology more nodes are lost than elsewhere."""
    chance = random.Random(f"{seed}/lost hosts")  # noqa: S311 - a world, not a secret
    found = range(chance.choice((0, 1, 2, 4))) if has_racks(seed) else ()
    return [
        Fault(
            index=index + number,
            at=chance.randrange(1000, span),
            kind=FaultKind.NODE,
            number=chance.randrange(1 << 30),
            lasts=chance.choice((500, 3000, 20_000, 120_000)),
        )
        for number in found
    ]


def _rolls(seed: int, span: Millis, index: int) -> list[Fault]:
    chance = random.Random(f"{seed}/rolls")  # noqa: S311 - a world, not a secret
    found = range(chance.randrange(1, 4)) if rolls(seed) else ()
    return [
        Fault(
            index=index + number,
            at=chance.randrange(1000, span // 2),
            kind=FaultKind.STREAM_ROLL,
            number=chance.randrange(1 << 30),
            lasts=chance.choice((0, 50, 500, 3000)),
        )
        for number in found
    ]


def _lost_tails(seed: int, span: Millis, index: int) -> list[Fault]:
    chance = random.Random(f"{seed}/lost tails")  # noqa: S311 - a world, not a secret
    found = range(chance.randrange(1, 4)) if seed % _LOST_EVERY == 0 else ()
    return [
        Fault(
            index=index + number,
            at=chance.randrange(1000, span),
            kind=FaultKind.LOST_TAIL,
            number=chance.randrange(1 << 30),
            lasts=chance.choice((200, 500, 3000, 20_000)),
        )
        for number in found
    ]


def only(faults: Sequence[Fault], indexes: Collection[int]) -> list[Fault]:
    """Those of these indexes."""
    return [one for one in faults if one.index in indexes]
