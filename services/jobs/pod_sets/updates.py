"""What admission checks add to a pod set's pods: merged where nothing says otherwise, and found again at the stop.

Updates only add (docs/rules/checks.md#updates). A check that wants another value than the pods have already, of their
own, from their flavor or from another check, is in conflict with it: the job can't be started.
"""

import json
from collections.abc import Iterable, Sequence

import msgspec

from events.api.labels import ADDED_BY_CHECKS
from events.json_object import JsonObject, is_array, is_object
from events.json_path import get, put

_AT = ("metadata", "annotations", ADDED_BY_CHECKS)


class UpdateConflict(Exception):
    """A job can't be started, because an admission check contradicts what its pods have already."""


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """What one check adds to the pods of one pod set."""

    check: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[JsonObject, ...] = ()


class PodFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of pods that can be added to."""

    labels: dict[str, str]
    annotations: dict[str, str]
    node_selector: dict[str, str]
    tolerations: tuple[JsonObject, ...] = ()


def with_updates(fields: PodFields, updates: Iterable[Update], pod_set: str) -> PodFields:
    """The fields with what all checks add. Raises `UpdateConflict`."""
    for one in updates:
        fields = PodFields(
            labels=_joined(fields.labels, one.labels, "labels", one.check, pod_set),
            annotations=_joined(fields.annotations, one.annotations, "annotations", one.check, pod_set),
            node_selector=_joined(fields.node_selector, one.node_selector, "nodeSelector", one.check, pod_set),
            tolerations=_each_once((*fields.tolerations, *one.tolerations)),
        )
    return fields


def _each_once(found: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    return tuple(one for index, one in enumerate(found) if one not in found[:index])


def _joined(there: dict[str, str], new: dict[str, str], field: str, check: str, pod_set: str) -> dict[str, str]:
    for key in sorted(new):
        if there.get(key, new[key]) != new[key]:
            raise UpdateConflict(
                f"invalid admission check PodSetUpdate: conflict for {field}: check {check} wants {key}={new[key]} on "
                f"pod set {pod_set}, which has {key}={there[key]} already; let only one of them set it"
            )
    return {**there, **new}


def noted(job: JsonObject, pod_set: str, before: PodFields, after: PodFields) -> JsonObject:
    """The job with a note of the labels and annotations that were added to a pod set."""
    added = {
        "labels": sorted(after.labels.keys() - before.labels.keys()),
        "annotations": sorted(after.annotations.keys() - before.annotations.keys()),
    }
    notes = {name: one for name, one in _notes(job).items() if name != pod_set}
    if any(added.values()):
        notes[pod_set] = added
    return put(job, _AT, json.dumps(notes, sort_keys=True)) if notes else without_notes(job)


def added_to(job: JsonObject, pod_set: str, field: str) -> Sequence[str]:
    """The keys that checks have added to labels or annotations of a pod set."""
    found = get(_notes(job), (pod_set, field))
    return [str(one) for one in found] if is_array(found) else []


def without_notes(job: JsonObject) -> JsonObject:
    """The job without the annotation that notes what was injected."""
    return put(job, _AT, None) if get(job, _AT) is not None else job


def _notes(job: JsonObject) -> JsonObject:
    try:
        found = json.loads(get(job, _AT) or "{}")
    except ValueError:
        return {}  # It was overwritten: what was added can't be distinguished from what was there.
    return found if is_object(found) else {}
