"""The TestReconcile* suites: one reconcile of a Workload, as it shows in the cluster afterwards.

Kueue records one step; production takes the same steps one after the other, so the check lets the deciders speak once.
What the job's own reconcile does, which is recorded elsewhere, is left out: quota returns when the job has stopped.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from events.catalogue import Decision
from events.quota import AdmissionCheckObserved, FlavorObserved, FlavorQuotas, ResourceGroup
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import Owner, QuotaReleased, WorkloadSubmitted
from projections.workloads.deadlines import next_deadline
from projections.workloads.lifecycle import Workload
from services.admitter.decide import admission_of
from services.applier.manifests import finalizers_left, workload_status
from services.applier.workloads.workload_manifest import workload_object
from services.queue_manager.reconcile import reconcile
from services.watcher.settings.cluster_objects import duration
from services.watcher.workloads.workload_objects import workload_state
from tests.conformance.difference import first_difference
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.shown import MERGE_PATCH, plain

Case = dict[str, Any]

STUB_JOB = Owner(kind="Job", name="job", uid="job-uid")


def reconciled(case: Case) -> str | None:
    """One reconcile, under the case's own gates and under those of each of its variants."""
    recorded = [{"feature_gates": {}, "want": {}}, *(case.get("variants") or ())]
    merged = [one["feature_gates"] for one in recorded if one["feature_gates"].get(MERGE_PATCH)]
    for one in recorded:
        gates = one["feature_gates"]
        # kuelog writes with merge patches. Without that gate Kueue applies, and what it no longer mentions stays in a
        # record whose fields have no owner; the record that was made with merge patches says what is meant.
        applied = not gates.get(MERGE_PATCH) and {**gates, MERGE_PATCH: True} in merged
        found = _one(case, gates, {**case["want"], **one["want"]}, applied=applied)
        if found is not None:
            return f"{gates}: {found}" if gates else found
    return None


def _one(case: Case, gates: dict[str, bool], want: Case, *, applied: bool) -> str | None:
    at = _world({**case, "gates_non_default": {**case["gates_non_default"], **gates}})
    value = case["inputs"]["workload"]
    workload = _submitted(at, value)
    events = admission_of(at.world, workload) or reconcile(at.world, workload, at.now)
    events = [event for event in events if not _done_by_the_job(event)]
    at.fold(events)
    if not events and _due(at, workload) != duration(want["result"]["requeue_after"]):
        return f"looks again after {_due(at, workload)} ms, recorded {want['result']['requeue_after']}"
    after = at.world.workloads[workload.key]
    return _compare(value, after, want.get("workload"), applied=applied) or _compare_news(after, want)


def _due(at: CaseWorld, workload: Workload) -> int:
    """How long it takes until time alone makes a difference; 0 when nothing is waited for."""
    due = next_deadline(workload, at.world.settings)
    return 0 if due is None else max(due - at.now, 0)


def _done_by_the_job(event: Decision) -> bool:
    return isinstance(event, QuotaReleased) and not event.withdrawn


def _world(case: Case) -> CaseWorld:
    inputs = case["inputs"]
    objects = {name: list(found) for name, found in (case.get("objects") or {}).items()}
    for word, name in (("should_delete_cq", "cluster_queues"), ("should_delete_lq", "local_queues")):
        if inputs.get(word):
            objects[name] = [_deleted(one, case["now"]) for one in objects.get(name, ())]
    at = CaseWorld({**case, "objects": objects})
    at.fold([_settings(case, at.world.settings)])
    for value in objects.get("cluster_queues", ()):
        _as_active_as_recorded(at, value)
    return at


def _deleted(value: Case, now: str) -> Case:
    return {**value, "metadata": {**value["metadata"], "deletionTimestamp": now}}


