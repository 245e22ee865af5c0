"""Why a workload does not run: where the reason lies, what it waits for, and where it stands in its line."""

from collections.abc import Iterable, Mapping

import msgspec

from events.admission import RequeueReason
from events.event import Millis
from events.quantity import from_units
from events.quota import AdmissionCheckObserved
from events.timestamp import format_timestamp
from events.workload import CheckState
from projections.devices.placement.gang import NOT_EVEN_IDLE
from projections.devices.registration.node_lock import waited_for
from projections.explanation.elsewhere import answers, chosen, has_run_in
from projections.explanation.fixes import (
    ITS_TURN,
    MEND_CLAIMS,
    STRICT_FIX,
    UNREADY,
    UNWRITTEN,
    fix_of,
    no_node_at_all,
    no_node_takes_it,
)
from projections.explanation.positions import in_turn
from projections.explanation.read_models import cluster_queue_name, state_of
from projections.explanation.words import Explanation, QueuePosition, Shortage, Tier
from projections.nodes.state import NodeState
from projections.preemption.requested import still_holds
from projections.preemption.state import PreemptionState
from projections.queues.order import place_of
from projections.queues.pending_queues import PlaceInLine
from projections.queues.state import QueueState
from projections.quota.tree import QuotaTree
from projections.workloads.conditions import DELAYED_TOPOLOGY, NODE_FAILURES
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.workloads.second_pass import has_delayed_topology
from projections.workloads.variants import flavor_of, variants_of

_AHEAD = 5
DEACTIVATED = "Deactivated"
_BEFORE_ITS_TURN: Mapping[str, Tier] = {"Suspended": Tier.QUEUE, "AdmissionGated": Tier.SPEC, "OnHold": Tier.SPEC}
"""Where it lies that variants are not even tried."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of trying to admit the workload alone, as things stand."""

    fits: bool = False
    preempts: tuple[str, ...] = ()
    """Workloads that it would preempt."""
    gates: tuple[str, ...] = ()
    """Its preemption gates that are closed, by which it may preempt none of these."""
    unwritten: tuple[str, ...] = ()
    """Admissions that are not written to the cluster yet, where nobody is let in before fewer are."""
    unready: tuple[str, ...] = ()
    """Workloads whose pods are not ready, where nobody is let in before they are."""
    blocked_by: tuple[str, str] = ("", "")
    """The first of a strict queue, where it is another one, and the reason for which that waits itself."""
    reason: str = ""
    message: str = ""


def outline(world: QueueState, workload: Workload) -> Explanation:
    """The workload's identity and state, before any reason is looked for."""
    state = state_of(workload)
    return Explanation(
        workload=workload.key,
        job=workload.job,
        local_queue=workload.local_queue,
        cluster_queue=cluster_queue_name(world, workload),
        priority=workload.priority,
        state=state.word,
        since=state.since,
        reason=state.reason,
        claims=tuple(
            f"pod set {one.name}: {counted.asked_by} asks for {counted.count} of DeviceClass {counted.device_class}, "
            f"{from_units(counted.resource, counted.amount)} {counted.resource} for each pod"
            for one in workload.spec.pod_sets
            for counted in (one.claims.requests if one.claims is not None else ())
        ),
    )


def holding(world: QueueState, workload: Workload, explanation: Explanation, at: Millis) -> None:
    """Why a workload that holds quota does not run yet, if it does not, and in which cluster it does, or did, if not in this one."""
    if explanation.state == "finished":
        explanation.message = has_run_in(world, workload)
        return
    if explanation.state == "stopping":
        explanation.tier, explanation.message = Tier.TIME, "it has to stop; its quota returns when its pods are gone"
        explanation.waits_for = ("its own pods to be gone",)
        return
    if explanation.state in ("admitted", "running") and (elsewhere := chosen(world, workload)):
        explanation.message = elsewhere
        explanation.clusters = answers(world, workload)
        return
    if explanation.state == "admitted":
        explanation.message = "it may run; its pods are not all ready yet"
        explanation.waits_for = ("its pods to be ready", *_locks(world, workload, at))
        return
    if workload.admission is None or explanation.state != "reserved":
        return
    late = [
        name
        for name in workload.admission.required_checks
        if name not in workload.checks or workload.checks[name].state is not CheckState.READY
    ]
    if late:
        explanation.tier, explanation.reason = Tier.CHECK, "WaitingForChecks"
        explanation.waits_for = tuple(
            f"admission check {name} ({_check(world.checks, workload, name)})" for name in late
        )
        explanation.message = chosen(world, workload) or "quota is reserved; these checks are not ready"
        explanation.clusters = answers(world, workload)
        return
    if has_delayed_topology(workload):
        _placed_late(workload, explanation)
        return
    explanation.tier, explanation.reason = Tier.DEVICE, "WaitingForReservation"
    explanation.waits_for = ("its cards to be reserved",)
    if workload.devices is not None and workload.devices.refused:
        explanation.reason, explanation.message = workload.devices.refused, workload.devices.message


