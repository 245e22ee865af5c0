"""Suites about who waits where, checked with the production queue manager and lines.

A workload is active when it is in line, or parked with a class that may be tried again; otherwise it is inadmissible.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, RequeueReason
from events.settings import PodsReadyRule, RequeuingTimestamp
from events.workload import PodsReclaimed, WorkloadChanged, WorkloadDeleted, WorkloadSubmitted
from projections.queues.order import place_of
from services.admitter.entry import QueueHead
from services.admitter.heads import heads
from services.admitter.nomination import nominate
from services.watcher.workloads.workload_objects import workload_state
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up

Case = dict[str, Any]

QUEUE = "cq"
ADMITS = {"matchExpressions": [{"key": "dep", "operator": "In", "values": ["eng", "sales"]}]}
"""The namespaces that the queue of TestClusterQueueImpl admits; the record leaves its queue out."""
ERRORS = {
    "localQueue doesn't exist or inactive": "LocalQueue",
    "clusterQueue doesn't exist": "ClusterQueue",
    "workload is inadmissible and can't be added to a LocalQueue": "",
}
"""Kueue's errors, by the object that ours names."""


def added(case: Case) -> str | None:
    """Where a new workload waits, or why it can't."""
    at = CaseWorld(case)
    at.submit(case["inputs"]["workload"])
    line_up(at)
    return _assigned(at, case["want"]) or _obstacle(at, case["inputs"]["workload"], case["want"])


def updated(case: Case) -> str | None:
    """Where workloads wait after one of them has changed."""
    at, want = CaseWorld(case), case["want"]
    line_up(at)
    _change(at, case["inputs"]["updated_workload"])
    line_up(at)
    told = _assigned(at, want) or _obstacle(at, case["inputs"]["updated_workload"], want)
    if told:
        return told
    for name, recorded in want["queue_members"].items():
        found = sorted(at.world.by_local_queue.get(name, ())) if name in at.world.local_queues else []
        if found != sorted(recorded or []):
            return f"{name}: {found}, recorded {recorded}"
    for name, recorded in want["queue_order"].items():
        found = list(at.world.lines.of(name).in_order())
        if found != (recorded or []):
            return f"{name}: {found}, recorded {recorded}"
    return None


def first_of_each(case: Case) -> str | None:
    """The heads of all queues that take workloads in."""
    at = CaseWorld(case)
    for name in case["inputs"]["inactive_cluster_queues"]:
        at.fold([replace(at.world.cluster_queues[name], terminating=True)])
    line_up(at)
    found = sorted(head.workload.name for tree in at.world.quota.trees() for head in heads(at.world, [tree], at.now))
    wanted = sorted(case["want"]["workloads"])
    return _assigned(at, case["want"]) or (None if found == wanted else f"found {found}, recorded {wanted}")


def first_of_two(case: Case) -> str | None:
    """Which of two workloads comes first."""
    at = CaseWorld(case)
    timestamp = (case["config"].get("workload_ordering") or {}).get("pods_ready_requeuing_timestamp", "Eviction")
    rule = PodsReadyRule(timeout=1, timestamp=RequeuingTimestamp(timestamp))
    at.fold([replace(at.world.settings, pods_ready=rule)])
    both = [at.submitted(case["inputs"][name]) for name in ("w1", "w2")]
    found = min(both, key=lambda workload: place_of(at.world, workload)).name
    return None if found == case["want"]["result"] else f"found {found}"


def after_an_attempt(case: Case) -> str | None:
    """Where a workload waits after an attempt that failed, and whether it comes first from then on."""
    at, inputs = _one_queue(case, {"queueingStrategy": case["inputs"]["queueing_strategy"]}), case["inputs"]
    _arrive(at, _workload("wl"))
    _try(at, "ns/wl", RequeueReason(inputs["reason"]))
    line = at.world.lines.of(QUEUE)
    found = {"inadmissible": "ns/wl" in line.parked, "sticky": line.held.get("sticky") == "ns/wl"}
    wanted = {"sticky": found["sticky"], **case["want"]}
    return None if found == wanted else f"found {found}, recorded {wanted}"