def _as_active_as_recorded(at: CaseWorld, value: Case) -> None:
    """The record tells in its status whether a queue is active; production reckons that from what the queue names."""
    queue = at.world.cluster_queues[value["metadata"]["name"]]
    conditions = (value.get("status") or {}).get("conditions") or ()
    if not any((one["type"], one["status"]) == ("Active", "True") for one in conditions):
        missing = ResourceGroup(resources=("absent",), flavors=(FlavorQuotas(flavor="absent", quotas=()),))
        at.fold([msgspec.structs.replace(queue, groups=(*queue.groups, missing))])
        return
    at.fold(FlavorObserved(name=one.flavor) for group in queue.groups for one in group.flavors)
    at.fold(AdmissionCheckObserved(name=rule.name, controller="test") for rule in queue.checks)


def _settings(case: Case, base: SettingsObserved) -> SettingsObserved:
    config = case.get("config") or {}
    retention = config.get("workload_retention") or {}
    rule = config.get("wait_for_pods_ready")
    return msgspec.structs.replace(
        base,
        retain_finished=_duration(retention.get("after_finished")),
        retain_deactivated=_duration(retention.get("after_deactivated_by_kueue")),
        pods_ready=None
        if rule is None
        else PodsReadyRule(
            timeout=_duration(rule["timeout"]) or 0,
            recovery_timeout=_duration(rule.get("recovery_timeout")),
            backoff_limit=rule.get("requeuing_backoff_limit_count"),
            backoff_base=rule.get("requeuing_backoff_base_seconds", 60) * 1000,
            backoff_max=_duration(rule.get("requeuing_backoff_max_duration")) or 0,
        ),
    )


def _duration(text: str | None) -> int | None:
    return None if text is None else duration(text)


def _submitted(at: CaseWorld, value: Case) -> Workload:
    state = workload_state(value)
    fact = WorkloadSubmitted(
        workload=state.workload,
        uid=state.uid,
        owner=state.owner,
        generation=value["metadata"].get("generation", 0),
        created_at=state.created_at,
        spec=state.spec,
        adopted=state.adopted,
    )
    at.fold([fact])
    return at.world.workloads[state.workload]


def _compare(before: Case, workload: Workload, wanted: Case | None, *, applied: bool) -> str | None:
    finalizers = before["metadata"].get("finalizers") or []
    if workload.in_cluster.released or workload.in_cluster.discarded:
        left = finalizers_left(before["metadata"])
        finalizers = finalizers if left is None else left
    deleted = workload.in_cluster.released and before["metadata"].get("deletionTimestamp") is not None
    if (workload.in_cluster.discarded or deleted) and not finalizers:
        return None if wanted is None else "the object is gone, recorded as still there"
    if wanted is None:
        return "the object is still there, recorded as gone"
    status = workload_status(workload)
    if applied:
        status = _with_leftovers(before.get("status") or {}, status)
    return first_difference(
        {
            "finalizers": wanted["metadata"].get("finalizers") or [],
            "active": wanted["spec"].get("active", True),
            **plain(wanted.get("status") or {}),
        },
        {
            "finalizers": finalizers,
            "active": workload_object(workload)["spec"]["active"],
            **plain(status),
        },
    )


def _compare_news(workload: Workload, want: Case) -> str | None:
    told = [("Warning" if one.warning else "Normal", one.reason, one.message) for one in workload.in_cluster.news]
    recorded = [(one["event_type"], one["reason"], one["message"]) for one in want.get("events") or ()]
    # The record compares events only where it holds any; of an admission kuelog tells by its conditions alone.
    wanted = [one for one in recorded if one[1] != "Admitted"]
    return None if not wanted or told == wanted else f"events: {told}, recorded {wanted}"


def _with_leftovers(before: Case, status: Case) -> Case:
    """What an apply leaves behind: fields and conditions that it does not mention stay as they were."""
    kept = {name: value for name, value in before.items() if status.get(name) is None}
    told = {one["type"] for one in status["conditions"]}
    stale = [one for one in before.get("conditions") or () if one["type"] not in told]
    return {**status, **kept, "conditions": [*status["conditions"], *stale]}


RECONCILE_SUITES: dict[str, Callable[[Case], str | None]] = dict.fromkeys(
    ("TestReconcile", "TestReconcileEviction", "TestReconcileInadmissible", "TestReconcileRequeue"), reconciled
)
