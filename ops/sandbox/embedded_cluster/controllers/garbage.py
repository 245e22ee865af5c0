"""Garbage collection: what an owner leaves behind goes too, and so does all that is in a deleted namespace."""

from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.kinds import ApiKind
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange


class Garbage(Controller):
    """Follows deletions down to dependents."""

    def kinds(self) -> tuple[str, ...]:
        """Every kind there is."""
        return self.resources.places()

    def changed(self, change: ObjectChange, name: Name) -> None:
        """A deletion ends the dependents; a marked object waits for them where it asked to."""
        if change.type == "DELETED":
            self._delete_dependents(change.object)
            space = self.store.get("namespaces", ("", name[0]))
            if space is not None:
                self.look("namespaces", ("", name[0]), space)
            return
        owners = change.object["metadata"].get("ownerReferences") if change.before is None else None
        if owners and not any(self._exists(one, name[0]) for one in owners):
            self._delete(change.key, name)  # It came when its last owner was gone already.
        else:
            super().changed(change, name)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Finish what a deletion began."""
        meta = value["metadata"]
        if not meta.get("deletionTimestamp"):
            return
        if key == "namespaces" and self._empty(name[1]):
            value = {**value, "spec": {"finalizers": []}}
            self.resources.update(self.resources.kind("", "v1", "namespaces"), name, value)
            return
        finalizers: list[str] = list(meta.get("finalizers") or [])
        if "foregroundDeletion" in finalizers:
            self._delete_dependents(value)
            finalizers.remove("foregroundDeletion")
        elif "orphan" in finalizers:
            finalizers.remove("orphan")
        else:
            return
        self.resources.update(self._kind(key), name, {**value, "metadata": {**meta, "finalizers": finalizers}})

    def _dependents(self, uid: str) -> list[tuple[str, Name]]:
        return [
            (key, name)
            for key in self.resources.places()
            for name, value in self.store.of(key).items()
            if any(one.get("uid") == uid for one in value["metadata"].get("ownerReferences") or ())
        ]

    def _delete_dependents(self, owner: Object) -> None:
        """What nobody else owns goes; who has other owners keeps them."""
        uid = owner["metadata"]["uid"]
        for key, name in self._dependents(uid):
            found = self.store.get(key, name)
            if found is None:
                continue
            meta = found["metadata"]
            others = [one for one in meta["ownerReferences"] if one.get("uid") != uid and self._exists(one, name[0])]
            if others:
                kept = {**found, "metadata": {**meta, "ownerReferences": others}}
                self.resources.update(self._kind(key), name, kept)
            else:
                self.resources.delete(self._kind(key), name)

    def _delete(self, key: str, name: Name) -> None:
        if self.store.get(key, name) is not None:
            self.resources.delete(self._kind(key), name)

    def _kind(self, key: str) -> ApiKind:
        """A kind in its first version."""
        return next(one for one in self.resources.kinds() if one.key == key)

    def _exists(self, owner: Object, namespace: str) -> bool:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        kind = next(
            (one for one in self.resources.kinds() if (one.group, one.kind) == (group, owner.get("kind"))), None
        )
        if kind is None:
            return True  # Of a kind that is not known here nobody can say that it is gone.
        found = self.store.get(kind.key, (namespace if kind.namespaced else "", owner.get("name", "")))
        return found is not None and found["metadata"]["uid"] == owner.get("uid")

    def _empty(self, namespace: str) -> bool:
        """Delete all that is in a namespace; whether nothing of it is left."""
        seen: set[str] = set()
        for kind in self.resources.kinds():
            if not kind.namespaced or kind.key in seen:
                continue
            seen.add(kind.key)
            for name in [name for name in self.store.of(kind.key) if name[0] == namespace]:
                self.resources.delete(kind, name, {"gracePeriodSeconds": 0})
        return not any(name[0] == namespace for key in seen for name in self.store.of(key))
