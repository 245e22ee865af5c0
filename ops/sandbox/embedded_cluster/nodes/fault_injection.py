"""What befalls a cluster from outside: cards fail and recover, nodes are lost and come back."""

from typing import Any

import msgspec

from ops.sandbox.embedded_cluster.failures import not_found
from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS
from ops.sandbox.embedded_cluster.store import Object, Store

NODES = "nodes"


def set_card_health(store: Store, node: str, card: str, *, healthy: bool) -> None:
    """Have the node's device plugin report one card healthy or not. Raises `ApiFailure`."""
    found = _node(store, node)
    annotations = dict(found["metadata"].get("annotations") or {})
    for key in [one.register for one in DIALECTS.values() if card in annotations.get(one.register, "")]:
        cards: list[dict[str, Any]] = msgspec.json.decode(annotations[key])
        if card in [one["id"] for one in cards]:
            told = [{**one, "health": healthy} if one["id"] == card else one for one in cards]
            annotations[key] = msgspec.json.encode(told).decode()
            break
    else:
        raise not_found("cards", card)
    store.put(NODES, ("", node), {**found, "metadata": {**found["metadata"], "annotations": annotations}})


def set_node_ready(store: Store, node: str, *, ready: bool) -> None:
    """Have a node fall silent, or be heard of again. Raises `ApiFailure`."""
    found = _node(store, node)
    conditions = [one for one in found["status"].get("conditions") or () if one["type"] != "Ready"]
    told = {
        "type": "Ready",
        "status": "True" if ready else "Unknown",
        "reason": "KubeletReady" if ready else "NodeStatusUnknown",
    }
    store.put(NODES, ("", node), {**found, "status": {**found["status"], "conditions": [*conditions, told]}})


def remove_node(store: Store, node: str) -> None:
    """Delete a node. Raises `ApiFailure`."""
    _node(store, node)
    store.remove(NODES, ("", node))


def node_is_heard_of(store: Store, node: str) -> bool:
    """Whether the kubelet of a node reports anything; a pod on no node is nobody's business."""
    found = store.get(NODES, ("", node))
    conditions = (found or {}).get("status", {}).get("conditions") or ()
    return found is not None and all(one["status"] == "True" for one in conditions if one["type"] == "Ready")


def _node(store: Store, node: str) -> Object:
    found = store.get(NODES, ("", node))
    if found is None:
        raise not_found(NODES, node)
    return found
