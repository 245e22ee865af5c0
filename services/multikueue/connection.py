"""The connection to one worker cluster: how it is reached, what is seen there, and its condition Active.

Rule: docs/rules/multikueue.md#connection
"""

import asyncio
from collections.abc import Callable, Sequence, Set
from contextlib import aclosing

import structlog
from msgspec.structs import replace

from events.api.labels import MULTIKUEUE_ORIGIN, PREBUILT_WORKLOAD_NAME
from events.event import Millis
from events.json_object import object_at
from events.multikueue import (
    AccessProvider,
    MultiKueueClusterObserved,
    RemoteWorkloadGone,
    RemoteWorkloadObserved,
)
from events.object_version import version_number
from events.timestamp import format_timestamp
from projections.workloads.lifecycle import ADMITTED, EVICTED, FINISHED
from services.multikueue.active import active_patch
from services.multikueue.answering import Answering
from services.multikueue.cluster_access import ClusterAccess
from services.multikueue.followed_queues import FollowedQueues
from services.multikueue.kubeconfig import BAD, KubeConfigRefused
from services.multikueue.one_name import address_in
from services.multikueue.remote_workloads import copies_of, key_of, remote_workload_fact
from services.multikueue.seen import SeenElsewhere
from services.multikueue.telling import Telling
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import (
    AccessRefused,
    Changed,
    ClusterUnavailable,
    Connector,
    Listed,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
    RemoteCluster,
    Resource,
    Sight,
    Vanished,
    Writer,
)

log = structlog.get_logger()

CLUSTERS = Resource(
    group="kueue.x-k8s.io", version="v1beta2", plural="multikueueclusters", kind="MultiKueueCluster", namespaced=False
)
_FIRST_PAUSE: Millis = 5_000
_MOST_DOUBLINGS = 6
_RIGHTS_MAY_COME: Millis = 60_000
_OPENED_AGAIN: Millis = 10_000
"""How long a cluster that was connected is not shown as lost while its watch is opened again."""
_OPENED: Millis = 60_000
_MOST_PATIENCE: Millis = 600_000
_SHARED = "Connected; another manager makes copies there with the same multiKueue.origin: each needs its own"
LONGEST = 1024
"""Of what a cluster answers, so many characters are told: it may quote all of a job."""
_EXPECTED = (ClusterUnavailable, ObjectMissing, ObjectInvalid, KubeConfigRefused)


