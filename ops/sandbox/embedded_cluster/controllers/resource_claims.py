"""Claims that pods get from templates: one for each pod, taken away when its pod has ended."""

from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.controllers.owned_pods import PODS, owner_reference
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange

CLAIMS, TEMPLATES = "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"
_OVER = ("Succeeded", "Failed")


class ResourceClaims(Controller):
    """Makes the claims of pods, and takes away those of pods that are over; what a claim was allocated is free again then."""

    def kinds(self) -> tuple[str, ...]:
        """Pods, and templates, which may come after them."""
        return (PODS, TEMPLATES)

    def changed(self, change: ObjectChange, name: Name) -> None:
        """A pod that is gone holds no claim of others any more."""
        if change.key == PODS and change.type == "DELETED":
            self._let_go(change.object, name[0])
        super().changed(change, name)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Make what a pod needs, or take it away."""
        if key == TEMPLATES:
            for (namespace, pod), found in list(self.store.of(PODS).items()):
                if namespace == name[0]:
                    self.look(PODS, (namespace, pod), found)
        elif look(value, "status.phase") in _OVER:
            self._let_go(value, name[0])
        elif not value["metadata"].get("deletionTimestamp"):
            self._make(name, value)

    def _make(self, name: Name, pod: Object) -> None:
        known: list[Object] = list(look(pod, "status.resourceClaimStatuses") or ())
        made: list[Object] = []
        for claim in pod["spec"].get("resourceClaims") or ():
            template = self.store.get(TEMPLATES, (name[0], claim.get("resourceClaimTemplateName") or ""))
            if template is None or any(one["name"] == claim["name"] for one in known):
                continue
            spec = template["spec"]
            meta = {
                **(spec.get("metadata") or {}),
                "generateName": f"{name[1]}-{claim['name']}-",
                "ownerReferences": [owner_reference({"apiVersion": "v1", "kind": "Pod", **pod})],
            }
            kind = self.resources.kind("resource.k8s.io", "v1", "resourceclaims")
            found = self.resources.create(kind, name[0], {"metadata": meta, "spec": spec["spec"]})
            made.append({"name": claim["name"], "resourceClaimName": found["metadata"]["name"]})
        if made:
            status = {**(pod.get("status") or {}), "resourceClaimStatuses": [*known, *made]}
            self.resources.update(
                self.resources.kind("", "v1", PODS), name, {"metadata": {}, "status": status}, subresource="status"
            )

    def _let_go(self, pod: Object, namespace: str) -> None:
        """Take away the claims that were made for a pod, and its reservation of those that it shares with others."""
        uid = pod["metadata"]["uid"]
        for name, claim in list(self.store.of(CLAIMS).items()):
            if name[0] != namespace:
                continue
            if any(one.get("uid") == uid for one in claim["metadata"].get("ownerReferences") or ()):
                self.store.remove(CLAIMS, name)
                continue
            status = claim.get("status") or {}
            kept = [one for one in status.get("reservedFor") or () if one.get("uid") != uid]
            if len(kept) < len(status.get("reservedFor") or ()):
                self.store.put(CLAIMS, name, {**claim, "status": {**status, "reservedFor": kept} if kept else {}})
