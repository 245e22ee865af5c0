"""What the webhooks say of an object: how it is stored, and what is wrong with it; pure."""

from collections.abc import Set as AbstractSet
from typing import Any

from events.settings import SettingsObserved
from ops.webhook.configurations import QUEUE
from ops.webhook.review import Asked
from projections.validation.conversion import GROUP, to_v1beta2, written_field
from projections.validation.every_kind import validate, validate_update
from projections.validation.problem import Problem, immutable
from services.jobs.defaulting import named_queue, queued_later, waiting
from services.jobs.kinds import kinds_of
from services.jobs.serving_rules import serving_problems
from services.watcher.problems import Refused
from services.watcher.simple_kinds import SIMPLE

Plain = dict[str, Any]
DEFAULT_QUEUE = "default"
_MAKERS_OF_JOBS = frozenset({"CronJob"})
"""Owners that are not managed themselves: the jobs that they make are."""


def stored(asked: Asked, doors: AbstractSet[str], settings: SettingsObserved, *, managed: bool = True) -> Plain:
    """The object as it is to be stored; `doors` are the namespaces with a local queue for everybody.

    `managed` says whether jobs of its namespace are ours at all.
    """
    value = asked.object or {}
    kind = asked.kind.get("kind", "")
    if not managed or asked.sub_resource or asked.operation not in ("CREATE", "UPDATE"):
        return value
    if asked.operation == "UPDATE":
        return queued_later(value, kind, kinds_of(settings))
    if asked.namespace in doors and _takes_default(kind, value):
        meta: Plain = value.get("metadata") or {}
        labels = {**(meta.get("labels") or {}), QUEUE: DEFAULT_QUEUE}
        value = {**value, "metadata": {**meta, "labels": labels}}
    return waiting(value, kind, kinds_of(settings))


def problems_of(asked: Asked, settings: SettingsObserved) -> list[Problem]:
    """What lint would say, and the watcher; an object that is leaving is held up by nothing."""
    value = asked.object
    if value is None or asked.sub_resource or (value.get("metadata") or {}).get("deletionTimestamp"):
        return []
    kueues = asked.kind.get("group") == GROUP
    if not kueues and not named_queue(value) and not named_queue(asked.old_object or {}):
        return []
    group, kind = asked.kind.get("group", ""), asked.kind.get("kind", "")
    if kinds_of(settings).serves(group, kind):
        return serving_problems(group, kind, asked.old_object, value) if asked.old_object is not None else []
    newest, found = to_v1beta2({**value, "kind": asked.kind.get("kind", value.get("kind", ""))})
    old = asked.old_object
    if asked.operation == "UPDATE" and old is not None:
        before = to_v1beta2(old)[0]
        if _meant(before) == _meant(newest):
            # What was stored under older rules may still be labelled, annotated and let go.
            return _moved(old, value)
        found = [*found, *validate_update(before, newest, settings), *_moved(old, value)]
    else:
        found = [*found, *validate(newest, settings)]
    return [_as_written(value, one) for one in found or _untranslatable(newest)]


def _takes_default(kind: str, value: Plain) -> bool:
    owners: list[Plain] = (value.get("metadata") or {}).get("ownerReferences") or []
    owned = any(one.get("controller") and one.get("kind") not in _MAKERS_OF_JOBS for one in owners)
    return kind != "Pod" and not owned and not named_queue(value)


def _meant(value: Plain) -> Plain:
    """All of an object but what others say of it."""
    return {name: part for name, part in value.items() if name not in ("metadata", "status")}


def _moved(old: Plain, new: Plain) -> list[Problem]:
    """A job that runs stays in its queue."""
    spec: Plain = new.get("spec") or {}
    if "suspend" not in spec or spec["suspend"] or named_queue(old) == named_queue(new):
        return []
    return [immutable(f"metadata.labels[{QUEUE}]", named_queue(new))]


def _untranslatable(value: Plain) -> list[Problem]:
    read = SIMPLE.get(str(value.get("kind")))
    try:
        if read is not None:
            read(value)
    except Refused as refused:
        return [
            Problem(field=one.field, code="Invalid", what=one.message, instead=one.instead) for one in refused.problems
        ]
    return []


def _as_written(value: Plain, problem: Problem) -> Problem:
    """The problem under the name that its field has in the object that was sent."""
    return Problem(
        field=written_field(value, problem.field),
        code=problem.code,
        what=problem.what,
        consequence=problem.consequence,
        instead=problem.instead,
        severity=problem.severity,
        origin=problem.origin,
        value=problem.value,
    )
