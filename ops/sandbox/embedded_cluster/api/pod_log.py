"""The log of a pod: nothing runs here, so that it says what would have run, where and for how long."""

from events.api.labels import RUN_SECONDS
from ops.sandbox.embedded_cluster.failures import bad_request
from ops.sandbox.embedded_cluster.nodes.hami_dialects import DIALECTS
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Object


def pod_log(pod: Object, container: str) -> str:
    """What kubectl logs prints of a container, the first one by default. Raises 400 while nothing runs yet."""
    name, found = pod["metadata"]["name"], _container(pod, container)
    node = look(pod, "spec.nodeName")
    if not node or look(pod, "status.phase") == "Pending":
        why = look(pod, 'status.conditions[?(@.type=="PodScheduled")].message') or "it has no node yet"
        raise bad_request(f'container "{found["name"]}" in pod "{name}" is waiting to start: {why}')
    command = " ".join([*(found.get("command") or ()), *(found.get("args") or ())])
    notes = pod["metadata"].get("annotations") or {}
    cards = [
        entry.split(",")[0]
        for one in DIALECTS.values()
        for entry in notes.get(one.allocated, "").replace(";", ":").split(":")
        if entry
    ]
    seconds = notes.get(RUN_SECONDS)
    lines = [
        "The embedded cluster runs no containers; this is what would have run.",
        f"image {found.get('image', '')}, command {command or 'of the image'}",
        f"on node {node}{', cards ' + ', '.join(cards) if cards else ''}",
        f"for {seconds} s, as {RUN_SECONDS} says"
        if seconds
        else f"until it is deleted or ends; {RUN_SECONDS} says when",
        f"it is {look(pod, 'status.phase')}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _container(pod: Object, wanted: str) -> Object:
    containers = [*(look(pod, "spec.containers") or ()), *(look(pod, "spec.initContainers") or ())]
    found = next((one for one in containers if wanted in ("", one["name"])), None)
    if found is None:
        raise bad_request(f"container {wanted} is not valid for pod {pod['metadata']['name']}")
    return found
