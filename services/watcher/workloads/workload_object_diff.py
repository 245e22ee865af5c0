"""What a job's Workload object says that the job itself does not: whether it is active, and the states of its checks."""

from collections.abc import Callable

from msgspec.structs import replace

from events.api.labels import DECISION, RESOURCE_IN_USE, WORKLOAD_SLICE_NAME
from events.api.meta import ApiCondition
from events.api.workload import ApiWorkload
from events.catalogue import Fact
from events.json_object import JsonMapping, array_at, object_at, objects_at
from events.multikueue import ClustersNamed
from events.object_version import version_number
from events.settings import SettingsObserved
from events.workload import CheckReported, DecidedElsewhere, WorkloadChanged, WorkloadFinished, WorkloadSwitched
from events.workload_object import WorkloadTerminating
from projections.workloads.lifecycle import DEACTIVATION_TARGET, EVICTED_ON_MANAGER
from projections.workloads.other_pods import same_pods
from services.watcher.fields.check_states import checks_of
from services.watcher.fields.object_reading import read
from services.watcher.jobs.jobs import JobState
from services.watcher.workloads.reported_state import ReportedState
from services.watcher.workloads.workload_objects import workload_state


def companion_facts(workload: str, value: JsonMapping, reported: ReportedState | None) -> list[Fact]:
    """The facts in which the object differs from what was reported of it, if anything was. Raises `Refused`."""
    active, checks = (True, {}) if reported is None else (reported.own_object.active, reported.own_object.checks)
    found = read(value, ApiWorkload)
    decision = (found.metadata.annotations or {}).get(DECISION, "")
    facts: list[Fact] = []
    if found.spec.active != active:
        cause, message = ("", "") if found.spec.active else _cause(found)
        facts.append(WorkloadSwitched(workload=workload, active=found.spec.active, cause=cause, message=message))
    facts += to_be_stopped(workload, value, reported)
    for check in checks_of(value, found):
        report = CheckReported(workload=workload, check=check, decision=decision)
        if not _says_the_same(checks.get(check.name), report):
            facts.append(report)
    return facts


def to_be_stopped(workload: str, value: JsonMapping, reported: ReportedState | None) -> list[Fact]:
    """The fact that the manager of other clusters wants an active copy to be set inactive: one of Kueue's leaves that to its worker.

    Rule: docs/rules/multikueue.md#stopped
    """
    active, told = (True, "") if reported is None else (reported.own_object.active, reported.own_object.target)
    message = stop_of_manager(value)
    if not (active and message) or message == told or object_at(value, "spec").get("active") is False:
        return []
    return [WorkloadSwitched(workload=workload, active=True, cause=EVICTED_ON_MANAGER, message=message)]


def stop_of_manager(value: JsonMapping) -> str:
    """Why the manager of other clusters wants a copy stopped; empty where it does not."""
    for one in objects_at(value, "status", "conditions"):
        if (one.get("type"), one.get("status"), one.get("reason")) == (DEACTIVATION_TARGET, "True", EVICTED_ON_MANAGER):
            return str(one.get("message") or EVICTED_ON_MANAGER)
    return ""


def _cause(found: ApiWorkload) -> tuple[str, str]:
    """Why an object was set inactive, as somebody else says on it: the manager of other clusters, of its copies."""
    told = ((one.reason or "", one.message or "") for one in found.status.conditions or () if _is_target(one))
    return next(told, ("", ""))


def _is_target(condition: ApiCondition) -> bool:
    return (condition.type, condition.status) == (DEACTIVATION_TARGET, "True")


def clusters_named(
    workload: str, value: JsonMapping, reported: ReportedState, settings: SettingsObserved
) -> list[Fact]:
    """The fact that somebody else's dispatcher names other clusters than was reported.

    Rule: docs/rules/multikueue.md#dispatchers-of-others
    """
    rule = settings.multikueue
    if rule is None or not rule.dispatched_by_others:
        return []
    names = tuple(str(name) for name in array_at(value, "status", "nominatedClusterNames"))
    return [] if names == reported.own_object.named else [ClustersNamed(workload=workload, clusters=names)]


