"""The embedded Kubernetes API over HTTP: paths and verbs to what they do to objects."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from aiohttp import web

from events.event import Millis
from ops.files.reading import Unreadable, yaml_of
from ops.sandbox.embedded_cluster.api import discovery
from ops.sandbox.embedded_cluster.api.apply_requests import applied
from ops.sandbox.embedded_cluster.api.field_validation import warnings
from ops.sandbox.embedded_cluster.api.pod_log import pod_log
from ops.sandbox.embedded_cluster.api.protobuf import FORM, object_of
from ops.sandbox.embedded_cluster.api.reviews import Reviews, as_whom
from ops.sandbox.embedded_cluster.api.scaling import scale_of, with_scale
from ops.sandbox.embedded_cluster.api.tables import table
from ops.sandbox.embedded_cluster.api.targets import Target, target_of
from ops.sandbox.embedded_cluster.api.watching import including, list_objects, wants_table, watch_objects
from ops.sandbox.embedded_cluster.changes.patches import json_patch, merge_patch, strategic_patch
from ops.sandbox.embedded_cluster.failures import ApiFailure, bad_request, conflict, whole
from ops.sandbox.embedded_cluster.faults import Faults
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Object

_METADATA: dict[str, type[Any]] = {
    **dict.fromkeys(("name", "namespace", "generateName", "resourceVersion", "uid"), str),
    **dict.fromkeys(("labels", "annotations"), dict),
    **dict.fromkeys(("finalizers", "ownerReferences"), list),
}
"""The fields of metadata that the server itself works with."""
_JSON = "application/json"


class AggregatedApi(Protocol):
    """Another server that answers for a group of its own, as an APIService would name it."""

    def group(self) -> Object:
        """What it says of the group."""
        ...

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer for anything below /apis/<group>."""
        ...


