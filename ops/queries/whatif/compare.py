"""Two runs from one fork beside each other: waiting times, preemptions and use of quota."""

from collections.abc import Callable, Sequence

import msgspec

from events.event import Millis
from ops.queries.whatif.course import RecordedCourse
from ops.queries.whatif.fork import Fork, RunPlan, play_all
from ops.queries.whatif.outcome import Refusal, RunResults, WorkloadOutcome, percentile, still_waiting, waits

_SHOWN = 10
AS_IT_WAS, CHANGED = "as it was", "changed"
"""The names of the two runs, by which progress is told."""


class WaitRow(msgspec.Struct, frozen=True, kw_only=True):
    """How long the workloads of a queue and class wait for their first admission."""

    queue: str
    kind: str
    workloads: int
    p50_before: Millis
    p50_after: Millis
    p95_before: Millis
    p95_after: Millis
    p50_recorded: Millis | None = None
    gain: int
    """How many are admitted earlier."""
    lose: int


class UseRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a queue uses on average of a resource of a flavor, in thousandths of its unit."""

    queue: str
    flavor: str
    resource: str
    before: int
    after: int


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that is admitted earlier or later; None stands for never within the run."""

    workload: str
    queue: str
    before: Millis | None
    after: Millis | None
    by: Millis
    """How much longer it waits; less than nothing when it gains."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All differences between a run as it was and one with changes."""

    began: Millis
    ended_before: Millis
    ended_after: Millis
    workloads: int
    waiting_before: int
    waiting_after: int
    preemptions_before: int
    preemptions_after: int
    preempted_before: list[tuple[str, str, int]]
    preempted_after: list[tuple[str, str, int]]
    """Queues of victim and preemptor, and how often."""
    gain: int
    lose: int
    waits: list[WaitRow]
    use: list[UseRow]
    gainers: list[Moved]
    losers: list[Moved]


def compared(fork: Fork, on_progress: Callable[[str, int, int], None]) -> Comparison:
    """Play a fork as it was and changed, both at once, and compare; `on_progress` gets run, moments played and how many there are."""
    results = play_all(fork, [RunPlan(name=AS_IT_WAS), RunPlan(name=CHANGED, changed=True)], on_progress)
    return compare(results[AS_IT_WAS], results[CHANGED], fork.course)


def compare(before: RunResults, after: RunResults, course: RecordedCourse) -> Comparison:
    """The differences. Workloads that only one of the runs knows count in that one alone."""
    moved = _moved(before, after)
    return Comparison(
        began=before.began,
        ended_before=before.ended,
        ended_after=after.ended,
        workloads=len(before.outcomes),
        waiting_before=still_waiting(before.outcomes.values()),
        waiting_after=still_waiting(after.outcomes.values()),
        preemptions_before=before.preemptions,
        preemptions_after=after.preemptions,
        preempted_before=before.pairs,
        preempted_after=after.pairs,
        gain=sum(one.by < 0 for one in moved),
        lose=sum(one.by > 0 for one in moved),
        waits=_waits(before, after, moved, course),
        use=_use(before, after),
        gainers=sorted((one for one in moved if one.by < 0), key=lambda one: (one.by, one.workload))[:_SHOWN],
        losers=sorted((one for one in moved if one.by > 0), key=lambda one: (-one.by, one.workload))[:_SHOWN],
    )


def _moved(before: RunResults, after: RunResults) -> list[Moved]:
    found: list[Moved] = []
    for key, one in before.outcomes.items():
        other = after.outcomes.get(key)
        if other is not None and one.admitted != other.admitted:
            by = other.waited(after.ended) - one.waited(before.ended)
            found.append(Moved(workload=key, queue=one.queue, before=one.admitted, after=other.admitted, by=by))
    return found


def _waits(before: RunResults, after: RunResults, moved: Sequence[Moved], course: RecordedCourse) -> list[WaitRow]:
    old, new = waits(before), waits(after)
    recorded: dict[tuple[str, str], list[Millis]] = {}
    for one in before.outcomes.values():
        admitted = course.admitted.get(one.key)
        if admitted is not None:
            recorded.setdefault((one.queue, one.kind), []).append(admitted - one.submitted)
    kinds = {key: (one.queue, one.kind) for key, one in before.outcomes.items()}
    gains: dict[tuple[str, str], list[int]] = {}
    for one in moved:
        gains.setdefault(kinds[one.workload], [0, 0])[one.by > 0] += 1
    rows: list[WaitRow] = []
    for name in sorted({*old, *new}):
        left, right = old.get(name, []), new.get(name, [])
        real = sorted(recorded.get(name, []))
        rows.append(
            WaitRow(
                queue=name[0],
                kind=name[1],
                workloads=max(len(left), len(right)),
                p50_before=percentile(left, 50),
                p50_after=percentile(right, 50),
                p95_before=percentile(left, 95),
                p95_after=percentile(right, 95),
                p50_recorded=percentile(real, 50) if real else None,
                gain=gains.get(name, [0, 0])[0],
                lose=gains.get(name, [0, 0])[1],
            )
        )
    return rows


def _use(before: RunResults, after: RunResults) -> list[UseRow]:
    """Over the longer of both runs, so that they can be compared."""
    span = max(before.ended, after.ended) - before.began
    old = {one[:3]: one[3] for one in before.used}
    new = {one[:3]: one[3] for one in after.used}
    return [
        UseRow(
            queue=name[0],
            flavor=name[1],
            resource=name[2],
            before=old.get(name, 0) * 1000 // max(span, 1),
            after=new.get(name, 0) * 1000 // max(span, 1),
        )
        for name in sorted({*old, *new})
    ]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """When a job would be admitted, where, and at whose cost: a range, not a promise."""

    workload: str
    queue: str
    early: Millis | None
    """After so long; None: not within what was played."""
    likely: Millis | None
    late: Millis | None
    flavors: tuple[str, ...]
    preempted: int
    """How often it would be preempted itself."""
    costs: list[Moved]
    """The workloads that are admitted later because of it, most first."""
    preempts: list[str]
    """The workloads that are preempted more often than without it."""
    refusal: Refusal | None = None
    """Why it is not in at the end of what was played; None where it is, or has been."""


def estimate(key: str, runs: dict[str, RunResults], without: RunResults, likely: RunResults) -> Estimate:
    """What the runs say about one job."""
    found = {name: results.outcomes.get(key) for name, results in runs.items()}
    at = likely.outcomes[key]
    costs = sorted((one for one in _moved(without, likely) if one.by > 0), key=lambda one: (-one.by, one.workload))
    more = [
        name
        for name, one in sorted(likely.outcomes.items())
        if (other := without.outcomes.get(name)) is not None and one.preempted > other.preempted
    ]
    waited = {name: _wait(one) for name, one in found.items()}
    known = [each for each in waited.values() if each is not None]
    never = len(known) < len(waited)
    return Estimate(
        workload=key,
        queue=at.queue,
        early=min(known, default=None),
        likely=waited["likely"],
        late=None if never else max(known, default=None),
        flavors=at.flavors,
        preempted=at.preempted,
        costs=costs[:_SHOWN],
        preempts=more[:_SHOWN],
        refusal=likely.refusals.get(key) if waited["likely"] is None else None,
    )


def _wait(one: WorkloadOutcome | None) -> Millis | None:
    return None if one is None or one.admitted is None else one.admitted - one.submitted
