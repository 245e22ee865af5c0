"""Suites about the choice of flavors, checked with the production search."""

from collections.abc import Callable
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from events.admission import Mode, RequeueReason
from events.control import ObjectRemoved
from events.quantity import from_units, to_units
from events.quota import Fungibility
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.flavors.considered import ConsideredFlavor, considered_flavors
from projections.flavors.first_fit import assign_first_fit
from projections.flavors.mode import Granular, Oracle, preferred
from projections.flavors.partial_admission import largest_that_fits
from projections.flavors.search import FlavorSearchSpace, assign, refusal_reason
from projections.quota.charge_quota import usage_of
from projections.quota.columns import Column, Usage
from projections.quota.effective_requests import pod_set_requests
from projections.quota.node import Node
from projections.workloads.lifecycle import Admission
from services.admitter.cycle import room_to_keep
from services.admitter.entry import AdmissionEntry, QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.topology import find_domains, topology_demand
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]

_POSSIBLE = {"NoCandidates": Mode.NO_CANDIDATES, "Preempt": Mode.PREEMPT, "Reclaim": Mode.RECLAIM}
_MODES = {
    "noFit": Mode.NO_FIT,
    "noPreemptionCandidates": Mode.NO_CANDIDATES,
    "preempt": Mode.PREEMPT,
    "reclaim": Mode.RECLAIM,
    "fit": Mode.FIT,
}
QUEUE = "test-clusterqueue"


def assign_flavors(case: Case) -> str | None:
    """The whole assignment: flavors, modes, what is charged, reasons and attempts."""
    at, inputs = CaseWorld(case), case["inputs"]
    _use(at, QUEUE, inputs.get("cluster_queue_usage"))
    _use(at, "test-secondary-clusterqueue", inputs.get("secondary_cluster_queue_usage"))
    for flavor in inputs.get("deleted_after_snapshot") or ():
        at.fold([ObjectRemoved(kind="ResourceFlavor", name=flavor)])
    assignment = _searched(at, QUEUE, _with_pod_sets(inputs["wl_pods"], inputs.get("wl_reclaimable_pods")), inputs)
    want = case["want"]
    if _public(assignment.representative) != want["rep_mode"]:
        return f"mode {assignment.representative}, recorded {want['rep_mode']}"
    wanted = want["assignment"]
    found = _told(at, assignment)
    for name, recorded in (
        ("borrowing", wanted["borrowing"]),
        ("no_fit_reason", wanted["no_fit_reason"]),
        ("usage", wanted["usage"]["quota"]["assigned"]),
    ):
        if found[name] != recorded:
            return f"{name}: {found[name]}, recorded {recorded}"
    pairs = zip([one for one in assignment.pod_sets if one.reached], wanted["pod_sets"], strict=True)
    return next((told for one, recorded in pairs if (told := _pod_set(assignment, one, recorded))), None)


def mode_and_flavors(case: Case) -> str | None:
    """The mode, and the flavor of each resource."""
    at, inputs = CaseWorld(case), case["inputs"]
    _use(at, QUEUE, inputs.get("test_cluster_queue_usage"))
    _use(at, "other-clusterqueue", inputs.get("other_cluster_queue_usage"))
    assignment = _searched(at, QUEUE, _with_pod_sets([inputs["workload_requests"]]), inputs)
    found = {name: choice.flavor for name, choice in assignment.pod_sets[0].flavors.items()}
    wanted = case["want"]["assigment"] or {}
    if _public(assignment.representative) != case["want"]["mode"]:
        return f"mode {assignment.representative}, recorded {case['want']['mode']}"
    return None if found == wanted else f"found {found}, recorded {wanted}"


