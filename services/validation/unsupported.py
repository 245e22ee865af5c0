"""Features that an object requests and kuelog does not support yet."""

from collections.abc import Iterator

import msgspec

from events.api.labels import ELASTIC_JOB
from events.json_object import JsonObject, is_array, is_object, object_at
from events.json_path import Location, dotted
from projections.unsupported import CLAIMS, DEVICE_CLASSES, ELASTIC, Unsupported
from services.validation.problem import Problem

_ELASTIC_KINDS = ("Job", "RayCluster", "RayJob", "RayService", "Workload")
"""Kinds that may be elastic; others wait with a reason (docs/rules/elastic.md#kinds)."""


class RequestedFeature(msgspec.Struct, frozen=True):
    """An unsupported feature that an object requests, and in which field."""

    feature: Unsupported
    path: Location


def asked_in(value: JsonObject) -> tuple[str, ...]:
    """The codes of the unsupported features that an object of any kind requests, sorted."""
    return tuple(sorted({one.feature.code for one in _found(value)}))


def problems_in(value: JsonObject) -> list[Problem]:
    """The same as problems for lint and webhook, each with its field."""
    return [
        Problem(
            field=dotted(one.path),
            code=one.feature.code,
            what=f"{one.feature.what}, which is not done yet",
            consequence=one.feature.consequence,
            instead=one.feature.instead,
        )
        for one in _found(value)
    ]


def _found(value: JsonObject) -> Iterator[RequestedFeature]:
    asked = object_at(value, "metadata", "annotations").get(ELASTIC_JOB) == "true"
    if asked and value.get("kind") not in _ELASTIC_KINDS:
        yield RequestedFeature(ELASTIC, ("metadata", f"annotations[{ELASTIC_JOB}]"))
    match value.get("kind"):
        case "Configuration" if object_at(value, "resources").get("deviceClassMappings"):
            yield RequestedFeature(DEVICE_CLASSES, ("resources", "deviceClassMappings"))
        case _:
            pass
    pods: list[tuple[Location, JsonObject]] = []
    _note_pods(value, (), pods)
    for path, holder in pods:
        yield from _in_pods(path, holder)


def _note_pods(value: object, path: Location, found: list[tuple[Location, JsonObject]]) -> None:
    """Note every pod specification in an object, of a pod or in a template."""
    if is_object(value):
        if is_array(object_at(value, "spec").get("containers")):
            found.append((path, value))
            return
        for name, inner in value.items():
            if name not in ("metadata", "status") and not isinstance(inner, str):
                _note_pods(inner, (*path, name), found)
    elif is_array(value):
        for index, one in enumerate(value):
            _note_pods(one, (*path, index), found)


def _in_pods(path: Location, holder: JsonObject) -> Iterator[RequestedFeature]:
    if object_at(holder, "spec").get("resourceClaims"):
        yield RequestedFeature(CLAIMS, (*path, "spec", "resourceClaims"))
