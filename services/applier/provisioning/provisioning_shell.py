"""Asks a cluster autoscaler for nodes, and takes back what it was asked: level by level, until the cluster is as it should be.

What the API server does not take is reported as a fact and tried again later: the definition of ProvisioningRequest may
come, and a quota may be raised.
"""

import asyncio
from collections.abc import Sequence

import structlog

from events.api.labels import DECISION
from events.commit import Sighting
from events.event import Millis
from events.json_object import JsonObject, object_at, objects_at
from events.json_path import FieldBroken
from events.provisioning import ProvisioningRejected
from projections.checks.state import ProvisioningState
from services.applier.events.cluster_events import failed_create_event
from services.applier.events.event_recorder import EventRecorder
from services.applier.provisioning.provisioning_requests import (
    Ask,
    Request,
    ask,
    is_asked_already,
    owned_by,
    pod_sets_of,
    request_objects,
    template_of,
    templates_of,
)
from services.applier.templates import Templates
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.applier.writing import WORKLOADS
from services.provisioning_kinds import REQUESTS, TEMPLATES
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    Resource,
    Writer,
)
from services.runtime.fact_message import fact_message
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Stream
from services.runtime.wanted_writes import WantedWrites

log = structlog.get_logger()

_SOON: Millis = 500
_LATER: Millis = 10_000
_NO_KIND = f"the cluster knows no {REQUESTS.kind} of {REQUESTS.group}/{REQUESTS.version}; install the definitions of its autoscaler"


class _NotTaken(Exception):
    """The API server does not accept a request."""

    def __init__(self, request: Request, uid: str, problem: str) -> None:
        super().__init__(f'Error creating ProvisioningRequest "{request.order.request}": {problem}')
        self.request, self.uid = request, uid


