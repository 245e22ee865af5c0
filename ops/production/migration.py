"""A cluster that Kueue has managed, as it was found at one moment, and in what kuelog would differ from Kueue there."""

from collections.abc import AsyncIterator, Iterator

import msgspec

from events.json_object import JsonMapping, JsonObject, object_at, objects_at
from events.quantity import BadQuantity, from_units, to_units
from events.settings import SettingsObserved
from events.workload import ConditionStatus
from ops.production.kubernetes.client import KubeClient, path_of
from ops.production.kubernetes.reflector import fields_of
from projections.queues.status import FlavorUse, cluster_queue_status, tallies
from projections.world import World
from services.jobs.job_status import finished_of, is_suspended
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.pods import group_of, is_gated, is_over
from services.jobs.kinds.table import POD
from services.runtime.cluster_port import Listed, ObjectMissing, Reader, Resource, Sight
from services.watcher.settings.installed_kinds import DEFINITIONS
from services.watcher.settings.watched_kinds import (
    CLUSTER_KINDS,
    JOB_KINDS,
    WORKLOAD_KIND,
    optional_kinds,
    seen_first,
)
from services.watcher.view import View

DEPLOYMENTS = Resource(group="apps", plural="deployments", kind="Deployment")
ASKED = (
    Resource(
        group="admissionregistration.k8s.io",
        plural="mutatingwebhookconfigurations",
        kind="MutatingWebhookConfiguration",
        namespaced=False,
    ),
    Resource(
        group="admissionregistration.k8s.io",
        plural="validatingwebhookconfigurations",
        kind="ValidatingWebhookConfiguration",
        namespaced=False,
    ),
)
_MANAGER, _KUEUES_SERVICE = "kueue-controller-manager", "kueue-webhook-service"
_PAGE = 500


class MigrationDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between what Kueue does in this cluster and what kuelog would do."""

    object: str
    code: str
    what: str
    consequence: str
    instead: str = ""
    blocks: bool = False
    """Nothing is recorded while this is so."""


class FoundObjects(Reader):
    """The objects of a cluster, each kind listed once. As a reader it shows the same objects, and never a change."""

    def __init__(self, client: KubeClient, settings: SettingsObserved) -> None:
        self.objects: dict[str, list[JsonObject]] = {}
        """By `plural.group`."""
        self._versions: dict[str, str] = {}
        self.kinds, self._settings = kinds_of(settings), settings
        self._client = client

    async def take(self) -> None:
        """List everything. Raises what the client raises."""
        for resource in (*seen_first(self._settings), WORKLOAD_KIND, DEFINITIONS, *JOB_KINDS, DEPLOYMENTS, *ASKED):
            self.objects[_place(resource)] = await self._list(resource)
        for resource in self.installed():
            self.objects[_place(resource)] = await self._list(resource)

    def installed(self) -> list[Resource]:
        """The kinds that come with definitions of their own, are watched where these are, and are there."""
        return optional_kinds(self.kinds).see(Listed(self.objects[_place(DEFINITIONS)])).watch

    async def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """What was found; never anything after it."""
        place = _place(resource)
        yield Listed(self.objects.get(place, []), self._versions.get(place, ""))

    def jobs(self) -> Iterator[tuple[str, JsonObject]]:
        """Every job, with the word for its kind."""
        for word, kind in sorted(self.kinds.by_place.items()):
            for value in self.objects.get(f"{kind.plural}.{kind.group}", ()):
                yield word, value

    def of(self, resource: Resource) -> list[JsonObject]:
        """All objects of a kind."""
        return self.objects.get(_place(resource), [])

    async def _list(self, resource: Resource) -> list[JsonObject]:
        objects: list[JsonObject] = []
        token = ""
        while True:
            try:
                page = await self._client.request(
                    "GET",
                    f"{path_of(resource, resource.namespace)}?{fields_of(resource)}limit={_PAGE}&continue={token}",
                )
            except ObjectMissing:
                return []  # A kind that is not installed has no objects.
            objects.extend(page.get("items") or ())
            meta = object_at(page, "metadata")
            token = meta.get("continue") or ""
            if not token:
                self._versions[_place(resource)] = meta.get("resourceVersion", "")
                return objects


def differences(found: FoundObjects, view: View, world: World) -> list[MigrationDifference]:
    """All differences that adoption reports; those that block it come first."""
    every = [
        *_still_managed(found),
        *_would_stop(found, view, world),
        *_refused(world),
        *_not_counted(found, view, world),
        *_usage(found, world),
    ]
    return sorted(every, key=lambda one: (not one.blocks, one.code, one.object))


def running(found: FoundObjects, view: View) -> list[tuple[str, str]]:
    """The jobs that run now and belong to a queue, each with its workload."""
    jobs: dict[str, str] = {}
    for word, value in found.jobs():
        kind, meta = found.kinds.by_place[word], value["metadata"]
        stands = is_gated(value) or is_over(value) if kind is POD else is_suspended(kind, value)
        group = group_of(value) if kind is POD else ""
        place = f"PodGroup/{meta['namespace']}/{group}" if group else f"{word}/{meta['namespace']}/{meta['name']}"
        workload = view.by_source.get(place)
        if workload is not None and not stands and finished_of(kind, value) is None:
            jobs[place] = workload
    return list(jobs.items())


def _still_managed(found: FoundObjects) -> Iterator[MigrationDifference]:
    for one in found.of(DEPLOYMENTS):
        meta = one["metadata"]
        if meta["name"].endswith(_MANAGER) and object_at(one, "spec").get("replicas", 1):
            yield MigrationDifference(
                object=f"Deployment {meta['namespace']}/{meta['name']}",
                code="KueueRuns",
                what="Kueue's manager still runs",
                consequence="two would decide about the same jobs",
                instead=f"kubectl -n {meta['namespace']} scale deployment {meta['name']} --replicas=0",
                blocks=True,
            )
    for resource in ASKED:
        for one in found.of(resource):
            services = {object_at(hook, "clientConfig", "service").get("name") for hook in objects_at(one, "webhooks")}
            if _KUEUES_SERVICE in services:
                yield MigrationDifference(
                    object=f"{resource.kind} {one['metadata']['name']}",
                    code="KueueIsAsked",
                    what="the API server still asks Kueue's webhooks",
                    consequence="no job can be created or started while Kueue does not run",
                    instead=f"kubectl delete {resource.plural} {one['metadata']['name']}",
                )


def _would_stop(found: FoundObjects, view: View, world: World) -> Iterator[MigrationDifference]:
    for place, key in running(found, view):
        # Of an elastic job facts name the first slice, which may be over, or on no log: it runs in its last one.
        parts = [one for name in (key, *world.chains.get(key, ())) if (one := world.workloads.get(name)) is not None]
        if not any(one.admission is not None for one in parts):
            yield MigrationDifference(
                object=place,
                code="RunsWithoutAdmission",
                what="the job runs, and its Workload holds no quota",
                consequence="it would be stopped until quota is found for it",
                instead="suspend it, or take the queue's name from it, and adopt again",
                blocks=True,
            )


def _refused(world: World) -> Iterator[MigrationDifference]:
    for place, one in sorted(world.refused.items()):
        yield MigrationDifference(
            object=place,
            code="Refused",
            what="; ".join(f"{problem.field}: {problem.message}" for problem in one.problems),
            consequence="kuelog leaves it alone: it is neither counted nor decided about",
            instead="; ".join(problem.instead for problem in one.problems if problem.instead),
        )


def _not_counted(found: FoundObjects, view: View, world: World) -> Iterator[MigrationDifference]:
    """Workloads that hold quota under Kueue and belong to nothing that is known here."""
    for one in found.of(WORKLOAD_KIND):
        meta, status = one["metadata"], object_at(one, "status")
        key = f"{meta['namespace']}/{meta['name']}"
        name = f"Workload {key}"
        if not status.get("admission") or _is_finished(status):
            continue
        if key not in view.workloads and key not in world.workloads:
            owner = object_at(next((own for own in objects_at(meta, "ownerReferences") if own.get("controller")), None))
            yield MigrationDifference(
                object=name,
                code="OwnerUnknown",
                what=f"it belongs to {owner.get('kind', 'something')} {owner.get('name', '')}".rstrip(),
                consequence="kuelog does not manage this kind: what it runs on is not counted",
                instead="name its kind in the configuration, or keep its queue's quota free of it",
            )
        if status.get("clusterName"):
            yield MigrationDifference(
                object=name,
                code="RunsElsewhere",
                what="it runs on another cluster",
                consequence="it goes on, and is looked after only where the configuration has multiKueue",
            )


def _usage(found: FoundObjects, world: World) -> Iterator[MigrationDifference]:
    queues = next(one for one in CLUSTER_KINDS if one.kind == "ClusterQueue")
    for one in found.of(queues):
        name = one["metadata"]["name"]
        if name not in world.cluster_queues:
            continue
        ours = _amounts(cluster_queue_status(world, name, tallies(world, name)).reservation)
        theirs = _shown(objects_at(one, "status", "flavorsReservation"))
        for flavor, resource in sorted({*ours, *theirs}):
            here, there = ours.get((flavor, resource), 0), theirs.get((flavor, resource), 0)
            if here != there:
                yield MigrationDifference(
                    object=f"ClusterQueue {name}",
                    code="UsageDiffers",
                    what=f"{resource} of {flavor}: Kueue shows {from_units(resource, there)} reserved, "
                    f"here it is {from_units(resource, here)}",
                    consequence="as many jobs fit as these numbers say",
                    instead="look for workloads above that are not counted; Kueue's status may also be old",
                )


def _amounts(uses: tuple[FlavorUse, ...]) -> dict[tuple[str, str], int]:
    return {(use.flavor, one.resource): one.total for use in uses for one in use.resources if one.total}


def _shown(uses: list[JsonMapping]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for use in uses:
        for one in objects_at(use, "resources"):
            try:
                amount = to_units(one["name"], one.get("total", 0))
            except BadQuantity:
                continue  # What can't be read can't be compared.
            if amount:
                found[use["name"], one["name"]] = amount
    return found


def _is_finished(status: JsonMapping) -> bool:
    return any(
        one.get("type") == "Finished" and one.get("status") == ConditionStatus.TRUE
        for one in objects_at(status, "conditions")
    )


def _place(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}/{resource.name}".rstrip("/")
