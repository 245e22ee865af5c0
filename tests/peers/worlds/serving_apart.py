"""Why what serves, its pods or its Workloads are others under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

from collections.abc import Mapping

from events.api.labels import (
    MANAGED,
    POD_GROUP_FAST_ADMISSION,
    POD_GROUP_NAME,
    POD_GROUP_POD_INDEX_LABEL,
    POD_GROUP_SERVING,
    POD_GROUP_TOTAL_COUNT,
    PREBUILT_WORKLOAD_NAME,
    PRIORITY_CLASS,
    QUEUE_NAME,
    ROLE_HASH,
)
from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.serving import LEADER_WORKER_SET, SERVED, STATEFUL_SET

_OF_GROUP = frozenset(
    {
        MANAGED,
        POD_GROUP_FAST_ADMISSION,
        POD_GROUP_NAME,
        POD_GROUP_POD_INDEX_LABEL,
        POD_GROUP_SERVING,
        POD_GROUP_TOTAL_COUNT,
        PREBUILT_WORKLOAD_NAME,
        PRIORITY_CLASS,
        QUEUE_NAME,
        ROLE_HASH,
    }
)
"""What the pods of a StatefulSet or LeaderWorkerSet get to know their group by."""
_GROUPED = (STATEFUL_SET, LEADER_WORKER_SET)


class ServingApart:
    """Names the differences of what serves."""

    def __init__(self, world: World) -> None:
        self._kinds: Mapping[str, str] = {
            one.name: one.kind for one in world.steps if one.verb == "create" and one.kind in SERVED
        }
        self._held: set[str] = set()
        """StatefulSets whose Workloads were on hold: under Kueue they have others since."""

    def name(self, one: Difference, there: Seen, here: Seen) -> str:
        """The name of a difference that is meant."""
        match one.path:
            case ("pods", pod, "labels" | "annotations", word) if self._made_by(pod) in _GROUPED:
                waits = bool(here["pods"].get(pod, {}).get("gates")) and pod in there["pods"]
                return "completed when let through" if word in _OF_GROUP and waits else ""
            case ("workloads", name) if one.there is None and self._made_by(name) == STATEFUL_SET:
                if here["jobs"].get(name, {}).get("replicas") != 0:
                    return ""
                self._held.add(name)
                return "on hold at zero"
            case ("workloads", name, "conditions", "Admitted") if name in self._held:
                return "on hold at zero" if one.there is None and one.here[0] == "False" else ""
            case ("workloads", name, "made", "finalizers") if self._made_by(name) in _GROUPED:
                return "holds its Workload" if not one.there and one.here else ""
            case ("workloads", name, "made", "owners", _) if self._made_by(name) in _GROUPED:
                return "owners of groups" if one.here is None and one.there["kind"] == "Pod" else ""
            case _:
                return ""

    def _made_by(self, name: str) -> str:
        """The kind of what makes a pod, or asks for a Workload; empty where it is none of these."""
        parts = name.split("-")
        return self._kinds.get(parts[0], "")


def why_serving_ends_it(step: Step, there: Seen, here: Seen) -> str:
    """The name of a difference of what serves, after which a world goes on otherwise; empty while there is none."""
    if step.verb == "move" and step.kind == LEADER_WORKER_SET:
        queues = [side.get("jobs", {}).get(step.name, {}).get("labels", {}).get(QUEUE_NAME) for side in (there, here)]
        if queues[0] != queues[1] == step.value["metadata"]["labels"][QUEUE_NAME]:
            return "moves while it waits"
    for key in there["workloads"].keys() - here["workloads"].keys():
        owners = (there["workloads"][key].get("made") or {"owners": {}})["owners"].values()
        if any(one["kind"] == LEADER_WORKER_SET for one in owners) and not any(
            name.startswith(key) for name in there.get("pods", {})
        ):
            return "pods refused"
    return ""
