"""Decisions that are on the log, decided again on the state that each was made on: by a replay, and while services run."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import structlog

from events.catalogue import Decision
from events.codec import encode
from events.commit import Commit
from events.control import EpochStarted
from events.event import Millis
from events.hash_chain import follows
from events.rules import RULES
from ops.production.deciders import all_deciders
from ops.production.log.snapshots import image_hash
from projections.evolve import evolve
from projections.log_position import LogPosition
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold
from services.runtime.partition.host import Decider
from services.runtime.partition.stored_message import Opened

log = structlog.get_logger()


class VerifiedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that comes out otherwise when it is decided again."""

    partition: str
    sequence: int
    author: str
    recorded: bytes
    decided: bytes
    at: Millis = 0
    rules: str = ""
    """The version of the rules under which it was decided."""
    led: tuple[Entry, ...] = ()
    """The inputs that were folded since the commit before."""
    failed: str = ""
    """What the decider raised instead of deciding; empty when it decided."""


class OtherState(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that names another state than the one that the log leads to."""

    sequence: int
    author: str
    recorded: str
    folded: str


class Verification:
    """Decides commits again, each on the state that it was made on, and keeps those that come out differently.

    A decider looks at what has changed, as it did then. Once in as many commits as there are workloads it looks at
    everything, so that a workload that a service overlooked is found, at a cost in proportion to the log.
    """

    def __init__(
        self,
        inputs: Mapping[str, Sequence[Entry]],
        deciders: Sequence[Decider] | None = None,
        *,
        looks_at_all: bool = False,
    ) -> None:
        self.differences: list[VerifiedDifference] = []
        self.other_states: list[OtherState] = []
        self.verified = self.states = 0
        self._inputs = inputs
        self._since_all = 0
        self._looks_at_all = looks_at_all
        """Whether each decision is made without hints of what has changed: that takes time for every workload."""
        self._deciders = {one.name: one for one in deciders or all_deciders()}

    def fold(self, fold: PartitionFold, entry: Entry, commit: Commit) -> None:
        """Fold a commit, deciding it again on the way. Raises what `PartitionFold.fold_commit` raises."""
        if not self.compare(fold, entry, commit):
            fold.fold_commit(entry, commit)
        self.compare_state(fold, entry, commit)

    def compare(self, fold: PartitionFold, entry: Entry, commit: Commit) -> bool:
        """Decide one commit again; whether it is folded by that."""
        if commit.author not in self._deciders:
            return False
        settled = dict(fold.settled)
        recorded = encode_events(commit.events)
        decided, failed = self._decide_again(fold, commit)
        self.verified += 1
        chained = follows(commit, fold.base, fold.prev_hash)
        if recorded == decided and not failed and chained and not self._hurried(fold, entry):
            fold.settled_as_decided(entry.sequence, entry.data, commit)
            return True
        fold.rewind()
        if recorded != decided or failed:
            self.differences.append(
                VerifiedDifference(
                    partition=fold.partition,
                    sequence=entry.sequence,
                    author=commit.author,
                    recorded=recorded,
                    decided=decided,
                    at=commit.at,
                    rules=commit.rules,
                    led=tuple(self._led(fold, settled, commit)),
                    failed=failed,
                )
            )
        return False

    def compare_state(self, fold: PartitionFold, entry: Entry, commit: Commit) -> None:
        """Hold the state behind a commit against the one that the commit names; other rules may hold it otherwise."""
        if not commit.state_hash or commit.rules != RULES or self._hurried(fold, entry):
            return
        self.states += 1
        found = image_hash(fold)
        if found != commit.state_hash:
            other = OtherState(sequence=fold.base, author=commit.author, recorded=commit.state_hash, folded=found)
            self.other_states.append(other)

    def _hurried(self, fold: PartitionFold, entry: Entry) -> bool:
        found = fold.opened(entry)
        return isinstance(found, Opened) and bool(found.hurried)

    def _decide_again(self, fold: PartitionFold, commit: Commit) -> tuple[bytes, str]:
        """Fold the commit's inputs ahead, and ask its author again: what it decides, and what it raised if it fails.

        Raises what folding the inputs raises.
        """
        fold.fold_ahead(commit.inputs)
        self._since_all += 1
        if self._looks_at_all or self._since_all > len(fold.world.workloads):
            self._since_all = 0
            fold.world.review_all()
        fold.world.advance(commit.at)
        place = LogPosition(
            partition=fold.partition,
            sequence=fold.control.number(fold.partition, commit.base + 1),
            at=commit.at,
            most_admissions=commit.most_admissions,
        )
        try:
            # That somebody took over follows from no state, and is taken as it was said.
            begun = [one for one in commit.events if isinstance(one, EpochStarted)]
            for one in begun:
                evolve(fold.world, one, place)
            return encode_events([*begun, *self._deciders[commit.author].decide(fold.world, place)]), ""
        except Exception as problem:  # noqa: BLE001 - it decided once: whatever it fails on now is a difference
            return b"", f"{type(problem).__name__}: {problem}"

    def _led(self, fold: PartitionFold, settled: Mapping[str, int], commit: Commit) -> Iterator[Entry]:
        ends = dict(settled)
        for run in commit.inputs:
            stored = self._inputs.get(run.stream, ())
            first = stored[0].sequence if stored else 0
            yield from (
                entry
                for entry in stored[max(ends.get(run.stream, 0) + 1 - first, 0) : run.upto + 1 - first]
                if not fold.control.skips(entry)
            )
            ends[run.stream] = run.upto


class RunningVerification:
    """Decides the commits of one partition again as they come, and keeps count: what a replay does, while services run.

    Commits of other rules are folded and not decided again: they may come out otherwise, and nothing is wrong. Why a commit
    comes out otherwise is for `kuelog replay --verify` to say; here it is named in the log of the process, and counted.
    """

    def __init__(self, partition: str, deciders: Sequence[Decider] | None = None) -> None:
        self.partition = partition
        self.verified = 0
        """Commits decided again since the process began."""
        self.different = 0
        """Commits among them that came out otherwise."""
        self.other_states = 0
        """Commits that name another state than the one that the log led to here."""
        self.passed_over = 0
        """Commits of other rules."""
        self._again = Verification({}, deciders)

    def fold(self, fold: PartitionFold, entry: Entry, commit: Commit) -> None:
        """Fold a commit, deciding it again on the way. Raises what `PartitionFold.fold_commit` raises."""
        if commit.rules != RULES:
            self.passed_over += 1
            fold.fold_commit(entry, commit)
            return
        fold.rewind()
        self._again.fold(fold, entry, commit)
        self._count()

    def _count(self) -> None:
        """Count what was found, and keep nothing of it: it may be much."""
        again = self._again
        self.verified = again.verified
        for one in again.differences:
            self.different += 1
            log.error(
                "decided otherwise",
                partition=self.partition,
                sequence=one.sequence,
                author=one.author,
                **({"failed": one.failed} if one.failed else {}),
            )
        for other in again.other_states:
            self.other_states += 1
            log.error("another state", partition=self.partition, sequence=other.sequence, author=other.author)
        again.differences.clear()
        again.other_states.clear()


def encode_events(events: Sequence[Decision]) -> bytes:
    """The bytes by which decisions are compared."""
    return b"\n".join(encode(event) for event in events)
