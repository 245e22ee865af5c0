"""List and watch of one kind on the raw response stream: paging, bookmarks, 410, breaks, and kinds that come later."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import quote

import msgspec
import structlog
from msgspec.structs import replace

from events.json_object import JsonObject, object_at
from ops.production.kubernetes.client import LONGEST_S, ApiRequests, failure_of, path_of
from services.runtime.cluster_port import (
    AccessRefused,
    Changed,
    ClusterUnavailable,
    Listed,
    ListExpired,
    ObjectMissing,
    Resource,
    Sight,
    Vanished,
    Watches,
)

log = structlog.get_logger()

_PAGE = 500
_WATCH_S = 240
_RETRY_S, _MOST_S = 0.2, 5.0
_ABSENT_S = 5.0
_SHORT_S = 1.0
"""A watch that ends sooner than this was not much of one."""
_SHOWN = 300
START, EXPIRED, BROKEN = "start", "expired", "broken"
"""Why all objects of a kind are listed."""


class _WatchLine(msgspec.Struct):
    type: str
    object: JsonObject


_line = msgspec.json.Decoder(_WatchLine)


class Reflector:
    """Sees the objects of any kind through one client; a watch is asked anew after so many seconds, and pages are so long.

    Without patience a watch ends with the connection: whoever reads it is told by what is raised.
    """

    def __init__(
        self, client: ApiRequests, *, seconds: int = _WATCH_S, page: int = _PAGE, patient: bool = True
    ) -> None:
        self._client, self._seconds, self._page, self._patient = client, seconds, page, patient
        self.watches = Watches()
        """How all of them go on."""

    async def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        """All objects, then each change, for ever; after a gap everything is listed anew."""
        try:
            async with aclosing(self._sights(resource)) as sights:
                async for sight in sights:
                    yield sight
        finally:
            # Nobody looks any more, for instance because another replica watches now: that is no silence.
            self.watches.heard.pop(resource.kind, None)

    async def _sights(self, resource: Resource) -> AsyncGenerator[Sight]:  # noqa: C901 - one way to fail after the other
        why, failures = START, 0
        """In a row, without a change seen in between."""
        versions = _Versions(resource)
        while True:
            try:
                resource = versions.tried
                listed = Listed(*await self._list(resource))
                version = listed.version
                versions.found()
                self.watches.lists[resource.kind, why] += 1
                self._hear(resource)
                yield listed
                del listed  # Else all of it was held for as long as the watch goes on.
                async with aclosing(self._follow(resource, version)) as sights:
                    async for sight in sights:
                        failures = 0
                        yield sight
            except ObjectMissing:
                if versions.next():
                    continue
                if not self._patient:
                    raise
                self.watches.heard.pop(resource.kind, None)
                versions.complain()
                await _rest(_ABSENT_S)  # The kind is not installed; it may be some day.
            except ListExpired:
                why = EXPIRED
                log.info("listed anew", kind=resource.kind)
                await _rest(_pause(failures))
            except AccessRefused as problem:
                if not self._patient:
                    raise
                log.warning("not seen", kind=resource.kind, problem=str(problem))
                await _rest(_MOST_S)  # Rights may come, and an API server that starts does not know them yet.
            except ClusterUnavailable as problem:
                if not self._patient:
                    raise
                why = why if why == START and resource.kind not in self.watches.heard else BROKEN
                log.info("watch broken", kind=resource.kind, problem=str(problem))
                await _rest(max(min(problem.retry_after, LONGEST_S), _pause(failures)))
            failures += 1

    def _hear(self, resource: Resource) -> None:
        self.watches.heard[resource.kind] = time.time_ns() // 1_000_000

    async def _list(self, resource: Resource) -> tuple[list[JsonObject], str]:
        objects: list[JsonObject] = []
        token = ""
        while True:
            page = await self._page_of(
                f"{path_of(resource, resource.namespace)}?{fields_of(resource)}limit={self._page}&continue={token}"
            )
            objects.extend(_without_managers(one) for one in page.get("items") or ())
            meta = object_at(page, "metadata")
            token = meta.get("continue") or ""
            if not token:
                return objects, meta.get("resourceVersion", "")

    async def _page_of(self, path: str) -> JsonObject:
        return await self._client.request("GET", path)

    async def _follow(self, resource: Resource, version: str) -> AsyncGenerator[Sight]:
        loop, short = asyncio.get_running_loop(), 0
        while True:
            begun, seconds = loop.time(), self._seconds + round(self._seconds * random.random())
            query = f"?{fields_of(resource)}watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={seconds}"
            async with aclosing(self._client.lines(path_of(resource, resource.namespace) + query)) as lines:
                async for line in lines:
                    self._hear(resource)
                    sight, version = _sight(line, version)
                    if sight is not None:
                        yield sight
            if loop.time() - begun >= _SHORT_S:
                short = 0
                continue
            await _rest(_pause(short))
            short += 1


class _Versions:
    """In which version a kind is asked for next, while the API server serves none that was asked for."""

    def __init__(self, resource: Resource) -> None:
        self._all = [resource, *(replace(resource, version=one) for one in resource.older)]
        self._at, self._complained = 0, False

    @property
    def tried(self) -> Resource:
        return self._all[self._at]

    def found(self) -> None:
        """It is served in that version."""
        if self._at:
            log.info("seen in an older version", kind=self.tried.kind, version=self.tried.version)
        self._complained = False

    def next(self) -> bool:
        """Go on to the next older version; without one begin at the newest again, and say false."""
        self._at = (self._at + 1) % len(self._all)
        return self._at > 0

    def complain(self) -> None:
        """Say once that no version is served, of a kind that is expected to be in one of several."""
        if len(self._all) > 1 and not self._complained:
            self._complained = True
            first = self._all[0]
            log.warning(
                "not served by the API server in any version that can be read: upgrade it, or enable one of them",
                kind=first.kind,
                group=first.group,
                versions=", ".join(one.version for one in self._all),
            )


def fields_of(resource: Resource) -> str:
    """The part of a query that asks for one name or some labels only: rights that name it are enough for that."""
    one = f"fieldSelector=metadata.name%3D{resource.name}&" if resource.name else ""
    return f"{one}labelSelector={quote(resource.labels)}&" if resource.labels else one


async def _rest(seconds: float) -> None:
    """So long, and up to twice as long: all watches of all services break at once, and must not come back at once."""
    await asyncio.sleep(seconds * (1 + random.random()))


def _pause(failures: int) -> float:
    """Seconds after so many failures in a row."""
    return min(_RETRY_S * 2 ** min(failures, 8), _MOST_S)


def _sight(line: bytes, version: str) -> tuple[Sight | None, str]:
    try:
        event = _line.decode(line)
    except RecursionError:
        # Asked for again it would be no shallower; the others of its kind are still seen.
        log.error("an object is nested too deep and left alone", begin=line[:_SHOWN].decode(errors="replace"))
        return None, version
    except msgspec.MsgspecError as problem:
        raise ClusterUnavailable(f"a change can't be read: {problem}", _RETRY_S) from problem
    if event.type == "ERROR":
        found = failure_of(int(event.object.get("code") or 0), msgspec.json.encode(event.object))
        raise found if isinstance(found, ClusterUnavailable) else ClusterUnavailable(str(found), _RETRY_S)
    value = _without_managers(event.object)
    seen = str(object_at(value, "metadata").get("resourceVersion") or version)
    match event.type:
        case "BOOKMARK":
            return None, seen
        case "DELETED":
            return Vanished(value), seen
        case _:
            return Changed(value), seen


def _without_managers(value: JsonObject) -> JsonObject:
    """Nothing of ours goes by who has written which field, and that is most of an object's memory while it is held."""
    if isinstance(meta := value.get("metadata"), dict):
        meta.pop("managedFields", None)
    return value
