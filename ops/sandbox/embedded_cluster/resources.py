"""What create, update, patch and delete do to objects: metadata, generations, finalizers, status isolation."""

import hashlib
from collections.abc import Callable, Sequence

from events.event import Millis
from events.timestamp import format_timestamp
from ops.sandbox.embedded_cluster.admission.built_in import filled
from ops.sandbox.embedded_cluster.admission.crd_schema import Schemas
from ops.sandbox.embedded_cluster.admission.every_object import settled
from ops.sandbox.embedded_cluster.admission.immutable import refuse_immutable, refuse_status
from ops.sandbox.embedded_cluster.admission.outline import refuse_outline
from ops.sandbox.embedded_cluster.changes.ownership import owned_by
from ops.sandbox.embedded_cluster.deletion import grace_of, is_full, is_let_go, understood
from ops.sandbox.embedded_cluster.failures import ApiFailure, already_exists, bad_request, conflict, invalid, not_found
from ops.sandbox.embedded_cluster.kinds import BUILT_IN, ApiKind, kinds_of
from ops.sandbox.embedded_cluster.store import Name, Object, Store
from ops.sandbox.embedded_cluster.versions import Converter, KindVersions, renamed

Mutator = Callable[[str, ApiKind, Object], Object]
"""What a mutating webhook would do: operation, kind and object to the object that is stored."""
Validator = Callable[[str, ApiKind, Object, Object | None], None]
"""What a validating webhook would do: operation, kind, the object and what it was before. Raises `ApiFailure`."""

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
PRESENT_FROM_THE_START = ("default", "kube-system", "kube-public")


