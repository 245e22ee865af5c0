"""The watcher's shell: what is seen of each kind becomes facts, and every fact reaches the log."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import structlog

from events.control import ResourceVersionsRestarted
from events.json_object import JsonObject
from events.object_version import version_number
from events.settings import SettingsObserved
from projections.claims.counted import counts_claims
from projections.object_versions import KnownVersion
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Listed, Reader, Resource, Sight
from services.runtime.control_log import Control
from services.runtime.lease import Lease, LeaseLost
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.outbox import Outbox
from services.runtime.own_task import in_own_task, stopped
from services.runtime.partition.errors import MessageHalts
from services.runtime.partition.halts import REGRESSED, Halts
from services.runtime.shelf_port import Shelf
from services.runtime.tracing import NoTracer, Tracer
from services.watcher.claims.selectors import Selectors
from services.watcher.first_sight import Begun, FirstSight
from services.watcher.log_reading import AUTHOR, FellBehind, ReportedByAll
from services.watcher.saved_view import ViewSaver
from services.watcher.seen_versions import SeenVersions, contradiction
from services.watcher.settings.installed_kinds import DEFINITIONS
from services.watcher.settings.watched_kinds import (
    CONFIG_MAP,
    IF_INSTALLED,
    JOB_KINDS,
    PODS,
    WORKLOAD_KIND,
    optional_kinds,
    owners_first,
    seen_first,
)
from services.watcher.sight_reporting import SightReporter
from services.watcher.view import View

log = structlog.get_logger()

_RETRY_MS = 500
_FIRST_LIST_S = 10.0


class Watcher:
    """Turns sights into facts on the FACTS stream. Several watchers report the same facts under the same ids."""

    def __init__(
        self,
        reader: Reader,
        facts: Stream,
        clock: Clock,
        *,
        settings: SettingsObserved | None = None,
        shelf: Shelf | None = None,
        control: Control | None = None,
        tracer: Tracer | None = None,
        lease: Lease | None = None,
        selectors: Selectors | None = None,
    ) -> None:
        self.listed = asyncio.Event()
        """Set when every kind has been listed once and all of it was reported, or when another replica watches."""
        self._lease = lease
        self._reader, self._facts, self._clock, self._settings = reader, facts, clock, settings
        self._selectors = selectors
        self._saver = None if shelf is None else ViewSaver(facts, shelf, settings, self._blank)
        self._control, self._tracer = control or Control(), tracer or NoTracer()
        self.halts = Halts(AUTHOR)
        """What keeps it from reading the facts on the log."""
        self._begin_anew()
        if lease is not None:
            lease.readiness = lambda: self.halts.readiness_to_report(lease.standbys())

    def _blank(self) -> ReportedByAll:
        return ReportedByAll(View(settings=self._settings, selectors=self._selectors), SeenVersions(), self._control)

    def _begin_anew(self) -> None:
        self.view = View(settings=self._settings, selectors=self._selectors)
        self._reported = ReportedByAll(self.view, SeenVersions(), self._control, self.halts)
        self.outbox = Outbox(self._facts, self._clock, self._tracer)
        counts = counts_claims(self._settings or SettingsObserved())
        self._sights = SightReporter(self._reported, self.outbox, self._clock, counts_claims=counts)
        self._first = seen_first(self._settings or SettingsObserved())
        self._waiting = len(self._first) + len((DEFINITIONS, WORKLOAD_KIND)) + len(JOB_KINDS)
        self._definitions = optional_kinds(self.view.kinds)
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._begun_last: asyncio.Task[Begun] | None = None
        """The first look at the kind that was asked for last."""
        self._behind_workloads: list[Resource] | None = []
        """Kinds of jobs that are installed, while Workloads were not looked at yet."""
        self._tasks = asyncio.TaskGroup()

    def _begin_again(self) -> None:
        self.view.let_go()
        self._begin_anew()

    def nudge(self) -> None:
        """Have it look again at what halts it, for instance after a quarantine."""
        self._reported.skips.set()

    def job(self, place: str) -> JsonObject | None:
        """A job as it was last seen, by `kind/namespace/name`; None where it was not."""
        return self._sights.job(place)

    async def run(self) -> None:
        """Watch every kind until cancelled; begin anew after facts of this watcher turned out to be older than others'."""
        while True:
            if self._lease is not None:
                await self._turn(self._lease)
            try:
                await in_own_task(self._live())
            except* FellBehind as behind:
                log.warning("looks at everything anew", why=str(behind.exceptions[0]))
            except* LeaseLost:
                log.info("another replica watches")
            else:
                return
            await self._clock.sleep(_RETRY_MS)
            self._begin_again()

    async def _turn(self, lease: Lease) -> None:
        # Who gave it back because it could not read on takes it again when it can.
        reading = asyncio.create_task(self._read_back() if self.halts.reason else asyncio.sleep(0))
        try:
            # While another watches, who decides here need not wait for what this one would see.
            await lease.turn(otherwise=self.listed.set)
        finally:
            await stopped(reading)

    async def _live(self) -> None:
        await self._read_back()
        async with self._tasks as tasks:
            if self._lease is not None:
                tasks.create_task(self._lease.keep())
            tasks.create_task(self.outbox.run())
            tasks.create_task(self._reported.follow(self._facts))
            tasks.create_task(self._sights.compare_usage())
            tasks.create_task(self._sights.look_at_large_groups())
            if self._saver is not None:
                tasks.create_task(self._saver.run(self._clock))
            if self._settings is not None and self._settings != self._reported.settings:
                # Told again after others were in force, they are no repetition, for which the bus takes what has the same id.
                await self._sights.report(f"settings:{self._reported.position}", [self._settings])
            pods = tasks.create_task(self._list(PODS))
            first: list[asyncio.Task[Begun]] = []
            for resource in self._first:
                first.append(tasks.create_task(self._begin(resource, first[-1] if first else None)))
            begun = [await task for task in first]
            for sights, resource in begun:
                tasks.create_task(self._go_on(resource, sights))
            # What pods hold of nodes is known before anybody asks for a place there.
            listed = await pods
            if isinstance(listed.sight, Listed):
                await self._sights.count_pods(listed.sight)
                await self.outbox.stored()
            # What another manager has asked an autoscaler for is known before those for whom it is asked: else it is asked again.
            sights, definitions = await self._begin(DEFINITIONS)
            tasks.create_task(self._go_on(definitions, sights))
            if self._begun_last is not None:
                await asyncio.wait({self._begun_last})
            # What another manager has admitted is known before its job is looked at: nothing that runs is stopped.
            sights, workloads = await self._begin(WORKLOAD_KIND)
            tasks.create_task(self._go_on(workloads, sights))
            held_back, self._behind_workloads = self._behind_workloads or [], None
            for resource in (*owners_first(held_back), *JOB_KINDS):
                self._watch_behind(resource, listed if resource == PODS else None)
            del pods, listed  # What is listed is held no longer than it takes to look at it.

    async def _read_back(self) -> None:
        """Fold the facts that are on the log already, so that only differences are reported."""
        while True:
            try:
                if self._saver is not None and not self._reported.position:
                    await self._saver.restore(self._reported)
                await self._reported.read_back(self._facts)
            except LogUnavailable as problem:
                log.warning("log unavailable", problem=str(problem))
                await self._clock.sleep(_RETRY_MS)
            except MessageHalts as problem:
                await self._reported.halted_by(problem)
            except (LogGap, LogRegressed) as problem:
                # Another process may be restoring what is missing; else this one has to be restarted.
                self.halts.halt(REGRESSED, str(problem))
                await self._clock.sleep(_RETRY_MS)
                self._begin_again()
            else:
                self._reported.reads_on()
                self.halts.lift(REGRESSED)
                return

    async def _list(self, resource: Resource) -> FirstSight:
        """Begin to watch a kind; what is there when it can't be listed in time comes later, with the watch."""
        known = self._reported.known_of(resource.kind)
        sights = self._reader.watch(resource)
        try:
            async with asyncio.timeout(_FIRST_LIST_S):
                return FirstSight(sights, await anext(sights), known)
        except TimeoutError:
            return FirstSight(self._reader.watch(resource), None, known)

    async def _begin(
        self, resource: Resource, before: "asyncio.Task[Any] | None" = None, listed: FirstSight | None = None
    ) -> Begun:
        """Report the first list of a kind after those of others; a kind that is not installed is not waited for."""
        found = listed or await self._list(resource)
        if before is not None:
            # Else a queue would be seen for a moment whose flavors are missing, and be shown so.
            await asyncio.wait({before})
        if found.sight is not None:
            if isinstance(found.sight, Listed):
                await self._notice_restart(resource, found.sight, found.known)
            await self._see(resource, found.sight)
            await self.outbox.stored()
        self._one_listed()
        return found.sights, resource

    def _watch_behind(self, resource: Resource, listed: FirstSight | None = None) -> None:
        """Watch a kind, and look at it first when all of those were looked at that were asked for before."""
        self._begun_last = begun = self._tasks.create_task(self._begin(resource, self._begun_last, listed))
        self._watching[resource.kind] = self._tasks.create_task(self._watch(begun))

    async def _watch(self, begun: asyncio.Task[Begun]) -> None:
        sights, resource = await begun
        await self._go_on(resource, sights)

    async def _go_on(self, resource: Resource, sights: AsyncIterator[Sight]) -> None:
        async for sight in sights:
            if isinstance(sight, Listed) and contradiction(
                sight, self._reported.known_of(resource.kind), resource.kind
            ):
                # Another watcher may have reported what is newer than this list. Listed again, it is certain.
                raise FellBehind(f"{resource.kind} was listed at an older version than was reported")
            cards = self.view.cards
            await self._see(resource, sight)
            if resource.kind == CONFIG_MAP and self.view.cards is not cards:
                await self.outbox.stored()
                raise FellBehind("what nodes and pods say of cards is read by HAMi's configuration, which has changed")
            if self.view.node_usage.missed:
                await self.outbox.stored()
                raise FellBehind("a flavor has a topology by now: what pods hold of nodes has to be counted")
            del sight  # The next may be long in coming.

    async def _notice_restart(self, resource: Resource, found: Listed, known: Mapping[str, KnownVersion]) -> None:
        """Report a restored cluster: it lists an older version than was reported before it was asked."""
        version = contradiction(found, known, resource.kind)
        if version and self._reported.begins_epoch():
            restarted = ResourceVersionsRestarted(
                epoch=self._reported.epoch, kind=resource.kind, listed=version_number(found.version), known=version
            )
            log.warning("resourceVersions begin anew", kind=resource.kind, known=version)
            await self._sights.report(f"restarted:{found.version}", [restarted])
            await self.outbox.stored()

    def _one_listed(self) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self.listed.set()

    async def _see(self, resource: Resource, sight: Sight) -> None:
        if resource == DEFINITIONS:
            await self._follow_definitions(sight)
        else:
            await self._sights.see(resource, sight)

    async def _follow_definitions(self, sight: Sight) -> None:
        """Watch the kinds that are installed, and no others; those of jobs behind Workloads, and what both are read with before them."""
        changed = self._definitions.see(sight)
        for resource in changed.leave:
            if (watching := self._watching.pop(resource.kind, None)) is not None:
                watching.cancel()
            elif self._behind_workloads:
                self._behind_workloads.remove(resource)
            await self._sights.see(resource, Listed([]))
        for resource in owners_first(changed.watch):
            self._waiting += not self.listed.is_set()
            if self._behind_workloads is None or resource in IF_INSTALLED:
                self._watch_behind(resource)
            else:
                self._behind_workloads.append(resource)
