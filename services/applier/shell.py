"""The applier's shell: the only service that writes to Kubernetes, and in which order.

What was written is reported as a fact. After a restart, decisions that were not applied yet are found on the log.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import structlog

from events.application import FAILED, FAILED_TO_START, DecisionApplied, DecisionRejected
from events.commit import Sighting
from projections.partitions.homes import leads
from services.applier.backlog import Backlog
from services.applier.decisions import Decisions
from services.applier.events.budget_events import BudgetEvents
from services.applier.events.cluster_events import refusal_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.known_jobs import SeenJobs
from services.applier.plan import Application, plan
from services.applier.pods.forced_pods import ForcedPods
from services.applier.pods.pod_finalizers import PodKeeper
from services.applier.pods.pod_gates import PodGates
from services.applier.pods.stranded_pods import StrandedPods
from services.applier.refused_jobs import RefusedJobs
from services.applier.state import ApplierState
from services.applier.workloads.workload_finalizers import WorkloadKeeper
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writes.write_limit import LEAST, MOST
from services.applier.writing import ApplicationWriter, Ended
from services.jobs.pod_sets.updates import UpdateConflict
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Writer
from services.runtime.fact_message import fact_message
from services.runtime.log_port import Stream
from services.runtime.outbox import Outbox, OutboxMessage
from services.runtime.partition.guard import error_summary
from services.runtime.tracing import NoTracer, Tracer

log = structlog.get_logger()

Outcome: TypeAlias = DecisionApplied | DecisionRejected
APPLIED, REJECTED = "applied", "rejected"


class Applier:
    """Applies the decisions in a partition's world: several workloads at once, but each by one task at a time.

    The status of a waiting workload that has never held quota is written with low priority; only its job is stopped at once
    if it runs.
    """

    def __init__(
        self,
        writer: Writer,
        facts: Stream,
        clock: Clock,
        partition: str,
        spare: LowPriorityWrites,
        tracer: Tracer | None = None,
        seen: SeenJobs = lambda _: None,
        decisions: Decisions | None = None,
    ) -> None:
        """`decisions`: those of the partition, to cite commits and to see later ones; None where neither is done."""
        self._clock, self._partition, self._spare = clock, partition, spare
        self._tracer = tracer or NoTracer()
        self.outbox = Outbox(facts, clock, self._tracer)
        self._homes: Mapping[str, str] = {}
        """By namespace the partition that alone has to hear of its workloads, as of the facts that are stored."""
        self._notices = EventRecorder(writer, spare, clock)
        self._budgets = BudgetEvents()
        self._workloads = WorkloadKeeper(writer, clock, spare)
        self._write = ApplicationWriter(writer, self._notices, self._workloads, seen, decisions)
        self._pods = PodKeeper(writer, clock, spare, self._notices)
        self._gates = PodGates(writer, clock, spare)
        self._stranded = StrandedPods(writer, clock, spare, self._notices)
        self._forced = ForcedPods(writer, clock, spare, self._notices)
        self._refused = RefusedJobs(writer, clock, self._notices)
        self.backlog = Backlog()
        self.results: Counter[str] = Counter()
        """How many applications were reported as what, since this process began."""
        self.settled: dict[str, tuple[int, int, bool, tuple[str, ...]]] = {}
        """What was settled of workloads, until the log says so."""
        self._news, self._idle_news = asyncio.Semaphore(0), asyncio.Event()
        """Each piece of news is for one worker: of sixteen that were woken by it fifteen would find nothing."""
        self._refusals = asyncio.Event()
        """Set when something was not taken."""

    def observe(self, world: ApplierState, touched: Sequence[str]) -> None:
        """Take up what is to be applied; called after each turn of the partition."""
        self._homes = world.namespace_homes
        planned = plan(world, self._partition, touched)
        for key in {*touched}.difference(one.workload for one in planned):
            self.backlog.drop(key)
            self.settled.pop(key, None)
            if (known := world.workloads.get(key)) is None or known.finished:
                self._write.forget(key)
        for application in planned:
            if self.settled.get(application.workload) != application.state:
                self.backlog.offer(application, self._clock.now())
                self._wake()
        self._pods.observe(world)
        self._workloads.observe(world)
        self._gates.observe(world, touched)
        self._stranded.observe(world, touched)
        self._forced.observe(world)
        self._notices.record_all(self._budgets.news(world))
        for place in world.refused_work.take("applier") if leads(world) else ():
            if (refused := world.refused.get(place)) is not None:
                self._refused.observe(world, place, refused)
                if not refused.owner:  # Else it is understood, and told when it is stopped.
                    self._notices.record(refusal_event(refused, self._clock.now()))

    async def run(self) -> None:
        """Bring what was decided to the cluster, a few workloads at a time, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(MOST):
                tasks.create_task(self._work())
            for _ in range(LEAST):
                tasks.create_task(self._work_again())
            tasks.create_task(self._work_in_spare_time())
            tasks.create_task(self._notices.run())
            tasks.create_task(self.outbox.run())
            tasks.create_task(self._pods.run())
            tasks.create_task(self._workloads.run())
            tasks.create_task(self._gates.run())
            tasks.create_task(self._stranded.run())
            tasks.create_task(self._forced.run())
            tasks.create_task(self._refused.run())

    def _wake(self) -> None:
        if self._news.locked():  # Else somebody is about to look already.
            self._news.release()
        self._idle_news.set()

    async def _work(self) -> None:
        while True:
            application = self.backlog.soon() if self.backlog.under_way < self._write.limit.at_once else None
            if application is None:
                await self._news.acquire()
                continue
            await self._do_soon(application)

    async def _work_again(self) -> None:
        """Try again what was not taken, beside all that is: whose objects can't be written keeps nobody else waiting."""
        while True:
            now = self._clock.now()
            application = self.backlog.again(now)
            if application is None:
                self._refusals.clear()
                await self._clock.wait(self._refusals, self.backlog.due(now))
                continue
            await self._do_soon(application)

    async def _do_soon(self, application: Application) -> None:
        try:
            with self._spare.first():
                await self._apply_soon(application)
        finally:
            self.backlog.done(application, self._clock.now())
            self._wake()

    async def _apply_soon(self, application: Application) -> None:
        if application.broken:
            await self._settle(application, _rejected(application, FAILED, application.broken))
        elif not application.waits or self._is_alone(application):
            await self._apply(application, self._write.write)
        elif await self._attempt(application, self._write.steer_job) is not None:
            self.backlog.defer(application)

    def _is_alone(self, application: Application) -> bool:
        """Whether nothing else is to be written, and the object of a new job is not there: it may be let in by the time that it is made."""
        return application.fresh and application.is_ours and self.backlog.urgent == 1 and not self.backlog.low

    async def _work_in_spare_time(self) -> None:
        while True:
            # Before it is looked: a turn ends with a rest, and what comes within that has to wake this, too.
            self._idle_news.clear()
            async with self._spare.turn():
                now = self._clock.now()
                application = self.backlog.later(now)
                if application is not None:
                    try:
                        await self._apply(application, self._write.show)
                    finally:
                        self.backlog.done(application, self._clock.now())
                        self._wake()
            if application is None:
                await self._clock.wait(self._idle_news, self.backlog.later_due(now))

    async def _apply(self, application: Application, write: Callable[[Application], Awaitable[Ended]]) -> None:
        """Write what was decided of one workload, and report on the log that it is done or can't be."""
        ended = await self._attempt(application, write)
        # Who was let in meanwhile is written next, and what that comes to is reported for both.
        if ended is not None and not (application.waits and self.backlog.queued(application.workload)):
            await self._settle(
                application,
                DecisionApplied(
                    workload=application.workload,
                    partition=application.partition,
                    sequence=application.sequence,
                    finished=application.finished,
                    seen=application.seen,
                    version=self._write.version_of(application.workload),
                    ended=ended,
                ),
            )

    async def _attempt(
        self, application: Application, write: Callable[[Application], Awaitable[Ended]]
    ) -> Ended | None:
        """Write it; None when it is refused, which is reported, or is not taken now and tried again later."""
        if application.nothing_decided:
            return await self._written(application, write)
        with self._tracer.application(application.of, application.sequence):
            ended = await self._written(application, write)
        if ended is not None and application.starts:
            self._tracer.started(application.of)
        return ended

    async def _written(
        self, application: Application, write: Callable[[Application], Awaitable[Ended]]
    ) -> Ended | None:
        try:
            ended = await write(application)
        except (ClusterUnavailable, ObjectConflict) as problem:
            log.warning(
                "not applied yet",
                workload=application.workload,
                sequence=application.sequence,
                problem=str(problem),
            )
            # Who has changed an object meanwhile has changed no other one.
            alone = isinstance(problem, ObjectConflict)
            self.backlog.refused(application, self._clock.now(), alone=alone)
            self._refusals.set()
            return None
        except ObjectMissing:
            problem = "the job or the workload is not in the cluster any more"
            await self._settle(application, _rejected(application, "Missing", problem))
        except UpdateConflict as problem:
            log.error("not started", workload=application.workload, sequence=application.sequence, problem=str(problem))
            await self._settle(application, _rejected(application, FAILED_TO_START, str(problem)))
        except ObjectInvalid as problem:
            log.error("rejected", workload=application.workload, sequence=application.sequence, problem=str(problem))
            await self._settle(application, _rejected(application, "Invalid", str(problem)))
        except Exception as problem:  # noqa: BLE001 - whatever a workload holds, all others are applied
            log.error("failed on a workload", workload=application.workload, exc_info=problem)
            await self._settle(application, _rejected(application, FAILED, error_summary(problem)))
        else:
            self.backlog.taken(application)
            return ended
        self.backlog.taken(application)
        return None

    async def _settle(self, application: Application, fact: Outcome) -> None:
        self.settled[application.workload] = application.state
        self.results[APPLIED if isinstance(fact, DecisionApplied) else REJECTED] += 1
        kind, ending = type(fact).__name__, ":finished" if application.finished else ""
        sighting = Sighting(
            id=f"{application.workload}:{application.decision}:{application.seen}:{kind}{ending}",
            at=self._clock.now(),
            author="applier",
            cause=application.decision,
            fact=fact,
        )
        traced = "" if application.nothing_decided else application.of.uid
        to = self._homes.get(application.workload.partition("/")[0], "")
        await self.outbox.put([OutboxMessage(application.workload, fact_message(sighting, to=to), traced)])


def _rejected(application: Application, reason: str, message: str) -> DecisionRejected:
    return DecisionRejected(
        workload=application.workload,
        partition=application.partition,
        sequence=application.sequence,
        reason=reason,
        message=message,
    )
