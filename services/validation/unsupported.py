"""Features that an object requests and kuelog does not support yet."""

from collections.abc import Iterator

import msgspec

from events.json_object import JsonObject
from projections.unsupported import CLAIMS, DEVICE_CLASSES, ELASTIC, TOPOLOGY, TOPOLOGY_FLAVOR, Unsupported
from services.validation.problem import Problem

Path = tuple[str | int, ...]

_KUEUE = "kueue.x-k8s.io/"
_TOPOLOGY_ANNOTATIONS = tuple(
    f"{_KUEUE}podset-{word}"
    for word in (
        "required-topology",
        "preferred-topology",
        "unconstrained-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
    )
)
_ELASTIC_ANNOTATIONS = tuple(
    f"{_KUEUE}{word}" for word in ("elastic-job", "workload-slice-name", "workload-slice-replacement-for")
)


class RequestedFeature(msgspec.Struct, frozen=True):
    """An unsupported feature that an object requests, and in which field."""

    feature: Unsupported
    path: Path


def asked_in(value: JsonObject) -> tuple[str, ...]:
    """The codes of the unsupported features that an object of any kind requests, sorted."""
    return tuple(sorted({one.feature.code for one in _found(value)}))


def problems_in(value: JsonObject) -> list[Problem]:
    """The same as problems for lint and webhook, each with its field."""
    return [
        Problem(
            field=_dotted(one.path),
            code=one.feature.code,
            what=f"{one.feature.what}, which is not done yet",
            consequence=one.feature.consequence,
            instead=one.feature.instead,
        )
        for one in _found(value)
    ]


def _found(value: JsonObject) -> Iterator[RequestedFeature]:
    annotations = _in(_in(value, "metadata"), "annotations")
    for name in _ELASTIC_ANNOTATIONS:
        if annotations.get(name) not in (None, "false"):
            yield RequestedFeature(ELASTIC, ("metadata", f"annotations[{name}]"))
    match value.get("kind"):
        case "Workload":
            yield from _in_workload(value)
        case "ResourceFlavor" if _in(value, "spec").get("topologyName"):
            yield RequestedFeature(TOPOLOGY_FLAVOR, ("spec", "topologyName"))
        case "Configuration" if _in(value, "resources").get("deviceClassMappings"):
            yield RequestedFeature(DEVICE_CLASSES, ("resources", "deviceClassMappings"))
        case _:
            pass
    for path, holder in _pods_in(value, ()):
        yield from _in_pods(path, holder)


def _in_workload(value: JsonObject) -> Iterator[RequestedFeature]:
    for index, one in enumerate(_items(_in(value, "spec"), "podSets")):
        asked = _in(one, "topologyRequest")
        if any(asked.get(name) for name in ("required", "preferred", "unconstrained", "podSetSliceRequiredTopology")):
            yield RequestedFeature(TOPOLOGY, ("spec", "podSets", index, "topologyRequest"))


def _pods_in(value: object, path: Path) -> Iterator[tuple[Path, JsonObject]]:
    """Every pod specification in an object, of a pod or in a template."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _pods_in(one, (*path, index))
    if not isinstance(value, dict):
        return
    if isinstance(_in(value, "spec").get("containers"), list):
        yield path, value
        return
    for name, inner in value.items():
        if name not in ("metadata", "status"):
            yield from _pods_in(inner, (*path, name))


def _in_pods(path: Path, holder: JsonObject) -> Iterator[RequestedFeature]:
    annotations, spec = _in(_in(holder, "metadata"), "annotations"), _in(holder, "spec")
    for name in _TOPOLOGY_ANNOTATIONS:
        if annotations.get(name) not in (None, "", "false"):
            yield RequestedFeature(TOPOLOGY, (*path, "metadata", f"annotations[{name}]"))
    if spec.get("resourceClaims"):
        yield RequestedFeature(CLAIMS, (*path, "spec", "resourceClaims"))


def _in(value: JsonObject, field: str) -> JsonObject:
    """An object at a field; an empty one where there is none, or something else."""
    found = value.get(field)
    return found if isinstance(found, dict) else {}


def _items(value: JsonObject, field: str) -> list[JsonObject]:
    found = value.get(field)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
