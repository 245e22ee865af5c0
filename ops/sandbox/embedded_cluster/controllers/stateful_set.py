"""The StatefulSet controller: pods in their order, each under the name of its number."""

from ops.sandbox.embedded_cluster.controllers.owned_pods import (
    PODS,
    is_alive,
    is_ready,
    owned,
    pod_of,
    replicas_of,
    template_hash,
)
from ops.sandbox.embedded_cluster.controllers.owner_controller import OwnerController
from ops.sandbox.embedded_cluster.store import Name, Object

STATEFUL_SETS = "statefulsets.apps"
_REVISION = "controller-revision-hash"


class StatefulSets(OwnerController):
    """Keeps the pods of every StatefulSet."""

    kind, owner_key, owned_key = "StatefulSet", STATEFUL_SETS, PODS

    def reconcile(self, name: Name, value: Object) -> None:
        """Take one step in their order, then tell the status."""
        revision = f"{name[1]}-{template_hash(value['spec']['template'])}"
        pods = {pod["metadata"]["name"]: pod for pod in owned(self.store, PODS, value)}
        names = [f"{name[1]}-{number}" for number in range(replicas_of(value))]
        self._step(value, names, pods, revision)
        self._tell(name, value, [pods[one] for one in names if one in pods], revision)

    def _step(self, value: Object, names: list[str], pods: dict[str, Object], revision: str) -> None:
        """Remove who is too many or has ended, create who is missing, then renew who is of an older template."""
        surplus = [one for one in pods.values() if one["metadata"]["name"] not in names]
        for pod in [*surplus, *(pods[one] for one in names if one in pods and not is_alive(pods[one]))]:
            self._delete(pod)
        at_once = value["spec"].get("podManagementPolicy") == "Parallel"
        for number, name in enumerate(names):
            if name not in pods:
                labels = {"apps.kubernetes.io/pod-index": str(number), "statefulset.kubernetes.io/pod-name": name}
                made = pod_of(value, value["spec"]["template"], name, {**labels, _REVISION: revision})
                space = value["metadata"]["namespace"]
                pods[name] = self.resources.create(self.resources.kind("", "v1", PODS), space, made)
            if not at_once and not is_ready(pods[name]):
                return
        strategy = value["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or not all(is_ready(pods[name]) for name in names):
            return
        first = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        old = [one for one in names[first:] if pods[one]["metadata"]["labels"].get(_REVISION) != revision]
        if old:
            self._delete(pods[old[-1]])

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        if not meta.get("deletionTimestamp"):
            self.resources.delete(self.resources.kind("", "v1", PODS), (meta["namespace"], meta["name"]))

    def _tell(self, name: Name, value: Object, pods: list[Object], revision: str) -> None:
        ready = sum(1 for pod in pods if is_ready(pod))
        updated = sum(1 for pod in pods if pod["metadata"]["labels"].get(_REVISION) == revision)
        before = (value.get("status") or {}).get("currentRevision", revision)
        status = {
            "observedGeneration": value["metadata"]["generation"],
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": updated,
            "currentReplicas": updated,
            "updateRevision": revision,
            "currentRevision": revision if updated == replicas_of(value) else before,
        }
        kind = self.resources.kind("apps", "v1", "statefulsets")
        self.resources.update(kind, name, {"metadata": {}, "status": status}, subresource="status")
