"""What a path of the API names: a kind, and perhaps a namespace, an object and a part of it."""

from collections.abc import Sequence

from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Name

_NOT_HERE = {
    **dict.fromkeys(
        ("exec", "attach", "portforward", "proxy", "ephemeralcontainers"), "the embedded cluster runs no containers"
    ),
    "token": "only service accounts have tokens, and these are created",
}
"""Parts that other clusters have, and why there is none here."""


class Target:
    """A kind, and what of it."""

    __slots__ = ("kind", "name", "namespace", "subresource")

    def __init__(self, kind: ApiKind, namespace: str, name: str, subresource: str) -> None:
        self.kind, self.namespace, self.name, self.subresource = kind, namespace, name, subresource

    @property
    def key(self) -> Name:
        """The object's name in the store."""
        return (self.namespace if self.kind.namespaced else "", self.name)


def target_of(resources: Resources, parts: Sequence[str]) -> Target:
    """What the parts of a path below /api or /apis name. Raises 404."""
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (*_two(parts), parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):  # noqa: PLR2004
        namespace, rest = rest[1], rest[2:]
    if not rest:
        raise ApiFailure(404, "NotFound", "the server could not find the requested resource")
    name, subresource = (rest[1] if len(rest) > 1 else ""), (rest[2] if len(rest) > 2 else "")  # noqa: PLR2004
    kind = resources.kind(group, version, rest[0])
    allowed = {
        "": True,
        "status": kind.status,
        "scale": kind.scale is not None,
        "finalize": True,
        "log": kind.key == "pods",
    }
    if subresource in _NOT_HERE:
        raise ApiFailure(501, "NotImplemented", f"{kind.plural}/{subresource}: {_NOT_HERE[subresource]}")
    if not allowed.get(subresource, False):
        raise ApiFailure(404, "NotFound", f"{kind.plural} have no part {subresource}")
    return Target(kind, namespace, name, subresource)


def _two(parts: Sequence[str]) -> tuple[str, str]:
    if len(parts) < 3:  # noqa: PLR2004 - apis, group, version
        raise ApiFailure(404, "NotFound", "the server could not find the requested resource")
    return parts[1], parts[2]
