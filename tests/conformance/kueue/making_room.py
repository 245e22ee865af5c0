"""Suites about victims: who has to make room for an incoming workload, as the admitter asks and the preemptor answers."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from events.admission import Mode
from projections.flavors.assignment import Assignment, FlavorChoice, PodSetChoice
from projections.preemption.candidates import Candidate
from projections.preemption.message import preemption_message
from projections.quota.charge_quota import usage_of
from projections.workloads.lifecycle import Admission
from services.admitter.entry import AdmissionEntry, QueueHead
from services.admitter.flavor_plans import plan_with
from services.admitter.nomination import victims_for
from services.admitter.outcome_events import request_event
from services.admitter.topology import topology_demand
from services.preemptor.decide import Preemptor
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.shown import all_shown

Case = dict[str, Any]
Chosen = Mapping[str, tuple[int, Mapping[str, FlavorChoice]]]
"""By pod set its count, and the flavor of each resource."""


def with_an_assignment(case: Case) -> str | None:
    """Who has to go for an incoming workload with a given assignment, and how everybody stands afterwards."""
    counts = {one["name"]: one["count"] for one in case["incoming"]["spec"]["podSets"]}
    chosen = {
        one["name"]: (
            one.get("count", counts[one["name"]]),
            {
                resource: FlavorChoice(flavor=choice["name"], mode=Mode(choice["mode"]))
                for resource, choice in one["flavors"].items()
            },
        )
        for one in case["inputs"]["assignment"]["pod_sets"]
    }
    at, entry, found = _victims(case, chosen)
    if len(found) != case["want"]["preempted"]:
        return f"found {[one.workload.key for one in found]}, recorded {case['want']['preempted']}"
    at.before_the_cycle()
    entry.victims = found
    request = request_event(at.world, entry) if found else None
    at.fold([] if request is None else [request])
    at.decided(Preemptor())
    return all_shown(at, case["want"]["workloads"], without=(entry.workload.key,))


def by_share(case: Case) -> str | None:
    """Who has to make room for an incoming workload that asks for CPU of one flavor, and by which right."""
    (pod_set,) = case["incoming"]["spec"]["podSets"]
    flavor = FlavorChoice(flavor=case["inputs"]["assignment_flavor"] or "default", mode=Mode.PREEMPT)
    _, _, found = _victims(case, {pod_set["name"]: (pod_set["count"], {"cpu": flavor})})
    told = sorted(f"{victim.workload.key}:{victim.reason}" for victim in found)
    wanted = sorted(case["want"].get("preempted") or ())
    return None if told == wanted else f"found {told}, recorded {wanted}"


def message(case: Case) -> str | None:
    """What a victim is told."""
    inputs = case["inputs"]
    value = {"spec": {"podSets": []}, "metadata": {"name": "preemptor", **inputs["preemptor"]["metadata"]}}
    preemptor = CaseWorld(case).submitted(value)
    found = preemption_message(preemptor, inputs["reason"], inputs["preemptor_path"], inputs["preemptee_path"])
    return None if found == case["want"]["result"] else f"found {found!r}, recorded {case['want']['result']!r}"


def _victims(case: Case, chosen: Chosen) -> tuple[CaseWorld, AdmissionEntry, list[Candidate]]:
    at = CaseWorld(case)
    queue = at.world.cluster_queues[case["inputs"]["target_cq"]]
    before = at.world.quota.usage_by_name(at.world.quota.queues[queue.name].root)
    status = {name: value for name, value in (case["incoming"].get("status") or {}).items() if name != "admission"}
    # Some fixtures say of the incoming workload that it was admitted already.
    head = QueueHead(workload=at.submitted({**case["incoming"], "status": status}), queue=queue)
    plan = plan_with(at.world, head, {name: count for name, (count, _) in chosen.items()})
    pod_sets = [
        PodSetChoice(
            name=one.pod_set.name, count=one.count, requests=one.requests, flavors=dict(chosen[one.pod_set.name][1])
        )
        for one in plan.asked
    ]
    assignment = Assignment(pod_sets=pod_sets)
    admission = Admission(cluster_queue=queue.name, assignments=assignment.assignments(), reservation=0, reserved_at=0)
    assignment.usage = usage_of(replace(head.workload, admission=admission), at.world.quota.columns)
    entry = AdmissionEntry(head=head, assignment=assignment, node=at.world.quota.queues[queue.name], at=at.now)
    found = victims_for(at.world, entry, topology_demand(at.world, head.workload, plan, assignment), at.now)
    if at.world.quota.usage_by_name(at.world.quota.queues[queue.name].root) != before:
        raise AssertionError("the search has left the tree changed")
    return at, entry, found


MAKING_ROOM_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestFairPreemptions": by_share,
    "TestHierarchicalPreemptions": with_an_assignment,
    "TestPreemption": with_an_assignment,
    "TestPreemptionMessage": message,
}
