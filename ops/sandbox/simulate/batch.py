"""Many histories, on several processes: each is played, and one that breaks a law is shrunk to the fewest faults."""

import gc
import multiprocessing
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TypeAlias

import msgspec

from events.event import Millis
from ops.production.process.telemetry import configure_logging
from ops.sandbox.simulate.clusters import ClustersOutcome, partitions_of, play_clusters
from ops.sandbox.simulate.drawn_division import DrawnDivision, drawn_division
from ops.sandbox.simulate.fault_plan import ALL, Fault, FaultKind, only, schedule_of
from ops.sandbox.simulate.history import HistoryOutcome, play
from ops.sandbox.simulate.shrink import shrunk

_MOST_EACH = 200
"""After so many histories a process makes way for a fresh one: what Python keeps must not add up."""


class HistorySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One history that is to be played."""

    seed: int
    span: Millis
    kinds: tuple[FaultKind, ...] = ALL
    only: tuple[int, ...] | None = None
    """The faults that strike, by index; all of them when None."""
    clusters: bool = False
    """Whether it is one of three clusters, which has faults of its own."""
    partitions: int = 0
    """Into how many partitions its log is divided, with trees that move; as the seed says at 0."""

    def division(self) -> DrawnDivision:
        """How the log is divided."""
        return drawn_division(self.seed, self.span, self.partitions)

    def faults(self) -> list[Fault]:
        """The faults that strike."""
        # A queue that changes its cohort to a tree that is elsewhere splits that, so none does where there are several partitions.
        undivided = self.division() == DrawnDivision()
        kinds = [kind for kind in self.kinds if undivided or kind is not FaultKind.COHORT]
        found = schedule_of(self.seed, self.span, kinds)
        return found if self.only is None else only(found, self.only)


Outcome: TypeAlias = HistoryOutcome | ClustersOutcome


def command(outcome: Outcome, span: Millis, partitions: int = 0) -> str:
    """The command that plays a history again, of so many partitions where it is not the seed that says it."""
    hours = f"{span / 3_600_000:.6f}".rstrip("0").rstrip(".")
    divided = f" --partitions {partitions}" if partitions else ""
    if isinstance(outcome, ClustersOutcome):
        return f"kuelog simulate --clusters --seeds {outcome.seed} --hours {hours}{divided}"
    indexes = ",".join(str(one.index) for one in sorted(outcome.faults, key=lambda one: one.index))
    return f"kuelog simulate --seeds {outcome.seed} --hours {hours}{divided} --only-faults {indexes or 'none'}"


def play_spec(spec: HistorySpec) -> Outcome:
    """Play a history; of one that breaks a law, the fewest faults under which it still does."""
    # What was there before a history is not its garbage: nobody has to walk through that after each of them.
    gc.freeze()
    try:
        if spec.clusters:
            partitions = spec.partitions or partitions_of(spec.seed)
            return play_clusters(spec.seed, spec.span, partitions, moves=bool(spec.partitions))
        outcome = _play_under(spec, spec.faults())
        if outcome.broken and outcome.faults:
            fewest = shrunk(outcome.faults, lambda faults: bool(_play_under(spec, faults).broken))
            outcome = _play_under(spec, fewest)
    finally:
        gc.collect()
        gc.unfreeze()
    return outcome


def _play_under(spec: HistorySpec, faults: Sequence[Fault]) -> HistoryOutcome:
    division = spec.division()
    return play(
        spec.seed,
        spec.span,
        faults,
        partitions=division.partitions,
        divided_after=division.after,
        moved_after=division.moved_after,
        most_moves=division.most_moves,
    )


@contextmanager
def played(specs: Sequence[HistorySpec], processes: int) -> Generator[Generator[Outcome, None, None], None, None]:
    """The outcomes as they come; at the end of the block all workers are stopped."""
    if processes <= 1 or len(specs) <= 1:
        yield (play_spec(spec) for spec in specs)
        return
    # Not fork: threads and open files of whoever asks are none of a history's business.
    context = multiprocessing.get_context("spawn")
    with _deaf():
        pool = context.Pool(processes, _prepare, maxtasksperchild=_MOST_EACH)
    with pool:
        yield (outcome for outcome in pool.imap_unordered(play_spec, specs))


@contextmanager
def _deaf() -> Generator[None, None, None]:
    """Processes and threads that begin in the block hear no Ctrl-C; who begins them hears it at its end.

    A worker that is still loading would complain of it, and so would one whose parent did not say what to load.
    """
    # It is begun with the first process, and whoever begins it hears everything again from then on.
    resource_tracker.ensure_running()
    heard: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if heard:
        raise KeyboardInterrupt


def _prepare() -> None:
    """A worker leaves Ctrl-C to its parent, and logs nothing of what services meet: the faults were ordered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging("critical")
