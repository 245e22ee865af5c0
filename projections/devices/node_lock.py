"""The lock by which HAMi lets one pod at a time onto a node's cards (hami-semantics §7)."""

import msgspec

from events.event import Millis
from events.timestamp import BadTimestamp, parse_timestamp
from projections.devices.bad_annotation import BadAnnotation

NODE_LOCK = "hami.io/mutex.lock"
EXPIRES_AFTER: Millis = 5 * 60 * 1000
_PARTS = 3


class NodeLock(msgspec.Struct, frozen=True, kw_only=True):
    """Since when a node is locked, and for which pod; older locks name none."""

    since: Millis
    namespace: str = ""
    name: str = ""

    def stale(self, at: Millis) -> bool:
        """Whether whoever took it must have died over it."""
        return at - self.since > EXPIRES_AFTER


def parse_node_lock(text: str) -> NodeLock:
    """The lock of a node: `time,namespace,name`, or the time alone. Raises `BadAnnotation`."""
    parts = text.split(",")
    try:
        since = parse_timestamp(parts[0])
    except BadTimestamp as problem:
        raise BadAnnotation(key=NODE_LOCK, part=text, problem=f"begins with no time: {problem}") from problem
    if len(parts) == 1:
        return NodeLock(since=since)
    if len(parts) != _PARTS:
        raise BadAnnotation(key=NODE_LOCK, part=text, problem="must be time,namespace,name")
    return NodeLock(since=since, namespace=parts[1], name=parts[2])
