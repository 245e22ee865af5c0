"""The streams of the log as one row of events, in an order that every reading gives again.

Of the next messages of all streams the earliest comes first, unless it rests on one that has not come yet (a commit
names what its author had folded). Each bears the time of what it tells: its own, where its author's clock did not
contradict itself (docs/rules/billing.md#clock).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from events.billing import AccountsSet, ExchangeRateSet, Meter, Price, PriceListSet
from events.catalogue import AnyEvent
from events.commit import Sighting
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.subjects import CONTROL, FACTS
from ops.queries.billing.message_times import message_times
from ops.queries.stored import opened
from ops.queries.time_order import earliest_of, released
from ops.queries.time_travel import span
from projections.billing.entries.entry import Window
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.entries.time_cuts import TimeCuts
from projections.billing.ledger import Ledger
from projections.log_position import LogPosition
from projections.object_versions import FoldedFacts
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry
from services.runtime.partition.errors import ChainBroken
from services.runtime.partition.stored_message import Passed, open_message

Entries = Mapping[str, Sequence[Entry]]


class BilledMessage(msgspec.Struct, frozen=True, gc=False):
    """One stored message, as far as order and content go; without events where it does not count."""

    sequence: int
    at: Millis
    author: str
    rests_on: tuple[tuple[str, int], ...]
    events: tuple[AnyEvent, ...]
    off: Millis = 0
    """By how much its own time can't be right."""
    passed: bool = False
    """It does not count: an operator had it skipped, or it is not its author's to say."""


class Skew(msgspec.Struct, frozen=True):
    """A message whose author's clock was wrong by so many milliseconds."""

    stream: str
    sequence: int
    author: str
    by: Millis


class LogRead(msgspec.Struct):
    """How far the log was read, and what was found on the way."""

    first: Millis = 0
    last: Millis = 0
    upto: dict[str, int] = {}
    late: int = 0
    """Messages whose own time can't be right."""
    moved: bool = False
    """Whether any message counts at another time than its own, or does not count."""
    latest: Millis = 0
    """The most milliseconds that one was off."""
    skewed: list[Skew] = []
    """Those that were off by more than `BOUND`; the first of them."""

    def off(self, message: "BilledMessage", by: Millis, stream: str) -> None:
        """A message is off by so much."""
        self.late, self.latest = self.late + 1, max(self.latest, by)
        if by > BOUND and len(self.skewed) < _MOST_NAMED:
            self.skewed.append(Skew(stream, message.sequence, message.author, by))


BOUND: Millis = 10_000
"""A clock that is further off than this is a finding."""
_MOST_NAMED = 20


class _Stream:
    """The messages of one stream by their time, and up to which of them all have come."""

    def __init__(self, name: str, entries: Sequence[Entry], control: Control) -> None:
        times = message_times(name, entries, control)
        self.name = name
        messages = _messages(name, entries, control, times)
        in_order = all(one <= other for one, other in pairwise(times))
        self._messages = messages
        if not in_order:
            each = ([message] for message in messages)
            self._messages = released(each, earliest_of(times), lambda one: (one.at, 0, "", one.sequence, 0))
        self._beyond: set[int] = set()
        self.upto = 0
        self.facts: int | None = None
        """Up to which fact its decisions rest on those of FACTS; None where none has told that yet."""
        self.head = next(self._messages, None)

    def take(self) -> None:
        """The head has come."""
        if self.head is not None and self.head.sequence != self.upto + 1:
            self._beyond.add(self.head.sequence)
        elif self.head is not None:
            self.upto += 1
            while self._beyond and self.upto + 1 in self._beyond:
                self.upto += 1
                self._beyond.discard(self.upto)
        self.head = next(self._messages, None)


def events_in_order(entries: Entries, read: LogRead) -> Iterator[tuple[AnyEvent, LogPosition, int | None]]:
    """Every event with its place, and the number of the last fact that whoever decided it had folded, where that is known.

    Raises `LogGap`, `ChainBroken`, `MessageNotOurs`.
    """
    control = Control(entries.get(CONTROL, ()))
    names = sorted(entries, key=lambda name: (_rank(name), name))
    streams = {name: _Stream(name, entries[name], control) for name in names}
    began = False
    while (stream := _next(streams)) is not None and (message := stream.head) is not None:
        if message.events:
            read.first, began = (min(read.first, message.at) if began else message.at), True
            read.last = max(read.last, message.at)
        read.moved = read.moved or message.passed or bool(message.off)
        if message.off and message.events:
            read.off(message, message.off, stream.name)
        number = control.number(stream.name, message.sequence)
        place = LogPosition(partition=stream.name, sequence=number, at=message.at)
        for name, upto in message.rests_on:
            if name == FACTS:
                stream.facts = control.number(FACTS, upto)
        for event in message.events:
            yield event, place, stream.facts
        stream.take()
    read.upto = {name: stream.upto for name, stream in streams.items()}