def leader_follows(case: Case) -> str | None:
    """The flavors of a leader and its workers, and why it can't be said on which of them a pod set is placed."""
    at, want = CaseWorld(case), case["want"]
    workload = at.submitted(_with_pod_sets(case["inputs"]["wl_pods"]))
    queue = at.world.cluster_queues[QUEUE]
    plan = plan_for(at.world, QueueHead(workload=workload, queue=queue))
    assignment = _searched(at, QUEUE, _with_pod_sets(case["inputs"]["wl_pods"]), {})
    found = {one.name: {name: choice.flavor for name, choice in one.flavors.items()} for one in assignment.pod_sets}
    wanted = {
        name: {resource: choice["name"] for resource, choice in flavors.items()}
        for name, flavors in want["pod_set_flavors"].items()
    }
    if found != wanted:
        return f"found {found}, recorded {wanted}"
    problems = topology_demand(at.world, workload, plan, assignment).problems
    told = {name: one["error"] for name, one in want["pod_set_errors"].items()}
    return None if {name: problems.get(name) for name in told} == told else f"found {problems}, recorded {told}"


def allowed_flavors(case: Case) -> str | None:
    """The flavor of a workload that may only use some."""
    at, want = CaseWorld(case), case["want"]
    assignment = _searched(at, "cq", case["incoming"], case.get("inputs") or {})
    found = next((choice.flavor for choice in assignment.pod_sets[0].flavors.values()), "")
    mode = _public(assignment.representative)
    if (mode, found) != (want["rep_mode"], want["flavor"]):
        return f"found {mode} {found!r}, recorded {want['rep_mode']} {want['flavor']!r}"
    return None


def reasons(case: Case) -> str | None:
    """The reason why nothing fits, over all and per flavor."""
    at, inputs, want = CaseWorld(case), case["inputs"], case["want"]
    queue = case["objects"]["cluster_queues"][0]["metadata"]["name"]
    _use(at, queue, inputs.get("cq_usage"))
    for name, usage in (inputs.get("sibling_cq_usage") or {}).items():
        _use(at, name, usage)
    assignment = _searched(at, queue, case["incoming"], inputs)
    head = QueueHead(workload=at.submitted(case["incoming"]), queue=at.world.cluster_queues[queue])
    entry = AdmissionEntry(head=head, node=at.world.quota.queues[queue], assignment=assignment)
    find_domains(at.world, entry, plan_for(at.world, head))
    reason = refusal_reason(assignment) if assignment.representative is Mode.NO_FIT else ""
    if reason != want["no_fit_reason"]:
        return f"reason {reason!r}, recorded {want['no_fit_reason']!r}"
    attempts = {one.flavor: one.no_fit_reason for one in considered_flavors(assignment.attempts)}
    for flavor, recorded in want["flavor_attempts"].items():
        found = attempts.get(flavor, "")
        if found != recorded:
            return f"{flavor}: {found!r}, recorded {recorded!r}"
    return None


def total_requests(case: Case) -> str | None:
    """What an assignment charges for a workload, with as many pods as were assigned."""
    at, inputs = CaseWorld(case), case["inputs"]
    workload = at.submitted(inputs["args"]["wl"]["obj"])
    fields = {one["name"]: one for one in inputs["fields"]["pod_sets"]}
    chosen = [
        PodSetChoice(
            name=one.name,
            count=fields[one.name]["count"],
            requests=pod_set_requests(one, fields[one.name]["count"], at.world.settings, covers_pods=False),
            flavors={
                name: FlavorChoice(flavor=choice["name"], mode=Mode(choice["mode"]))
                for name, choice in fields[one.name]["flavors"].items()
            },
        )
        for one in workload.spec.pod_sets
    ]
    admission = Admission(
        cluster_queue="cq", assignments=Assignment(pod_sets=chosen).assignments(), reservation=0, reserved_at=0
    )
    found = _named(at, usage_of(replace(workload, admission=admission), at.world.quota.columns))
    return None if found == case["want"]["result"] else f"found {found}, recorded {case['want']['result']}"


def is_preferred(case: Case) -> str | None:
    """Whether one mode and borrowing level is better than another."""
    inputs = case["inputs"]
    left, right = (
        Granular(_MODES[inputs[side]["preemption_mode"]], inputs[side]["borrowing_level"]) for side in ("a", "b")
    )
    found = preferred(left, right, _fungibility(inputs["config"]))
    return None if found is case["want"]["preferred"] else f"found {found}"


