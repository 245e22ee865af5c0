"""The ReplicaSet controller: as many pods as it asks for, and the status that says so."""

import hashlib

from ops.sandbox.embedded_cluster.controllers.owned_pods import (
    PODS,
    is_alive,
    is_ready,
    owned,
    pod_of,
    replicas_of,
)
from ops.sandbox.embedded_cluster.controllers.owner_controller import OwnerController
from ops.sandbox.embedded_cluster.store import Name, Object

REPLICA_SETS = "replicasets.apps"


class ReplicaSets(OwnerController):
    """Keeps the pods of every ReplicaSet."""

    kind, owner_key, owned_key = "ReplicaSet", REPLICA_SETS, PODS

    def reconcile(self, name: Name, value: Object) -> None:
        """Create or delete pods, then tell the status."""
        pods = [pod for pod in owned(self.store, PODS, value) if is_alive(pod)]
        wanted = replicas_of(value)
        # Who is not ready goes first, then who came last.
        pods.sort(key=lambda pod: (not is_ready(pod), int(pod["metadata"]["resourceVersion"])))
        kind = self.resources.kind("", "v1", PODS)
        for pod in pods[wanted:]:
            self.resources.delete(kind, (name[0], pod["metadata"]["name"]))
        kept = pods[:wanted]
        for _ in range(wanted - len(kept)):
            digest = hashlib.sha256(f"{value['metadata']['uid']}/{self.store.version}".encode()).hexdigest()[:5]
            template = value["spec"]["template"]
            self.resources.create(kind, name[0], pod_of(value, template, f"{name[1]}-{digest}", {}))
        ready = sum(1 for pod in kept if is_ready(pod))
        status = {
            "replicas": wanted,
            "fullyLabeledReplicas": wanted,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": value["metadata"]["generation"],
        }
        own = self.resources.kind("apps", "v1", "replicasets")
        self.resources.update(own, name, {"metadata": {}, "status": status}, subresource="status")
