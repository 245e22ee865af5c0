"""Which changes of a serving object are refused while it belongs to a queue, as under Kueue."""

from events.api.labels import QUEUE_NAME
from events.json_object import JsonMapping, JsonObject, object_at
from events.json_path import FieldBroken, dotted, get
from services.jobs.kinds.pods import labels_of, shape_of
from services.jobs.kinds.serving import replicas_of, templates_of
from services.jobs.priority_class_rules import class_problems
from services.validation.problem import Problem, forbidden, immutable

_FIRST = "0 replicas first, then the change"
_SIZE = ("spec", "leaderWorkerTemplate", "size")


def serving_problems(group: str, kind: str, old: JsonObject, new: JsonObject) -> list[Problem]:
    """What may not be changed of a serving object (Deployment, StatefulSet, LeaderWorkerSet), such as its queue while pods are ready."""
    before, after = str(labels_of(old).get(QUEUE_NAME) or ""), str(labels_of(new).get(QUEUE_NAME) or "")
    ready = (get(old, ("status", "readyReplicas")) or 0) > 0
    found = class_problems(old, new, running=ready)
    if before != after and (ready or not after):
        found.append(immutable(f"metadata.labels[{QUEUE_NAME}]", after))
    if not before or not after or kind == "Deployment":
        return found
    try:
        found += _resized(kind, old, new)
        found += _reshaped(group, kind, old, new)
    except FieldBroken as broken:
        found.append(forbidden(broken.field, str(broken), broken.instead))
    return found


def _resized(kind: str, old: JsonObject, new: JsonObject) -> list[Problem]:
    before, after = replicas_of(old), replicas_of(new)
    if kind != "StatefulSet":
        size = get(new, _SIZE)
        return [] if get(old, _SIZE) == size else [immutable(dotted(_SIZE), size)]
    if before and after and before != after:
        what = f"its {before} pods were let in together, and {after} would have to be let in anew"
        return [forbidden("spec.replicas", what, "0, and when its pods are gone the number that you want")]
    if not before and after and (get(old, ("status", "replicas")) or 0) > 0:
        return [forbidden("spec.replicas", "scaling down is still in progress", "0 until its pods are gone")]
    return []


def _reshaped(group: str, kind: str, old: JsonObject, new: JsonObject) -> list[Problem]:
    """A problem where changed pod templates would request something else than was admitted; without pods they may change."""
    if not replicas_of(old):
        return []
    before, after = (dict(templates_of(group, kind, one)) for one in (old, new))
    came_or_went = [
        forbidden(dotted(at), "whether its groups have a leader of their own can't change while there are any", _FIRST)
        for at in sorted(before.keys() ^ after.keys())
    ]
    return came_or_went or [
        forbidden(dotted((*at, "spec")), "what its pods ask for can't change while they run", _FIRST)
        for at, template in after.items()
        if _shape(before[at]) != _shape(template)
    ]


def _shape(template: JsonObject) -> JsonObject:
    """What its pods ask for; what the API would imply is not spelled in every template."""
    shape = shape_of(object_at(template, "spec"))
    return shape | {field: [_told(one) for one in shape[field] or ()] for field in ("containers", "initContainers")}


def _told(container: JsonMapping) -> JsonObject:
    """A container that asks for nothing and says so asks for as much as one that says nothing."""
    return {**container, "resources": {"requests": container["resources"]["requests"] or {}}}
