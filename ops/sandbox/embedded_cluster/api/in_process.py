"""The embedded API without HTTP: a client whose requests are answered in the same process, through a gate for faults."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec

from events.event import Millis
from ops.production.kubernetes.client import ApiRequests, failure_of
from ops.sandbox.embedded_cluster.api.apply_requests import applied
from ops.sandbox.embedded_cluster.api.targets import Target, target_of
from ops.sandbox.embedded_cluster.changes.patches import merge_patch
from ops.sandbox.embedded_cluster.failures import ApiFailure, conflict, not_found
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Object, ObjectChange

_BOOKMARK_EVERY_S = 60.0


class RequestGate(Protocol):
    """What lies between a client and the API; it may delay whatever passes, or raise `ApiFailure` or what services know."""

    async def before(self, method: str, path: str) -> None:
        """A request is on its way."""
        ...

    async def after(self, method: str, path: str) -> None:
        """What was asked for is done, and the answer is on its way."""
        ...

    async def line(self, path: str) -> None:
        """A line of a watch is on its way."""
        ...


class OpenGate:
    """Nothing lies between."""

    async def before(self, method: str, path: str) -> None:
        """It passes."""

    async def after(self, method: str, path: str) -> None:
        """It passes."""

    async def line(self, path: str) -> None:
        """It passes."""


class InProcessClient(ApiRequests):
    """Speaks to the objects of an embedded cluster. Nothing that it hands out is shared with them."""

    def __init__(self, resources: Resources, gate: RequestGate, now: Callable[[], Millis]) -> None:
        self._resources, self._gate, self._now = resources, gate, now

    async def once(self, method: str, path: str, data: bytes | None, form: str) -> dict[str, Any]:
        """One request, answered at once unless the gate holds it."""
        try:
            await self._gate.before(method, path)
            body: Object = msgspec.json.decode(data) if data else {}
            answer = msgspec.json.encode(
                self._apply(path, body) if "apply" in form else self._answer(method, path, body)
            )
            await self._gate.after(method, path)
        except ApiFailure as failure:
            raise _failure(failure) from failure
        return msgspec.json.decode(answer)

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        """A watch: what has changed behind a version, then what changes, until its time is over or it is broken off."""
        try:
            await self._gate.before("GET", path)
            target, query = self._target(path)
            store = self._resources.store
            # From here to the first wait nothing else runs: no change is missed and none told twice.
            queue = store.watch(target.kind.key)
            try:
                past = [one for one in store.since(int(query["resourceVersion"])) if one.key == target.kind.key]
                async for line in self._changes(target, past, queue, float(query.get("timeoutSeconds", "240"))):
                    await self._gate.line(path)
                    yield line
            finally:
                store.unwatch(queue)
        except ApiFailure as failure:
            raise _failure(failure) from failure

    async def _changes(
        self, target: Target, past: list[ObjectChange], queue: "asyncio.Queue[ObjectChange | None]", seconds: float
    ) -> AsyncGenerator[bytes, None]:
        for change in past:
            yield self._line(target, change)
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, _BOOKMARK_EVERY_S)):
                    change = await queue.get()
            except TimeoutError:
                # A change that has come in the same moment is told first: a bookmark would be ahead of it.
                if queue.empty():
                    yield _bookmark(target, self._resources.store.version)
                continue
            if change is None:
                return
            yield self._line(target, change)

    def _line(self, target: Target, change: ObjectChange) -> bytes:
        shown = self._resources.shown(target.kind, change.object)
        return msgspec.json.encode({"type": change.type, "object": shown})

    def _answer(self, method: str, path: str, body: Object) -> Object:
        target, _ = self._target(path)
        match method:
            case "GET" if target.name:
                return self._resources.get(target.kind, target.key)
            case "GET":
                return self._list(target)
            case "POST":
                return self._resources.create(target.kind, target.namespace, body)
            case "PATCH":
                return self._merge(target, body)
            case "DELETE":
                return self._resources.delete(target.kind, target.key, body)
            case _:
                raise ApiFailure(405, "MethodNotAllowed", f"{method} is not answered here")

    def _list(self, target: Target) -> Object:
        store = self._resources.store
        found = [
            self._resources.shown(target.kind, value)
            for (space, _), value in sorted(store.of(target.kind.key).items())
            if not target.namespace or space == target.namespace
        ]
        if target.kind.schema is None:
            # Built-in objects in a list leave it to the list to say what they are.
            found = [{name: part for name, part in one.items() if name not in ("apiVersion", "kind")} for one in found]
        return {"metadata": {"resourceVersion": str(store.version)}, "items": found}

    def _merge(self, target: Target, patch: Object) -> Object:
        before = self._resources.get(target.kind, target.key)
        named = (patch.get("metadata") or {}).get("resourceVersion")
        if named is not None and named != before["metadata"]["resourceVersion"]:
            raise conflict(target.kind.key, target.name)
        after = merge_patch(before, patch)
        return self._resources.update(target.kind, target.key, after, subresource=target.subresource)

    def _apply(self, path: str, body: Object) -> Object:
        target, query = self._target(path)
        forced = query.get("force") == "true"
        before, after = applied(
            self._resources, target, body, manager=query["fieldManager"], force=forced, now=self._now()
        )
        if before is not None:
            return self._resources.update(target.kind, target.key, after, subresource=target.subresource)
        if target.subresource:
            raise not_found(target.kind.key, target.name)
        return self._resources.create(target.kind, target.namespace, after)

    def _target(self, path: str) -> tuple[Target, dict[str, str]]:
        split = urlsplit(path)
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        return target_of(self._resources, [part for part in split.path.split("/") if part]), query


def _failure(failure: ApiFailure) -> Exception:
    retry_after = "" if failure.retry_after is None else str(failure.retry_after)
    return failure_of(failure.code, msgspec.json.encode(failure.body), retry_after)


def _bookmark(target: Target, version: int) -> bytes:
    value = {
        "kind": target.kind.kind,
        "apiVersion": target.kind.api_version,
        "metadata": {"resourceVersion": str(version)},
    }
    return msgspec.json.encode({"type": "BOOKMARK", "object": value})
