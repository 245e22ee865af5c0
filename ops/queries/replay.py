"""Replay: fold the log from zero in its canonical order, and decide every decision again."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from events.catalogue import AnyEvent
from events.commit import Commit, Sighting
from events.subjects import CONTROL, FACTS
from ops.production.verification import OtherState, Verification, VerifiedDifference
from projections.amiss import Amiss
from projections.log_position import LogPosition
from projections.object_versions import FoldedFacts
from projections.state_hash import state_hash
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.stored_message import Passed, open_message

Listener = Callable[[AnyEvent, LogPosition], None]
Progress = Callable[[int, int], None]
"""Gets how many commits are folded, and of how many."""
_PROGRESS_EVERY = 200


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay of one partition found."""

    partition: str
    commits: int
    events: int
    facts: int
    state_hash: str
    began: int = 0
    """The commit of the snapshot that the fold began at; 0 where it began at the beginning."""
    verified: int = 0
    """How many commits were decided again."""
    rules: tuple[str, ...] = ()
    """The versions of the rules under which they were decided."""
    differences: tuple[VerifiedDifference, ...] = ()
    states: int = 0
    """How many commits name the state behind them, and were held against it."""
    other_states: tuple[OtherState, ...] = ()
    amiss: tuple[Amiss, ...] = ()
    """Messages whose author, subject or time is not as it must be."""

    @property
    def is_wrong(self) -> bool:
        """Whether anything differs or is amiss: a log that its services have written replays without that."""
        return bool(self.differences or self.other_states or self.amiss)


def fold_partition(
    partition: str,
    entries: Mapping[str, Sequence[Entry]],
    *,
    verify: bool = False,
    looks_at_all: bool = False,
    listener: Listener | None = None,
    inherited: Listener | None = None,
    start: PartitionFold | None = None,
    on_progress: Progress | None = None,
) -> tuple[PartitionFold, Replayed]:
    """Fold one partition and count and hash what comes out; with `verify` decide each of its decisions again, compare bytes.

    Whom the services have passed over is found sooner or later; with `looks_at_all` at the first decision that passes over somebody, in time
    that grows with decisions and workloads.
    `inherited` hears what a fork has of the history of others, `listener` what was decided in it.
    """
    fold = start or PartitionFold(partition)
    began = fold.base
    again = Verification(_inputs(partition, entries), looks_at_all=looks_at_all) if verify else None
    how = PartitionFold.fold_commit if again is None else again.fold
    events = 0
    rules: dict[str, None] = {}
    for entry, commit in fold_commits(fold, entries, how=how, inherited=inherited, on_progress=on_progress):
        rules[commit.rules] = None
        events += len(commit.events)
        _tell(listener, fold, entry, commit)
    fold.fold_inputs()
    return fold, Replayed(
        partition=partition,
        commits=len(_behind(entries.get(partition, ()), began)),
        events=events,
        facts=fold.settled.get(FACTS, 0) if FACTS in entries else 0,
        state_hash=state_hash(fold.world),
        began=began,
        verified=again.verified if again is not None else 0,
        rules=tuple(rules),
        differences=tuple(again.differences) if again is not None else (),
        states=again.states if again is not None else 0,
        other_states=tuple(again.other_states) if again is not None else (),
        amiss=tuple(one for _, one in sorted(fold.world.amiss.items())),
    )


def fold_up(
    partition: str,
    entries: Mapping[str, Sequence[Entry]],
    *,
    start: PartitionFold | None = None,
    listener: Listener | None = None,
    settled: Callable[[PartitionFold], None] | None = None,
) -> PartitionFold:
    """Fold one partition from zero, or on from a fold, whatever that has folded ahead; `settled` is called behind each commit."""
    fold = start or PartitionFold(partition)
    for entry, commit in fold_commits(fold, entries):
        _tell(listener, fold, entry, commit)
        if settled is not None:
            settled(fold)
    fold.fold_inputs()
    return fold


