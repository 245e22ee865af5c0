"""Features that an object requests and kuelog does not support yet."""

from collections.abc import Iterator

import msgspec

from events.api.labels import ELASTIC_JOB
from events.json_object import JsonObject, object_at
from events.json_path import Location, dotted
from projections.unsupported import ELASTIC, Unsupported
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