def reserved_room(case: Case) -> str | None:
    """What is held for a blocked head for the rest of a cycle."""
    at, inputs = CaseWorld(case), case["inputs"]
    _use(at, "cq", inputs["cq_usage"])
    usage = at.by_column(inputs["assignment_usage"])
    workload = at.submitted(_with_pod_sets([]))
    entry = AdmissionEntry(
        head=QueueHead(workload=workload, queue=at.world.cluster_queues["cq"]), requeue=RequeueReason.GENERIC
    )
    entry.node = at.world.quota.queues["cq"]
    entry.assignment = Assignment(pod_sets=[], usage=usage, borrow=inputs["borrowing"])
    kept = room_to_keep(entry) if inputs["assignment_mode"] != "Fit" else usage
    found = _named(at, kept)
    return None if found == case["want"]["reserved"] else f"found {found}, recorded {case['want']['reserved']}"


def fewer_pods(case: Case) -> str | None:
    """The largest job of those that partial admission allows that is within a limit."""
    inputs = case["inputs"]
    workload = CaseWorld(case).submitted(_with_pod_sets(inputs["pod_sets"]))
    counts = {one.name: one.count for one in workload.spec.pod_sets}
    limit = inputs["count_limit"]
    found = largest_that_fits(workload.spec.pod_sets, counts, lambda fewer: sum(fewer.values()) <= limit)
    told = (found is not None, sum(found.values()) if found is not None else 0)
    wanted = (case["want"]["found"], case["want"]["count"])
    return None if told == wanted else f"found {told}, recorded {wanted}"


def priority(case: Case) -> str | None:
    """Priority and boost."""
    value = {**case["inputs"]["wl"]}
    value["spec"] = {**value["spec"], "podSets": []}
    value["metadata"] = {"name": "wl", "namespace": "ns", **value["metadata"]}
    workload = CaseWorld(case).submitted(value)
    found = {"base": workload.spec.priority, "boost": workload.spec.priority_boost, "effective": workload.priority}
    return None if found == case["want"] else f"found {found}, recorded {case['want']}"


def _searched(at: CaseWorld, queue: str, value: Case, inputs: Case) -> Assignment:
    """The assignment, with an oracle that answers as recorded. The straight way has to give the same."""
    node = at.world.quota.queues[queue]
    head = QueueHead(workload=at.submitted(_replacing(at, queue, value, inputs)), queue=at.world.cluster_queues[queue])
    plan = plan_for(at.world, head)
    names = at.world.quota.columns.names
    space = FlavorSearchSpace(
        plan=plan,
        node=node,
        names=names,
        oracle=_oracle(at, inputs.get("simulation_result") or {}),
        fair=at.world.settings.fair_sharing,
    )
    assignment = assign(space)
    straight = assign_first_fit(plan, node)
    if straight is not None and (straight.assignments(), straight.usage, straight.progress, straight.borrow) != (
        assignment.assignments(),
        assignment.usage,
        assignment.progress,
        assignment.borrow,
    ):
        raise AssertionError(f"the straight way differs: {straight} {assignment}")
    return assignment


def _replacing(at: CaseWorld, queue: str, value: Case, inputs: Case) -> Case:
    """The workload, as one that replaces the slice that was recorded with it: that holds its quota in the queue."""
    old = inputs.get("preempt_workload_slice") or inputs.get("replace_wl")
    if not old:
        return value
    meta = value["metadata"]
    names = {one["name"]: one for one in old["total_requests"]}
    shown = old.get("obj") or {"spec": {"podSets": [{**one, "count": 1} for one in value["spec"]["podSets"]]}}
    given = [
        {
            "name": name,
            "count": one["count"],
            "flavors": one["flavors"],
            "resourceUsage": {
                resource: from_units(resource, amount) for resource, amount in (one["requests"] or {}).items()
            },
        }
        for name, one in names.items()
    ]
    status = {"admission": {"clusterQueue": queue, "podSetAssignments": given}}
    at.submit({"metadata": {"name": "old", "namespace": meta["namespace"]}, "spec": shown["spec"], "status": status})
    replaces = {"kueue.x-k8s.io/workload-slice-replacement-for": f"{meta['namespace']}/old"}
    return {**value, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **replaces}}}