def decided_elsewhere(
    workload: str, value: JsonMapping, reported: ReportedState, counted: Callable[[JobState], JobState]
) -> list[Fact]:
    """What its object shows of a workload that is on the log, if somebody has written it since kuelog did. Raises `Refused`.

    What is asked for is read from the object, too, and what it claims `counted`: the template of a job that was started
    holds what was injected then.

    Rule: docs/rules/adoption.md#word-of-others
    """
    meta = read(value, ApiWorkload).metadata
    version = version_number(object_at(value, "metadata").get("resourceVersion"))
    owners = {meta.uid, *(one.uid for one in meta.owner_references or ())}
    theirs = owners.isdisjoint({reported.uid, *(one.uid for one in reported.spec.members)})
    if reported.job.finished or version <= reported.version or theirs or meta.deletion_timestamp is not None:
        return []
    state = counted(workload_state(value))
    if state.finished is not None:
        reason, message = state.finished
        return [WorkloadFinished(workload=workload, reason=reason, message=message)]
    if state.adopted is None:
        return []
    told = DecidedElsewhere(workload=workload, version=version, status=state.adopted, decision=state.decision)
    if not state.adopted.cluster_queue or same_pods(state.spec.pod_sets, reported.spec.pod_sets):
        return [told]
    return [WorkloadChanged(workload=workload, spec=replace(reported.spec, pod_sets=state.spec.pod_sets)), told]


def stands_for(value: JsonMapping) -> str:
    """The workload of its job that a later slice or a variant stands beside; empty for any other object."""
    meta = object_at(value, "metadata")
    name = object_at(meta, "annotations").get(WORKLOAD_SLICE_NAME)
    owners = (one.get("name") for one in objects_at(meta, "ownerReferences") if one.get("kind") == "Workload")
    name = name or next(owners, None)
    return f"{meta.get('namespace', '')}/{name}" if name else ""


def terminating(value: JsonMapping) -> list[Fact]:
    """The fact that the object is being deleted and bears our finalizer; nothing otherwise. Raises `Refused`."""
    meta = read(value, ApiWorkload).metadata
    if meta.deletion_timestamp is None or RESOURCE_IN_USE not in (meta.finalizers or ()):
        return []
    return [WorkloadTerminating(namespace=meta.namespace, name=meta.name, uid=meta.uid)]


def as_found(state: JobState, found: JobState | None) -> JobState:
    """A job that is seen for the first time, with what another manager has decided about it before us.

    The template of a job that was started holds what was injected then; its Workload object holds what was asked for. A
    job may bear a decision of a log that is no more: to this one it is as if another manager had made it.
    """
    if found is None or found.adopted is None or _is_of_earlier_pods(state, found):
        return state
    if state.owner is not None and state.owner.part:
        state = replace(state, created_at=found.created_at)  # Its pods may have been made anew since.
    if not found.adopted.cluster_queue:
        return replace(state, adopted=found.adopted)
    spec = replace(state.spec, pod_sets=found.spec.pod_sets, active=found.spec.active)
    return replace(state, adopted=found.adopted, spec=spec)


def marks_of(state: JobState, found: JobState | None) -> tuple[str, ...]:
    """The decisions that a job and its Workload object bear when they are seen for the first time."""
    return tuple(sorted({state.mark, found.decision if found is not None else ""} - {""}))


def _is_of_earlier_pods(state: JobState, found: JobState) -> bool:
    """Whether other pods have taken the name of a group that is over: how that stood says nothing of these."""
    of_pods = state.marked and not state.mark
    return of_pods and (found.spec.leaving or (found.finished is not None and state.finished is None))


def _says_the_same(before: CheckReported | None, report: CheckReported) -> bool:
    """Whether two reports of a check differ in nothing but the time, which changes when we write the object ourselves."""
    if before is None:
        return False
    return replace(before, check=replace(before.check, since=report.check.since)) == report