class ProvisioningWriter:
    """Keeps the requests of all workloads as the world has them; each workload's are written by one task at a time."""

    def __init__(self, writer: Writer, facts: Stream, clock: Clock, spare: LowPriorityWrites) -> None:
        self._writer, self._facts, self._clock = writer, facts, clock
        self._templates = Templates(writer)
        self._notices = EventRecorder(writer, spare, clock)
        self._writes = WantedWrites(clock, self._try)
        self._told: dict[str, str] = {}

    def observe(self, world: ProvisioningState, touched: Sequence[str]) -> None:
        """Take up what has changed in the orders; called after each turn of the partition."""
        for key in touched:
            workload = world.workloads.get(key)
            wanted = ask(world, workload) if workload is not None else None
            if wanted is None:
                self._writes.let_go(key)
                self._told.pop(key, None)
            else:
                self._writes.want(key, wanted)

    async def run(self) -> None:
        """Make and remove ProvisioningRequests as decided, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._notices.run())
            tasks.create_task(self._writes.run())

    async def _try(self, wanted: Ask) -> Millis:
        """Write all of it; how long to wait before it is looked at again."""
        try:
            for seen in wanted.take_away:
                await self._take_away(wanted.namespace, seen.name, seen.uid)
            for request in wanted.make:
                await self._make(wanted, request)
        except (ClusterUnavailable, ObjectConflict, ObjectMissing) as problem:
            log.warning("not asked yet", workload=wanted.workload, problem=str(problem))
            return _LATER if isinstance(problem, AccessRefused) else _SOON
        except _NotTaken as problem:
            log.error("not asked", workload=wanted.workload, problem=str(problem))
            await self._report(wanted, problem)
        except Exception as problem:  # noqa: BLE001 - whatever a workload holds, nodes are asked for all others
            log.error("failed on a workload", workload=wanted.workload, exc_info=problem)
        return _LATER

    async def _take_away(self, namespace: str, name: str, uid: str) -> None:
        try:
            found = await self._writer.get(REQUESTS, namespace, name)
        except ObjectMissing:
            log.debug("gone already", request=name)
            return
        if found["metadata"]["uid"] != uid:
            return
        # The request last: as long as it is there, somebody finds what belongs to it.
        for template in templates_of(found):
            await self._delete(TEMPLATES, namespace, template)
        await self._delete(REQUESTS, namespace, name, uid)

    async def _delete(self, resource: Resource, namespace: str, name: str, uid: str = "") -> None:
        try:
            await self._writer.delete(resource, namespace, name, uid=uid)
        except ObjectMissing:
            log.debug("gone already", object=name)

    async def _make(self, wanted: Ask, request: Request) -> None:
        workload = await self._writer.get(WORKLOADS, wanted.namespace, wanted.name)
        uid: str = workload["metadata"]["uid"]
        if await self._is_asked_already(request, uid):
            return
        try:
            described = await self._templates.of(wanted, workload)
        except FieldBroken as broken:
            raise _NotTaken(request, uid, str(broken)) from broken
        injections = {one.original.name: one for one in wanted.injections}
        templates: dict[str, JsonObject] = {}
        for one in request.order.pod_sets:
            if one.name not in described:
                raise _NotTaken(request, uid, f"the job describes no pod set {one.name}")
            templates[one.name] = template_of(described[one.name], injections.get(one.name))
        objects = request_objects(request, pod_sets_of(request, templates), owned_by(WORKLOADS, workload))
        for template in objects.templates:
            await self._create(TEMPLATES, request, uid, template)
        made = await self._create(REQUESTS, request, uid, objects.request)
        # They are there before the request that names them, and go with it, whoever takes it away.
        owner = {"metadata": {"ownerReferences": owned_by(REQUESTS, made)}}
        for template in objects.templates:
            await self._writer.merge(TEMPLATES, wanted.namespace, template["metadata"]["name"], owner)

    async def _is_asked_already(self, request: Request, uid: str) -> bool:
        try:
            found = await self._writer.get(REQUESTS, request.order.workload.partition("/")[0], request.order.request)
        except ObjectMissing:
            return False
        return is_asked_already(request, found, uid)

    async def _create(self, resource: Resource, request: Request, uid: str, value: JsonObject) -> JsonObject:
        """One object as it is there, made anew where one bears its name that is of an earlier attempt, or of a request that is gone."""
        namespace, name = value["metadata"]["namespace"], value["metadata"]["name"]
        try:
            return await self._writer.create(resource, namespace, value)
        except ObjectInvalid as problem:
            raise _NotTaken(request, uid, str(problem)) from problem
        except ObjectMissing as problem:
            raise _NotTaken(request, uid, _NO_KIND if resource is REQUESTS else str(problem)) from problem
        except ObjectConflict:
            found = await self._writer.get(resource, namespace, name)
            meta = found["metadata"]
            owners = {one["uid"] for one in objects_at(meta, "ownerReferences")}
            if object_at(meta, "annotations").get(DECISION) != request.decision or uid not in owners:
                await self._writer.delete(resource, namespace, name, uid=found["metadata"]["uid"])
                raise
            return found

    async def _report(self, wanted: Ask, problem: _NotTaken) -> None:
        """Report why a request is not taken, once as long as it is the same."""
        if self._told.get(wanted.workload) == str(problem):
            return
        order, now = problem.request.order, self._clock.now()
        fact = ProvisioningRejected(workload=wanted.workload, request=order.request, message=str(problem))
        sighting = Sighting(
            # With the time: the bus takes a reason that comes back soon for a repetition if its id has been there.
            id=f"{wanted.workload}:{problem.request.decision}:{order.request}:{now}",
            at=now,
            author="applier",
            cause=problem.request.decision,
            fact=fact,
        )
        try:
            await self._facts.publish([fact_message(sighting)])
        except LogUnavailable as unavailable:
            log.warning("log unavailable", problem=str(unavailable))
            return  # It is reported when it is tried again.
        self._told[wanted.workload] = str(problem)
        self._notices.record(failed_create_event(fact, problem.uid, now))
