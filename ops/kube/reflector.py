"""List and watch of one kind on the raw response stream: paging, bookmarks, 410, breaks, and kinds that come later."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec

from ops.kube.client import KubeClient, failure_of, path_of
from services.cluster_port import Changed, ClusterUnavailable, Listed, ObjectMissing, Resource, Sight, Vanished

_PAGE = 500
_WATCH_S = 240
_SILENT_S = 300.0
_RETRY_S = 0.2
_ABSENT_S = 5.0
_OK, _GONE = 200, 410


class _WatchLine(msgspec.Struct):
    type: str
    object: dict[str, Any]


_line = msgspec.json.Decoder(_WatchLine)


class Expired(Exception):
    """The history from where the watch was to go on is not kept any more: list anew."""


class Reflector:
    """Sees the objects of any kind through one client."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

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
            except (Expired, ClusterUnavailable):
                await asyncio.sleep(_RETRY_S)

    async def _list(self, resource: Resource) -> tuple[list[dict[str, Any]], str]:
        objects: list[dict[str, Any]] = []
        token = ""
        while True:
            page = await self._client.request("GET", f"{path_of(resource)}?limit={_PAGE}&continue={token}")
            objects.extend(page.get("items") or ())
            meta = page.get("metadata") or {}
            token = meta.get("continue") or ""
            if not token:
                return objects, meta.get("resourceVersion", "")

    async def _follow(self, resource: Resource, version: str) -> AsyncIterator[Sight]:
        while True:
            query = f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds={_WATCH_S}"
            timeout = aiohttp.ClientTimeout(total=None, sock_read=_SILENT_S)
            try:
                async with self._client.session.get(
                    self._client.host + path_of(resource) + query,
                    headers=await self._client.headers(),
                    timeout=timeout,
                ) as answer:
                    if answer.status == _GONE:
                        raise Expired
                    if answer.status != _OK:
                        raise failure_of(answer.status, await answer.read())
                    async for line in _lines(answer.content):
                        sight, version = _sight(line, version)
                        if sight is not None:
                            yield sight
            except (aiohttp.ClientError, TimeoutError, OSError) as problem:
                raise ClusterUnavailable(str(problem) or type(problem).__name__) from problem
            await asyncio.sleep(0)


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
        if told.object.get("code") == _GONE:
            raise Expired
        raise ClusterUnavailable(str(told.object.get("message", "watch error")))
    seen = str((told.object.get("metadata") or {}).get("resourceVersion") or version)
    match told.type:
        case "BOOKMARK":
            return None, seen
        case "DELETED":
            return Vanished(told.object), seen
        case _:
            return Changed(told.object), seen