def _placed_late(workload: Workload, explanation: Explanation) -> None:
    """Why one whose checks are ready has no place yet (docs/rules/topology.md#second-pass)."""
    explanation.tier, explanation.reason = Tier.TOPOLOGY, DELAYED_TOPOLOGY
    explanation.message = workload.second_pass.message or "its checks are ready, and its pods are placed now"
    again = workload.second_pass.again_at
    explanation.waits_for = (
        "its pods to be placed" + (f", tried again at {format_timestamp(again)}" if again else ""),
    )


def _locks(world: NodeState, workload: Workload, at: Millis) -> list[str]:
    """What its pods that are not bound yet wait for on the nodes that they go to."""
    nodes = sorted({one.node for one in (workload.devices.placements if workload.devices is not None else ())})
    own = {key for key, pod in world.pods.items() if pod.workload == workload.key}
    return [
        words
        for node in nodes
        if (lock := world.node_locks.get(node)) is not None
        and f"{lock.namespace}/{lock.pod}" not in own
        and (words := waited_for(world, node, at))
    ]


def wait_as_variants(world: QueueState, workload: Workload, explanation: Explanation) -> None:
    """Why a workload gets in on none of its flavors: what each of its variants waits for.

    Rule: docs/rules/variants.md#parent
    """
    told = [(one, one.condition(QUOTA_RESERVED)) for one in variants_of(world, workload.key) if one.spec.active]
    reasons = {found.reason: None for _, found in told if found is not None}
    if not workload.spec.active:
        explanation.tier, explanation.reason, explanation.message = (
            Tier.SPEC,
            DEACTIVATED,
            "The workload is deactivated",
        )
    elif explanation.reason in _BEFORE_ITS_TURN:
        explanation.tier = _BEFORE_ITS_TURN[explanation.reason]
    else:
        words = "; ".join(found.message for _, found in told if found is not None)
        _as_refused(world.quota, explanation, Tried(reason=explanation.reason, message=words))
        _never_of_others(world.quota, explanation)
    if workload.spec.active:
        explanation.message = "none of its variants is admitted, one for each flavor"
    if not workload.spec.active or len(reasons) == 1:
        explanation.fix = fix_of(world, workload, explanation)
    explanation.waits_for = tuple(
        f"{flavor_of(one)}: workload {one.key}" + (f" ({found.message})" if found is not None and found.message else "")
        for one, found in told
    )