def back_in_line(case: Case) -> str | None:
    """Whether a workload goes back in line after an attempt."""
    at, inputs = CaseWorld(case), case["inputs"]
    if inputs["in_client"]:
        at.submit(inputs["workload"])
        line_up(at)
    key = workload_state(inputs["workload"]).workload
    if key in _active(at, QUEUE):
        _try(at, key, RequeueReason.GENERIC)
    found = key in at.world.lines.of(QUEUE).waiting or at.world.lines.of(QUEUE).refused_as(key) is not None
    return None if found is case["want"]["requeued"] else f"found {found}"


def flushed(case: Case) -> str | None:
    """Who may be tried again when quota comes back."""
    at, want = CaseWorld(case), case["want"]
    line_up(at)
    for name in at.world.cluster_queues:
        for key in list(at.world.lines.of(name).waiting):
            _try(at, key, RequeueReason.GENERIC)
    before = {name: _active(at, name) for name in at.world.cluster_queues}
    for name in case["inputs"]["cq_names"]:
        at.world.quota.remove_usage(name, {})
    active = {name: found for name in at.world.cluster_queues if (found := _active(at, name))}
    still = {name: found for name in at.world.cluster_queues if (found := _inadmissible(at, name))}
    moved = sum(len(keys) for keys in active.values()) - sum(len(keys) for keys in before.values())
    for found, recorded in ((active, want.get("active")), (still, want.get("inadmissible"))):
        if found != {name: sorted(keys) for name, keys in (recorded or {}).items() if keys}:
            return f"found {found}, recorded {recorded}"
    return None if moved == want["moved_count"] else f"moved {moved}, recorded {want['moved_count']}"


def one_queue(case: Case) -> str | None:
    """Who waits and who is tried after workloads came, changed, went and were refused."""
    at, inputs, want = _one_queue(case, {"namespaceSelector": ADMITS}), case["inputs"], case["want"]
    for value in inputs.get("workloads_to_add") or ():
        _arrive(at, _in_a_queue(value))
    for name, reason in (
        ("inadmissible_workloads_to_requeue", RequeueReason.GENERIC),
        ("admissible_workloads_to_requeue", RequeueReason.FAILED_AFTER_NOMINATION),
    ):
        for value in inputs.get(name) or ():
            _arrive(at, _in_a_queue(value["obj"]))
            key = workload_state(value["obj"]).workload
            if key in at.world.lines.of(QUEUE).waiting or at.world.lines.of(QUEUE).refused_as(key) is not None:
                _try(at, key, reason)
    for value in map(_in_a_queue, inputs.get("workloads_to_update") or ()):
        _open_doors(at, value)
        _change(at, value)
        line_up(at)
    for value in inputs.get("workloads_to_delete") or ():
        at.fold([WorkloadDeleted(workload=workload_state(value).workload)])
    before = _active(at, QUEUE)
    if inputs["queue_inadmissible_workloads"]:
        at.world.quota.remove_usage(QUEUE, {})
    line = at.world.lines.of(QUEUE)
    active = _active(at, QUEUE)
    found = (active, len(active) - len(before), len(line.waiting) + len(line.parked))
    wanted = (sorted(want.get("active_workloads") or []), want["inadmissible_workloads_requeued"], want["pending"])
    return None if found == wanted else f"found {found}, recorded {wanted}"


def _assigned(at: CaseWorld, want: Case) -> str | None:
    """Workloads that were placed, by the local queue that they came through."""
    found = {
        key: door
        for door in at.world.local_queues
        for key in at.world.by_local_queue.get(door, ())
        if at.world.workloads[key].decided and not at.world.workloads[key].reserved
    }
    return None if found == want["assigned"] else f"assigned {found}, recorded {want['assigned']}"


