"""What is taken away in a worker cluster: a copy that is not wanted there, and before it the job that runs by it."""

from collections.abc import Callable

from events.api.labels import JOB_OWNER_GVK, JOB_OWNER_NAME, MULTIKUEUE_ORIGIN_UID, PREBUILT_WORKLOAD_NAME
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at, objects_at
from events.settings import SettingsObserved
from services.jobs.kinds.managed_kinds import Kinds, kinds_of, resource_of
from services.jobs.kinds.pods import is_leaving
from services.jobs.kinds.table import LEADER_WORKER_SET
from services.multikueue.objects import is_of_origin
from services.multikueue.remote_plan import RemotePlan
from services.multikueue.remote_workloads import WORKLOADS, without_finalizer
from services.runtime.cluster_port import AccessRefused, ObjectMissing, Resource, Writer


class Removal:
    """Takes copies away, and asks here whether that is still so before it does what nobody can undo."""

    def __init__(self, home: Writer, tell_left: Callable[..., object]) -> None:
        """`tell_left` is called where a job stays that may not be asked for."""
        self._home, self._tell_left = home, tell_left
        self.kinds: Kinds = kinds_of(SettingsObserved())
        """The kinds of jobs there are."""
        self.tell_shared: Callable[[str], object] = lambda _: None
        """Called with the name of a cluster in which another manager makes copies with this one's origin."""
        self._strange: dict[tuple[str, str], str] = {}
        """By cluster and workload that nothing is known of, the UID of the copy that was taken away."""

    async def remove(self, remote: Writer, wanted: RemotePlan, cluster: str, uid: str) -> bool:
        """The job first, then the copy; whatever this manager has not made stays. False where that is not to be said yet."""
        if wanted.unknown and self._strange.get((cluster, wanted.workload), uid) != uid:
            # It was taken away, and somebody has made it again: nobody here has.
            self.tell_shared(cluster)
            return True
        try:
            copy = await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        except ObjectMissing:
            # The job may stand there all the same, and would begin with the next copy without anybody's choice.
            if not (wanted.unknown or cluster in wanted.keep_job):
                await self.remove_jobs(remote, wanted)
            return True
        if copy["metadata"]["uid"] != uid or not is_of_origin(copy, wanted.origin):
            return True
        if wanted.unknown:
            if await self._is_here(wanted):
                return False
            self._note_strange(cluster, wanted.workload, uid)
        for resource, name in [] if cluster in wanted.keep_job else self._job_places(wanted, copy):
            try:
                await self._remove_job(remote, wanted, resource, name)
            except AccessRefused as problem:
                # Without its copy it stops there, if there is any; and no job in another cluster waits for it.
                self._tell_left(workload=wanted.workload, cluster=cluster, problem=str(problem))
        patch = without_finalizer(copy)
        if patch is not None:
            await remote.merge(WORKLOADS, wanted.namespace, wanted.name, patch)
        await remote.delete(WORKLOADS, wanted.namespace, wanted.name, uid=uid)
        return True

    def note_known(self, workload: str) -> None:
        """It is sent to clusters from here."""
        for place in [place for place in self._strange if place[1] == workload]:
            del self._strange[place]

    def forget(self) -> None:
        """Others may send workloads from now on."""
        self._strange.clear()

    def _note_strange(self, cluster: str, workload: str, uid: str) -> None:
        self._strange[cluster, workload] = uid
        if len(self._strange) > _MOST_STRANGE:
            del self._strange[next(iter(self._strange))]

    async def remove_jobs(self, remote: Writer, wanted: RemotePlan) -> bool:
        """Take away what stands there of the job though no copy does; whether anything did."""
        places = [] if wanted.kind is None else [(wanted.kind, name) for name in wanted.jobs]
        found = [await self._remove_own(remote, wanted, kind, name) for kind, name in places]
        return any(found)

    async def _remove_own(self, remote: Writer, wanted: RemotePlan, kind: JobKind, name: str) -> bool:
        resource = resource_of(kind, wanted.api_version)
        try:
            job = await remote.get(resource, wanted.namespace, name)
        except ObjectMissing:
            return False
        of_another = object_at(job, "metadata", "labels").get(PREBUILT_WORKLOAD_NAME, wanted.name) != wanted.name
        if of_another or not is_of_origin(job, wanted.origin) or await self._has_copy(remote, wanted):
            return False
        if not is_leaving(job):
            await remote.delete(resource, wanted.namespace, name, uid=job["metadata"]["uid"])
        return True

    async def _has_copy(self, remote: Writer, wanted: RemotePlan) -> bool:
        """Whether a copy is there, of which the log may not know yet: by that its job may run."""
        try:
            await remote.get(WORKLOADS, wanted.namespace, wanted.name)
        except ObjectMissing:
            return False
        return True

    async def _is_here(self, wanted: RemotePlan) -> bool:
        """Whether a workload of which nothing is on the log stands here: then that is told soon, and what is there may be running for it."""
        try:
            found = await self._home.get(WORKLOADS, wanted.namespace, wanted.name)
        except ObjectMissing:
            return False
        return not object_at(found, "metadata").get("deletionTimestamp")

    def _job_places(self, wanted: RemotePlan, copy: JsonObject) -> list[tuple[Resource, str]]:
        """Where what runs in a copy is: the job or the pods of the workload here, and what owns the copy there."""
        found: list[tuple[Resource, str]] = []
        if wanted.kind is not None:
            found = [(resource_of(wanted.kind, wanted.api_version), name) for name in wanted.jobs]
        owners = [(one.get("apiVersion"), one.get("kind"), one.get("name")) for one in objects_at(copy, *_OWNERS)]
        for api, word, name in [*owners, _noted_owner(copy)]:
            kind = self.kinds.of(str(api), str(word))
            # Pods of a group own it together, and what serves with them owns it beside them under Kueue: none of them controls it.
            if kind is not None:
                found.append((resource_of(kind, str(api)), str(name)))
        return list(dict.fromkeys(found))

    async def _remove_job(self, remote: Writer, wanted: RemotePlan, resource: Resource, name: str) -> None:
        try:
            job = await remote.get(resource, wanted.namespace, name)
        except ObjectMissing:
            return
        if is_of_origin(job, wanted.origin) and not await self._goes_on_here(wanted, resource, job):
            await remote.delete(resource, wanted.namespace, name, uid=job["metadata"]["uid"])

    async def _goes_on_here(self, wanted: RemotePlan, resource: Resource, job: JsonObject) -> bool:
        """Whether what has several workloads goes on here, though this one is gone: then the others may run there."""
        if wanted.kind is not None or resource != resource_of(LEADER_WORKER_SET, job["apiVersion"]):
            return False
        try:
            local = await self._home.get(resource, wanted.namespace, job["metadata"]["name"])
        except ObjectMissing:
            return False
        return object_at(job, "metadata", "annotations").get(MULTIKUEUE_ORIGIN_UID) == local["metadata"]["uid"]


def _noted_owner(copy: JsonObject) -> tuple[str, str, str]:
    """Version, kind and name of what runs in a copy by its annotations: Kueue gives no copy that was there first to a LeaderWorkerSet."""
    notes = object_at(copy, "metadata", "annotations")
    api, _, word = str(notes.get(JOB_OWNER_GVK, "")).partition(", Kind=")
    return api.removeprefix("/"), word, str(notes.get(JOB_OWNER_NAME, ""))


_OWNERS = ("metadata", "ownerReferences")
_MOST_STRANGE = 1000
