"""Replay: fold the log from zero in its canonical order, and decide every decision again."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent, Decision
from events.codec import decode_commit, decode_sighting, encode
from events.commit import Commit
from events.control import Quarantined
from events.subjects import CONTROL, FACTS
from ops.wiring import DEVICE_LANE, LANE
from projections.place import Place
from projections.state_hash import state_hash
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.lane_fold import LaneFold
from services.lane_host import Decider
from services.log_port import Bus, Entry
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager

Listener = Callable[[AnyEvent, Place], None]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that comes out otherwise when it is decided again."""

    lane: str
    sequence: int
    author: str
    recorded: bytes
    decided: bytes


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay of one lane found."""

    lane: str
    commits: int
    events: int
    facts: int
    state_hash: str
    differences: tuple[Difference, ...] = ()


async def read_all(bus: Bus) -> dict[str, list[Entry]]:
    """All streams of the log as they are now."""
    found: dict[str, list[Entry]] = {}
    for name in (CONTROL, FACTS, LANE, DEVICE_LANE):
        stream = await bus.stream(name)
        entries = found.setdefault(name, [])
        async for batch in stream.read():
            entries.extend(batch)
    return found


def fold_lane(
    lane: str, entries: Mapping[str, Sequence[Entry]], *, verify: bool = False, listener: Listener | None = None
) -> tuple[LaneFold, Replayed]:
    """Fold one lane from zero; with `verify` decide each of its decisions again and compare bytes."""
    fold = LaneFold(lane)
    fold.quarantined = quarantined(entries.get(CONTROL, ()))
    inputs = {name: found for name, found in entries.items() if name not in (lane, CONTROL)}
    for name, found in inputs.items():
        fold.offer(name, found)
    deciders: dict[str, Decider] = {one.name: one for one in (QueueManager(), Admitter(), Preemptor(), Accountant())}
    differences: list[Difference] = []
    events = 0
    for entry in entries.get(lane, ()):
        commit = fold.decode(entry)
        if commit is None:
            fold.skip(entry)
            continue
        if verify and commit.author in deciders:
            again = _decide_again(fold, commit, deciders[commit.author])
            if encode_events(again) != encode_events(commit.events):
                differences.append(
                    Difference(
                        lane=lane,
                        sequence=entry.sequence,
                        author=commit.author,
                        recorded=encode_events(commit.events),
                        decided=encode_events(again),
                    )
                )
        fold.fold_commit(entry, commit)
        events += len(commit.events)
        if listener is not None:
            for event in commit.events:
                listener(event, Place(lane=lane, sequence=entry.sequence, at=commit.at))
    facts = sum(fold.settled.get(name, 0) for name in inputs if name == FACTS)
    fold.fold_inputs()
    return fold, Replayed(
        lane=lane,
        commits=len(entries.get(lane, ())),
        events=events,
        facts=facts,
        state_hash=state_hash(fold.world),
        differences=tuple(differences),
    )


def quarantined(control: Sequence[Entry]) -> set[tuple[str, int]]:
    """The messages that operators had skipped, by stream and sequence."""
    return {
        (event.stream, event.sequence)
        for entry in control
        for event in decode_commit(entry.data).events
        if isinstance(event, Quarantined)
    }


def listen(entries: Mapping[str, Sequence[Entry]], listener: Listener) -> None:
    """Tell every event of the log in the order of its time; events of one time in the order of their streams."""
    told: list[tuple[int, str, int, int, AnyEvent]] = []
    skipped = quarantined(entries.get(CONTROL, ()))
    for name, found in entries.items():
        for entry in found:
            if (name, entry.sequence) in skipped:
                continue
            if name == FACTS:
                sighting = decode_sighting(entry.data)
                told.append((sighting.at, name, entry.sequence, 0, sighting.fact))
            else:
                commit = decode_commit(entry.data)
                told.extend((commit.at, name, entry.sequence, i, event) for i, event in enumerate(commit.events))
    for at, name, sequence, _, event in sorted(told, key=lambda one: one[:4]):
        listener(event, Place(lane=name, sequence=sequence, at=at))


def encode_events(events: Sequence[Decision]) -> bytes:
    """The bytes by which decisions are compared."""
    return b"\n".join(encode(event) for event in events)


def _decide_again(fold: LaneFold, commit: Commit, decider: Decider) -> list[Decision]:
    """Fold the commit's inputs ahead, ask its author again, and take everything back."""
    fold.fold_ahead(commit.inputs)
    fold.world.review_all()
    fold.world.advance(commit.at)
    again = decider.decide(fold.world, Place(lane=fold.lane, sequence=commit.base + 1, at=commit.at))
    fold.rewind()
    return again


__all__ = ["Difference", "Replayed", "fold_lane", "listen", "read_all"]