def fold_commits(
    fold: PartitionFold,
    entries: Mapping[str, Sequence[Entry]],
    *,
    how: Callable[[PartitionFold, Entry, Commit], None] = PartitionFold.fold_commit,
    inherited: Listener | None = None,
    on_progress: Progress | None = None,
) -> Iterator[tuple[Entry, Commit]]:
    """Fold the commits of a partition from a fold on, each given out as soon as it is folded; later inputs wait to be folded ahead."""
    fold.heed(Control(entries.get(CONTROL, ())))
    feeds = _Feeds(fold, entries)
    if fold.heirs:
        _fold_to_fork(fold, entries, feeds, inherited)
    commits = _behind(entries.get(fold.partition, ()), fold.base)
    for count, entry in enumerate(commits):
        if on_progress is not None and count % _PROGRESS_EVERY == 0:
            on_progress(count, len(commits))
        commit = fold.decode(entry)
        if commit is None:
            fold.skip(entry)
            continue
        feeds.offer(commit)
        how(fold, entry, commit)
        yield entry, commit
    feeds.offer_rest()


def _fold_to_fork(
    fold: PartitionFold, entries: Mapping[str, Sequence[Entry]], feeds: "_Feeds", listener: Listener | None
) -> None:
    """Fold what a fork has of the history of others, up to where its own begins; it stands aside where that did not begin yet."""
    while fold.heirs:
        became = fold.partition
        for entry in _behind(entries.get(fold.partition, ()), fold.base):
            commit = fold.decode(entry)
            if commit is None:
                fold.skip(entry)
                continue
            feeds.offer(commit)
            fold.fold_commit(entry, commit)
            if fold.partition != became:
                break
            _tell(listener, fold, entry, commit)
        else:
            feeds.offer_rest()
            fold.fork_ahead()


def _inputs(partition: str, entries: Mapping[str, Sequence[Entry]]) -> dict[str, Sequence[Entry]]:
    return {name: found for name, found in entries.items() if name not in (partition, CONTROL)}


def _tell(listener: Listener | None, fold: PartitionFold, entry: Entry, commit: Commit) -> None:
    if listener is not None:
        place = fold.control.place(entry, commit.at)
        for event in commit.events:
            listener(event, place)


class _Feeds:
    """The inputs of a partition, handed to its fold as far as the next commit rests on them: a long log is never held whole."""

    def __init__(self, fold: PartitionFold, entries: Mapping[str, Sequence[Entry]]) -> None:
        self._fold = fold
        left = {name: found for name, found in entries.items() if name not in (fold.partition, CONTROL)}
        self._left = {name: iter(_behind(found, fold.position(name))) for name, found in left.items()}
        self._next = {name: next(left, None) for name, left in self._left.items()}

    def offer(self, commit: Commit) -> None:
        """Hand over what a commit rests on."""
        for run in commit.inputs:
            self._offer(run.stream, run.upto)

    def offer_rest(self) -> None:
        """Hand over what is left."""
        for stream in self._left:
            self._offer(stream, None)

    def _offer(self, stream: str, upto: int | None) -> None:
        found: list[Entry] = []
        entry = self._next.get(stream)
        while entry is not None and (upto is None or entry.sequence <= upto):
            found.append(entry)
            entry = self._next[stream] = next(self._left[stream], None)
        if found:
            self._fold.offer(stream, found)


def _behind(entries: Sequence[Entry], sequence: int) -> Sequence[Entry]:
    """What is stored behind a sequence."""
    return entries[max(sequence + 1 - entries[0].sequence, 0) :] if sequence and entries else entries


def listen(entries: Mapping[str, Sequence[Entry]], listener: Listener) -> None:
    """Hand each event of the log to a listener, in the order of time; those of one time in the order of their streams."""
    rows: list[tuple[int, str, int, int, AnyEvent]] = []
    control, facts = Control(entries.get(CONTROL, ())), FoldedFacts()
    for name, found in entries.items():
        for entry in found:
            opened = open_message(entry, control)
            if isinstance(opened, Passed):
                continue
            message = opened.message
            if isinstance(message, Sighting) and not facts.folds(message):
                continue
            events = (message.fact,) if isinstance(message, Sighting) else message.events
            rows.extend((message.at, name, entry.sequence, i, event) for i, event in enumerate(events))
    for at, name, sequence, _, event in sorted(rows, key=lambda one: one[:4]):
        listener(event, LogPosition(partition=name, sequence=control.number(name, sequence), at=at))


__all__ = ["VerifiedDifference", "OtherState", "Replayed", "fold_commits", "fold_partition", "fold_up", "listen"]
