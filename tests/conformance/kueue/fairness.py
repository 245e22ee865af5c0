"""Suites about fair sharing: shares, victims, the order of a cycle, and the past usage of local queues."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from events.admission import PreemptionRequested
from events.quota import (
    AdmissionMode,
    ClusterQueueObserved,
    LocalQueueObserved,
    PreemptionPolicy,
    PreemptionRules,
    Weight,
)
from events.settings import AdmissionFairSharing, SettingsObserved
from projections.fair_sharing.share import Share, share_of, weighted
from projections.flavors.assignment import Assignment
from projections.preemption.candidates import Candidate, CandidateGroups, PreemptionContext, Variant
from projections.preemption.fair_targets import LazyCandidates, TargetQueues
from projections.queues.order import queue_timestamp
from projections.quota.node import Node
from services.admitter.cycle_order import in_turn
from services.admitter.entry import AdmissionEntry, QueueHead
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.past_usage import cycles_by_past_usage, order_by_past_usage
from tests.conformance.kueue.scheduling import cycle

Case = dict[str, Any]

USED = "example.com/used"
ONE_FOR_ONE = AdmissionFairSharing(half_life=1)


def shares(case: Case) -> str | None:
    """The share of every queue and cohort, with what a workload asks for on top."""
    at, node = _used(case)
    _charge(at, node, case["inputs"].get("requested_flavor_resources"))
    found = {
        _told(kind, name, _share(at, node))
        for kind, nodes in (("cluster_queue", at.world.quota.queues), ("cohort", at.world.quota.cohorts))
        for name, node in nodes.items()
    }
    wanted = {
        (one["node_type"], one["name"], one["dr_name"], one["dr_value"], one["borrowing"])
        for one in case["want"]["result"]
    }
    return None if found == wanted else f"found {sorted(found - wanted)}, recorded {sorted(wanted - found)}"


def borrowing(case: Case) -> str | None:
    """Whether a queue borrows at all, and whether it does of what is asked for."""
    at, node = _used(case)
    share = _share(at, node)
    asked = at.by_column(case["inputs"]["requested_flavor_resources"])
    found = {"borrowing": share.borrowing, "borrowing_on_requested": share.borrowing_on(asked)}
    return None if found == case["want"] else f"found {found}, recorded {case['want']}"


def share_in_digits(case: Case) -> str | None:
    """A share as text; Kueue's comes from a float, so it may differ by as much as a float does."""
    ratio = Fraction(str(case["inputs"]["unweighted_ratio"]))
    weight = Fraction(str(case["inputs"]["fair_weight"]))
    share = weighted(
        ratio.numerator, ratio.denominator, Weight(numerator=weight.numerator, denominator=weight.denominator)
    )
    found, wanted = share.as_text(), case["want"]["result"]
    if found == wanted:
        return None
    if share.infinite or "Inf" in wanted or abs(Fraction(found) - Fraction(wanted)) * 2**50 > Fraction(wanted):
        return f"found {found}, recorded {wanted}"
    return None


def target_queues(case: Case) -> str | None:
    """Which queue has to give next, when each gives its first candidate or is dropped."""
    at = CaseWorld(case)
    inputs = case["inputs"]
    quota = at.world.quota
    rows = {
        name: LazyCandidates(
            Candidate(
                workload=at.world.workloads[key], node=quota.queues[name], variant=Variant.FAIR_SHARING, usage=usage
            )
            for key, usage in at.world.holders(name).usage.items()
        )
        for name in inputs["candidate_cqs"]
    }
    targets = TargetQueues(quota.queues[inputs["preemptor_cq"]], rows, quota.columns.names)
    actions = iter(inputs.get("actions") or ())
    found: list[str] = []
    while (node := targets.next()) is not None:
        found.append(node.name)
        if next(actions, "pop") == "drop":
            targets.drop(node)
        else:
            next(rows[node.name].take())
    wanted = case["want"].get("order") or []
    return None if found == wanted else f"found {found}, recorded {wanted}"


