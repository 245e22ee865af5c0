"""Kueue's visibility API: who waits for a queue at which position, as the API server's aggregation layer asks for it."""

import re
from collections.abc import Callable
from typing import Protocol

import msgspec
from aiohttp import web

from events.event import Millis
from events.json_object import JsonObject
from events.timestamp import format_timestamp
from ops.production.listeners.bearer import trusted
from ops.production.visibility.discovery import api_group, api_resource_list
from ops.production.visibility.lag_metrics import GROUP as LAG_GROUP
from ops.production.visibility.lag_metrics import VERSION as LAG_VERSION
from ops.production.visibility.lag_metrics import LagMetrics, LagUnknown, MetricUnknown, SelectorRefused
from projections.explanation.positions import Position, positions
from projections.world import World
from services.applier.workloads.workload_manifest import owner_references

GROUP = "visibility.kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
LIMIT, MOST = 1000, 100_000
"""How many items are returned when the request does not say, and at most."""

_CLUSTER_QUEUE = re.compile(r"clusterqueues/([^/]+)/pendingworkloads")
_LOCAL_QUEUE = re.compile(r"namespaces/([^/]+)/localqueues/([^/]+)/pendingworkloads")
_NOT_FOUND, _BAD_REQUEST, _NOT_ALLOWED, _NOT_READY = 404, 400, 405, 503


