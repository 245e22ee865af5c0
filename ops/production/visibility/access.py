"""Access to the visibility API: for the user whom the front proxy names, if the API server lets that user read."""

import structlog
from aiohttp import web

from events.json_object import JsonObject
from ops.production.listeners.access_review import AccessReviews
from ops.production.listeners.front_proxy import FrontProxy, Unproven, who_asks
from ops.production.visibility.api import GROUP, VERSIONS, ApiRefusal
from ops.production.visibility.lag_metrics import GROUP as LAG_GROUP
from ops.production.visibility.lag_metrics import VERSION as LAG_VERSION
from services.runtime.cluster_port import (
    AccessRefused,
    ClusterUnavailable,
    ListExpired,
    ObjectConflict,
    ObjectInvalid,
    ObjectMissing,
)

log = structlog.get_logger()

_UNAUTHORIZED, _FORBIDDEN, _NOT_READY = 401, 403, 503
_UNANSWERED = (AccessRefused, ClusterUnavailable, ListExpired, ObjectConflict, ObjectInvalid, ObjectMissing)


class AccessByReview:
    """Takes the user's name from the front proxy, and asks the API server what that user may read."""

    def __init__(self, reviews: AccessReviews) -> None:
        self.proxy: FrontProxy | None = None
        """How the front proxy is known, as soon as that is known."""
        self._reviews = reviews

    async def check(self, request: web.Request, parts: list[str]) -> None:
        """Raise `Refused` unless the user may read the path of these parts, below /apis."""
        if self.proxy is None:
            raise ApiRefusal(_NOT_READY, "ServiceUnavailable", "the API server's front proxy is not known yet")
        try:
            person = who_asks(request, self.proxy)
        except Unproven as problem:
            raise ApiRefusal(_UNAUTHORIZED, "Unauthorized", str(problem)) from problem
        asked = attributes_of(parts)
        try:
            allowed = await self._reviews.allowed(person, asked)
        except _UNANSWERED as problem:
            log.warning("no review of access", problem=str(problem))
            message = "the API server does not say who may read this"
            raise ApiRefusal(_NOT_READY, "ServiceUnavailable", message) from problem
        if not allowed:
            raise ApiRefusal(
                _FORBIDDEN, "Forbidden", f'User "{person.user}" cannot {_verb(asked)} {_request_text(asked)}'
            )


def attributes_of(parts: list[str]) -> JsonObject:
    """What is asked, in the words of a SubjectAccessReview."""
    match parts:
        case [group, version, "clusterqueues" as plural, name, part] if group == GROUP and version in VERSIONS:
            return {"resourceAttributes": _resource(version, plural, part, name, "")}
        case [group, version, "namespaces", space, "localqueues" as plural, name, part] if (
            group == GROUP and version in VERSIONS
        ):
            return {"resourceAttributes": _resource(version, plural, part, name, space)}
        case [group, version, "namespaces", space, metric] if (group, version) == (LAG_GROUP, LAG_VERSION):
            # As the API server calls a question without a name at its end.
            asked = {"verb": "list", "group": group, "version": version, "resource": metric, "namespace": space}
            return {"resourceAttributes": asked}
        case _:
            return {"nonResourceAttributes": {"verb": "get", "path": "/".join(("/apis", *parts))}}


def _resource(version: str, plural: str, part: str, name: str, namespace: str) -> JsonObject:
    return {
        "verb": "get",
        "group": GROUP,
        "version": version,
        "resource": plural,
        "subresource": part,
        "name": name,
        "namespace": namespace,
    }


def _verb(asked: JsonObject) -> str:
    return str(next(iter(asked.values()))["verb"])


def _request_text(asked: JsonObject) -> str:
    resource = asked.get("resourceAttributes")
    if resource is None:
        return f'path "{asked["nonResourceAttributes"]["path"]}"'
    space = f' in the namespace "{resource["namespace"]}"' if resource["namespace"] else " at the cluster scope"
    part = f"/{resource['subresource']}" if resource.get("subresource") else ""
    return f'resource "{resource["resource"]}{part}" in API group "{resource["group"]}"{space}'
