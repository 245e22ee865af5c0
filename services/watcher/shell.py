"""The watcher's shell: what is seen of each kind becomes facts, and every fact reaches the log."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import structlog

from events.catalogue import Fact
from events.control import ResourceVersionsRestarted
from events.json_object import JsonObject
from events.object_version import ObjectVersion, version_number
from events.settings import SettingsObserved
from projections.claims.counted import counts_claims
from projections.object_versions import NODE_USAGE, KnownVersion
from services.jobs.kinds.pods import is_managed, labels_of
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Changed, Listed, Reader, Resource, Sight, Vanished
from services.runtime.control_log import Control
from services.runtime.lease import Lease, LeaseLost
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.outbox import Outbox, OutboxMessage
from services.runtime.own_task import in_own_task, stopped
from services.runtime.partition.errors import MessageHalts
from services.runtime.partition.halts import REGRESSED, Halts
from services.runtime.shelf_port import Shelf
from services.runtime.tracing import NoTracer, Tracer
from services.watcher.claims.selectors import Selectors
from services.watcher.fact_messages import FactWriter, object_trigger, sight_trigger
from services.watcher.fields.problems import is_named
from services.watcher.first_sight import Begun, FirstSight
from services.watcher.jobs.last_seen_jobs import LastSeenJobs
from services.watcher.log_reading import AUTHOR, FellBehind, ReportedByAll
from services.watcher.long_lists import with_turns
from services.watcher.saved_view import ViewSaver
from services.watcher.seen_versions import DEPENDED_ON, SeenVersions, contradiction, place_in
from services.watcher.settings.installed_kinds import DEFINITIONS, InstalledKinds
from services.watcher.settings.watched_kinds import CONFIG_MAP, IF_INSTALLED, JOB_KINDS, PODS, WORKLOAD_KIND, seen_first
from services.watcher.view import View
from services.watcher.workloads.workload_objects import belongs_to_job, names_class

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
        self._selectors, self._counts = selectors, counts_claims(settings or SettingsObserved())
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
        self._seen = SeenVersions()
        self._reported = ReportedByAll(self.view, self._seen, self._control, self.halts)
        self._scribe = FactWriter(self.view, self._seen, self._reported.routes)
        self.outbox = Outbox(self._facts, self._clock, self._tracer)
        self._seeing = asyncio.Lock()
        self._jobs = LastSeenJobs()
        self._first = seen_first(self._settings or SettingsObserved())
        self._waiting = len(self._first) + 1 + len(JOB_KINDS)
        kinds = self.view.kinds
        self._definitions = InstalledKinds([*kinds.by_place.values(), *kinds.parents.values()], IF_INSTALLED)
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._tasks = asyncio.TaskGroup()

    def nudge(self) -> None:
        """Have it look again at what halts it, for instance after a quarantine."""
        self._reported.skips.set()

    def job(self, place: str) -> JsonObject | None:
        """A job as it was last seen, by `kind/namespace/name`; None where it was not."""
        return self._jobs.of(place)

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
            self._begin_anew()

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
            tasks.create_task(self._compare_usage())
            if self._saver is not None:
                tasks.create_task(self._saver.run(self._clock))
            if self._settings is not None and self._settings != self._reported.settings:
                await self._report("settings", [self._settings])
            pods = tasks.create_task(self._list(PODS))
            first: list[asyncio.Task[Begun]] = []
            for resource in self._first:
                first.append(tasks.create_task(self._begin(resource, first[-1] if first else None)))
            begun = [await task for task in first]
            for sights, resource in begun:
                tasks.create_task(self._go_on(resource, sights))
            # What pods hold of nodes is known before anybody asks for a place there.
            listed = await pods
            await self._count_pods(listed.sight)
            # What another manager has admitted is known before its job is looked at: nothing that runs is stopped.
            sights, workloads = await self._begin(WORKLOAD_KIND)
            tasks.create_task(self._go_on(workloads, sights))
            for resource in JOB_KINDS:
                tasks.create_task(self._watch(resource, listed if resource == PODS else None))
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
                self._begin_anew()
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
        if found.sight is not None:
            if before is not None:
                # Else a queue would be seen for a moment whose flavors are missing, and be shown so.
                await asyncio.wait({before})
            if isinstance(found.sight, Listed):
                await self._notice_restart(resource, found.sight, found.known)
            await self._see(resource, found.sight)
            await self.outbox.stored()
        self._one_listed()
        return found.sights, resource

    async def _count_pods(self, sight: Sight | None) -> None:
        """Report what the pods of the first list hold of nodes; the pods themselves are looked at later."""
        if isinstance(sight, Listed):
            async with self._seeing:
                self._seen.count_pods(version_number(sight.version))
                self.view.node_usage.count_all(one for one in sight.objects if is_named(one))
                await self._report_usage(sight_trigger(PODS, sight))
            await self.outbox.stored()

    async def _watch(self, resource: Resource, listed: FirstSight | None = None) -> None:
        sights, _ = await self._begin(resource, listed=listed)
        del listed
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
            await self._report(f"restarted:{found.version}", [restarted])
            await self.outbox.stored()

    def _one_listed(self) -> None:
        self._waiting -= 1
        if self._waiting == 0:
            self.listed.set()

    async def _see(self, resource: Resource, sight: Sight) -> None:
        """Derive the facts of a sight before anything later is looked at."""
        if resource == DEFINITIONS:
            await self._follow_definitions(sight)
            return
        async with self._seeing:
            match sight:
                case Listed():
                    await self._see_all(resource, sight)
                case Changed():
                    await self._see_one(resource, sight.object)
                case Vanished():
                    await self._lose(resource, sight.object)
            await self._report_usage(sight_trigger(resource, sight))

    async def _report_usage(self, trigger: str) -> None:
        """Report what pods hold of nodes, as far as nobody has seen more of them."""
        news = self.view.usage_news(but=lambda node: self._reported.outdated(self._usage_of(node)))
        if news:
            await self._report(trigger, news)

    async def _compare_usage(self) -> None:
        """Tell again what was told of nodes otherwise than is seen here, by who had seen less."""
        while True:
            await self._reported.usage_heard.wait()
            self._reported.usage_heard.clear()
            async with self._seeing:
                await self._report_usage(f"heard:{self._reported.position}")

    def _usage_of(self, node: str) -> ObjectVersion:
        return self._seen.about(f"Node//{node}", NODE_USAGE, epoch=self._reported.epoch)

    async def _follow_definitions(self, sight: Sight) -> None:
        """Watch the job kinds that are installed, and no others."""
        changed = self._definitions.see(sight)
        for resource in changed.leave:
            self._watching.pop(resource.kind).cancel()
            async with self._seeing:
                await self._see_all(resource, Listed([]))
        for resource in changed.watch:
            self._waiting += not self.listed.is_set()
            self._watching[resource.kind] = self._tasks.create_task(self._watch(resource))

    async def _see_all(self, resource: Resource, sight: Listed) -> None:
        kind, version = resource.kind, version_number(sight.version)
        objects = [one for one in sight.objects if is_named(one)]
        seen = {place_in(kind, one) for one in objects}
        for one in objects:
            self._seen.note(kind, one)
        self._seen.reach(kind, version)
        for place in self.view.places(kind):
            if place not in seen and (not resource.name or place.endswith(f"/{resource.name}")):
                await self._lose_place(place, self._about(place, version=version, gone=True))
        self.view.expect(kind, objects)
        changed = False
        async for one in with_turns(objects):
            facts = self._facts_of(resource, one)
            changed = changed or bool(facts)
            await self.outbox.put(self._letters(f"{object_trigger(one)}:{sight.version}", facts))
        await self._report(f"{kind}:settled:{sight.version}", self.view.settle(kind))
        if changed:
            await self._see_dependents(kind, f"{kind}:{sight.version}")
        await self._count_claims(f"{kind}:{sight.version}")

    async def _see_one(self, resource: Resource, value: JsonObject) -> None:
        if not is_named(value):
            log.warning("an object without a name is left alone", kind=resource.kind)
            return
        self._seen.note(resource.kind, value)
        if resource.kind == PODS.kind:
            # Whatever others have told of it: what is held goes by what is seen here, as far as it is seen here.
            self.view.node_usage.see(value)
        facts = self._facts_of(resource, value)
        await self.outbox.put(self._letters(object_trigger(value), facts))
        if facts:
            await self._see_dependents(resource.kind, object_trigger(value))
        await self._count_claims(object_trigger(value))

    async def _see_dependents(self, kind: str, version: str) -> None:
        """Look again at all jobs, whose meaning depends on what has changed."""
        if self.view.claims.holds(kind):
            return  # Who claims devices is looked at by itself (`_count_claims`).
        if kind in DEPENDED_ON and (kind != "Namespace" or self.view.chooses):
            await self._look_again(self._jobs.places(), version)

    async def _count_claims(self, version: str) -> None:
        """Look again at those whose pods claim devices, after a change of what these are counted by."""
        if self.view.claims.changed:
            self.view.claims.changed = False
            await self._look_again(filter(self.view.claims_at, self._jobs.places()), version)

    async def _look_again(self, places: Iterable[str], version: str) -> None:
        for place in places:
            if (job := self._jobs.of(place)) is not None:
                again = self.view.look_at(place.split("/", 1)[0], job)
                await self.outbox.put(self._letters(f"{object_trigger(job)}:{version}", again))

    async def _lose(self, resource: Resource, value: JsonObject) -> None:
        if not is_named(value):
            return
        meta, place = value["metadata"], place_in(resource.kind, value)
        version = version_number(meta.get("resourceVersion"))
        about = self._about(place, uid=meta.get("uid", ""), version=version, gone=True)
        self._seen.forget(resource.kind, value)
        if resource.kind == PODS.kind:
            self.view.node_usage.lose(about.namespace, about.name)
        await self._lose_place(place, about)
        await self._count_claims(f"{place}:{about.uid}:{about.version}:gone")

    async def _lose_place(self, place: str, about: ObjectVersion) -> None:
        if self._reported.outdated(about):
            return  # Somebody has seen another of that name since.
        self._jobs.forget(place)
        facts = self.view.lose(*place.split("/", 2))
        await self.outbox.put(self._letters(f"{place}:{about.uid}:{about.version}:gone", facts, lost=about))

    def _facts_of(self, resource: Resource, value: JsonObject) -> list[Fact]:
        place = place_in(resource.kind, value)
        if self._reported.outdated(self._about(place)):
            return []  # Another watcher has reported a newer version; it is on its way to us, too.
        kinds = self.view.kinds
        managed = is_managed(value) if resource.kind == "Pod" else resource.kind in kinds.by_place
        depends = resource == WORKLOAD_KIND and not belongs_to_job(value) and (self._counts or names_class(value))
        if managed or depends or (resource.kind in kinds.parents and kinds.takes_serving(labels_of(value))):
            self._jobs.note(place, value)
        return self.view.see(resource.kind, value)

    async def _report(self, trigger: str, facts: Sequence[Fact]) -> None:
        await self.outbox.put(self._letters(trigger, facts))

    def _letters(
        self, trigger: str, facts: Iterable[Fact], *, lost: ObjectVersion | None = None
    ) -> list[OutboxMessage]:
        sightings = self._scribe.sightings(
            trigger, list(facts), self._clock.now(), lost=lost, epoch=self._reported.epoch
        )
        self.view.left.clear()
        self._reported.send(sightings)
        return [self._scribe.letter(one) for one in sightings]

    def _about(self, place: str, *, uid: str = "", version: int = 0, gone: bool = False) -> ObjectVersion:
        kind, namespace, name = place.split("/", 2)
        found = version or self._seen.version_of(place)
        context = 0 if gone else self._seen.context
        epoch = self._reported.epoch
        return ObjectVersion(
            kind=kind, namespace=namespace, name=name, uid=uid, version=found, context=context, gone=gone, epoch=epoch
        )