def _obstacle(at: CaseWorld, value: Case, want: Case) -> str | None:
    recorded = (want.get("err") or {}).get("error")
    told = at.world.workloads[workload_state(value).workload].condition("QuotaReserved")
    found = told.message if told is not None else ""
    if recorded is None:
        return f"told {found}" if found else None
    return None if found.startswith(ERRORS[recorded]) else f"told {found!r}, recorded {recorded!r}"


def _one_queue(case: Case, spec: Case) -> CaseWorld:
    at = CaseWorld(case)
    at.see("ClusterQueue", {"metadata": {"name": QUEUE}, "spec": {"namespaceSelector": {}, **spec}})
    return at


def _workload(name: str) -> Case:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"podSets": [], "queueName": "lq"}}


def _in_a_queue(value: Case) -> Case:
    """A workload with the name of a local queue; this suite's records leave it out where Kueue is given the queue itself."""
    spec = {**value["spec"], "queueName": value["spec"].get("queueName") or "lq"}
    return {**value, "spec": spec}


def _open_doors(at: CaseWorld, value: Case) -> None:
    """The local queue that a workload names; the record leaves it out."""
    meta = {"namespace": value["metadata"].get("namespace", ""), "name": value["spec"].get("queueName", "")}
    at.see("LocalQueue", {"metadata": meta, "spec": {"clusterQueue": QUEUE}})


def _arrive(at: CaseWorld, value: Case) -> None:
    _open_doors(at, value)
    if workload_state(value).workload not in at.world.workloads:
        at.submit(value)
    line_up(at)


def _change(at: CaseWorld, value: Case) -> None:
    """A workload stands so now. One that was created at another time is another one."""
    state = workload_state(value)
    known = at.world.workloads[state.workload]
    if known.created_at != state.created_at:
        at.fold([WorkloadDeleted(workload=state.workload)])
        at.fold(
            [WorkloadSubmitted(workload=state.workload, uid=state.uid, created_at=state.created_at, spec=state.spec)]
        )
        return
    at.fold([WorkloadChanged(workload=state.workload, spec=state.spec)])
    if state.adopted is not None and state.adopted.reclaimable:
        at.fold([PodsReclaimed(workload=state.workload, counts=state.adopted.reclaimable)])


def _try(at: CaseWorld, key: str, reason: RequeueReason) -> None:
    """An attempt that failed for this reason; one that asks for room is told as such."""
    line = at.world.workloads[key].line
    if reason is RequeueReason.PENDING_PREEMPTION:
        at.fold([PreemptionRequested(workload=key, cluster_queue=line, assignments=(), victims=())])
    else:
        at.fold([AdmissionRefused(workload=key, cluster_queue=line, requeue=reason, reason="Pending", message="")])


def _active(at: CaseWorld, name: str) -> list[str]:
    line, queue = at.world.lines.of(name), at.world.cluster_queues[name]
    stale = [
        key
        for parked in line.classes.values()
        if parked.stamp != at.world.stamp(name)
        for key in (place.key for place in parked.members)
        if nominate(at.world, QueueHead(workload=at.world.workloads[key], queue=queue), at.now).requeue
        is not RequeueReason.NAMESPACE_MISMATCH
    ]
    return sorted([*line.waiting, *stale])


def _inadmissible(at: CaseWorld, name: str) -> list[str]:
    active = _active(at, name)
    return sorted(key for key in at.world.lines.of(name).parked if key not in active)


QUEUE_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestAddWorkload": added,
    "TestUpdateWorkload": updated,
    "TestHeads": first_of_each,
    "TestStrictFIFO": first_of_two,
    "TestStrictFIFORequeueIfNotPresent": after_an_attempt,
    "TestBestEffortFIFORequeueIfNotPresent": after_an_attempt,
    "TestRequeueWorkload": back_in_line,
    "TestQueueInadmissibleWorkloads": flushed,
    "TestClusterQueueImpl": one_queue,
}
