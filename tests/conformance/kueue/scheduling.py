"""Suites about quota, victims and whole cycles, checked with the production deciders."""

from collections.abc import Callable, Collection
from typing import Any

from events.quantity import to_units
from events.quota import PreemptionPolicy
from projections.preemption.candidates import Ask
from projections.preemption.message import HUMAN_REASONS
from projections.preemption.policy import satisfies_policy
from projections.preemption.victims import find_victims
from projections.quota_columns import Column, Usage
from projections.workloads import Workload
from services.preemptor.decide import Preemptor
from services.queue_manager.reconcile import reconcile
from services.watcher.workload_objects import workload_state
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]


def available(case: Case) -> str | None:
    """What each queue may use now, and could use if nobody used anything."""
    at = CaseWorld(case)
    for name, usage in case["inputs"]["usage"].items():
        at.world.quota.add_usage(name, _flat(at, usage))
    for word, question in (("available", "available"), ("potentially_available", "potential")):
        for name, wanted in case["want"][word].items():
            node = at.world.quota.queues[name]
            for column, amount in _flat(at, wanted).items():
                found = getattr(node, question)(column)
                if found != amount:
                    return f"{name} {at.world.quota.columns.names[column]}: {word} {found}, recorded {amount}"
    return None


def satisfies(case: Case) -> str | None:
    """Whether a policy lets one workload preempt the other."""
    inputs = case["inputs"]
    at = CaseWorld(case)
    found = satisfies_policy(
        PreemptionPolicy(inputs["policy"]),
        _workload(inputs["preemptor"]),
        _workload(inputs["candidate"]),
        at.world.settings,
    )
    return None if found is case["want"]["result"] else f"found {found}"


def human_reason(case: Case) -> str | None:
    """The words by which a rule is told to people."""
    told = f"due to {HUMAN_REASONS.get(case['inputs']['reason'], case['inputs']['reason'])};"
    return None if told in case["want"]["result"] else f"{told!r} is not in {case['want']['result']!r}"


def victims(case: Case) -> str | None:
    """Who has to make room for an incoming workload with a given assignment."""
    at = CaseWorld(case)
    inputs = case["inputs"]
    incoming = _workload(case["incoming"])
    usage: Usage = {}
    needed: dict[Column, None] = {}
    pod_sets = {one["name"]: one for one in case["incoming"]["spec"]["podSets"]}
    for one in inputs["assignment"]["pod_sets"]:
        count = one.get("count", pod_sets[one["name"]].get("count", 1))
        for resource, choice in one["flavors"].items():
            column = at.world.quota.column(choice["name"], resource)
            for container in pod_sets[one["name"]]["template"]["spec"]["containers"]:
                asked = container.get("resources", {}).get("requests", {}).get(resource)
                usage[column] = usage.get(column, 0) + (to_units(resource, asked) * count if asked is not None else 0)
            if choice["mode"] == "Preempt":
                needed[column] = None
    ask = Ask(
        workload=incoming,
        queue=at.world.cluster_queues[inputs["target_cq"]],
        node=at.world.quota.queues[inputs["target_cq"]],
        usage=usage,
        needed=tuple(needed),
        at=at.now,
    )
    chosen = find_victims(at.world, ask)
    if len(chosen) != case["want"]["preempted"]:
        return f"found {[one.workload.key for one in chosen]}, recorded {case['want']['preempted']}"
    # Those that were on their way out already count as chosen, and nothing more is written on them.
    found = sorted(one.workload.key.lstrip("/") for one in chosen if not one.workload.evicted)
    evicted = sorted(
        "/".join(part for part in (one["metadata"].get("namespace", ""), one["metadata"]["name"]) if part)
        for one in case["want"].get("workloads") or ()
        if any(c["type"] == "Preempted" and c["status"] == "True" for c in one.get("status", {}).get("conditions", ()))
    )
    return None if found == evicted else f"found {found}, recorded {evicted}"


def cycle(case: Case) -> str | None:
    """One scheduling cycle over all queues: who holds quota after it, who is in line, who is parked."""
    at = CaseWorld(case)
    line_up(at)
    at.cycle()
    at.decided(Preemptor())
    want = case["want"]
    return held(at, want.get("assignments") or {}) or _waiting(at, want)


def line_up(at: CaseWorld) -> None:
    """Everything that waits gets to its place; what holds quota is not reconciled by a scheduling cycle."""
    for key in sorted(at.world.workloads):
        while not (workload := at.world.workloads[key]).reserved:
            events = reconcile(at.world, workload, at.now)
            if not events:
                break
            at.fold(events)


def held(at: CaseWorld, wanted: Case, without: Collection[str] = ()) -> str | None:
    """Who holds quota, and of what."""
    holders = {
        key: one
        for key, one in at.world.workloads.items()
        if one.admission is not None and not one.finished and key not in without
    }
    if set(holders) != set(wanted):
        return f"holding quota: {sorted(holders)}, recorded {sorted(wanted)}"
    for key, recorded in wanted.items():
        admission = holders[key].admission
        if admission is None or admission.cluster_queue != recorded["clusterQueue"]:
            return f"{key} is in another queue than {recorded['clusterQueue']}"
        found = [(one.name, one.count, one.flavors, one.usage) for one in admission.assignments]
        told = [
            (
                one["name"],
                one.get("count", 0),
                one.get("flavors") or {},
                {name: to_units(name, text) for name, text in (one.get("resourceUsage") or {}).items()},
            )
            for one in recorded["podSetAssignments"]
        ]
        if found != told:
            return f"{key}: {found}, recorded {told}"
    return None


def _waiting(at: CaseWorld, want: Case) -> str | None:
    for word, place in (("left", "waiting"), ("inadmissible_left", "parked")):
        wanted = {name: sorted(keys) for name, keys in (want.get(word) or {}).items() if keys}
        found = {
            name: keys
            for name in at.world.lines.names()
            if name and (keys := sorted(getattr(at.world.lines.of(name), place)))
        }
        if found != wanted:
            return f"{word}: {found}, recorded {wanted}"
    return None


def _workload(value: Case) -> Workload:
    state = workload_state(value)
    adopted = {one.type: one for one in state.adopted.conditions} if state.adopted is not None else {}
    return Workload(
        key=state.workload,
        uid=state.uid,
        owner=state.owner,
        created_at=state.created_at,
        generation=0,
        spec=state.spec,
        conditions=adopted,
    )


def _flat(at: CaseWorld, usage: Case) -> Usage:
    return {
        at.world.quota.column(flavor, name): amount for flavor, found in usage.items() for name, amount in found.items()
    }


SCHEDULING_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestAvailable": available,
    "TestSatisfiesPreemptionPolicy": satisfies,
    "TestPreemptionMessage": human_reason,
    "TestPreemption": victims,
    "TestHierarchicalPreemptions": victims,
    "TestSchedule": cycle,
}