class Api:
    """The application: one handler for everything below /api and /apis."""

    def __init__(
        self,
        resources: Resources,
        now: Callable[[], Millis],
        faults: Faults,
        aggregated: Mapping[str, AggregatedApi] | None = None,
    ) -> None:
        self._resources, self._now, self._faults = resources, now, faults
        self._aggregated = aggregated if aggregated is not None else {}
        self._reviews = Reviews(resources.store, now)
        self.app = web.Application(middlewares=[self._guard], client_max_size=16 << 20)
        self.app.router.add_get("/version", self._plain(lambda: discovery.VERSION))
        for path in ("/healthz", "/readyz", "/livez"):
            self.app.router.add_get(path, self._healthy)
        self.app.router.add_get("/openapi/v3", self._plain(lambda: discovery.openapi_paths(resources.kinds())))
        self.app.router.add_get("/openapi/v3/{path:.+}", self._openapi)
        self.app.router.add_route("*", "/{root:api|apis}{rest:.*}", self._handle)

    def _plain(self, answer: Callable[[], Any]) -> Callable[[web.Request], Any]:
        async def handler(request: web.Request) -> web.Response:
            del request
            return reply(answer())

        return handler

    async def _healthy(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")

    async def _openapi(self, request: web.Request) -> web.Response:
        path, kinds = request.match_info["path"], self._resources.kinds()
        # The client's types are loaded when they are first asked for, which takes a while.
        return reply(await asyncio.to_thread(discovery.openapi_document, path, kinds))

    @web.middleware
    async def _guard(self, request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
        try:
            self._faults.strike(request.method, request.path)
            return await handler(request)
        except ApiFailure as failure:
            answer = reply(failure.body, failure.code)
            if failure.retry_after is not None:
                answer.headers["Retry-After"] = str(failure.retry_after)
            return answer
        except ConnectionResetError:
            return web.Response(status=499)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        parts = [part for part in request.path.split("/") if part]
        if parts[0] == "apis" and len(parts) > 1 and parts[1] in self._aggregated:
            return await self._aggregated[parts[1]].handle(request)
        found = self._discover(parts)
        if found is not None:
            return reply(found)
        if request.method == "POST" and self._reviews.knows(parts):
            body = await _body(request)
            return reply({**body, "status": self._reviews.status(parts, body, as_whom(request))}, 201)
        return await self._answer(request, target_of(self._resources, parts))

    async def _answer(self, request: web.Request, target: Target) -> web.StreamResponse:
        match request.method:
            case "GET" if target.subresource == "log":
                return self._log(request, target)
            case method if target.subresource == "log":
                raise _not_allowed(method)
            case "GET" if target.name:
                return self._get(request, target)
            case "GET" if request.query.get("watch") in ("true", "1"):
                return await watch_objects(request, self._resources, target.kind, target.namespace, self._now())
            case "GET":
                return reply(list_objects(request, self._resources, target.kind, target.namespace, self._now()))
            case "POST" if not target.name:
                return self._create(request, target, await _body(request))
            case "PUT" if target.name:
                value = await _body(request)
                told = _judge(request, target, value)
                return _warned(self._replace(request, target, value), told)
            case "PATCH" if target.name:
                return await self._patch(request, target)
            case "DELETE":
                return self._delete(target, await _body(request, empty=True), request)
            case method:
                raise _not_allowed(method)

    def _discover(self, parts: list[str]) -> Object | None:
        kinds = self._resources.kinds()
        match parts:
            case ["api"]:
                return {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"], "serverAddressByClientCIDRs": []}
            case ["apis"]:
                found = discovery.group_list(kinds)
                found["groups"] += [self._aggregated[name].group() for name in sorted(self._aggregated)]
                return found
            case ["api", version]:
                return discovery.resource_list("", version, kinds)
            case ["apis", name] if any(kind.group == name for kind in kinds):
                return discovery.group(name, kinds)
            case ["apis", name, version]:
                return discovery.resource_list(name, version, kinds)
            case _:
                return None

    def _get(self, request: web.Request, target: Target) -> web.Response:
        value = self._resources.get(target.kind, target.key)
        return self._shown(request, target, scale_of(target.kind, value) if target.subresource == "scale" else value)

    def _log(self, request: web.Request, target: Target) -> web.Response:
        pod = self._resources.get(target.kind, target.key)
        lines = pod_log(pod, request.query.get("container", "")).splitlines(keepends=True)
        if "tailLines" in request.query:
            last = whole(request.query["tailLines"], "tailLines")
            lines = lines[-last:] if last > 0 else []
        return web.Response(text="".join(lines))

    def _create(self, request: web.Request, target: Target, value: Object) -> web.Response:
        told = _judge(request, target, value)
        made = self._resources.create(
            target.kind,
            target.namespace,
            value,
            dry_run="dryRun" in request.query,
            manager=_manager(request),
        )
        return _warned(self._shown(request, target, made, 201), told)

    def _replace(self, request: web.Request, target: Target, value: Object, *, applied: bool = False) -> web.Response:
        if target.subresource == "scale":
            value = with_scale(target.kind, self._resources.get(target.kind, target.key), value)
        stored = self._resources.update(
            target.kind,
            target.key,
            value,
            subresource="status" if target.subresource == "status" else "",
            dry_run="dryRun" in request.query,
            manager="" if applied else _manager(request),
        )
        return self._shown(request, target, scale_of(target.kind, stored) if target.subresource == "scale" else stored)

    async def _patch(self, request: web.Request, target: Target) -> web.Response:
        raw = await request.read()
        form = request.headers.get("Content-Type", "").split(";")[0]
        if "apply-patch" in form:
            return self._apply(request, target, raw)
        before = self._resources.get(target.kind, target.key)
        if target.subresource == "scale":
            after = merge_patch(scale_of(target.kind, before), _patch_of(raw, form))
            return self._replace(request, target, _object(after, "a patched scale"))
        patch = _patch_of(raw, form)
        match form:
            case "application/json-patch+json":
                after = json_patch(before, patch)
            case "application/strategic-merge-patch+json" if target.kind.schema is None:
                after = strategic_patch(before, patch)
            case "application/merge-patch+json" | "application/strategic-merge-patch+json":
                after = merge_patch(before, patch)
            case _:
                raise ApiFailure(
                    415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {form}"
                )
        _object(after, "a patched object")
        named = (patch.get("metadata") or {}).get("resourceVersion") if isinstance(patch, dict) else None
        if named is not None and named != before["metadata"]["resourceVersion"]:
            raise conflict(target.kind.key, target.name)
        told = _judge(request, target, after, before)
        return _warned(self._replace(request, target, after), told)

    def _apply(self, request: web.Request, target: Target, raw: bytes) -> web.Response:
        manager = request.query.get("fieldManager", "")
        if not manager:
            raise bad_request("fieldManager is required for apply patch")
        forced = request.query.get("force") == "true"
        wanted = _read(raw)
        told = _judge(request, target, wanted)
        before, after = applied(self._resources, target, wanted, manager=manager, force=forced, now=self._now())
        if before is not None:
            return _warned(self._replace(request, target, after, applied=True), told)
        if target.subresource:
            raise ApiFailure(404, "NotFound", f'{target.kind.key} "{target.name}" not found')
        made = self._resources.create(target.kind, target.namespace, after, dry_run="dryRun" in request.query)
        return _warned(self._shown(request, target, made, 201), told)

    def _delete(self, target: Target, options: Object, request: web.Request) -> web.Response:
        if "propagationPolicy" in request.query:
            options["propagationPolicy"] = request.query["propagationPolicy"]
        if "gracePeriodSeconds" in request.query:
            options["gracePeriodSeconds"] = whole(request.query["gracePeriodSeconds"], "gracePeriodSeconds")
        if target.name:
            return reply(self._resources.delete(target.kind, target.key, options))
        found = list_objects(request, self._resources, target.kind, target.namespace, self._now())
        for value in found.get("items", ()):
            meta = value["metadata"]
            self._resources.delete(target.kind, (meta.get("namespace", ""), meta["name"]), options)
        return reply({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    def _shown(self, request: web.Request, target: Target, value: Object, status: int = 200) -> web.Response:
        if wants_table(request) and target.subresource != "scale":
            meta = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
            return reply(table(target.kind, [value], self._now(), meta, including(request)), status)
        return reply(value, status)


def _not_allowed(method: str) -> ApiFailure:
    return ApiFailure(405, "MethodNotAllowed", f"the server does not allow {method} on the requested resource")


def _manager(request: web.Request) -> str:
    """In whose name a request writes: as it says, or as the program calls itself."""
    named = request.query.get("fieldManager", "")
    return named or request.headers.get("User-Agent", "").partition("/")[0] or "unknown"


def _judge(request: web.Request, target: Target, value: Object, before: Object | None = None) -> list[str]:
    """What is to be said of the fields of a body that were not there before. Raises 400."""
    if target.subresource == "scale":
        return []
    return warnings(target.kind, value, request.query.get("fieldValidation", ""), before)


def _warned(response: web.Response, told: list[str]) -> web.Response:
    for one in told:
        response.headers.add("Warning", f"299 - {json.dumps(one)}")
    return response


def reply(value: Any, status: int = 200) -> web.Response:
    """A JSON answer."""
    return web.Response(body=msgspec.json.encode(value), status=status, content_type=_JSON)


async def _body(request: web.Request, *, empty: bool = False) -> Object:
    raw = await request.read()
    if not raw and empty:
        return {}
    form = request.headers.get("Content-Type", "")
    if FORM in form:
        return _object(object_of(raw), "the request")
    return _object(_yaml(raw) if "yaml" in form else _decode(raw), "the request")


def _patch_of(raw: bytes, form: str) -> Any:
    patch = _decode(raw)
    if not isinstance(patch, list if "json-patch" in form else dict):
        raise bad_request(f"the body of the request is no patch of the form {form}")
    return patch


def _read(raw: bytes) -> Object:
    """The object of an apply, which is YAML; programs write JSON, which is read much faster."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = _yaml(raw)
    return _object(value, "an apply")


def _object(value: Any, what: str) -> Object:
    """A body that has the outline of an object."""
    if not isinstance(value, dict):
        raise bad_request(f"the body of {what} is not an object")
    meta = value.get("metadata", {})
    if not isinstance(meta, dict):
        raise bad_request(f"the body of {what} has metadata that is not an object")
    for field, kind in _METADATA.items():
        if meta.get(field) is not None and not isinstance(meta[field], kind):
            raise bad_request(f"the body of {what} has a metadata.{field} that is of another type")
    return value


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise bad_request(f"the body of the request is not JSON: {problem}") from problem


def _yaml(raw: bytes) -> Any:
    try:
        return yaml_of(raw)
    except Unreadable as problem:
        raise bad_request(f"the body of the request is not YAML: {problem}") from problem
