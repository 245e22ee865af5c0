"""Which optional kinds are installed, by the cluster's CustomResourceDefinitions as they are added and deleted."""

from collections.abc import Iterable, Sequence

import msgspec

from events.job_kind import JobKind
from events.json_object import JsonMapping
from services.jobs.kinds.managed_kinds import resource_of
from services.runtime.cluster_port import Changed, Listed, Resource, Sight, Vanished

DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)


class KindsChanged(msgspec.Struct, frozen=True):
    """What to watch otherwise than before."""

    watch: list[Resource]
    """From now on."""
    leave: list[Resource]
    """No more."""


class InstalledKinds:
    """The installed ones among managed job kinds and other optional kinds that are watched."""

    def __init__(self, kinds: Iterable[JobKind], others: Iterable[Resource]) -> None:
        self._wanted = {
            **{
                f"{one.plural}.{one.group}": [resource_of(one, f"{one.group}/{name}") for name in one.versions]
                for one in kinds
            },
            **{f"{one.plural}.{one.group}": [one] for one in others},
        }
        """By the name of its definition, each kind in the versions that can be read, the best first."""
        self._there: dict[str, Resource] = {}

    def see(self, sight: Sight) -> KindsChanged:
        """What a sight of the definitions changes."""
        match sight:
            case Listed():
                found, about = self._found(sight.objects), set(self._there)
            case Changed():
                found, about = self._found([sight.object]), {sight.object["metadata"]["name"]}
            case Vanished():
                found, about = dict[str, Resource](), {sight.object["metadata"]["name"]}
        gone = [name for name in sorted(about) if name in self._there and name not in found]
        left = [self._there.pop(name) for name in gone]
        fresh: list[Resource] = []
        for name, resource in found.items():
            before = self._there.get(name)
            if before == resource:
                continue
            if before is not None:
                left.append(before)
            self._there[name] = resource
            fresh.append(resource)
        return KindsChanged(fresh, left)

    def _found(self, objects: Sequence[JsonMapping]) -> dict[str, Resource]:
        found: dict[str, Resource] = {}
        for one in objects:
            versions = self._wanted.get(one["metadata"]["name"])
            if versions is None:
                continue
            served = {version["name"] for version in one["spec"].get("versions") or () if version.get("served", True)}
            best = next((resource for resource in versions if resource.version in served), None)
            if best is not None:
                found[one["metadata"]["name"]] = best
        return found
