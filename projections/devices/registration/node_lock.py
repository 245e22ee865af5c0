"""The lock by which HAMi lets one pod at a time onto a node's cards (docs/rules/devices.md#node-lock)."""

import msgspec

from events.event import Millis
from events.timestamp import BadTimestamp, format_timestamp, parse_timestamp
from projections.devices.annotations.bad_annotation import BadAnnotation
from projections.nodes.state import NodeState

NODE_LOCK = "hami.io/mutex.lock"
EXPIRES_AFTER: Millis = 5 * 60 * 1000
_PARTS = 3


class NodeLock(msgspec.Struct, frozen=True, kw_only=True):
    """Since when a node is locked, and for which pod; older locks name none."""

    since: Millis
    namespace: str = ""
    name: str = ""

    def stale(self, at: Millis) -> bool:
        """Whether the lock has expired: whatever took it must have died before it released it."""
        return at - self.since > EXPIRES_AFTER


def waited_for(world: NodeState, node: str, at: Millis) -> str:
    """The lock that pods bound for a node wait for, and when it ends; empty where none is held.

    HAMi looks at a lock when it binds a pod: one that is older than five minutes, or whose pod is gone, is broken then. Which
    node a pod goes to does not depend on it: a lock is held for moments, and HAMi tries a pod again that meets one.
    """
    observed = world.node_locks.get(node)
    if observed is None:
        return ""
    holder = f"{observed.namespace}/{observed.pod}" if observed.pod else ""
    words = f"HAMi's lock on node {node}, held{f' for pod {holder}' if holder else ''} since {format_timestamp(observed.since)}"
    lock = NodeLock(since=observed.since, namespace=observed.namespace, name=observed.pod)
    if lock.stale(at):
        return f"{words}: that is over, HAMi breaks it at the next pod"
    if holder and holder not in world.pods:
        return f"{words}: the pod is gone, HAMi breaks the lock at the next one"
    until = format_timestamp(observed.since + EXPIRES_AFTER)
    return f"{words}: HAMi binds one pod there after the other, and this one until {until} at the longest"


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
