"""The decision core in virtual time: arrivals and run times as a load says, a decision costs the CPU time that it takes.

Facts are folded when their time has come, then one of queue manager, admitter and preemptor decides, as on a partition.
Nothing is written anywhere: this measures deciding and folding alone.
"""

import heapq
import resource
import time
from collections.abc import Callable
from statistics import mean, median

import msgspec
import psutil

from events.admission import QuotaReserved, WorkloadAdmitted
from events.catalogue import Decision
from events.preemption import PreemptionOrdered
from events.workload import QuotaReleased, WorkloadFinished
from ops.production.deciders import quota_deciders
from ops.production.process.memory_tuning import tune_memory
from ops.sandbox.bench.load import GeneratedLoad, arrivals_of, capacity_of, platform_of
from ops.sandbox.bench.percentiles import p99
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.partition.host import MOST_INPUTS

_PARTITION = "LOG_bench"


class SchedulerFigures(msgspec.Struct, kw_only=True):
    """What one run measured. Times in seconds where the name says so, else in milliseconds."""

    workloads: int = 0
    finished: int = 0
    admissions: int = 0
    evictions: int = 0
    decisions: int = 0
    cpu_s: float = 0
    """CPU time spent deciding and folding, which a busy machine does not change as it does the wall's."""
    virtual_s: float = 0
    """From the first arrival to the last end."""
    admissions_per_s: float = 0
    turns: int = 0
    turn_p50_ms: float = 0
    turn_p99_ms: float = 0
    turn_max_ms: float = 0
    time_to_admission_s: dict[str, float] = {}
    evictions_per_finished: float = 0
    average_use: float = 0
    """Part of all quota that was in use, over the virtual time."""
    useful_use: float = 0
    """The same without the work that evictions threw away."""
    least_s: float = 0
    """No rule could end sooner: work over quota, or the last arrival and its run time."""
    most_use: float = 0
    """The useful use if it ended then."""
    pending: int = 0
    """Workloads that wait at the end."""
    peak_memory_mib: float = 0
    load_before: float = 0
    load_after: float = 0