class Resources:
    """The objects of a cluster and the rules of writing them."""

    def __init__(
        self,
        store: Store,
        now: Callable[[], Millis],
        mutators: Sequence[Mutator] = (),
        converter: Converter = renamed,
        validators: Sequence[Validator] = (),
        identity: str = "",
    ) -> None:
        """UIDs and generated names follow from `identity` and what was written before."""
        self._identity = identity
        self.store, self._now, self._mutators = store, now, tuple(mutators)
        self._validators = tuple(validators)
        self._versions = KindVersions(converter)
        self._schemas = Schemas()
        self._defined: dict[tuple[str, str, str], ApiKind] = {}
        self._keys: tuple[str, ...] = ()
        self.find_kinds()
        for name in PRESENT_FROM_THE_START:
            if store.get("namespaces", ("", name)) is None:
                self.create(self.kind("", "v1", "namespaces"), "", {"metadata": {"name": name}})

    def find_kinds(self) -> None:
        """Take in what the custom resource definitions say now."""
        kinds = [*BUILT_IN, *(kind for crd in self.store.of(CRDS).values() for kind in kinds_of(crd))]
        self._defined = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
        self._keys = tuple(dict.fromkeys(kind.key for kind in kinds))
        self._schemas.forget()

    def kinds(self) -> list[ApiKind]:
        """All kinds in all served versions."""
        return list(self._defined.values())

    def places(self) -> tuple[str, ...]:
        """What the store files objects under, all versions of a kind at one place."""
        return self._keys

    def kind(self, group: str, version: str, plural: str) -> ApiKind:
        """The kind of a path. Raises 404."""
        found = self._defined.get((group, version, plural))
        if found is None:
            place = f"{plural}.{group}/{version}" if group else f"{plural} of {version}"
            raise ApiFailure(404, "NotFound", f"the embedded cluster has no {place}")
        return found

    def get(self, kind: ApiKind, name: Name) -> Object:
        """One object as its version shows it. Raises 404."""
        found = self.store.get(kind.key, name)
        if found is None:
            raise not_found(kind.key, name[1])
        return self.shown(kind, found)

    def shown(self, kind: ApiKind, value: Object) -> Object:
        """An object under the version that was asked for."""
        return self._versions.shown(kind, value)

    def create(
        self, kind: ApiKind, namespace: str, value: Object, *, dry_run: bool = False, manager: str = ""
    ) -> Object:
        """Store a new object; its fields belong to the manager, if one is named."""
        meta = dict(value.get("metadata") or {})
        if kind.namespaced:
            self._check_namespace(kind, namespace, meta)
        else:
            meta.pop("namespace", None)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + self._suffix(meta["generateName"])
        name = (meta.get("namespace", ""), meta.get("name", ""))
        if not name[1]:
            raise invalid(kind.kind, "", [("metadata.name", "Required value: name or generateName is required")])
        if self.store.get(kind.key, name) is not None:
            raise already_exists(kind.key, name[1])
        meta = {
            **meta,
            "uid": self._uid(kind, name),
            "creationTimestamp": format_timestamp(self._now()),
            "generation": 1,
        }
        meta.pop("resourceVersion", None)
        made = {**value, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        if kind.status and kind.key not in _STATUS_AT_CREATION:
            made.pop("status", None)
        refuse_outline(kind, made)
        made = self._mutated("CREATE", kind, made)
        made = self._versions.stored(kind, self._schemas.admit(kind, filled(kind.key, made)))
        if made["apiVersion"] != kind.api_version:
            made = self._schemas.admit(self._kept_as(kind, made), made)
        made = settled(kind, made)
        self._validated("CREATE", kind, made, None)
        if manager:
            made = owned_by(None, made, manager=manager, now=self._now(), rule=kind.merging)
        if dry_run:
            return self.shown(kind, made)
        stored = self.store.put(kind.key, name, made)
        if kind.key == CRDS:
            stored = self._establish(stored)
        return self.shown(kind, stored)

    def update(
        self,
        kind: ApiKind,
        name: Name,
        value: Object,
        *,
        subresource: str = "",
        dry_run: bool = False,
        manager: str = "",
    ) -> Object:
        """Replace an object, or its status alone; what does not change makes no new version.

        What changes belongs to the manager from then on, if one is named.
        """
        before = self.store.get(kind.key, name)
        if before is None:
            raise not_found(kind.key, name[1])
        value = self._versions.stored(kind, value)
        meta, old = dict(value.get("metadata") or {}), before["metadata"]
        expected = meta.get("resourceVersion", "")
        if expected and expected != old["resourceVersion"]:
            raise conflict(kind.key, name[1])
        if meta.get("uid") and meta["uid"] != old["uid"]:
            raise conflict(kind.key, name[1])
        after = self._merged(kind, before, value, meta, subresource)
        refuse_outline(kind, after)
        after = after if subresource else self._mutated("UPDATE", kind, after)
        after = self._schemas.admit(self._kept_as(kind, after), after, before)
        if subresource != "status":
            after = settled(kind, after, before)
            refuse_immutable(kind, before, after)
            self._validated("UPDATE", kind, after, before)
        else:
            refuse_status(kind, before, after)
        if _same(before, after):
            return self.shown(kind, before)
        if manager:
            rule = kind.merging
            after = owned_by(before, after, manager=manager, now=self._now(), subresource=subresource, rule=rule)
        if dry_run:
            return self.shown(kind, after)
        if is_let_go(kind, after):
            self.store.put(kind.key, name, after)
            return self.store.remove(kind.key, name)
        stored = self.store.put(kind.key, name, after)
        if kind.key == CRDS:
            self.find_kinds()
        return self.shown(kind, stored)

    def delete(self, kind: ApiKind, name: Name, options: Object | None = None) -> Object:
        """Take an object away, or mark it while finalizers hold it."""
        found = self.store.get(kind.key, name)
        if found is None:
            raise not_found(kind.key, name[1])
        options = understood(options or {})
        wanted = options.get("preconditions") or {}
        meta = found["metadata"]
        if wanted.get("uid") not in (None, meta["uid"]) or wanted.get("resourceVersion") not in (
            None,
            meta["resourceVersion"],
        ):
            raise conflict(kind.key, name[1])
        finalizers: list[str] = list(meta.get("finalizers") or [])
        if options.get("propagationPolicy") == "Foreground" and "foregroundDeletion" not in finalizers:
            finalizers.append("foregroundDeletion")
        if options.get("propagationPolicy") == "Orphan" and "orphan" not in finalizers:
            finalizers.append("orphan")
        grace = grace_of(kind, found, options)
        if finalizers or grace or is_full(kind, found):
            if meta.get("deletionTimestamp"):
                return self.shown(kind, found)
            marked = {
                **found,
                "metadata": {
                    **meta,
                    "deletionTimestamp": format_timestamp(self._now() + grace * 1000),
                    "deletionGracePeriodSeconds": grace,
                    **({"finalizers": finalizers} if finalizers else {}),
                },
            }
            return self.shown(kind, self.store.put(kind.key, name, marked))
        gone = self.store.remove(kind.key, name)
        if kind.key == CRDS:
            self.find_kinds()
        return self.shown(kind, gone)

    def _kept_as(self, kind: ApiKind, value: Object) -> ApiKind:
        """The kind in the version that an object has."""
        version = str(value["apiVersion"]).rpartition("/")[2]
        return self._defined.get((kind.group, version, kind.plural), kind)

    def _mutated(self, operation: str, kind: ApiKind, value: Object) -> Object:
        for mutate in self._mutators:
            value = mutate(operation, kind, value)
        return value

    def _validated(self, operation: str, kind: ApiKind, value: Object, before: Object | None) -> None:
        for validate in self._validators:
            validate(operation, kind, value, before)

    def _check_namespace(self, kind: ApiKind, namespace: str, meta: Object) -> None:
        if meta.get("namespace") and meta["namespace"] != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = namespace
        found = self.store.get("namespaces", ("", namespace))
        if found is None:
            raise not_found("namespaces", namespace)
        if found["metadata"].get("deletionTimestamp"):
            raise ApiFailure(
                403, "Forbidden", f"unable to create new content in namespace {namespace}: it is being terminated"
            )

    def _merged(self, kind: ApiKind, before: Object, value: Object, meta: Object, subresource: str) -> Object:
        old = before["metadata"]
        if subresource == "status":
            fields = meta.get("managedFields", old.get("managedFields"))
            meta = {**old, "managedFields": fields} if fields is not None else old
            return {**before, "metadata": meta, "status": value.get("status", {})}
        kept = {
            name: old[name]
            for name in ("uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp", "selfLink")
            if name in old
        }
        new_meta = {**meta, **kept, "name": old["name"]}
        if "namespace" in old:
            new_meta["namespace"] = old["namespace"]
        if "managedFields" in old and "managedFields" not in new_meta:
            new_meta["managedFields"] = old["managedFields"]
        after = {**value, "apiVersion": before["apiVersion"], "kind": kind.kind, "metadata": new_meta}
        if kind.status:
            after.pop("status", None)
            if "status" in before:
                after["status"] = before["status"]
        changed = {n: v for n, v in after.items() if n not in _NOT_SPEC} != {
            n: v for n, v in before.items() if n not in _NOT_SPEC
        }
        if changed:
            new_meta["generation"] = old.get("generation", 0) + 1
        return after

    def _establish(self, crd: Object) -> Object:
        names = crd["spec"]["names"]
        status = {
            "acceptedNames": names,
            "storedVersions": [one["name"] for one in crd["spec"]["versions"] if one.get("storage")],
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": "",
                    "lastTransitionTime": format_timestamp(self._now()),
                }
                for kind, reason in (("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted"))
            ],
        }
        stored = self.store.put(CRDS, ("", crd["metadata"]["name"]), {**crd, "status": status})
        self.find_kinds()
        return stored

    def _suffix(self, base: str) -> str:
        digest = hashlib.sha256(f"{self._identity}{base}/{self.store.version}".encode()).hexdigest()
        return digest[:5]

    def _uid(self, kind: ApiKind, name: Name) -> str:
        made = f"{self._identity}{kind.key}/{name[0]}/{name[1]}/{self.store.version}"
        digest = hashlib.sha256(made.encode()).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


_NOT_SPEC = frozenset({"metadata", "status", "apiVersion", "kind"})
_STATUS_AT_CREATION = frozenset({"nodes", "namespaces", "pods"})


def _same(before: Object, after: Object) -> bool:
    return _without_times(before) == _without_times(after)


def _without_times(value: Object) -> Object:
    """An object without what changes with every write; who owns which field is a part of it."""
    meta = {name: field for name, field in value["metadata"].items() if name not in ("resourceVersion", "generation")}
    entries: list[Object] = [{**one, "time": ""} for one in meta.pop("managedFields", None) or ()]
    return {**value, "metadata": {**meta, "managedFields": sorted(entries, key=lambda one: str(one["manager"]))}}