def seen(entries: Entries) -> tuple[Millis, Millis]:
    """The times of the first and the last message about the cluster; what operators enter aside."""
    return span({name: found for name, found in entries.items() if name != CONTROL})


def scope_of(
    entries: Entries, window: Window, *, grain: Millis | None = None, wanted: Sequence[str] = ()
) -> LedgerScope:
    """What a ledger of a window is asked for, by what operators have entered on CONTROL."""
    entered = entries.get(CONTROL, ())
    control, cuts, prices = Control(entered), list[Millis](), list[Price]()
    for entry, at in zip(entered, message_times(CONTROL, entered, control), strict=True):
        for one in opened(entry, control):
            if isinstance(one.event, PriceListSet | ExchangeRateSet | AccountsSet):
                cuts += (one.event.starts, at)
            if isinstance(one.event, PriceListSet):
                prices += one.event.prices
    between = {Meter.IDLE, Meter.STRANDED, Meter.LENT}.intersection(price.meter for price in prices)
    return LedgerScope(
        window=window,
        began=seen(entries)[0],
        grain=grain,
        wanted=frozenset(wanted),
        priced=frozenset(price.resource for price in prices if price.meter is Meter.QUOTA),
        prices_devices=any(price.meter is Meter.DEVICE for price in prices),
        cuts=TimeCuts(cuts) if between else None,
    )


def ledger_of(
    entries: Entries,
    window: Window | None = None,
    *,
    grain: Millis | None = None,
    wanted: Sequence[str] = (),
    queues_as_named: bool = False,
    on_progress: Callable[[int], None] | None = None,
    on_place: Callable[[LogPosition], None] | None = None,
) -> tuple[Ledger, LogRead]:
    """The ledger of a window, or of all time.

    `on_progress` gets every so often how many events are folded, `on_place` the place of each.
    """
    read = LogRead(upto={})
    scope = scope_of(entries, window or ALWAYS, grain=grain, wanted=wanted)
    ledger = Ledger(msgspec.structs.replace(scope, queues_as_named=queues_as_named))
    for count, (event, place, facts) in enumerate(events_in_order(entries, read), 1):
        ledger.fold(event, place, facts)
        if on_place is not None:
            on_place(place)
        if on_progress is not None and count % _PROGRESS_EVERY == 0:
            on_progress(count)
    ledger.finish(window.until if window is not None else None)
    return ledger, read


_PROGRESS_EVERY = 20_000


def _next(streams: Mapping[str, _Stream]) -> _Stream | None:
    """The stream whose message comes next: the earliest of those that rest on nothing which has not come."""
    found: tuple[Millis, _Stream] | None = None
    waits: BilledMessage | None = None
    # Of one time the one of the lowest rank comes first: in that order they stand.
    for one in streams.values():
        head = one.head
        if head is None or (found is not None and head.at >= found[0]):
            continue
        if _missing(head, streams) is None:
            found = (head.at, one)
        else:
            waits = waits or head
    if found is not None or waits is None:
        return found[1] if found is not None else None
    stream, upto = _missing(waits, streams) or ("", 0)
    raise LogGap(stream=stream, expected=streams[stream].upto + 1, found=upto)


def _missing(message: BilledMessage, streams: Mapping[str, _Stream]) -> tuple[str, int] | None:
    """What a message rests on that has not come yet."""
    for stream, upto in message.rests_on:
        known = streams.get(stream)
        if known is not None and known.upto < upto:
            return stream, upto
    return None


def _rank(name: str) -> int:
    """The order of messages of one time: entered by operators, observed, decided about quota, decided about cards."""
    return {CONTROL: 0, FACTS: 1}.get(name, 2 if name.startswith("LOG") else 3)


def _messages(
    name: str, entries: Sequence[Entry], control: Control, times: Sequence[Millis]
) -> Iterator[BilledMessage]:
    before, facts = GENESIS, FoldedFacts()
    for expected, (entry, at) in enumerate(zip(entries, times, strict=True), 1):
        if entry.sequence != expected:
            raise LogGap(stream=name, expected=expected, found=entry.sequence)
        found = open_message(entry, control)
        if isinstance(found, Passed):
            before = bytes_hash(entry.data)
            yield BilledMessage(entry.sequence, at, found.author, (), (), passed=True)
            continue
        message = found.message
        off = abs(message.at - at) + found.cut
        if isinstance(message, Sighting):
            folded = (message.fact,) if facts.folds(message) else ()
            yield BilledMessage(entry.sequence, at, message.author, (), folded, off)
            continue
        if message.prev_hash != before:
            raise ChainBroken(stream=name, sequence=entry.sequence, expected=before, found=message.prev_hash)
        before = bytes_hash(entry.data)
        rests_on = tuple((run.stream, run.upto) for run in message.inputs)
        yield BilledMessage(entry.sequence, at, message.author, rests_on, message.events, off)