class ClusterConnection:
    """One worker cluster. `remote` is there while it is connected: all copies there were seen, and each change is."""

    def __init__(
        self,
        name: str,
        home: Writer,
        connector: Connector,
        clock: Clock,
        seen: SeenElsewhere,
        poke: Callable[[str], None],
        telling: Telling,
    ) -> None:
        self.name = name
        self.remote: RemoteCluster | None = None
        self._home, self._connector, self._clock = home, connector, clock
        self._seen, self._poke, self._telling = seen, poke, telling
        self._queues = FollowedQueues(name, seen, clock)
        self._wanted: tuple[MultiKueueClusterObserved, str] | None = None
        self._providers: tuple[AccessProvider, ...] | None = None
        self._place: object = None
        self._copies: dict[str, tuple[str, int]] = {}
        """By workload of which a copy was told last, its UID and its version."""
        self._admitted: set[str] = set()
        """Keys of the copies that are admitted there, whoever tells of them."""
        self._newest = 0
        """The newest version that was seen of anything there."""
        self._anew = ""
        """When it was seen last that its store was restored: what is told since then was not told before, whatever its version."""
        self._skipped: set[str] = set()
        """Keys of those that were seen since the list and not told: that was another process's."""
        self._unshown = False
        """Whether what became of it last was another process's to show."""
        self._follows: dict[Resource, asyncio.Task[None]] = {}
        self._broken: asyncio.Event = asyncio.Event()
        self._in_vain, self._shared = 0, False
        self._listed = asyncio.Event()
        """Set once the copies there were listed."""
        self._changed = asyncio.Event()
        """Set when it is to be reached otherwise."""
        self._attempts = 0
        self._connected_at: Millis | None = None
        """Since when it is connected, until that has ended."""
        self._lost_at: Millis | None = None
        """When that ended, until it is connected again or shown as lost."""
        self._access = ClusterAccess(name, home, connector, clock)

    def renew(self) -> None:
        """End the connection, and try again."""
        self._changed.set()

    def give_up(self, remote: RemoteCluster, answering: Answering) -> None:
        """End this connection as one that is lost, if it is not another one by now: what was asked there was not answered."""
        if self.remote is remote and not self._broken.is_set():
            answering.in_vain += 1
            self._in_vain = answering.in_vain
            self._broken.set()

    def note_shared(self) -> None:
        """Another manager makes copies there with this one's origin: that is shown from now on."""
        if not self._shared:
            self._shared = True
            self._changed.set()

    def want(
        self,
        found: MultiKueueClusterObserved,
        origin: str,
        providers: tuple[AccessProvider, ...] | None,
        local_queues: frozenset[str] | None = None,
    ) -> None:
        """How it is reached from now on, whose copies are followed, and namesakes of which queues; no providers where ClusterProfiles may not be used."""
        anew = self._queues.ask(local_queues)
        by = providers if found.profile else None
        place = (found.uid, found.location, found.location_type, found.profile, origin, by)
        self._wanted, self._providers = (found, origin), providers
        if place != self._place:
            self._place, self._attempts, self._newest, self._shared = place, 0, 0, False
            anew = True
        if anew:
            self._changed.set()

    def note_folded(self, key: str, copy: RemoteWorkloadObserved | None) -> None:
        """What the log says of a copy here; a list that lacks it says that it is gone. What was told may not be folded yet."""
        if copy is None:
            self._copies.pop(key, None)
        elif not self._is_older(copy):
            self._copies[key] = copy.uid, copy.version

    def take_up(self, keys: Set[str]) -> None:
        """Look again if anything about these was seen that is to be told from here by now."""
        if not self._skipped.isdisjoint(keys) and any(self._telling.serves(key) for key in self._skipped & keys):
            self._changed.set()

    def take_up_all(self) -> None:
        """Look again if anything was seen, or is to be shown, that another process was to tell until now."""
        if (self._unshown and self._telling.leads) or any(self._telling.serves(key) for key in self._skipped):
            self._changed.set()

    def follow(self, kind: Resource) -> None:
        """See changes of jobs of a kind as well, as long as the connection lasts."""
        if self.remote is None or self._wanted is None:
            return
        resource = replace(kind, labels=f"{MULTIKUEUE_ORIGIN}={self._wanted[1]}")
        if resource not in self._follows:
            self._follows[resource] = asyncio.get_running_loop().create_task(self._follow(self.remote, resource))

    async def run(self) -> None:
        """Connect, and connect again, until cancelled."""
        looking = asyncio.create_task(self._access.look_after(self._read_anew))
        try:
            while True:
                self._changed.clear()
                pause = await self._once()
                self._telling.names.note_tried(self.name)
                until = None if pause is None else self._clock.now() + pause
                await self._clock.wait(self._changed, until)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self._end()

    def _read_anew(self) -> None:
        self._attempts = 0
        self._changed.set()

    async def _once(self) -> Millis | None:
        """One connection from its beginning to its end; how long to wait for the next, None for as long as nothing changes."""
        if self._wanted is None:
            return None
        found, origin = self._wanted
        try:
            loaded = await self._access.read(found, self._providers)
        except KubeConfigRefused as refused:
            await self._show(found, refused.reason, f"load client config failed: {refused}")
            return _FIRST_PAUSE
        except ClusterUnavailable as problem:
            log.warning("its kubeconfig is not read yet", cluster=self.name, problem=str(problem))
            return _FIRST_PAUSE
        try:
            kubeconfig, until = await self._access.kubeconfig(loaded)
            address = address_in(kubeconfig)
            if other := await self._telling.names.other(self.name, address):
                told = f"it leads to {address}, as MultiKueueCluster {other} does: a cluster has one name"
                await self._show(found, BAD, f"load client config failed: {told}")
                return _FIRST_PAUSE
            self._telling.names.note_tried(self.name)
            await self._serve(found, origin, kubeconfig, until)
        except Exception as problem:  # noqa: BLE001 - whatever a cluster answers, it is tried again
            if not isinstance(problem, _EXPECTED):
                log.exception("what it answers is not understood", cluster=self.name)
            what = str(problem)[:LONGEST] or type(problem).__name__
            if self._has_lasted() and self._in_vain <= 1:
                log.info("connected again", cluster=self.name, problem=what)
                return 0
            self._attempts = max(self._attempts + 1, self._in_vain - 1)
            pause = _FIRST_PAUSE * 2 ** min(self._attempts - 1, _MOST_DOUBLINGS)
            at = format_timestamp(self._clock.now() + pause)
            told = f"{what}; connection attempts: {self._attempts}, next connection attempt: {at}"
            await self._show(found, "ClientConnectionFailed", told)
            return pause
        finally:
            await self._end()
        return 0

    def _has_lasted(self) -> bool:
        """Whether it was connected until now, for long enough that it is tried again at once before it is shown as lost."""
        since, self._connected_at = self._connected_at, None
        return since is not None and self._clock.now() >= since + _FIRST_PAUSE

    @property
    def _patience(self) -> Millis:
        """How long it may take now to list what is there."""
        return _OPENED_AGAIN if self._lost_at is not None else min(_OPENED * 2**self._attempts, _MOST_PATIENCE)

    async def _serve(
        self, found: MultiKueueClusterObserved, origin: str, kubeconfig: str, until: Millis | None
    ) -> None:
        """Follow the copies there until that ends, or its credentials do. Raises what a watch raises."""
        remote = await self._connector.connect(kubeconfig)
        self._broken.clear()
        self._in_vain = 0
        self._listed.clear()
        opened = asyncio.create_task(self._clock.wait(self._listed, self._clock.now() + self._patience))
        changed = asyncio.create_task(self._clock.wait(self._changed, until))
        following = [*self._queues.begin(remote), asyncio.create_task(self._follow_copies(remote, found, origin))]
        broken = asyncio.create_task(self._broken.wait())
        tasks = (changed, broken, *following)
        try:
            await asyncio.wait((opened, *tasks), return_when=asyncio.FIRST_COMPLETED)
            if opened.done() and not self._listed.is_set():
                raise ClusterUnavailable("watch establishment timed out")
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in following:
                if task.done():
                    task.result()
            if self._broken.is_set():
                unread = f"a request was not answered, on {self._in_vain} connections in a row"
                raise ClusterUnavailable(unread if self._in_vain else "a watch of jobs there has ended")
        finally:
            if self.remote is not None:
                self._lost_at = self._clock.now()
            self.remote = None
            for task in (opened, *tasks):
                task.cancel()
            try:
                await asyncio.gather(opened, *tasks, return_exceptions=True)
                await self._end()
            finally:
                await remote.close()

    async def _follow_copies(self, remote: RemoteCluster, found: MultiKueueClusterObserved, origin: str) -> None:
        async with aclosing(remote.watch(copies_of(origin))) as sights:
            async for sight in sights:
                self._listed.set()
                await self._see(sight)
                if self.remote is None:
                    # What there is has to be on the log before the cluster counts as connected: else what is not told yet looks lost.
                    await self._queues.known.wait()
                    await self._seen.outbox.stored()
                    self.remote, self._attempts, self._connected_at = remote, 0, self._clock.now()
                    self._lost_at = None
                    await self._show(found, "Active", _SHARED if self._shared else "Connected", active=True)

    async def _see(self, sight: Sight) -> None:
        match sight:
            case Listed(objects=objects):
                self._skipped.clear()
                found = [remote_workload_fact(self.name, one) for one in objects]
                self._heed_restored(version_number(sight.version), found)
                self._admitted = {one.workload for one in found if _is_admitted(one)}
                for one in found:
                    await self._tell_copy(replace(one, restored=self._is_older(one)))
                for key in sorted(self._copies.keys() - {one.workload for one in found}):
                    await self._tell_gone(key, f"list:{sight.version}")
            case Changed(object=value):
                await self._tell_copy(remote_workload_fact(self.name, value))
            case Vanished(object=value):
                self._newest = max(self._newest, version_number(object_at(value, "metadata").get("resourceVersion")))
                await self._tell_gone(key_of(value), str(object_at(value, "metadata").get("uid")))

    def _heed_restored(self, version: int, found: Sequence[RemoteWorkloadObserved]) -> None:
        """Tell anew what is there if its versions are behind those that were seen.

        Rule: docs/rules/multikueue.md#restored
        """
        if version < self._newest or any(self._is_older(one) for one in found):
            self._anew, self._newest = f":{self._clock.now()}", 0
            log.warning("the store there was restored", cluster=self.name, version=version)
        self._newest = max(self._newest, version)

    def _is_older(self, fact: RemoteWorkloadObserved) -> bool:
        uid, version = self._copies.get(fact.workload, ("", 0))
        return uid == fact.uid and fact.version < version

    async def _tell_copy(self, fact: RemoteWorkloadObserved) -> None:
        self._newest = max(self._newest, fact.version)
        (self._admitted.add if _is_admitted(fact) else self._admitted.discard)(fact.workload)
        if not self._telling.serves(fact.workload):
            self._skipped.add(fact.workload)
            return
        self._copies[fact.workload] = fact.uid, fact.version
        if fact.estimate is not None:
            fact = replace(fact, sent=len(self._admitted))
        await self._seen.tell(fact.workload, fact, f"{self.name}:{fact.uid}:{fact.version}{self._anew}")

    async def _tell_gone(self, key: str, mark: str) -> None:
        self._copies.pop(key, None)
        self._admitted.discard(key)
        if not self._telling.serves(key):
            self._skipped.add(key)
            return
        await self._seen.tell(
            key, RemoteWorkloadGone(cluster=self.name, workload=key), f"{self.name}:{mark}{self._anew}"
        )

    async def _follow(self, remote: RemoteCluster, resource: Resource) -> None:
        """Poke whose job changes there. What is not served or may not be seen ends nothing: others have jobs of other kinds there."""
        try:
            while True:
                try:
                    await self._follow_jobs(remote, resource)
                except (AccessRefused, ObjectMissing, ObjectInvalid) as problem:
                    log.warning("not followed there", cluster=self.name, kind=resource.kind, problem=str(problem))
                    await self._clock.sleep(_RIGHTS_MAY_COME)
                else:
                    break
        finally:
            self._broken.set()

    async def _follow_jobs(self, remote: RemoteCluster, resource: Resource) -> None:
        async with aclosing(remote.watch(resource)) as sights:
            async for sight in sights:
                for value in sight.objects if isinstance(sight, Listed) else [sight.object]:
                    meta = object_at(value, "metadata")
                    name = object_at(meta, "labels").get(PREBUILT_WORKLOAD_NAME)
                    if name:
                        self._poke(f"{meta.get('namespace', '')}/{name}")

    async def _end(self) -> None:
        self.remote = None
        for task in self._follows.values():
            task.cancel()
        await asyncio.gather(*self._follows.values(), return_exceptions=True)
        self._follows.clear()

    async def _show(self, found: MultiKueueClusterObserved, reason: str, message: str, *, active: bool = False) -> None:
        """Write the condition Active of its object, if it says anything else and that is to be shown from here."""
        self._unshown = not self._telling.leads
        at, self._lost_at = self._lost_at or self._clock.now(), None
        if self._unshown:
            log.info("not shown from here", cluster=self.name, active=active, message=message)
            return
        status = "True" if active else "False"
        while True:
            try:
                value = await self._home.get(CLUSTERS, "", self.name)
                patch = active_patch(value, found.generation, status, reason, message, at)
                if patch is not None:
                    await self._home.merge(CLUSTERS, "", self.name, patch, subresource="status")
            except (ObjectConflict, ClusterUnavailable) as problem:
                log.info("not shown yet", cluster=self.name, problem=str(problem))
                await self._clock.sleep(_FIRST_PAUSE // 10)
            except (ObjectMissing, ObjectInvalid) as problem:  # The connection goes on all the same.
                log.warning("not shown", cluster=self.name, problem=str(problem))
                return
            else:
                return


def _is_admitted(copy: RemoteWorkloadObserved) -> bool:
    return ADMITTED in copy.conditions and not copy.conditions.keys() & {EVICTED, FINISHED}