def waiting(
    world: PreemptionState,
    workload: Workload,
    explanation: Explanation,
    *,
    at: Millis,
    obstacle: tuple[str, str] | None,
    tried: Tried | None,
    shortages: tuple[Shortage, ...],
) -> None:
    """Why a workload without quota gets none; `obstacle` is why it may not even be tried."""
    explanation.line = place_in_line(world, workload, at)
    explanation.shortages = shortages
    request = world.requests.get(workload.key)
    if obstacle is not None:
        explanation.reason, explanation.message = obstacle
        spec = explanation.reason in {"AdmissionGated", "OnHold", DEACTIVATED, NODE_FAILURES}
        asks_nobody = workload.local_queue not in world.local_queues
        explanation.tier = Tier.SPEC if spec or asks_nobody else Tier.QUEUE
    elif workload.stops.requeue.at is not None and workload.stops.requeue.at > at:
        explanation.tier, explanation.reason = Tier.TIME, "Backoff"
        explanation.message = f"it was put back {workload.stops.requeue.count} time(s)"
        explanation.waits_for = (f"its back-off to end at {format_timestamp(workload.stops.requeue.at)}",)
    elif request is not None:
        explanation.tier, explanation.reason = Tier.COHORT, "WaitingForPreemptedWorkloads"
        left = [one.workload for one in request.victims if still_holds(world.workloads, one) is not None]
        explanation.message = (
            f"{len(left)} of {len(request.victims)} workload(s) that make room for it have not left yet"
        )
        explanation.waits_for = tuple(f"{key} to leave" for key in left)
    elif tried is not None:
        _as_tried(world.quota, explanation, tried)
        if not tried.unready:
            _behind_the_first(explanation, tried)
    _never_of_others(world.quota, explanation)
    refused = obstacle is not None and obstacle[1] == workload.spec.claims_refused
    explanation.fix = MEND_CLAIMS if refused else fix_of(world, workload, explanation)
    if explanation.reason == ITS_TURN and tried is not None and tried.blocked_by[0]:
        explanation.fix = STRICT_FIX
    explanation.tier = Tier.SPEC if refused else explanation.tier


def _as_tried(quota: QuotaTree, explanation: Explanation, tried: Tried) -> None:
    explanation.reason, explanation.message = tried.reason or explanation.reason, tried.message
    if tried.unwritten and (tried.fits or tried.preempts):
        explanation.tier, explanation.reason = Tier.CLUSTER, UNWRITTEN
        explanation.message = (
            f"it {'would fit as things stand' if tried.fits else 'fits when others make room'}, but {len(tried.unwritten)} "
            "admissions that were decided before are still being written to the cluster, and nobody is let in meanwhile"
        )
        explanation.waits_for = tuple(f"{key} to be written" for key in tried.unwritten[:_AHEAD])
        return
    if tried.fits:
        _as_held_up(explanation, tried)
        return
    if tried.gates:
        explanation.tier, explanation.reason = Tier.SPEC, RequeueReason.PREEMPTION_GATED.value
        explanation.message = "it fits when others make room, and its preemption gates keep it from asking them to"
        explanation.waits_for = tuple(f"its preemption gate {name} to be opened" for name in tried.gates)
        return
    if tried.preempts:
        explanation.tier, explanation.reason = Tier.COHORT, "MayPreempt"
        explanation.message = "it fits when these make room"
        explanation.waits_for = tuple(f"{key} to be preempted" for key in tried.preempts)
        return
    _as_refused(quota, explanation, tried)


def _as_refused(quota: QuotaTree, explanation: Explanation, tried: Tried) -> None:
    """Where the reason lies for which one does not fit, and what it waits for."""
    match tried.reason:
        case "ExceedsCardCapacity" if no_node_at_all(tried.message):
            explanation.tier = Tier.DEVICE
            explanation.waits_for = ("a node of the flavor that is ready and has cards",)
        case "ExceedsCardCapacity" if no_node_takes_it(tried.message):
            explanation.tier = Tier.DEVICE
            explanation.waits_for = ("a node of the flavor that takes its pods",)
        case "NoMatchingFlavor" | "ExceedsCardCapacity" | "Misconfigured" | "TopologyPlacementFailed":
            explanation.tier = Tier.SPEC
        case "ExceedsMaxQuota":
            explanation.tier = Tier.QUEUE
        case "WaitingForDevices":
            explanation.tier = Tier.DEVICE
            enough = NOT_EVEN_IDLE not in tried.message
            explanation.waits_for = ("cards to be freed",) if enough else ("more cards than there are now",)
        case "PendingEvaluation":
            explanation.tier = Tier.CHECK
        case _ if explanation.domains is not None and not any(one.missing for one in explanation.shortages):
            explanation.tier = Tier.TOPOLOGY
            explanation.waits_for = (f"room in a domain of its flavor {explanation.domains.flavor}",)
        case _:
            explanation.tier = _whose_quota(quota, explanation)
            explanation.waits_for = tuple(
                f"{one.missing} of {one.resource} in flavor {one.flavor}"
                for one in explanation.shortages
                if one.missing
            )