def _oracle(at: CaseWorld, results: Case) -> Oracle:
    def answer(column: Column, amount: int) -> Granular:
        del amount
        flavor, resource = at.world.quota.columns.names[column]
        found = (results.get(flavor) or {}).get(resource)
        if found is None:
            return Granular(Mode.PREEMPT, 0)
        return Granular(_POSSIBLE[found["preemption_possiblity"]], found["borrowing_after_simulation"])

    return answer


def _pod_set(assignment: Assignment, found: PodSetChoice, recorded: Case) -> str | None:
    flavors = {
        name: {"mode": _public(choice.mode), "name": choice.flavor, "tried_flavor_idx": choice.tried}
        for name, choice in found.flavors.items()
    }
    requests = {name: to_units(name, text) for name, text in (recorded.get("requests") or {}).items()}
    told = (found.name, found.count, found.requests, flavors, found.reasons)
    wanted = (
        recorded["name"],
        recorded["count"],
        requests,
        recorded.get("flavors") or {},
        recorded["status"].get("reasons") or [],
    )
    if told[:4] != wanted[:4] or sorted(told[4]) != sorted(wanted[4]):
        return f"{told}, recorded {wanted}"
    attempts = {one.flavor: one for one in considered_flavors(assignment.attempts) if one.pod_set == found.name}
    chosen = {choice.flavor for choice in found.flavors.values()}
    for one in recorded.get("flavor_assignment_attempts") or ():
        if found.mode is Mode.FIT and one["flavor"] not in chosen:
            continue
        told_attempt = _attempt(attempts[one["flavor"]]) if one["flavor"] in attempts else None
        if told_attempt != {"reasons": [], "preemption_possibility": "", **one}:
            return f"attempt {told_attempt}, recorded {one}"
    return None


def _attempt(found: ConsideredFlavor) -> Case:
    return {
        "flavor": found.flavor,
        "mode": _public(found.mode),
        "borrow": found.borrow,
        "no_fit_reason": found.no_fit_reason,
        "reasons": list(found.reasons),
        "preemption_possibility": found.preemption,
    }


def _told(at: CaseWorld, assignment: Assignment) -> Case:
    return {
        "borrowing": assignment.borrow,
        "no_fit_reason": refusal_reason(assignment) if assignment.representative is Mode.NO_FIT else "",
        "usage": _named(at, assignment.usage),
    }


def _named(at: CaseWorld, usage: Usage) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (flavor, resource), amount in at.world.quota.columns.by_name(usage).items():
        found.setdefault(flavor, {})[resource] = amount
    return found


def _public(mode: Mode) -> str:
    return mode if mode in (Mode.NO_FIT, Mode.FIT) else "Preempt"


def _use(at: CaseWorld, queue: str, usage: Case | None) -> None:
    if usage:
        node: Node | None = at.world.quota.node(queue)
        if node is not None:
            at.world.quota.add_usage(queue, at.by_column(usage))


def _with_pod_sets(pod_sets: list[Case], reclaimable: list[Case] | None = None) -> Case:
    return {
        "metadata": {"name": "incoming", "namespace": "ns"},
        "spec": {"podSets": pod_sets},
        "status": {"reclaimablePods": reclaimable} if reclaimable else {},
    }


def _fungibility(config: Case) -> Fungibility:
    told = {
        "when_can_borrow": config.get("whenCanBorrow"),
        "when_can_preempt": config.get("whenCanPreempt"),
        "preference": config.get("preference"),
    }
    return convert({name: value for name, value in told.items() if value}, Fungibility)


FLAVOR_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestAssignFlavors_LeaderWorkerSetTASFlavor": leader_follows,
    "TestAssignFlavors": assign_flavors,
    "TestAssignFlavorsWithAllowedFlavors": allowed_flavors,
    "TestAssignment_TotalRequestsFor": total_requests,
    "TestHierarchical": mode_and_flavors,
    "TestReclaimBeforePriorityPreemption": mode_and_flavors,
    "TestDeletedFlavors": assign_flavors,
    "TestIsPreferred": is_preferred,
    "TestIsNoFitDueToCapacityAndLimits": reasons,
    "TestResourcesToReserve": reserved_room,
    "TestSearch_PodSetReducer": fewer_pods,
    "TestPriorityInfo": priority,
}
