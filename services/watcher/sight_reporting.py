"""What is seen of objects, as facts on their way to the log: of each sight those in which it differs from what was reported."""

import asyncio
from collections.abc import Iterable, Sequence, Set

import structlog

from events.catalogue import Fact
from events.json_object import JsonObject
from events.object_version import ObjectVersion, version_number
from projections.object_versions import NODE_USAGE
from services.jobs.kinds.pods import is_managed, labels_of
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import Changed, Listed, Resource, Sight, Vanished
from services.runtime.outbox import Outbox, OutboxMessage
from services.watcher.fact_messages import FactWriter, object_trigger, sight_trigger
from services.watcher.fields.problems import is_named
from services.watcher.jobs.last_seen_jobs import LastSeenJobs
from services.watcher.log_reading import ReportedByAll
from services.watcher.long_lists import with_turns
from services.watcher.seen_versions import DEPENDED_ON, namespace_meant, place_in
from services.watcher.settings.watched_kinds import PODS, WORKLOAD_KIND
from services.watcher.workloads.workload_objects import belongs_to_job, names_class

log = structlog.get_logger()

_ANY_GROUP = "PodGroup//*"
"""What is reported of one rests on all that was seen of pods and of what serves."""


class SightReporter:
    """Derives the facts of one sight after the other, each before anything later is looked at."""

    def __init__(self, reported: ReportedByAll, outbox: Outbox, clock: Clock, *, counts_claims: bool) -> None:
        self._reported, self._outbox, self._clock, self._counts = reported, outbox, clock, counts_claims
        self._view, self._seen = reported.view, reported.seen
        self._scribe = FactWriter(self._view, self._seen, reported.routes)
        self._seeing = asyncio.Lock()
        self._jobs = LastSeenJobs()
        self._put_off = asyncio.Event()
        """Set while large groups of pods have changed that were not looked at since."""

    def job(self, place: str) -> JsonObject | None:
        """A job as it was last seen, by `kind/namespace/name`; None where it was not."""
        return self._jobs.of(place)

    async def report(self, trigger: str, facts: Sequence[Fact]) -> None:
        """Hand on facts that follow from no object; `trigger` names what they follow from, the same for every replica."""
        await self._outbox.put(self._letters(trigger, facts))

    async def see(self, resource: Resource, sight: Sight) -> None:
        """Report what a sight of a kind shows."""
        async with self._seeing:
            match sight:
                case Listed():
                    await self._see_all(resource, sight)
                case Changed():
                    await self._see_one(resource, sight.object)
                case Vanished():
                    await self._lose(resource, sight.object)
            await self._report_usage(sight_trigger(resource, sight))
            if self._view.pods.put_off:
                self._put_off.set()

    async def look_at_large_groups(self) -> None:
        """Report what changes of large groups of pods come to: a millisecond later for each of their pods, all at once."""
        while True:
            await self._put_off.wait()
            self._put_off.clear()
            await self._clock.sleep(self._view.pods.put_off)
            async with self._seeing:
                await self.report(f"groups:{self._seen.about(_ANY_GROUP).version}", self._view.pods.look_at_put_off())

    async def count_pods(self, listed: Listed) -> None:
        """Report what the pods of the first list hold of nodes; the pods themselves are looked at later."""
        async with self._seeing:
            self._seen.count_pods(version_number(listed.version))
            self._view.node_usage.count_all(one for one in listed.objects if is_named(one))
            await self._report_usage(sight_trigger(PODS, listed))

    async def compare_usage(self) -> None:
        """Tell again what was told of nodes otherwise than is seen here, by who had seen less."""
        while True:
            await self._reported.usage_heard.wait()
            self._reported.usage_heard.clear()
            async with self._seeing:
                await self._report_usage(f"heard:{self._reported.position}")

    async def _report_usage(self, trigger: str) -> None:
        """Report what pods hold of nodes, as far as nobody has seen more of them."""
        news = self._view.usage_news(but=lambda node: self._reported.outdated(self._usage_of(node)))
        if news:
            await self.report(trigger, news)

    def _usage_of(self, node: str) -> ObjectVersion:
        return self._seen.about(f"Node//{node}", NODE_USAGE, epoch=self._reported.epoch)

    async def _see_all(self, resource: Resource, sight: Listed) -> None:
        kind, version = resource.kind, version_number(sight.version)
        objects = [one for one in sight.objects if is_named(one)]
        seen = {place_in(kind, one) for one in objects}
        for one in objects:
            self._seen.note(kind, one)
        self._seen.reach(kind, version)
        for place in self._view.places(kind):
            if place not in seen and (not resource.name or place.endswith(f"/{resource.name}")):
                await self._lose_place(place, self._about(place, version=version, gone=True))
        self._view.expect(kind, objects)
        changed: list[JsonObject] = []
        async for one in with_turns(objects):
            facts = self._facts_of(resource, one)
            if facts and kind in DEPENDED_ON:
                changed.append(one)
            await self._outbox.put(self._letters(f"{object_trigger(one)}:{sight.version}", facts))
        await self.report(f"{kind}:settled:{sight.version}", self._view.settle(kind))
        await self._see_dependents(kind, changed, f"{kind}:{sight.version}")
        await self._count_claims(f"{kind}:{sight.version}")

    async def _see_one(self, resource: Resource, value: JsonObject) -> None:
        if not is_named(value):
            log.warning("an object without a name is left alone", kind=resource.kind)
            return
        self._seen.note(resource.kind, value)
        if resource.kind == PODS.kind:
            # Whatever others have told of it: what is held goes by what is seen here, as far as it is seen here.
            self._view.node_usage.see(value)
        facts = self._facts_of(resource, value)
        await self._outbox.put(self._letters(object_trigger(value), facts))
        await self._see_dependents(resource.kind, [value] if facts else [], object_trigger(value))
        await self._count_claims(object_trigger(value))

    async def _see_dependents(self, kind: str, changed: Sequence[JsonObject], version: str) -> None:
        """Look again at the jobs whose meaning depends on what has changed: what is in a namespace, at those of that only."""
        if not changed or self._view.claims.holds(kind):
            return  # Who claims devices is looked at by itself (`_count_claims`).
        if kind in DEPENDED_ON and (kind != "Namespace" or self._view.chooses):
            namespaces = {namespace_meant(kind, one) for one in changed}
            await self._look_again(self._jobs_in(namespaces), version)

    async def _count_claims(self, version: str) -> None:
        """Look again at those whose pods claim devices, after a change of what these are counted by."""
        if namespaces := self._view.claims.take_changed():
            await self._look_again(filter(self._view.claims_at, self._jobs_in(namespaces)), version)

    def _jobs_in(self, namespaces: Set[str]) -> list[str]:
        """Where jobs were seen in these namespaces; an empty one stands for all of them."""
        places = self._jobs.places()
        return places if "" in namespaces else [one for one in places if one.split("/", 2)[1] in namespaces]

    async def _look_again(self, places: Iterable[str], version: str) -> None:
        for place in places:
            if (job := self._jobs.of(place)) is not None:
                again = self._view.look_at(place.split("/", 1)[0], job)
                await self._outbox.put(self._letters(f"{object_trigger(job)}:{version}", again))

    async def _lose(self, resource: Resource, value: JsonObject) -> None:
        if not is_named(value):
            return
        meta, place = value["metadata"], place_in(resource.kind, value)
        version = version_number(meta.get("resourceVersion"))
        about = self._about(place, uid=meta.get("uid", ""), version=version, gone=True)
        self._seen.forget(resource.kind, value)
        if resource.kind == PODS.kind:
            self._view.node_usage.lose(about.namespace, about.name)
        await self._lose_place(place, about)
        await self._count_claims(f"{place}:{about.uid}:{about.version}:gone")

    async def _lose_place(self, place: str, about: ObjectVersion) -> None:
        if self._reported.outdated(about):
            return  # Somebody has seen another of that name since.
        self._jobs.forget(place)
        facts = self._view.lose(*place.split("/", 2))
        await self._outbox.put(self._letters(f"{place}:{about.uid}:{about.version}:gone", facts, lost=about))

    def _facts_of(self, resource: Resource, value: JsonObject) -> list[Fact]:
        place = place_in(resource.kind, value)
        if self._reported.outdated(self._about(place)):
            return []  # Another watcher has reported a newer version; it is on its way to us, too.
        kinds = self._view.kinds
        managed = is_managed(value) if resource.kind == "Pod" else resource.kind in kinds.by_place
        depends = resource == WORKLOAD_KIND and not belongs_to_job(value) and (self._counts or names_class(value))
        if managed or depends or (resource.kind in kinds.parents and kinds.takes_serving(labels_of(value))):
            self._jobs.note(place, value)
        return self._view.see(resource.kind, value)

    def _letters(
        self, trigger: str, facts: Iterable[Fact], *, lost: ObjectVersion | None = None
    ) -> list[OutboxMessage]:
        sightings = self._scribe.sightings(
            trigger, list(facts), self._clock.now(), lost=lost, epoch=self._reported.epoch
        )
        self._view.left.clear()
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
