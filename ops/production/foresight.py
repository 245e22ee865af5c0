"""Answers managers of other clusters who ask what would happen to a workload here: tried with all deciders, and taken back.

Rule: docs/rules/multikueue.md#estimates
"""

import asyncio
from collections.abc import Sequence

import structlog

from events.admission import PreemptionRequested
from events.api.labels import ESTIMATE
from events.event import Millis
from events.json_object import object_at
from events.start_estimate import ASKED, ForeseenStart, StartEstimate, estimate_text
from events.workload import WorkloadSwitched
from ops.production.trial import settle_down, thought_of
from projections.evolve import evolve
from projections.explanation.pending import ahead_of
from projections.workloads.lifecycle import Workload
from projections.world import World
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Writer

log = structlog.get_logger()

_SOON: Millis = 500


def foresee(world: World, key: str, at: Millis) -> StartEstimate:
    """What would happen to a workload if it might be admitted from now on. The world is left as it was."""
    with world.trial(deciding=True):
        evolve(world, WorkloadSwitched(workload=key, active=True), thought_of(at))
        decisions = settle_down(world, at, lambda then: then.workloads[key].admitted)
        requested = [one for one in decisions if isinstance(one, PreemptionRequested) and one.workload == key]
        workload = world.workloads[key]
        if requested:
            return StartEstimate(start=ForeseenStart.PREEMPTING, others=len(requested[0].victims))
        if workload.reserved and not workload.evicted:
            return StartEstimate(start=ForeseenStart.NOW)
        return StartEstimate(start=ForeseenStart.LATER, others=len(ahead_of(world, workload, at)))


def may_ask(workload: Workload) -> bool:
    """Whether it may be a question: a manager of other clusters has made it, and it may not be admitted."""
    return bool(workload.spec.origin) and not (workload.spec.active or workload.reserved or workload.finished)


class Foresight:
    """Observes a partition, and answers each question in it once."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer, self._clock = writer, clock
        self._seen: dict[str, str] = {}
        """By workload that may be a question, the UID for which it was looked at."""
        self._asked: dict[str, StartEstimate] = {}
        self._news = asyncio.Event()

    def observe(self, world: World, touched: Sequence[str]) -> None:
        """Try what is new among these; called after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            if workload is None or not may_ask(workload):
                self._seen.pop(key, None)
                self._asked.pop(key, None)
            elif self._seen.get(key) != workload.uid:
                self._seen[key] = workload.uid
                try:
                    self._asked[key] = foresee(world, key, self._clock.now())
                except Exception as problem:  # noqa: BLE001 - whatever a workload holds, who asks is not answered, and goes on
                    log.error("not foreseen", workload=key, exc_info=problem)
                self._news.set()

    async def run(self) -> None:
        """Answer, until cancelled."""
        while True:
            self._news.clear()
            for key, found in list(self._asked.items()):
                try:
                    await self._answer(key, found)
                except (ClusterUnavailable, ObjectConflict) as problem:
                    log.info("not answered yet", workload=key, problem=str(problem))
                    continue
                except (ObjectMissing, ObjectInvalid) as problem:
                    log.info("not answered", workload=key, problem=str(problem))
                self._asked.pop(key, None)
            await self._clock.wait(self._news, self._clock.now() + _SOON if self._asked else None)

    async def _answer(self, key: str, found: StartEstimate) -> None:
        """Write it on a copy that asks; whatever else may not be admitted asks nothing."""
        namespace, _, name = key.partition("/")
        value = await self._writer.get(WORKLOADS, namespace, name)
        if object_at(value, "metadata", "annotations").get(ESTIMATE) != ASKED:
            return
        version = value["metadata"]["resourceVersion"]
        annotations = {ESTIMATE: estimate_text(found)}
        patch = {"metadata": {"resourceVersion": version, "annotations": annotations}}
        await self._writer.merge(WORKLOADS, namespace, name, patch)
