"""The lines of the ledger: who held what of which card or quota from when until when, and what cut the time there.

Times are half-open. All quantities are integers: MiB, percent of cores (or a vendor's unit), slots, units of quota, milliseconds.
"""

import hashlib
from math import lcm

import msgspec

from events.billing import LineKind
from events.card import Card
from events.event import Millis
from projections.log_position import LogPosition


class Window(msgspec.Struct, frozen=True):
    """A stretch of time from `since` to just before `until`."""

    since: Millis
    until: Millis

    def __contains__(self, at: Millis) -> bool:
        return self.since <= at < self.until

    def overlaps(self, since: Millis, until: Millis) -> bool:
        """Whether another stretch has a moment in it."""
        return since < self.until and until > self.since

    def clip(self, since: Millis, until: Millis) -> Millis:
        """How much of another stretch lies in it."""
        return max(min(until, self.until) - max(since, self.since), 0)


class Holder(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """On whose account cards are: one attempt of a workload, or a pod that belongs to none."""

    tenant: str
    """The namespace."""
    workload: str
    uid: str = ""
    job: str = ""
    owner_kind: str = ""
    priority_class: str = ""
    local_queue: str = ""
    cluster_queue: str = ""
    cohort: str = ""
    attempt: int = 0
    """Sequence of the reservation of quota; 0 for what the log has not reserved."""
    labels: tuple[tuple[str, str], ...] = ()
    """Of the workload as it was submitted, in the order of their keys."""


class BilledSlice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is held of one card, and the card's totals as they were then."""

    card: Card
    node: str
    flavor: str
    memory: int
    cores: int
    slots: int
    pod_set: str = ""
    index: int = 0
    node_cards: int = 0
    """How many cards its node had when its attempt was given all of them whole; 0 where it was not."""
    asked: tuple[int, int] | None = None
    """The MiB and percent of cores that its pod asked for, where that is known."""
    profile: str = ""
    """Of which MIG profile it is, or of which, joined by commas."""

    @property
    def exclusive(self) -> bool:
        """Nobody else can have a part of the card."""
        return is_whole(self.card, self.memory, self.cores, self.slots)

    @property
    def dominant(self) -> tuple[int, int]:
        """The largest of its shares of the card's memory, cores and slots, as numerator and denominator."""
        return dominant(self.card, self.memory, self.cores, self.slots)


class Cause(msgspec.Struct, frozen=True, gc=False):
    """Why time is cut at a place of the log."""

    why: str
    at: Millis
    partition: str
    sequence: int

    def __str__(self) -> str:
        """As bills print it: why, then partition and sequence of the event."""
        return f"{self.why} {self.partition}/{self.sequence}"


def caused(why: str, position: LogPosition) -> Cause:
    """What the event at a position of the log is the cause of."""
    return Cause(why, position.at, position.partition, position.sequence)


class CardEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line: a slice of a card, held for a time. Its id says which, whatever is learnt later."""

    id: str
    kind: LineKind
    holder: Holder
    slice: BilledSlice
    since: Millis
    until: Millis
    began: Cause
    ended: Cause | None
    """None while it goes on, and `until` is as far as the log reaches."""


class QuotaEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line about quota: so much of a resource, held for a time. Its id says which, whatever is learnt later."""

    id: str
    kind: LineKind
    holder: Holder
    flavor: str
    resource: str
    amount: int
    """In units of the quota: thousandths of cpu, bytes of memory."""
    since: Millis
    until: Millis
    began: Cause
    ended: Cause | None
    """None while it goes on, and `until` is as far as the log reaches."""


class DeviceEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line about devices that a claim holds: so many of one class, for a time. Its id says which, whatever is learnt later."""

    id: str
    kind: LineKind
    holder: Holder
    claim: str
    """`namespace/name`."""
    device_class: str
    resource: str
    """What the class counts as in quota; empty where it is not mapped."""
    count: int
    since: Millis
    until: Millis
    began: Cause
    ended: Cause | None
    """None while it goes on, and `until` is as far as the log reaches."""


AnyEntry = CardEntry | QuotaEntry | DeviceEntry


class Waste(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was cut short: what it had held was for nothing."""

    at: Millis
    place: str
    reason: str
    holder: Holder
    preemptor: str
    preemptor_queue: str
    entries: tuple[CardEntry, ...] = ()
    quota: tuple[QuotaEntry, ...] = ()
    devices: tuple[DeviceEntry, ...] = ()


def entry_id(kind: LineKind, holder: Holder, began: Cause, *held: str | int) -> str:
    """The name of an entry: the same in every replay, whatever ends it (docs/rules/billing.md#entry-id).

    What is `held` begins with the workload or pod that holds it, and its attempt.
    """
    parts = (holder.uid, kind, *held, began.partition, began.sequence, began.at)
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).hexdigest()[:24]


def is_whole(card: Card, memory: int, cores: int, slots: int) -> bool:
    """Whether so much of a card leaves nothing of it to anybody else."""
    return memory >= card.memory > 0 or cores >= card.cores > 0 or slots >= card.slots > 0


def dominant(card: Card, memory: int, cores: int, slots: int) -> tuple[int, int]:
    """The largest share of a card's totals, over a denominator that is the same for all slices of the card."""
    parts = [
        (used, total) for used, total in ((memory, card.memory), (cores, card.cores), (slots, card.slots)) if total
    ]
    common = lcm(*(total for _, total in parts)) if parts else 1
    return max((used * (common // total) for used, total in parts), default=0), common
