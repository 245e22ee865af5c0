"""What was last seen of device classes, claim templates and slices, and what the claims of a workload come to by it.

Classes and templates are not on the log: what a workload's claims come to is, in the fact about it, told anew when it changes.
Of slices the names of their devices are, and of claims what they were given: who holds which device.
"""

import msgspec
from msgspec.structs import replace

from events.api.claims import ApiClaimTemplate, ApiDeviceClass, ApiResourceClaim, ApiResourceSlice
from events.catalogue import Fact
from events.claims import PodClaims
from events.json_object import JsonMapping
from events.pod_set import PodSet
from events.settings import SettingsObserved
from events.workload import WorkloadSpec
from projections.claims.counted import counts_claims
from projections.feature_gates import enabled
from services.runtime.cluster_port import Resource
from services.watcher.claims.class_mappings import ClassMappings
from services.watcher.claims.counting import BY_NAME, CountedBy, count_claims
from services.watcher.claims.devices import Published
from services.watcher.claims.extended_resources import extended_requests
from services.watcher.claims.field_errors import CannotCount
from services.watcher.claims.held_devices import claim_fact, slice_fact
from services.watcher.claims.older_versions import as_v1
from services.watcher.claims.selectors import NoSelectors, Selectors
from services.watcher.fields.object_reading import read

_encoder = msgspec.json.Encoder(order="deterministic")
_GROUP = "resource.k8s.io"
_OLDER = ("v1beta2", "v1beta1")
"""What Kubernetes 1.33 and 1.32 serve, where it is enabled."""


def _kind(kind: str, *, namespaced: bool) -> Resource:
    plural = f"{kind.lower()}es" if kind.endswith("ss") else f"{kind.lower()}s"
    return Resource(group=_GROUP, plural=plural, kind=kind, namespaced=namespaced, older=_OLDER)


CLAIM_KINDS = (
    _kind("DeviceClass", namespaced=False),
    _kind("ResourceClaimTemplate", namespaced=True),
    _kind("ResourceSlice", namespaced=False),
    _kind("ResourceClaim", namespaced=True),
)
"""The kinds that claims are counted by, and the claims themselves, where device classes are mapped."""
_KINDS = frozenset(one.kind for one in CLAIM_KINDS)
_UNMAPPED = "devices that pods claim can't be counted: no DeviceClass is mapped (resources.deviceClassMappings)"