class ApiRefusal(Exception):
    """An answer with a code and reason of Kubernetes' instead of what was asked for."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason


class RequestCheck(Protocol):
    """Knows which requests are allowed."""

    async def check(self, request: web.Request, parts: list[str]) -> None:
        """Raise `Refused` unless the user may read the path of these parts, below /apis."""
        ...


class FollowedWorld(Protocol):
    """A world that somebody else keeps up to date."""

    def world(self) -> World | None:
        """The world, or None while it is still being folded."""
        ...

    def now(self) -> Millis:
        """The time for which positions are asked."""
        ...


class Visibility:
    """Answers from a world that is followed; without `access` everybody is answered."""

    def __init__(
        self,
        followed: FollowedWorld,
        access: RequestCheck | None = None,
        lag: LagMetrics | None = None,
        why_not: Callable[[], str] = str,
    ) -> None:
        """With `lag` that is served beside it, for who scales by it; `why_not` says what else keeps it from being ready."""
        self._followed, self._access, self._lag, self._why_not = followed, access, lag, why_not

    def app(self) -> web.Application:
        """A server of its own."""
        app = web.Application()
        for path in ("/healthz", "/livez"):
            app.router.add_get(path, self._alive)
        app.router.add_get("/readyz", self._ready)
        app.router.add_route("*", "/apis{rest:(/.*)?}", self.handle)
        return app

    def group(self) -> JsonObject:
        """What /apis/<group> says."""
        return api_group(GROUP, VERSIONS)

    async def handle(self, request: web.Request) -> web.Response:
        """Anything below /apis."""
        parts = [part for part in request.path.split("/") if part][1:]
        try:
            if self._access is not None:
                await self._access.check(request, parts)
            if request.method != "GET":
                raise ApiRefusal(_NOT_ALLOWED, "MethodNotAllowed", "this API only answers questions")
            return _reply(await self._lag_of(parts, request) or self._answer(parts, request))
        except ApiRefusal as refused:
            return _reply(
                {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Failure",
                    "message": str(refused),
                    "reason": refused.reason,
                    "code": refused.code,
                },
                refused.code,
            )

    async def _lag_of(self, parts: list[str], request: web.Request) -> JsonObject | None:
        """What is asked of the lag; None where nothing is."""
        lag = self._lag
        if lag is None:
            return None
        try:
            match parts:
                case [group] if group == LAG_GROUP:
                    return lag.group()
                case [group, version] if (group, version) == (LAG_GROUP, LAG_VERSION):
                    return lag.resources()
                case [group, version, "namespaces", _, metric] if (group, version) == (LAG_GROUP, LAG_VERSION):
                    return await lag.value(metric, request.query.get("labelSelector", ""))
                case _:
                    return None
        except MetricUnknown:
            return None
        except SelectorRefused as problem:
            raise ApiRefusal(_BAD_REQUEST, "BadRequest", str(problem)) from problem
        except LagUnknown as problem:
            raise ApiRefusal(_NOT_READY, "ServiceUnavailable", str(problem)) from problem

    def _answer(self, parts: list[str], request: web.Request) -> JsonObject:
        match parts:
            case []:
                groups = [self.group(), *([self._lag.group()] if self._lag is not None else [])]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case [group] if group == GROUP:
                return self.group()
            case [group, version] if group == GROUP and version in VERSIONS:
                return api_resources(version)
            case [group, version, *rest] if group == GROUP and version in VERSIONS:
                return self._pending(version, "/".join(rest), request)
            case _:
                raise ApiRefusal(_NOT_FOUND, "NotFound", "the server could not find the requested resource")

    def _pending(self, version: str, path: str, request: web.Request) -> JsonObject:
        world = self._followed.world()
        if world is None:
            raise ApiRefusal(_NOT_READY, "ServiceUnavailable", "the log is not folded yet")
        offset, limit = _number(request, "offset", 0), min(_number(request, "limit", LIMIT) or LIMIT, MOST)
        found = _waiting(world, path, self._followed.now())[offset : offset + limit]
        return {
            "kind": "PendingWorkloadsSummary",
            "apiVersion": f"{GROUP}/{version}",
            "metadata": {"creationTimestamp": None},
            "items": [_item(one) for one in found],
        }

    async def _alive(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.Response:
        problem = self._why_not() or ("" if self._followed.world() is not None else "the log is not folded yet")
        told = problem if trusted(request, None) else "not ready"
        return web.Response(text=told if problem else "ok", status=_NOT_READY if problem else 200)


def api_resources(version: str) -> JsonObject:
    """What /apis/<group>/<version> says."""
    resources = [
        {
            "name": f"{plural}/pendingworkloads",
            "singularName": "",
            "namespaced": namespaced,
            "kind": "PendingWorkloadsSummary",
            "verbs": ["get"],
        }
        for plural, namespaced in (("clusterqueues", False), ("localqueues", True))
    ]
    return api_resource_list(GROUP, version, resources)


def _waiting(world: World, path: str, at: Millis) -> list[Position]:
    named = _CLUSTER_QUEUE.fullmatch(path)
    if named is not None:
        name = named.group(1)
        if name not in world.cluster_queues:
            raise _missing("clusterqueue", name)
        return positions(world, name, at)
    named = _LOCAL_QUEUE.fullmatch(path)
    if named is None:
        raise ApiRefusal(_NOT_FOUND, "NotFound", "the server could not find the requested resource")
    key = f"{named.group(1)}/{named.group(2)}"
    local_queue = world.local_queues.get(key)
    if local_queue is None:
        raise _missing("localqueue", named.group(2))
    return [one for one in positions(world, local_queue.cluster_queue, at) if one.workload.local_queue == key]


def _missing(singular: str, name: str) -> ApiRefusal:
    return ApiRefusal(_NOT_FOUND, "NotFound", f'{singular}.{GROUP} "{name}" not found')


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    if text and not (text.isascii() and text.isdigit()):
        raise ApiRefusal(_BAD_REQUEST, "BadRequest", f"{name}: {text!r} is not a whole number, at least 0")
    return int(text[:12]) if text else default


def _item(one: Position) -> JsonObject:
    workload = one.workload
    meta: JsonObject = {
        "name": workload.name,
        "namespace": workload.namespace,
        "creationTimestamp": format_timestamp(workload.created_at),
    }
    if workload.owner is not None:
        meta["ownerReferences"] = [
            {key: one[key] for key in ("apiVersion", "kind", "name", "uid")} for one in owner_references(workload)
        ]
    return {
        "metadata": meta,
        "priority": workload.priority,
        "localQueueName": workload.spec.queue,
        "positionInClusterQueue": one.in_cluster_queue,
        "positionInLocalQueue": one.in_local_queue,
    }


def _reply(value: JsonObject, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")