class SchedulerRun:
    """One run of a load."""

    def __init__(self, load: GeneratedLoad, *, seed: int = 0, at_once: bool = False) -> None:
        self.world = World()
        self.now = 0.0
        """Virtual time in milliseconds."""
        self.figures = SchedulerFigures()
        self._arrivals = arrivals_of(load, seed, at_once=at_once)
        self._by_key = {arrival.fact.workload: arrival for arrival in self._arrivals}
        self._capacity = capacity_of(load)
        self._deciders = quota_deciders()
        self._next = 0
        self._ends: list[tuple[float, int, str]] = []
        self._attempt: dict[str, int] = {}
        self._held_since: dict[str, float] = {}
        self._used = 0.0
        self._admitted: set[str] = set()
        self._done: set[str] = set()
        self._waited: dict[str, list[float]] = {}
        self._turns: list[float] = []
        self._sequence = self._facts = 0
        self._whose = self._silent = 0
        for fact in platform_of(load):
            evolve(self.world, fact, self._place_of_fact())
        self.world.quota.trees()

    @property
    def done(self) -> bool:
        """Every workload has finished."""
        return self.figures.finished == len(self._arrivals)

    @property
    def size(self) -> int:
        """How many workloads there are."""
        return len(self._arrivals)

    def run(self, until_s: float = 0, on_progress: Callable[[int], None] = lambda _: None) -> SchedulerFigures:
        """Play the load to its end, or for so many seconds of virtual time; `on_progress` gets how many have finished."""
        figures = self.figures
        figures.workloads, figures.load_before = len(self._arrivals), psutil.getloadavg()[0]
        tune_memory()
        while not self.done and not (until_s and self.now >= until_s * 1000):
            on_progress(figures.finished)
            if not self._turn() and not self._jump():
                break
        self._close()
        return figures

    def _close(self) -> None:
        figures = self.figures
        figures.virtual_s = self.now / 1000
        figures.turns = len(self._turns)
        figures.cpu_s = sum(self._turns) / 1000
        figures.admissions_per_s = figures.admissions / figures.cpu_s
        figures.turn_p50_ms, figures.turn_max_ms = median(self._turns), max(self._turns)
        figures.turn_p99_ms = p99(self._turns)
        figures.time_to_admission_s = {kind: mean(times) / 1000 for kind, times in sorted(self._waited.items())}
        figures.average_use = self._used / (self._capacity * self.now)
        figures.peak_memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures.load_after = psutil.getloadavg()[0]
        figures.evictions_per_finished = figures.evictions / max(figures.finished, 1)
        figures.pending = sum(not one.reserved and not one.finished for one in self.world.workloads.values())
        done = [one for key, one in self._by_key.items() if key in self._done]
        figures.useful_use = sum(one.asked * one.runtime for one in done) / (self._capacity * self.now)
        work = sum(one.asked * one.runtime for one in self._arrivals)
        least = max(work / self._capacity, max(one.at + one.runtime for one in self._arrivals))
        figures.least_s, figures.most_use = least / 1000, work / (self._capacity * least)

    def _turn(self) -> bool:
        """Fold what is due, let the next decider decide; whether another turn may decide anything."""
        before = time.process_time()
        facts_before = self._facts
        self._fold_due()
        at = int(self.now)
        self.world.advance(at)
        decider = self._deciders[self._whose]
        self._whose = (self._whose + 1) % len(self._deciders)
        decisions = decider.decide(self.world, LogPosition(partition=_PARTITION, sequence=self._sequence + 1, at=at))
        self._silent = 0 if decisions or self._facts > facts_before else self._silent + 1
        self._sequence += bool(decisions)
        self.world.settle()
        silent = self._silent >= len(self._deciders)
        if silent:
            self.world.leave_cards()
        took = (time.process_time() - before) * 1000
        self.now += took
        self._turns.append(took)
        for event in decisions:
            self._note(event)
        self.figures.decisions += len(decisions)
        return not silent

    def _fold_due(self) -> None:
        most = self._facts + MOST_INPUTS
        while self._ends and self._ends[0][0] <= self.now and self._facts < most:
            at, attempt, key = heapq.heappop(self._ends)
            if self._attempt.get(key) == attempt:
                evolve(self.world, WorkloadFinished(workload=key, reason="Succeeded"), self._place_of_fact())
                self._let_go(key, at)
                self._done.add(key)
                self.figures.finished += 1
        while self._next < len(self._arrivals) and self._arrivals[self._next].at <= self.now and self._facts < most:
            evolve(self.world, self._arrivals[self._next].fact, self._place_of_fact())
            self._next += 1

    def _note(self, event: Decision) -> None:
        match event:
            case QuotaReserved():
                self._held_since[event.workload] = self.now
            case WorkloadAdmitted():
                self.figures.admissions += 1
                arrival = self._by_key[event.workload]
                attempt = self._attempt[event.workload] = self.figures.admissions
                heapq.heappush(self._ends, (self.now + arrival.runtime, attempt, event.workload))
                if event.workload not in self._held_since:
                    self._held_since[event.workload] = self.now
                if event.workload not in self._admitted:
                    self._admitted.add(event.workload)
                    self._waited.setdefault(arrival.kind, []).append(self.now - arrival.at)
            case PreemptionOrdered():
                self.figures.evictions += 1
                self._attempt.pop(event.workload, None)
            case QuotaReleased():
                self._let_go(event.workload, self.now)
            case _:
                pass

    def _let_go(self, key: str, at: float) -> None:
        since = self._held_since.pop(key, None)
        if since is not None:
            self._used += self._by_key[key].asked * max(at - since, 0)

    def _jump(self) -> bool:
        """Go to the next moment at which something happens; False when nothing will."""
        moments: list[float] = []
        if self._next < len(self._arrivals):
            moments.append(self._arrivals[self._next].at)
        if self._ends:
            moments.append(self._ends[0][0])
        deadline = self.world.next_deadline()
        if deadline is not None:
            moments.append(deadline)
        if not moments:
            return False
        self.now = max(self.now, min(moments))
        return True

    def _place_of_fact(self) -> LogPosition:
        self._facts += 1
        return LogPosition(partition="FACTS", sequence=self._facts, at=int(self.now))
