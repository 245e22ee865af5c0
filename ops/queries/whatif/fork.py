"""Forks of a log: the world at a point, and several runs on from it, each in a process of its own."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from events.catalogue import Fact
from events.event import Millis
from events.workload import WorkloadSubmitted
from ops.production.log.streams import streams_in
from ops.production.process.memory_tuning import tune_memory
from ops.queries.explaining import explain
from ops.queries.point import Point, point_at
from ops.queries.replay import fold_up
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.course import Happening, course_of
from ops.queries.whatif.outcome import Refusal, RunResults
from ops.queries.whatif.run import VirtualRun
from ops.queries.whatif.stage import OneWorld
from projections.composed import composed
from projections.evolve import evolve
from projections.explanation.words import Explanation
from projections.log_position import LogPosition
from services.runtime.log_port import Entry

_DAY: Millis = 86_400_000


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One run from a fork: with changes or as it was, and what is taken to come."""

    name: str
    changed: bool = False
    quantile: int = 50
    """Which of the recorded run times is taken where a job's own is not known."""
    again: bool = False
    """Behind the end of the record, its arrivals come once more."""
    recorded: bool = True
    """The arrivals behind the fork come as recorded."""
    submitted: bool = False
    """With the jobs that are asked about."""


class Fork:
    """A log forked at a point."""

    def __init__(
        self,
        entries: Mapping[str, Sequence[Entry]],
        at: str,
        changes: ForkChanges,
        *,
        now: bool = False,
        hindsight: bool = True,
    ) -> None:
        there = point_at(entries, at) if at or now else None
        self.course = course_of(entries if there is None or hindsight else there.entries)
        """What the log has recorded; without hindsight, up to the point alone."""
        self.point = there or Point(entries=_nothing(entries), at=self.course.began, ended=False)
        self.alone = self.point.ended or not hindsight
        """Whether nothing is known of what comes behind the fork."""
        folds = [fold_up(name, self.point.entries) for name in streams_in(entries).trees]
        self.world = composed([one.world for one in folds])
        self._sequence = max(one.control.number(one.partition, one.base) for one in folds)
        self._changes = changes
        self.jobs: list[Fact] = []
        self._later = self._behind()
        self.arrivals = sum(isinstance(one.fact, WorkloadSubmitted) for one in self._later)
        """How many workloads arrive behind the fork, on the record."""

    def submit(self, jobs: Sequence[Fact]) -> None:
        """Have these jobs submitted at the fork, in the plans that say so."""
        self.jobs = list(jobs)

    @property
    def step(self) -> Millis:
        """How finely time is played: to the millisecond, but to the second where very many arrive."""
        return 1 if self.arrivals <= _MANY else 1000

    def play(self, plan: RunPlan, on_progress: Callable[[int, int], None] = lambda _done, _all: None) -> RunResults:
        """Run on. This changes the world: each run needs a fork of the process, or a new one."""
        world, at = self.world, self.point.at
        happenings = self._later if plan.recorded else []
        if plan.again:
            happenings = [*happenings, *self._once_more()]
        facts: list[Fact] = []
        if plan.changed:
            facts = self._changes.at_fork(world)
            happenings = self._changes.of(happenings, world)
            self._changes.check_used()
        if plan.submitted:
            facts = [*facts, *self.jobs]
        world.advance(at)
        for number, fact in enumerate(facts):
            evolve(world, fact, LogPosition(partition="FACTS", sequence=_FORKED + number, at=at))
        world.settle()
        world.review_all()
        tune_memory()
        stage = OneWorld(world, self._sequence)
        run = VirtualRun(stage, self.course, happenings, at=at, quantile=plan.quantile, step=self.step)
        results = run.run(on_progress=on_progress).results()
        return msgspec.structs.replace(results, refusals=self._refusals(run.now)) if plan.submitted else results

    def _refusals(self, at: Millis) -> dict[str, Refusal]:
        """Why those that were submitted at the fork wait, as far as they do: nobody can ask the log about them."""
        keys = [one.workload for one in self.jobs if isinstance(one, WorkloadSubmitted)]
        waiting = [found for key in keys if (found := self.world.workloads.get(key)) is not None and not found.admitted]
        return {one.key: _refusal(explain(self.world, one, at, deep=False)) for one in waiting if not one.finished}

    def _behind(self) -> list[Happening]:
        """What comes behind the fork: facts that the fork has not folded."""
        upto = self.point.upto.get("FACTS", 0)
        return [one for one in self.course.happenings if one.sequence > upto]

    def _once_more(self) -> list[Happening]:
        """The arrivals of the last day of the record, or of all of it, behind its end."""
        course = self.course
        span = min(max(course.ended - course.began, 1), _DAY)
        shift = max(course.ended, self.point.at) - (course.ended - span)
        found: list[Happening] = []
        for one in course.happenings:
            fact = one.fact
            if isinstance(fact, WorkloadSubmitted) and one.at >= course.ended - span:
                key = f"{fact.workload}-again"
                course.runs[key] = course.run_of(fact.workload, 50)
                course.classes[key] = course.classes[fact.workload]
                fresh = msgspec.structs.replace(
                    fact, workload=key, uid=f"{fact.uid}-again", created_at=fact.created_at + shift, adopted=None
                )
                found.append(Happening(one.at + shift, fresh))
        return found


def _refusal(found: Explanation) -> Refusal:
    return Refusal(reason=found.reason, message=found.message, waits_for=found.waits_for, fix=found.fix)


def play_all(
    fork: Fork, plans: Sequence[RunPlan], on_progress: Callable[[str, int, int], None]
) -> dict[str, RunResults]:
    """Play several plans at once, each in a process of its own; the results by plan. Raises what a run raises."""
    context = multiprocessing.get_context("fork")
    open_: dict[str, Any] = {}
    for plan in plans:
        ours, theirs = context.Pipe(duplex=False)
        context.Process(target=_child, args=(fork, plan, theirs), daemon=True).start()
        theirs.close()
        open_[plan.name] = ours
    return dict(_answers(open_, on_progress))


def _answers(open_: dict[str, Any], on_progress: Callable[[str, int, int], None]) -> Iterator[tuple[str, RunResults]]:
    while open_:
        for name, pipe in list(open_.items()):
            if not pipe.poll(0.02):
                continue
            try:
                kind, body = pipe.recv()
            except EOFError:
                raise RuntimeError(f"the run {name} ended without a result") from None
            match kind:
                case "at":
                    on_progress(name, *body)
                case "failed":
                    raise body
                case _:
                    del open_[name]
                    yield name, msgspec.msgpack.decode(body, type=RunResults)


def _child(fork: Fork, plan: RunPlan, pipe: Any) -> None:
    try:
        found = fork.play(plan, lambda done, total: pipe.send(("at", (done, total))))
        pipe.send(("results", msgspec.msgpack.encode(found)))
    except Exception as problem:  # noqa: BLE001 - whatever it is, the parent has to raise it
        pipe.send(("failed", problem))


def _nothing(entries: Mapping[str, Sequence[Entry]]) -> dict[str, Sequence[Entry]]:
    return {name: (list(found) if name == "CONTROL" else []) for name, found in entries.items()}


_MANY = 20_000
_FORKED = 1 << 39
"""Sequences of the facts of a change."""
