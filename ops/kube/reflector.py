"""List and watch of one kind on the raw response stream: paging, bookmarks, 410, breaks, and kinds that come later."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import structlog

from ops.kube.client import KubeClient, failure_of, path_of
from services.cluster_port import (
    AccessRefused,
    Changed,
    ClusterUnavailable,
    Listed,
    ListExpired,
    ObjectMissing,
    Resource,
    Sight,
    Vanished,
)

log = structlog.get_logger()

_PAGE = 500
_WATCH_S = 240
_SILENT_S = 300.0
_RETRY_S, _MOST_S = 0.2, 5.0
_ABSENT_S = 5.0
_OK = 200


class _WatchLine(msgspec.Struct):
    type: str
    object: dict[str, Any]


_line = msgspec.json.Decoder(_WatchLine)


class Reflector:
    """Sees the objects of any kind through one client; a watch is asked anew after so many seconds, and pages are so long."""

    def __init__(self, client: KubeClient, *, seconds: int = _WATCH_S, page: int = _PAGE) -> None:
        self._client, self._seconds, self._page = client, seconds, page

    async def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """All objects, then each change, for ever; after a gap everything is listed anew."""
        while True:
            try:
                objects, version = await self._list(resource)
                yield Listed(objects)
                async for sight in self._follow(resource, version):
                    yield sight
            except ObjectMissing:
                await asyncio.sleep(_ABSENT_S)  # The kind is not installed; it may be some day.
            except ListExpired:
                log.info("listed anew", kind=resource.kind)
                await asyncio.sleep(_RETRY_S)
            except AccessRefused as problem:
                log.warning("not seen", kind=resource.kind, problem=str(problem))
                await asyncio.sleep(_MOST_S)  # Rights may come, and an API server that starts does not know them yet.
            except ClusterUnavailable as problem:
                log.info("watch broken", kind=resource.kind, problem=str(problem))
                await asyncio.sleep(min(problem.retry_after, _MOST_S))

    async def _list(self, resource: Resource) -> tuple[list[dict[str, Any]], str]:
        objects: list[dict[str, Any]] = []
        token = ""
        while True:
            page = await self._page_of(f"{path_of(resource)}?limit={self._page}&continue={token}")
            objects.extend(page.get("items") or ())
            meta = page.get("metadata") or {}
            token = meta.get("continue") or ""
            if not token:
                return objects, meta.get("resourceVersion", "")

    async def _page_of(self, path: str) -> dict[str, Any]:
        return await self._client.request("GET", path)

    async def _follow(self, resource: Resource, version: str) -> AsyncIterator[Sight]:
        while True:
            query = f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={self._seconds}"
            timeout = aiohttp.ClientTimeout(total=None, sock_read=_SILENT_S)
            try:
                async with self._client.session.get(
                    self._client.host + path_of(resource) + query,
                    headers=await self._client.headers(),
                    timeout=timeout,
                ) as answer:
                    if answer.status != _OK:
                        raise failure_of(answer.status, await answer.read(), answer.headers.get("Retry-After", ""))
                    try:
                        async for line in _lines(answer.content):
                            sight, version = _sight(line, version)
                            if sight is not None:
                                yield sight
                    finally:
                        _cut(answer)
            except (aiohttp.ClientError, TimeoutError, OSError) as problem:
                raise ClusterUnavailable(str(problem) or type(problem).__name__, _RETRY_S) from problem
            await asyncio.sleep(0)


def _cut(answer: aiohttp.ClientResponse) -> None:
    """A watch that is given up ends at once: a proper end of TLS would outlive whoever has given it up."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Whole lines of a stream, whatever their length."""
    rest = b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line:
                yield line


def _sight(line: bytes, version: str) -> tuple[Sight | None, str]:
    told = _line.decode(line)
    if told.type == "ERROR":
        found = failure_of(int(told.object.get("code") or 0), msgspec.json.encode(told.object))
        raise found if isinstance(found, ClusterUnavailable) else ClusterUnavailable(str(found), _RETRY_S)
    seen = str((told.object.get("metadata") or {}).get("resourceVersion") or version)
    match told.type:
        case "BOOKMARK":
            return None, seen
        case "DELETED":
            return Vanished(told.object), seen
        case _:
            return Changed(told.object), seen