def candidate_order(case: Case) -> str | None:
    """In which order those who hold quota would have to make room for somebody in one of their queues."""
    own = case["inputs"]["preemptor_cq"]
    candidates = [(one["cluster_queue"] or own, one) for one in case["inputs"]["candidates"]]
    at = CaseWorld(case)
    used = {
        _door(one): one[name] for _, one in candidates for name in one if name.startswith("local_queue") and one[name]
    }
    if used:
        at.fold([SettingsObserved(admission_fair_sharing=ONE_FOR_ONE, gates=at.world.settings.gates)])
    for door, amount in used.items():
        namespace, _, name = door.partition("/")
        seen = LocalQueueObserved(namespace=namespace, name=name, cluster_queue="", consumed={USED: int(amount * 1000)})
        at.fold([seen])
    anybody = PreemptionRules(within_cluster_queue=PreemptionPolicy.ANY, reclaim_within_cohort=PreemptionPolicy.ANY)
    mode = AdmissionMode.USAGE_BASED if used else AdmissionMode.NONE
    for name in sorted({own, *(name for name, _ in candidates)}):
        at.fold([ClusterQueueObserved(name=name, cohort="all", preemption=anybody, admission_mode=mode)])
    for name, one in candidates:
        at.submit(_holding_one(one["obj"], name))
    node = at.world.quota.queues[own]
    ask = PreemptionContext(
        workload=at.submitted({"metadata": {"name": "incoming"}, "spec": {"podSets": []}}),
        queue=at.world.cluster_queues[own],
        node=node,
        usage={at.world.quota.column("any", USED): 1},
        needed=(at.world.quota.column("any", USED),),
        at=at.now,
    )
    found = [one.workload.name for one in CandidateGroups(at.world, ask).in_order(by_priority=True)]
    return None if found == case["want"]["candidates"] else f"found {found}, recorded {case['want']['candidates']}"


def _holding_one(value: Case, cluster_queue: str) -> Case:
    """A workload that holds one of something in a queue, whatever it is recorded to hold."""
    pod_set = value["spec"]["podSets"][0]["name"]
    held = {"name": pod_set, "count": 1, "flavors": {USED: "any"}, "resourceUsage": {USED: "1"}}
    status = value.get("status") or {}
    conditions = list(status.get("conditions") or ())
    if not any(one["type"] == "QuotaReserved" for one in conditions):
        conditions.append({"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"})
    admission = {"clusterQueue": cluster_queue, "podSetAssignments": [held]}
    return {**value, "status": {**status, "admission": admission, "conditions": conditions}}


def _door(candidate: Case) -> str:
    return f"{candidate['obj']['metadata'].get('namespace', '')}/{candidate['obj']['spec'].get('queueName', '')}"


def entry_order(case: Case) -> str | None:
    """In which order the entries of a cycle are processed without fair sharing."""
    at = CaseWorld(case)
    entries: list[AdmissionEntry] = []
    for number, one in enumerate(case["inputs"]["entries"]):
        # Kueue leaves equal ones in the order in which they came; here the UID decides, which the fixtures don't have.
        metadata = {**one["workload"]["metadata"], "uid": f"{number:04}"}
        value = {**one["workload"], "metadata": metadata, "spec": {**one["workload"]["spec"], "podSets": []}}
        workload = at.submitted(value)
        queue = ClusterQueueObserved(name=f"queue-{number}")
        if one["is_preemptor"]:
            at.fold([PreemptionRequested(workload=workload.key, cluster_queue=queue.name, assignments=(), victims=())])
        entries.append(
            AdmissionEntry(
                head=QueueHead(workload=workload, queue=queue),
                assignment=Assignment(pod_sets=[], usage={}, attempts=[], borrow=one["borrowing"]),
                timestamp=queue_timestamp(workload, at.world.settings),
            )
        )
    found = [entry.workload.name for entry in in_turn(at.world, entries)]
    return None if found == case["want"]["order"] else f"found {found}, recorded {case['want']['order']}"


def _used(case: Case) -> tuple[CaseWorld, Node]:
    at = CaseWorld(case)
    node = at.world.quota.queues["cq"]
    _charge(at, node, case["inputs"].get("usage"))
    return at, node


def _charge(at: CaseWorld, node: Node, usage: Case | None) -> None:
    at.world.quota.add_usage(node.name, at.by_column(usage or {}))


def _share(at: CaseWorld, node: Node) -> Share:
    return share_of(node, at.world.quota.columns.names)


def _told(kind: str, name: str, share: Share) -> tuple[str, str, str, int, bool]:
    return kind, name, share.resource, share.rounded(), share.borrowing


FAIRNESS_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestCandidatesOrdering": candidate_order,
    "TestDominantResourceShare": shares,
    "TestEntryOrdering": entry_order,
    "TestFsAdmission": order_by_past_usage,
    "TestIsBorrowingOn": borrowing,
    "TestMakeClusterQueueOrdering": target_queues,
    "TestPreciseWeightedShareSerialized": share_in_digits,
    "TestScheduleForAFS": cycles_by_past_usage,
    "TestScheduleForFairSharing": cycle,
}
