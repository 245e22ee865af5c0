"""A world that runs on in virtual time: arrivals and run times are given, all else is decided.

A turn takes no time, so the same stage and the same course always give the same run.
"""

import heapq
from collections.abc import Callable, Sequence

import msgspec

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import AnyEvent, Decision, Fact
from events.control import ObjectRemoved
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    EvictionOrdered,
    PodsGone,
    PodsReady,
    QuotaReleased,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadParked,
    WorkloadQueued,
    WorkloadSubmitted,
)
from ops.production.log.streams import SOLE
from ops.queries.whatif.course import Happening, RecordedCourse
from ops.queries.whatif.outcome import Outcomes
from ops.queries.whatif.stage import Stage
from services.runtime.partition.host import MOST_INPUTS

Progress = Callable[[int, int], None]


class Due(msgspec.Struct, frozen=True, gc=False):
    """Something that will be seen of a workload, unless another attempt has begun by then."""

    key: str
    what: str
    attempt: int
    check: str = ""


class VirtualRun:
    """One run from a fork to the end of all that was to come."""

    def __init__(
        self,
        stage: Stage,
        course: RecordedCourse,
        happenings: Sequence[Happening],
        *,
        at: Millis,
        quantile: int = 50,
        step: Millis = 1,
    ) -> None:
        self.stage, self.world, self.now = stage, stage.world, at
        self.outcomes = Outcomes(at)
        self._course, self._happenings, self._quantile = course, happenings, quantile
        self._step = step
        self._next = self._order = self._idle = 0
        self._facts = 0
        self._due: list[tuple[Millis, int, Due]] = []
        self._attempts: dict[str, int] = {}
        self._begin()

    def run(self, most: int | None = None, on_progress: Progress = lambda _done, _all: None) -> Outcomes:
        """Run until nothing more is to come, or for `most` turns; `on_progress` gets how many happenings of all are over."""
        left = most
        while left is None or left > 0:
            turns = _PROGRESS_EVERY if left is None else min(left, _PROGRESS_EVERY)
            if not self.go_on(turns):
                break
            left = None if left is None else left - turns
            on_progress(self._next, len(self._happenings))
        self.outcomes.close(self.now)
        return self.outcomes

    def go_on(self, turns: int) -> bool:
        """Take so many turns; whether anything is to come after them."""
        return all(self._turn() or self._jump() for _ in range(turns))

    @property
    def over(self) -> int:
        """How many happenings are over."""
        return self._next

    def _begin(self) -> None:
        """What is under way at the fork will go on: those that run will end, those that have to stop will be gone."""
        for key in sorted(self.world.workloads):
            workload = self.world.workloads[key]
            if workload.finished:
                continue
            self.outcomes.begin(self.world, workload, self._course.submitted.get(key, workload.created_at))
            if workload.admission is None:
                continue
            self._attempts[key] = 1
            self.outcomes.hold(key, workload.admission.cluster_queue, workload.admission.assignments, self.now)
            if workload.evicted:
                self._later(self._course.stop_delay, Due(key, "gone", 1))
            elif workload.admitted:
                began = workload.admitted_at if workload.admitted_at is not None else self.now
                run = self._course.run_of(key, self._quantile, elapsed=self.now - began)
                self._later(max(began + run - self.now, 0), Due(key, "finished", 1))
            for name in workload.admission.required_checks:
                status = workload.checks.get(name)
                if status is None or status.state is CheckState.PENDING:
                    self._later(self._course.check_delay.get(name, 0), Due(key, "check", 1, name))

    def _turn(self) -> bool:
        """Fold what is due, let each decider decide once; whether any did, or more is due."""
        more = self._fold_due()
        decisions = self.stage.turn(self.now)
        for event in decisions:
            self._react(event)
        return bool(decisions) or more

    def _fold_due(self) -> bool:
        most = self._facts + MOST_INPUTS
        while self._due and self._due[0][0] <= self.now and self._facts < most:
            self._befall(heapq.heappop(self._due)[2])
        happenings = self._happenings
        while self._next < len(happenings) and happenings[self._next].at <= self.now and self._facts < most:
            self._fold(happenings[self._next].fact)
            self._next += 1
        return self._facts >= most

    def _fold(self, fact: Fact) -> None:
        self._facts += 1
        self.stage.observe(fact, self.now)
        key = getattr(fact, "workload", "")
        if isinstance(fact, WorkloadDeleted):
            self.outcomes.gone(key, self.now)
        elif isinstance(fact, WorkloadSubmitted):
            self.outcomes.arrive(key, fact, self.now)

    def _befall(self, due: Due) -> None:
        workload = self.world.workloads.get(due.key)
        if workload is None or self._attempts.get(due.key, 0) != due.attempt:
            return
        match due.what:
            case "finished":
                self._fold(WorkloadFinished(workload=due.key, reason="Succeeded"))
                self._pods_go(due.key)
                self.outcomes.finish(due.key, self.now)
                if self._course.kept_for is not None:
                    self._later(self._course.kept_for, Due(due.key, "deleted", due.attempt))
            case "deleted":
                self._fold(WorkloadDeleted(workload=due.key))
            case "gone":
                self._fold(PodsGone(workload=due.key, decision=f"{SOLE.sole}/{workload.stops.stopped_by}"))
                self._pods_go(due.key)
            case "ready":
                self._fold(PodsReady(workload=due.key, ready=True))
            case _:
                ready = CheckStatus(name=due.check, state=CheckState.READY, since=self.now)
                self._fold(CheckReported(workload=due.key, check=ready))

    def _pods_go(self, key: str) -> None:
        for pod in sorted(self.world.cards.living.get(key, ())):
            namespace, _, name = pod.partition("/")
            self._fold(ObjectRemoved(kind="Pod", namespace=namespace, name=name))

    def _react(self, event: AnyEvent | Decision) -> None:
        match event:
            case WorkloadQueued() | WorkloadParked():
                self.outcomes.queue(event.workload, event.cluster_queue)
            case QuotaReserved():
                attempt = self._attempts[event.workload] = self._attempts.get(event.workload, 0) + 1
                self.outcomes.hold(event.workload, event.cluster_queue, event.assignments, self.now)
                for name in event.checks:
                    self._later(self._course.check_delay.get(name, 0), Due(event.workload, "check", attempt, name))
            case WorkloadAdmitted():
                attempt = self._attempts.get(event.workload, 0)
                self.outcomes.admit(event.workload, self.now)
                run = self._course.run_of(event.workload, self._quantile)
                self._later(run, Due(event.workload, "finished", attempt))
                if self.world.settings.pods_ready is not None:
                    self._later(min(self._course.start_delay, run), Due(event.workload, "ready", attempt))
            case PreemptionOrdered() | EvictionOrdered():
                attempt = self._attempts[event.workload] = self._attempts.get(event.workload, 0) + 1
                if isinstance(event, PreemptionOrdered):
                    self.outcomes.preempt(event.workload, event.preemptor, self.now)
                workload = self.world.workloads.get(event.workload)
                if workload is not None and workload.owner is not None and workload.admitted:
                    self._later(self._course.stop_delay, Due(event.workload, "gone", attempt))
            case QuotaReleased():
                self.outcomes.release(event.workload, self.now)
            case _:
                pass

    def _later(self, after: Millis, due: Due) -> None:
        self._order += 1
        heapq.heappush(self._due, (self.now + after, self._order, due))

    def _jump(self) -> bool:
        """Go to the next moment at which something happens; False when nothing will."""
        moments: list[Millis] = []
        if self._next < len(self._happenings):
            moments.append(self._happenings[self._next].at)
        if self._due:
            moments.append(self._due[0][0])
        self._idle = 0 if moments else self._idle + 1
        deadline = self.world.next_deadline()
        if deadline is not None and self._idle < _IDLE:
            moments.append(deadline)
        if not moments:
            return False
        # What happens within a step is seen at its end, all at once: of a long day nobody needs every millisecond.
        self.now = max(self.now, -(-min(moments) // self._step) * self._step)
        return True


_PROGRESS_EVERY = 100
_IDLE = 1_000
"""So many deadlines in a row, with nothing else to come, are waited for."""
