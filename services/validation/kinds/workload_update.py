"""How a Workload may change: what is fixed while it holds quota (docs/rules/objects.md#immutable)."""

from events.api.labels import ADMISSION_GATED_BY, PRIORITY_BOOST, WORKLOAD_SLICE_REPLACEMENT_FOR
from events.api.workload import MAXIMUM_EXECUTION_TIME
from events.json_object import JsonMapping, array_at, is_array, is_object, object_at, objects_at
from events.settings import SettingsObserved
from projections.feature_gates import enabled
from services.validation.fields.admission_gates import gate_update_problems
from services.validation.fields.conditions import is_true
from services.validation.kinds.workload import (
    admission_of,
    annotations_of,
    boost_problems,
    counts_of,
    holds_quota,
    is_elastic,
    no_admission_problems,
    pod_sets_of,
    reclaimable_of,
    reclaimable_problems,
    standing_problems,
)
from services.validation.problem import Problem, immutable, invalid, required


def validate_update(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems of a changed Workload, spec or status."""
    found = [*standing_problems(new, settings), *no_admission_problems(old, new), *_gates(old, new, settings)]
    elastic = is_elastic(new, settings)
    found.extend(reclaimable_problems(new, reclaimable_of(old) if elastic else {}))
    if holds_quota(old):
        found.extend(_pod_set_changes(old, new, settings))
    if holds_quota(old) and holds_quota(new):
        found.extend(_reclaimable_changes(old, new, elastic=elastic))
    return [*found, *_admission_changes(old, new), *_check_changes(old, new), *_cluster_changes(old, new, settings)]


def note_problems(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The problems of annotations that decide something, as far as they change: those count though nothing else of a Workload does."""
    before, after = annotations_of(old), annotations_of(new)
    gates = _gates(old, new, settings) if before.get(ADMISSION_GATED_BY) != after.get(ADMISSION_GATED_BY) else []
    boost = boost_problems(new, settings) if before.get(PRIORITY_BOOST) != after.get(PRIORITY_BOOST) else []
    return [*gates, *boost]


def _gates(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    if not enabled(settings, "AdmissionGatedBy"):
        return []
    before, after = (str(annotations_of(one).get(ADMISSION_GATED_BY) or "") for one in (old, new))
    return gate_update_problems(before, after)


def fixed_field_problems(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    """What the schema's own rules keep as it was: queue, priority class and time limit while quota is held."""
    before, spec = object_at(old, "spec"), object_at(new, "spec")
    found: list[Problem] = []
    if holds_quota(old) and holds_quota(new):
        if before.get("queueName") != spec.get("queueName"):
            found.append(immutable("spec.queueName", spec.get("queueName")))
        found.extend(_class_changes(before.get("priorityClassRef"), spec.get("priorityClassRef")))
    limit = MAXIMUM_EXECUTION_TIME
    if _admitted(old) and _admitted(new) and before.get(limit) != spec.get(limit):
        found.append(immutable(f"spec.{limit}", spec.get(limit)))
    was, name = object_at(old, "status").get("clusterName"), object_at(new, "status").get("clusterName")
    if None not in (was, name) and name != was:
        found.append(immutable("status.clusterName", name))
    return found


def _admitted(value: JsonMapping) -> bool:
    return is_true(object_at(value, "status").get("conditions"), "Admitted")


def _class_changes(before: JsonMapping | None, after: JsonMapping | None) -> list[Problem]:
    field = "spec.priorityClassRef"
    if before is None or after is None:
        return [] if before == after else [immutable(field, after)]
    fixed = ["group", "kind", *(["name"] if after.get("kind") == "PriorityClass" else [])]
    return [immutable(f"{field}.{name}", after.get(name)) for name in fixed if before.get(name) != after.get(name)]


def _pod_set_changes(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    before, after = pod_sets_of(old), pod_sets_of(new)
    if len(before) != len(after):
        return [immutable("spec.podSets", len(after))]
    may_shrink = enabled(settings, "ElasticJobsViaWorkloadSlices")
    found: list[Problem] = []
    for index, (was, now) in enumerate(zip(before, after, strict=True)):
        shrunk = may_shrink and int(now.get("count", 1)) < int(was.get("count", 1))
        if {**now, "count": was.get("count")} != {**was} if shrunk else now != was:
            found.append(immutable(f"spec.podSets.{index}", now.get("name")))
    return found


def _reclaimable_changes(old: JsonMapping, new: JsonMapping, *, elastic: bool) -> list[Problem]:
    before, after = reclaimable_of(old), reclaimable_of(new)
    shrunk = _shrunk_below_admission(new) if elastic else frozenset[str]()
    found: list[Problem] = []
    for name, count in after.items():
        if name not in shrunk and count < before.get(name, 0):
            found.append(
                invalid(
                    f"status.reclaimablePods[{name}].count",
                    count,
                    f"{count} after {before[name]}: room that was given back is not taken again",
                    f"at least {before[name]}",
                )
            )
    found.extend(
        required(f"status.reclaimablePods[{name}]", "room that was given back is not taken again", "the entry, kept")
        for name in before
        if name not in after and name not in shrunk
    )
    return found


def _shrunk_below_admission(value: JsonMapping) -> frozenset[str]:
    """Pod sets of an elastic job that are smaller now than what was admitted: their old counts mean nothing more."""
    counts = counts_of(value)
    assignments = (admission_of(value) or {}).get("podSetAssignments") or ()
    return frozenset(
        name
        for one in assignments
        if (name := str(one.get("name", "main"))) in counts and counts[name] < int(one.get("count") or counts[name])
    )


def _admission_changes(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    before, after = admission_of(old), admission_of(new)
    if before is None or after is None or _filled(_without_topology(before)) == _filled(_without_topology(after)):
        return []
    return [immutable("status.admission", after.get("clusterQueue"))]


def _without_topology(admission: JsonMapping) -> JsonMapping:
    """An admission less what a second pass may still fill in or move."""
    later = ("topologyAssignment", "delayedTopologyRequest")
    return {
        **admission,
        "podSetAssignments": [
            {name: value for name, value in one.items() if name not in later}
            for one in objects_at(admission, "podSetAssignments")
        ],
    }


def _filled(value: object) -> object:
    """A value without what is empty in it, which says the same."""
    if is_object(value):
        found = {name: _filled(one) for name, one in value.items()}
        return {name: one for name, one in found.items() if one not in (None, [], {})}
    if is_array(value):
        return [_filled(one) for one in value]
    return [] if value is None else value


def _check_changes(old: JsonMapping, new: JsonMapping) -> list[Problem]:
    checks = {one.get("name"): one for one in objects_at(new, "status", "admissionChecks")}
    found: list[Problem] = []
    for index, was in enumerate(objects_at(old, "status", "admissionChecks")):
        now = checks.get(was.get("name"))
        if now is None or not was.get("state") == now.get("state") == "Ready":
            continue
        if _filled(was.get("podSetUpdates")) != _filled(now.get("podSetUpdates")):
            found.append(immutable(f"status.admissionChecks[{index}].podSetUpdates", was.get("name")))
    return found


def _cluster_changes(old: JsonMapping, new: JsonMapping, settings: SettingsObserved) -> list[Problem]:
    """The slice that grows out of another one runs where that one does, and is not nominated anywhere."""
    before = object_at(old, "status")
    name = object_at(new, "status").get("clusterName")
    nominated = array_at(before, "nominatedClusterNames")
    sliced = enabled(settings, "ElasticJobsViaWorkloadSlices")
    follows = sliced and WORKLOAD_SLICE_REPLACEMENT_FOR in annotations_of(new)
    if before.get("clusterName") is not None or name is None or name in nominated or follows:
        return []
    instead = f"one of {', '.join(nominated)}" if nominated else "status.nominatedClusterNames first, which has it"
    return [invalid("status.clusterName", name, f"cluster {name} was not nominated", instead)]
