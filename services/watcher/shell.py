"""The watcher's shell: what is seen of each kind becomes facts, and every fact reaches the log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import structlog

from events.catalogue import Fact
from events.codec import decode_sighting, encode
from events.commit import Sighting
from events.pod import PodAccounted
from events.quota import PriorityClassObserved
from events.settings import SettingsObserved
from events.subjects import CLUSTER, fact_subject
from events.workload import (
    CheckReported,
    PodsReady,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSubmitted,
)
from services.clock_port import Clock
from services.cluster_port import Changed, Listed, Reader, Resource, Sight, Vanished
from services.jobs.kinds import resource_of
from services.jobs.pods import is_managed, labels_of
from services.jobs.serving import QUEUE
from services.jobs.table import STATEFUL_SET
from services.log_errors import LogUnavailable
from services.log_port import Message, Stream
from services.outbox import Letter, Outbox
from services.provisioning_kinds import REQUESTS
from services.watcher.definitions import DEFINITIONS, Definitions
from services.watcher.view import View

log = structlog.get_logger()

KUEUE = "kueue.x-k8s.io"
CLUSTER_KINDS = (
    Resource(plural="namespaces", kind="Namespace", namespaced=False),
    Resource(group="scheduling.k8s.io", plural="priorityclasses", kind="PriorityClass", namespaced=False),
    Resource(
        group=KUEUE, version="v1beta2", plural="workloadpriorityclasses", kind="WorkloadPriorityClass", namespaced=False
    ),
    Resource(group=KUEUE, version="v1beta2", plural="resourceflavors", kind="ResourceFlavor", namespaced=False),
    Resource(group=KUEUE, version="v1beta2", plural="cohorts", kind="Cohort", namespaced=False),
    Resource(
        group=KUEUE,
        version="v1beta2",
        plural="provisioningrequestconfigs",
        kind="ProvisioningRequestConfig",
        namespaced=False,
    ),
    Resource(group=KUEUE, version="v1beta2", plural="admissionchecks", kind="AdmissionCheck", namespaced=False),
    Resource(group=KUEUE, version="v1beta2", plural="clusterqueues", kind="ClusterQueue", namespaced=False),
    Resource(group=KUEUE, version="v1beta2", plural="localqueues", kind="LocalQueue"),
    Resource(plural="limitranges", kind="LimitRange"),
    Resource(group="node.k8s.io", plural="runtimeclasses", kind="RuntimeClass", namespaced=False),
    Resource(plural="nodes", kind="Node", namespaced=False),
)
"""Seen before any job is looked at, so that a job finds its queue and its class."""
WORKLOAD_KIND = Resource(group=KUEUE, version="v1beta2", plural="workloads", kind="Workload")
JOB_KINDS = (
    Resource(group="batch", plural="jobs", kind="Job"),
    Resource(plural="pods", kind="Pod"),
    resource_of(STATEFUL_SET),
    DEFINITIONS,
)
IF_INSTALLED = (REQUESTS,)
"""Kinds besides those of jobs that are looked at as soon as the cluster knows them."""
_RETRY_MS = 500
_DEPENDS_ON = frozenset({"PriorityClass", "WorkloadPriorityClass", "LocalQueue"})
"""Kinds whose change may change what a job means."""


class Watcher:
    """Turns sights into facts on one stream. Several at once tell the same facts under the same ids."""

    def __init__(
        self, reader: Reader, facts: Stream, clock: Clock, *, settings: SettingsObserved | None = None
    ) -> None:
        self.view = View(settings=settings)
        self.listed = asyncio.Event()
        """Set when every kind has been listed once and all of it was told."""
        self._reader, self._facts, self._clock, self._settings = reader, facts, clock, settings
        self._outbox = Outbox(facts, clock)
        self._seeing = asyncio.Lock()
        self._jobs: dict[str, dict[str, Any]] = {}
        self._waiting = len(CLUSTER_KINDS) + 1 + len(JOB_KINDS)
        kinds = self.view.kinds
        self._definitions = Definitions([*kinds.by_place.values(), *kinds.parents.values()], IF_INSTALLED)
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._tasks = asyncio.TaskGroup()

    async def run(self) -> None:
        """Watch every kind until cancelled."""
        await self._read_back()
        async with self._tasks as tasks:
            tasks.create_task(self._outbox.run())
            if self._settings is not None:
                await self._tell("settings", [self._settings])
            first: list[asyncio.Task[tuple[AsyncIterator[Sight], Resource]]] = []
            for resource in CLUSTER_KINDS:
                first.append(tasks.create_task(self._begin(resource, first[-1] if first else None)))
            begun = [await task for task in first]
            for sights, resource in begun:
                tasks.create_task(self._go_on(resource, sights))
            # What another manager has admitted is known before its job is looked at: nothing that runs is stopped.
            sights, workloads = await self._begin(WORKLOAD_KIND)
            tasks.create_task(self._go_on(workloads, sights))
            for resource in JOB_KINDS:
                tasks.create_task(self._watch(resource))

    async def _read_back(self) -> None:
        """Take note of what is on the log already, so that only differences are told."""
        while True:
            in_force: SettingsObserved | None = None
            try:
                async for batch in self._facts.read():
                    for entry in batch:
                        sighting = decode_sighting(entry.data)
                        if isinstance(sighting.fact, SettingsObserved):
                            in_force = sighting.fact
                        self.view.fold(sighting.fact)
                if self._settings == in_force:
                    self._settings = None
                return
            except LogUnavailable as problem:
                log.warning("log unavailable", problem=str(problem))
                await self._clock.sleep(_RETRY_MS)

    async def _begin(
        self, resource: Resource, before: "asyncio.Task[Any] | None" = None
    ) -> tuple[AsyncIterator[Sight], Resource]:
        """The first list of a kind, told after those of another; a kind that is not installed is not waited for."""
        sights = self._reader.watch(resource)
        try:
            async with asyncio.timeout(_FIRST_LIST_S):
                first = await anext(sights)
        except TimeoutError:
            self._one_listed()
            return self._reader.watch(resource), resource
        if before is not None:
            # Else a queue would be seen for a moment whose flavors are missing, and be shown so.
            await asyncio.wait({before})
        await self._see(resource, first)
        await self._outbox.stored()
        self._one_listed()
        return sights, resource

    async def _watch(self, resource: Resource) -> None:
        sights, _ = await self._begin(resource)
        await self._go_on(resource, sights)

    async def _go_on(self, resource: Resource, sights: AsyncIterator[Sight]) -> None:
        async for sight in sights:
            await self._see(resource, sight)

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
                    await self._see_all(resource, sight.objects)
                case Changed():
                    await self._see_one(resource, sight.object)
                case Vanished():
                    await self._lose(resource, sight.object)

    async def _follow_definitions(self, sight: Sight) -> None:
        """Watch the job kinds that are installed, and no others."""
        fresh, gone = self._definitions.see(sight)
        for resource in gone:
            self._watching.pop(resource.kind).cancel()
            async with self._seeing:
                await self._see_all(resource, [])
        for resource in fresh:
            self._waiting += not self.listed.is_set()
            self._watching[resource.kind] = self._tasks.create_task(self._watch(resource))

    async def _see_all(self, resource: Resource, objects: Sequence[dict[str, Any]]) -> None:
        seen = {f"{resource.kind}/{_namespace(one)}/{one['metadata']['name']}" for one in objects}
        for place in self.view.places(resource.kind):
            if place not in seen:
                kind, namespace, name = place.split("/", 2)
                self._jobs.pop(place, None)
                await self._tell(f"{place}:absent", self.view.lose(kind, namespace, name))
        self.view.expect(resource.kind, objects)
        letters: list[Letter] = []
        for one in objects:
            letters.extend(self._letters(_version(one), self._facts_of(resource, one)))
        await self._outbox.put(letters)
        # Another watcher may have settled otherwise a moment ago: its facts are no copies of these.
        await self._tell(f"{resource.kind}:settled:{self._clock.now()}", self.view.settle(resource.kind))

    async def _see_one(self, resource: Resource, value: dict[str, Any]) -> None:
        facts = self._facts_of(resource, value)
        await self._outbox.put(self._letters(_version(value), facts))
        if facts and (resource.kind in _DEPENDS_ON or (resource.kind == "Namespace" and self.view.chooses)):
            for place, job in sorted(self._jobs.items()):
                again = self.view.see(place.split("/", 1)[0], job)
                await self._outbox.put(self._letters(f"{_version(job)}:{_version(value)}", again))

    async def _lose(self, resource: Resource, value: dict[str, Any]) -> None:
        meta = value["metadata"]
        self._jobs.pop(f"{resource.kind}/{_namespace(value)}/{meta['name']}", None)
        facts = self.view.lose(resource.kind, _namespace(value), meta["name"])
        await self._outbox.put(self._letters(f"{meta.get('uid', '')}:gone", facts))

    def _facts_of(self, resource: Resource, value: dict[str, Any]) -> list[Fact]:
        kinds = self.view.kinds
        managed = is_managed(value) if resource.kind == "Pod" else resource.kind in kinds.by_place
        if managed or (resource.kind in kinds.parents and (labels_of(value).get(QUEUE) or kinds.takes_all)):
            self._jobs[f"{resource.kind}/{_namespace(value)}/{value['metadata']['name']}"] = value
        return self.view.see(resource.kind, value)

    async def _tell(self, version: str, facts: Sequence[Fact]) -> None:
        await self._outbox.put(self._letters(version, facts))

    def _letters(self, version: str, facts: Sequence[Fact]) -> list[Letter]:
        at = self._clock.now()
        letters: list[Letter] = []
        for fact in facts:
            kind = type(fact).__name__
            sighting = Sighting(id=f"{version}:{kind}{_part(fact)}", at=at, author="watcher", fact=fact)
            message = Message(fact_subject(self._tree(fact), kind), encode(sighting), sighting.id)
            letters.append(Letter(str(getattr(fact, "workload", version.partition(":")[0])), message))
        return letters

    def _tree(self, fact: Fact) -> str:
        """The tree a fact belongs to, as far as the watcher can tell: by the queue that its local queue leads to."""
        key = "" if isinstance(fact, PriorityClassObserved) else getattr(fact, "workload", "")
        if not key:
            return CLUSTER
        told = self.view.workloads.get(key)
        queue = fact.spec.queue if isinstance(fact, WorkloadSubmitted) else told.spec.queue if told else ""
        door = self.view.facts.get(f"LocalQueue/{key.partition('/')[0]}/{queue}")
        cluster_queue = getattr(door, "cluster_queue", "")
        owner = self.view.facts.get(f"ClusterQueue//{cluster_queue}")
        return getattr(owner, "cohort", "") or cluster_queue or CLUSTER


_FIRST_LIST_S = 10.0


def _namespace(value: dict[str, Any]) -> str:
    return str(value["metadata"].get("namespace", ""))


def _part(fact: Fact) -> str:
    """What tells facts of one kind apart that one sight gives: several checks, several pods of a group, several groups."""
    match fact:
        case CheckReported():
            return f":{fact.workload}:{fact.check.name}"
        case PodAccounted():
            return f":{fact.name}"
        case WorkloadChanged() | WorkloadDeleted() | WorkloadFinished() | PodsReady() | PodsReclaimed():
            return f":{fact.workload}"
        case _:
            return ""


def _version(value: dict[str, Any]) -> str:
    meta = value["metadata"]
    return f"{meta.get('uid', '')}:{meta.get('resourceVersion', '')}"