def _as_held_up(explanation: Explanation, tried: Tried) -> None:
    """Why one that would fit is not let in."""
    if tried.unready:
        explanation.tier, explanation.reason = Tier.CLUSTER, UNREADY
        explanation.message = (
            "it would fit as things stand, but pods of others who were let in are not ready, and nobody is let in before "
            "(waitForPodsReady.blockAdmission)"
        )
        explanation.waits_for = tuple(f"the pods of {key} to be ready" for key in tried.unready[:_AHEAD])
        return
    explanation.tier, explanation.reason = Tier.QUEUE, ITS_TURN
    if tried.blocked_by[0]:
        explanation.message = (
            "it would fit as things stand, but its queue is StrictFIFO, and nobody is tried before its first gets in"
        )
        return
    explanation.message = "it would fit as things stand, but others are decided about first"
    explanation.waits_for = tuple(f"{key}, which is before it" for key in explanation.line.ahead[:1])


def _behind_the_first(explanation: Explanation, tried: Tried) -> None:
    """Tell one that waits in a strict queue of the first of it, whatever else it waits for."""
    first, reason = tried.blocked_by
    if first:
        why = f", which waits itself: {reason}" if reason else ", which is decided about first"
        explanation.waits_for = (*explanation.waits_for, f"{first}, the first of its queue{why}")


def _never_of_others(quota: QuotaTree, explanation: Explanation) -> None:
    """A queue without a cohort waits for nothing of others: what is short there, or has to make room, is its own."""
    node = quota.node(explanation.cluster_queue)
    if explanation.tier is Tier.COHORT and node is not None and node.parent is None:
        explanation.tier = Tier.QUEUE


def _whose_quota(quota: QuotaTree, explanation: Explanation) -> Tier:
    """The own queue when its own quota, or its limit on borrowing, is what is used up; else the cohort."""
    node = quota.node(explanation.cluster_queue)
    if node is None or node.parent is None:
        return Tier.QUEUE
    columns = quota.columns
    short = [
        (one, column)
        for one in explanation.shortages
        if one.missing and not one.obstacle and (column := columns.known(one.flavor, one.resource)) is not None
    ]
    limited = all(
        (limit := node.borrowing_limit[column]) is not None
        and node.usage[column] + one.asked > node.subtree[column] + limit
        for one, column in short
    )
    return Tier.QUEUE if short and limited else Tier.COHORT


def place_in_line(world: PreemptionState, workload: Workload, at: Millis) -> QueuePosition:
    """Its place at a time among all who wait for its cluster queue: in line, or beside it since they were refused; none while it is held back."""
    if not workload.line:
        return QueuePosition()
    line = world.lines.of(workload.line)
    places = line.tried_or_refused()
    if all(one.key != workload.key for one in places):
        return QueuePosition()
    before = _before(world, workload, places, at)
    return QueuePosition(position=len(before) + 1, waiting=len(places), ahead=tuple(one.key for one in before[:_AHEAD]))


def first_in_line(world: PreemptionState, cluster_queue: str, at: Millis) -> str:
    """Whose turn at a cluster queue comes first of those in line at a time; empty where nobody is."""
    in_line = world.lines.of(cluster_queue).waiting.values()
    return next((one.key for one in in_turn(world, cluster_queue, in_line, at)), "")


def ahead_of(world: PreemptionState, workload: Workload, at: Millis) -> list[str]:
    """All whose turn comes before its own at a time, the nearest first."""
    if not workload.line:
        return []
    places = world.lines.of(workload.line).tried_or_refused()
    return [one.key for one in reversed(_before(world, workload, places, at))]


def _before(world: PreemptionState, workload: Workload, places: Iterable[PlaceInLine], at: Millis) -> list[PlaceInLine]:
    own = world.lines.of(workload.line).waiting.get(workload.key) or place_of(world, workload)
    others = (one for one in places if one.key != workload.key)
    ordered = in_turn(world, workload.line, (own, *others), at)
    return ordered[: ordered.index(own)]


def _check(checks: Mapping[str, AdmissionCheckObserved], workload: Workload, name: str) -> str:
    status = workload.checks.get(name)
    state = status.state.value if status is not None else "Pending"
    words = f": {status.message}" if status is not None and status.message else ""
    controller = f", controller {checks[name].controller}" if name in checks else ", which does not exist"
    return f"{state}{words}{controller}"