class ClaimBook:
    """The objects of resource.k8s.io as they were last seen."""

    def __init__(self, settings: SettingsObserved, selectors: Selectors | None) -> None:
        self._integrated = enabled(settings, "KueueDRAIntegration")
        self.counts = counts_claims(settings)
        """Whether claims are counted, and so watched."""
        self._mappings, self._selectors = ClassMappings(settings), selectors or NoSelectors()
        self._classes: dict[str, ApiDeviceClass] = {}
        self._templates: dict[str, ApiClaimTemplate] = {}
        self._slices: dict[str, ApiResourceSlice] = {}
        self._by_asked: dict[str, dict[bytes, list[PodClaims | None] | str]] = {}
        """By namespace what came out, by what was asked, since anything was seen last: many jobs claim by the same template."""
        self._changed: set[str] = set()
        """Namespaces in which claims may come to something else since somebody asked; an empty one stands for all of them."""

    def take_changed(self) -> frozenset[str]:
        """The namespaces in which claims may come to something else since this was asked last; an empty one stands for all."""
        found, self._changed = frozenset(self._changed), set()
        return found

    @staticmethod
    def holds(kind: str) -> bool:
        """Whether objects of a kind are kept here."""
        return kind in _KINDS

    def see(self, kind: str, value: JsonMapping) -> list[Fact]:
        """Note an object; the facts about who publishes and who holds which devices. Raises `Refused`; then what was seen of it before counts."""
        facts: list[Fact] = []
        value = as_v1(kind, value)
        match kind:
            case "ResourceClaim":
                return [claim_fact(read(value, ApiResourceClaim))]
            case "DeviceClass":
                found = read(value, ApiDeviceClass)
                before = self._classes.get(found.metadata.name)
                self._classes[found.metadata.name] = found
            case "ResourceClaimTemplate":
                found = read(value, ApiClaimTemplate)
                key = f"{found.metadata.namespace}/{found.metadata.name}"
                before = self._templates.get(key)
                self._templates[key] = found
            case _:
                found = read(value, ApiResourceSlice)
                before = self._slices.get(found.metadata.name)
                self._slices[found.metadata.name] = found
                facts.append(slice_fact(found))
        if before is None or before.spec != found.spec:
            self._note_change(found.metadata.namespace)
        return facts

    def heed(self, fact: Fact, facts: dict[str, Fact]) -> None:
        """Take out of these facts what nobody looks at under other settings: it is told anew when somebody does again."""
        if isinstance(fact, SettingsObserved) and not counts_claims(fact):
            for place in [one for one in facts if self.holds(one.partition("/")[0])]:
                del facts[place]

    def lose(self, kind: str, namespace: str, name: str) -> None:
        """Forget an object that is gone."""
        gone: object = None
        match kind:
            case "DeviceClass":
                gone = self._classes.pop(name, None)
            case "ResourceClaimTemplate":
                gone = self._templates.pop(f"{namespace}/{name}", None)
            case "ResourceSlice":
                gone = self._slices.pop(name, None)
            case _:
                pass
        if gone is not None:
            self._note_change(namespace)

    def _note_change(self, namespace: str) -> None:
        """A template, which somebody of a namespace makes, means something there only; classes and devices do everywhere."""
        self._changed.add(namespace)
        if namespace:
            self._by_asked.pop(namespace, None)
        else:
            self._by_asked.clear()

    def places(self, kind: str) -> list[str]:
        """The places of all objects of a kind, as `kind/namespace/name`."""
        match kind:
            case "DeviceClass":
                return [f"{kind}//{name}" for name in self._classes]
            case "ResourceClaimTemplate":
                return [f"{kind}/{key}" for key in self._templates]
            case "ResourceSlice":
                return [f"{kind}//{name}" for name in self._slices]
            case _:
                return []

    def concerns(self, pod_sets: tuple[PodSet, ...]) -> bool:
        """Whether what is seen here may change what these pods are charged."""
        extended = self.counts and self._mappings.extended
        return any(
            one.shape.claims or one.claims is not None or (extended and extended_requests(one.shape))
            for one in pod_sets
        )

    def counted(self, workload: str, spec: WorkloadSpec) -> WorkloadSpec:
        """What is asked for, with what its pods claim counted, or why it can't be (docs/rules/claims.md)."""
        claims = [claim for one in spec.pod_sets for claim in one.shape.claims]
        if not self._integrated or not (claims or self.counts):
            return spec
        if not self.counts:
            return replace(spec, claims_refused=BY_NAME if any(one.claim for one in claims) else _UNMAPPED)
        namespace = workload.partition("/")[0]
        asked = _encoder.encode(
            [(one.name, one.shape.claims, one.shape.containers, one.shape.init_containers) for one in spec.pod_sets]
        )
        by_asked = self._by_asked.setdefault(namespace, {})
        if asked not in by_asked:
            by_asked[asked] = self._count(spec.pod_sets, namespace)
        found = by_asked[asked]
        if isinstance(found, str):
            return replace(spec, claims_refused=found)
        if not any(found):
            return spec
        pod_sets = (replace(one, claims=claimed) for one, claimed in zip(spec.pod_sets, found, strict=True))
        return replace(spec, pod_sets=tuple(pod_sets))

    def _count(self, pod_sets: tuple[PodSet, ...], namespace: str) -> list[PodClaims | None] | str:
        """What each pod claims, or why that can't be counted."""
        published = Published(self._slices)
        try:
            return count_claims(
                pod_sets,
                namespace,
                CountedBy(self._mappings, self._classes, self._templates, published, self._selectors),
            )
        except CannotCount as problem:
            return str(problem)
