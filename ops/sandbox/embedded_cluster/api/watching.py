"""List with paging and watch with bookmarks, as the embedded API answers them."""

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from events.event import Millis
from ops.sandbox.embedded_cluster.api.tables import METADATA, NOTHING, WHOLE, table
from ops.sandbox.embedded_cluster.failures import ApiFailure, bad_request, gone, whole
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import Test, field_test, label_test
from ops.sandbox.embedded_cluster.store import Object, ObjectChange

_BOOKMARK_EVERY_S = 5.0


def selected(request: web.Request, namespace: str) -> Test:
    """The test that a request's namespace and selectors make."""
    labels = label_test(request.query.get("labelSelector", ""))
    fields = field_test(request.query.get("fieldSelector", ""))

    def test(value: Object) -> bool:
        inside = not namespace or value["metadata"].get("namespace") == namespace
        return inside and labels(value) and fields(value)

    return test


def list_objects(request: web.Request, resources: Resources, kind: ApiKind, namespace: str, now: Millis) -> Object:
    """A list, in order of names, a page at a time when a limit is given."""
    test = selected(request, namespace)
    found = [value for _, value in sorted(resources.store.of(kind.key).items()) if test(value)]
    meta: Object = {"resourceVersion": str(resources.store.version)}
    start, limit = _page(request, resources), _number(request, "limit")
    if start:
        found = found[start:]
        meta["resourceVersion"] = request.query["continue"].split(":")[0]
    if limit and len(found) > limit:
        meta["continue"] = f"{meta['resourceVersion']}:{start + limit}"
        meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    shown = [resources.shown(kind, value) for value in found]
    if wants_table(request):
        return table(kind, shown, now, meta, including(request))
    if kind.schema is None:
        # Built-in objects in a list leave it to the list to say what they are.
        shown = [{name: part for name, part in value.items() if name not in ("apiVersion", "kind")} for value in shown]
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta, "items": shown}


async def watch_objects(
    request: web.Request, resources: Resources, kind: ApiKind, namespace: str, now: Millis
) -> web.StreamResponse:
    """A stream of changes behind a resourceVersion, with bookmarks where they are asked for."""
    test = selected(request, namespace)
    store = resources.store
    version = request.query.get("resourceVersion", "")
    queue = store.watch(kind.key)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    try:
        backlog: list[bytes] = []
        if version in ("", "0"):
            backlog = [
                _line(request, resources, kind, "ADDED", value, now)
                for _, value in sorted(store.of(kind.key).items())
                if test(value)
            ]
            if request.query.get("sendInitialEvents") == "true":
                backlog.append(_bookmark(kind, store.version, initial=True))
        else:
            backlog = [
                line
                for change in store.since(whole(version, "resourceVersion"))
                if (line := _told(request, resources, kind, test, change, now)) is not None
            ]
        await response.prepare(request)
        await response.write(b"".join(backlog))
        await _stream(request, response, resources, kind, test, queue, now)
    finally:
        store.unwatch(queue)
    return response


async def _stream(
    request: web.Request,
    response: web.StreamResponse,
    resources: Resources,
    kind: ApiKind,
    test: Test,
    queue: "asyncio.Queue[ObjectChange | None]",
    now: Millis,
) -> None:
    bookmarks = request.query.get("allowWatchBookmarks") == "true"
    seconds = _number(request, "timeoutSeconds") or 1800
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        left = end - loop.time()
        if left <= 0:
            return
        try:
            async with asyncio.timeout(min(left, _BOOKMARK_EVERY_S)):
                change = await queue.get()
        except TimeoutError:
            # A change that has come in the same moment is told first: a bookmark would be ahead of it.
            if bookmarks and queue.empty():
                await response.write(_bookmark(kind, resources.store.version))
            continue
        lines: list[bytes] = []
        while True:
            if change is None:
                await response.write(b"".join(lines))
                return
            line = _told(request, resources, kind, test, change, now)
            if line is not None:
                lines.append(line)
            if queue.empty():
                break
            change = queue.get_nowait()
        if lines:
            await response.write(b"".join(lines))


def _told(
    request: web.Request, resources: Resources, kind: ApiKind, test: Test, change: ObjectChange, now: Millis
) -> bytes | None:
    """The line of one change: an object that begins or ceases to match is told as added or deleted."""
    if change.key != kind.key:
        return None
    is_in = change.type != "DELETED" and test(change.object)
    was_in = change.before is not None and test(change.before)
    if is_in:
        return _line(request, resources, kind, "MODIFIED" if was_in else "ADDED", change.object, now)
    if was_in:
        return _line(request, resources, kind, "DELETED", change.object, now)
    return None


def _line(request: web.Request, resources: Resources, kind: ApiKind, verb: str, value: Object, now: Millis) -> bytes:
    shown = resources.shown(kind, value)
    if wants_table(request):
        meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
        shown = table(kind, [shown], now, meta, including(request))
    return msgspec.json.encode({"type": verb, "object": shown}) + b"\n"


def _bookmark(kind: ApiKind, version: int, *, initial: bool = False) -> bytes:
    meta: dict[str, Any] = {"resourceVersion": str(version)}
    if initial:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    value = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
    return msgspec.json.encode({"type": "BOOKMARK", "object": value}) + b"\n"


def wants_table(request: web.Request) -> bool:
    """Whether the client asks for a table, as kubectl get does."""
    return "as=Table" in request.headers.get("Accept", "")


def including(request: web.Request) -> str:
    """What of its object each row of a table carries. Raises 400."""
    asked = request.query.get("includeObject", METADATA)
    if asked not in (METADATA, WHOLE, NOTHING):
        raise bad_request(f"includeObject must be {METADATA}, {WHOLE} or {NOTHING}")
    return asked


def _number(request: web.Request, name: str) -> int:
    text = request.query.get(name, "0")
    if not text.isdigit():
        raise bad_request(f"{name} must be a whole number")
    return int(text)


def _page(request: web.Request, resources: Resources) -> int:
    token = request.query.get("continue", "")
    if not token:
        return 0
    version, _, start = token.partition(":")
    if not version.isdigit() or not start.isdigit():
        raise bad_request("continue key is not valid")
    if int(version) < resources.store.oldest:
        raise gone("The provided continue parameter is too old to display a consistent list result")
    return int(start)


__all__ = ["ApiFailure", "including", "list_objects", "wants_table", "watch_objects"]
