"""The streams of the log as one row of events, in an order that every reading gives again.

Of the next messages of all streams the earliest comes first, unless it rests on one that has not come yet (a commit
names what its author had folded). Within a stream the log's order stands; a time before one that stands ahead of it
counts as that one, so nothing ever takes negative time (docs/rules/billing.md#clock).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent
from events.commit import GENESIS, Sighting, bytes_hash
from events.event import Millis
from events.subjects import CONTROL, FACTS
from ops.queries.time_travel import span
from projections.billing.entry import Window
from projections.billing.ledger import Ledger
from projections.log_position import LogPosition
from projections.object_versions import FoldedFacts
from services.runtime.control_log import Control
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry
from services.runtime.partition_errors import ChainBroken
from services.runtime.stored_message import Passed, open_message

Entries = Mapping[str, Sequence[Entry]]


class Message(msgspec.Struct, frozen=True, gc=False):
    """One stored message, as far as order and content go."""

    sequence: int
    at: Millis
    rests_on: tuple[tuple[str, int], ...]
    events: tuple[AnyEvent, ...]


class Read(msgspec.Struct):
    """How far the log was read, and what was found on the way."""

    first: Millis = 0
    last: Millis = 0
    upto: dict[str, int] = {}
    late: int = 0
    """Messages whose time was before that of one ahead of them."""
    latest: Millis = 0
    """The most milliseconds that one was before."""


def events_in_order(entries: Entries, read: Read) -> Iterator[tuple[AnyEvent, LogPosition]]:
    """Every event with its place. Raises `LogGap`, `ChainBroken`, `MessageNotOurs`."""
    control = Control(entries.get(CONTROL, ()))
    streams = {name: _messages(name, found, control) for name, found in sorted(entries.items())}
    heads = {name: message for name, stream in streams.items() if (message := next(stream, None)) is not None}
    done = dict.fromkeys(streams, 0)
    now: Millis | None = None
    while heads:
        name = _next(heads, done)
        message = heads[name]
        if now is None:
            read.first = message.at
        elif message.at < now:
            read.late, read.latest = read.late + 1, max(read.latest, now - message.at)
        now = message.at if now is None else max(now, message.at)
        place = LogPosition(partition=name, sequence=message.sequence, at=now)
        for event in message.events:
            yield event, place
        done[name], read.last = message.sequence, now
        following = next(streams[name], None)
        if following is None:
            del heads[name]
        else:
            heads[name] = following
    read.upto = dict(done)


def seen(entries: Entries) -> tuple[Millis, Millis]:
    """The times of the first and the last message about the cluster; what operators enter aside."""
    return span({name: found for name, found in entries.items() if name != CONTROL})


def ledger_of(
    entries: Entries,
    window: Window | None = None,
    *,
    grain: Millis | None = None,
    wanted: Sequence[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> tuple[Ledger, Read]:
    """The ledger of a window, or of all time. `on_progress` gets every so often how many events are folded."""
    read = Read(upto={})
    ledger = Ledger(window, grain=grain, wanted=wanted) if window is not None else Ledger(grain=grain, wanted=wanted)
    for count, (event, place) in enumerate(events_in_order(entries, read), 1):
        ledger.fold(event, place)
        if on_progress is not None and count % _PROGRESS_EVERY == 0:
            on_progress(count)
    ledger.finish(window.until if window is not None else None)
    return ledger, read


_PROGRESS_EVERY = 20_000


def _next(heads: Mapping[str, Message], done: Mapping[str, int]) -> str:
    """The stream whose message comes next."""
    free = [
        name
        for name, message in heads.items()
        if all(upto <= done.get(stream, upto) for stream, upto in message.rests_on)
    ]
    if not free:
        name = min(heads)
        stream, upto = next((stream, upto) for stream, upto in heads[name].rests_on if upto > done.get(stream, upto))
        raise LogGap(stream=stream, expected=done[stream] + 1, found=upto)
    return min(free, key=lambda name: (heads[name].at, _rank(name), name))


def _rank(name: str) -> int:
    """The order of messages of one time: entered by operators, observed, decided about quota, decided about cards."""
    return {CONTROL: 0, FACTS: 1}.get(name, 2 if name.startswith("LOG") else 3)


def _messages(name: str, entries: Sequence[Entry], control: Control) -> Iterator[Message]:
    before, facts = GENESIS, FoldedFacts()
    for expected, entry in enumerate(entries, 1):
        if entry.sequence != expected:
            raise LogGap(stream=name, expected=expected, found=entry.sequence)
        found = open_message(entry, control)
        if isinstance(found, Passed):
            before = bytes_hash(entry.data)
            continue
        message = found.message
        if isinstance(message, Sighting):
            folded = (message.fact,) if facts.folds(message) else ()
            yield Message(entry.sequence, message.at, (), folded)
            continue
        if message.prev_hash != before:
            raise ChainBroken(stream=name, sequence=entry.sequence, expected=before, found=message.prev_hash)
        before = bytes_hash(entry.data)
        rests_on = tuple((run.stream, run.upto) for run in message.inputs)
        yield Message(entry.sequence, message.at, rests_on, message.events)
