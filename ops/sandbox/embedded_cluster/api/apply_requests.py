"""What a server-side apply makes of an object as it is in the store."""

from events.event import Millis
from ops.sandbox.embedded_cluster.api.targets import Target
from ops.sandbox.embedded_cluster.changes.apply import apply
from ops.sandbox.embedded_cluster.failures import conflict
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.store import Object


def applied(
    resources: Resources, target: Target, wanted: Object, *, manager: str, force: bool, now: Millis
) -> tuple[Object | None, Object]:
    """The object before, if there is one, and after. Raises 409 for another version, and for fields of others."""
    wanted.setdefault("metadata", {})["name"] = target.name
    wanted.setdefault("apiVersion", target.kind.api_version)
    found = resources.store.get(target.kind.key, target.key)
    before = resources.shown(target.kind, found) if found is not None else None
    there: Object = {} if before is None else before["metadata"]
    if any(wanted["metadata"].get(name, there.get(name)) != there.get(name) for name in ("resourceVersion", "uid")):
        raise conflict(target.kind.key, target.name)
    after = apply(
        before,
        wanted,
        manager=manager,
        force=force,
        now=now,
        subresource=target.subresource,
        rule=target.kind.merging,
    )
    return before, after
