"""What one head of a queue would get as the quota stands: its assignment, its cards, and who would make room.

The outcome of a nomination is an `Entry` of the cycle (kueue-semantics §4, step 3).
"""

from collections.abc import Mapping

import msgspec

from events.admission import Mode, PreemptionRequested, RequeueReason
from events.device import PodPlacement
from events.event import Millis
from events.quota import ClusterQueueObserved, PreemptionPolicy
from projections.devices.gang import EXCEEDS_CARDS, WAITING_FOR_CARDS, Gang, Placed, place
from projections.devices.requests import CARD_RESOURCES, asks_for_cards
from projections.effective_requests import PODS, pod_set_requests
from projections.flavors.affinity import selects
from projections.flavors.assignment import Assignment
from projections.flavors.mode import Granular
from projections.flavors.search import WAITING_FOR_QUOTA, Asked, FlavorSearchSpace, assign, refusal_reason
from projections.gates import enabled
from projections.line_order import queue_timestamp
from projections.preemption.candidates import Ask, Candidate, Variant
from projections.preemption.classic import fits_now
from projections.preemption.victims import find_victims
from projections.quota_tree import FlavorResource, Node
from projections.workloads import Workload
from projections.world import World


class Entry(msgspec.Struct, kw_only=True):
    """One head under decision in a cycle."""

    workload: Workload
    queue: ClusterQueueObserved
    node: Node | None = None
    assignment: Assignment | None = None
    victims: list[Candidate] = []
    placements: tuple[PodPlacement, ...] = ()
    requeue: RequeueReason = RequeueReason.GENERIC
    reason: str = ""
    message: str = ""
    timestamp: Millis = 0

    @property
    def mode(self) -> Mode:
        """How well it suits; NoFit when it could not even be tried."""
        return self.assignment.representative if self.assignment is not None else Mode.NO_FIT

    @property
    def usage(self) -> Mapping[FlavorResource, int]:
        """The quota it would use."""
        return self.assignment.usage if self.assignment is not None else {}

    @property
    def borrow(self) -> int:
        """Its borrowing level."""
        return self.assignment.borrow if self.assignment is not None else 0


def nominate(world: World, workload: Workload, queue: ClusterQueueObserved, at: Millis) -> Entry:
    """Try one head against the quota as it stands at the beginning of a cycle."""
    entry = Entry(workload=workload, queue=queue, victims=[], timestamp=queue_timestamp(workload, world.settings))
    entry.node = world.quota.node(queue.name)
    namespace = world.namespaces.get(workload.namespace)
    if entry.node is None:
        return _refused(entry, "Misconfigured", f"ClusterQueue {queue.name} not found")
    if not selects(queue.namespaces, namespace.labels if namespace is not None else {}):
        entry.requeue = RequeueReason.NAMESPACE_MISMATCH
        return _refused(entry, "Misconfigured", "Workload namespace doesn't match ClusterQueue selector")
    if queue.max_concurrent is not None and len(world.holding.get(queue.name, {})) >= queue.max_concurrent:
        entry.requeue = RequeueReason.NO_FIT
        return _refused(
            entry,
            "WaitingForQuota",
            f"ClusterQueue {queue.name} already has its maximum of {queue.max_concurrent} workloads",
        )
    consider(world, entry, at)
    return entry


def consider(world: World, entry: Entry, at: Millis) -> None:
    """Find flavors, cards and victims for an entry, with fewer pods if it may run with fewer."""
    counts = _counts(entry.workload)
    _consider_counts(world, entry, counts, at)
    if not enabled(world.settings, "PartialAdmission"):
        return
    if _good(entry) or all(pod_set.minimum is None for pod_set in entry.workload.spec.pod_sets):
        return
    full = (entry.assignment, entry.victims, entry.placements, entry.reason, entry.message)
    low, high = (
        0,
        sum(
            counts[pod_set.name] - max(pod_set.minimum, 0)
            for pod_set in entry.workload.spec.pod_sets
            if pod_set.minimum is not None
        ),
    )
    best: int | None = None
    while low <= high:
        middle = (low + high) // 2
        _consider_counts(world, entry, reduced(entry.workload, counts, middle), at)
        if _good(entry):
            best, high = middle, middle - 1
        else:
            low = middle + 1
    if best is None:
        entry.assignment, entry.victims, entry.placements, entry.reason, entry.message = full
    else:
        _consider_counts(world, entry, reduced(entry.workload, counts, best), at)


def reduced(workload: Workload, counts: Mapping[str, int], step: int) -> dict[str, int]:
    """Counts at one step of the search for the largest job that fits (kueue-semantics §5.7)."""
    room = {
        pod_set.name: counts[pod_set.name] - pod_set.minimum
        for pod_set in workload.spec.pod_sets
        if pod_set.minimum is not None and pod_set.minimum < counts[pod_set.name]
    }
    total = sum(room.values())
    return {name: count - (room.get(name, 0) * step // total if total else 0) for name, count in counts.items()}


def _good(entry: Entry) -> bool:
    return entry.mode is Mode.FIT or (entry.mode is Mode.PREEMPT and bool(entry.victims))


def _counts(workload: Workload) -> dict[str, int]:
    return {
        pod_set.name: max(pod_set.count - workload.reclaimable.get(pod_set.name, 0), 0)
        for pod_set in workload.spec.pod_sets
    }


def _consider_counts(world: World, entry: Entry, counts: Mapping[str, int], at: Millis) -> None:
    """Assign flavors; where quota fits but cards do not, go on with the next flavor."""
    excluded: dict[tuple[str, str], str] = {}
    card_reasons: set[str] = set()
    while True:
        assignment = assign(_space(world, entry, excluded, at), asked_of(world, entry, counts))
        entry.assignment, entry.victims, entry.placements = assignment, [], ()
        entry.reason = entry.message = ""
        if assignment.representative is not Mode.FIT:
            break
        placed = _place(world, entry, counts)
        if not placed.reason:
            entry.placements = placed.placements
            return
        flavor = _card_flavor(entry, placed.pod_set)
        excluded[(placed.pod_set, flavor)] = placed.message
        card_reasons.add(placed.reason)
        if not flavor:
            assignment.pod_sets[0].failed = placed.reason
            break
    if assignment.representative is Mode.PREEMPT:
        entry.victims = victims_for(world, entry, at)
    if excluded and assignment.representative is Mode.NO_FIT and refusal_reason(assignment) != WAITING_FOR_QUOTA:
        entry.reason = WAITING_FOR_CARDS if WAITING_FOR_CARDS in card_reasons else EXCEEDS_CARDS
        entry.message = assignment.message or "; ".join(excluded.values())


def victims_for(world: World, entry: Entry, at: Millis) -> list[Candidate]:
    """Who has to make room for the assignment that the entry has."""
    if entry.node is None or entry.assignment is None:
        return []
    needed = frozenset(
        (choice.flavor, resource)
        for pod_set in entry.assignment.pod_sets
        for resource, choice in pod_set.flavors.items()
        if choice.mode is not Mode.FIT
    )
    ask = Ask(workload=entry.workload, node=entry.node, usage=entry.assignment.usage, needed=needed, at=at)
    return find_victims(world, ask)


def asked_of(world: World, entry: Entry, counts: Mapping[str, int]) -> list[Asked]:
    """The pod sets with their effective requests."""
    covers_pods = any(PODS in group.resources for group in entry.queue.groups)
    return [
        Asked(
            pod_set=pod_set,
            count=counts[pod_set.name],
            requests=pod_set_requests(pod_set, counts[pod_set.name], world.settings, covers_pods=covers_pods),
        )
        for pod_set in entry.workload.spec.pod_sets
    ]


def _space(world: World, entry: Entry, excluded: Mapping[tuple[str, str], str], at: Millis) -> FlavorSearchSpace:
    node = entry.node
    if node is None:
        raise LookupError(entry.queue.name)

    def oracle(fr: FlavorResource, amount: int) -> Granular:
        ask = Ask(workload=entry.workload, node=node, usage={fr: amount}, needed=frozenset({fr}), at=at)
        return ask_who_makes_room(world, ask)

    return FlavorSearchSpace(
        queue=entry.queue,
        node=node,
        flavors=world.flavors,
        oracle=oracle,
        fair=world.settings.fair_sharing,
        excluded=excluded,
    )


def ask_who_makes_room(world: World, ask: Ask) -> Granular:
    """The oracle of the flavor search: for one flavor and resource, whether and how room can be made."""
    queue = world.cluster_queues[ask.node.name]
    never = PreemptionPolicy.NEVER
    if queue.preemption.within_cluster_queue is never and queue.preemption.reclaim_within_cohort is never:
        return Granular(Mode.NO_CANDIDATES)
    victims = find_victims(world, ask)
    if not victims:
        return Granular(Mode.NO_CANDIDATES)
    mark = world.mark()
    for victim in victims:
        world.quota.remove_usage(victim.queue, victim.usage)
    borrow = 0 if fits_now(ask.node, ask.usage, borrowing=False) else 1
    world.undo(mark)
    own = any(victim.variant is Variant.WITHIN_QUEUE for victim in victims)
    return Granular(Mode.PREEMPT if own else Mode.RECLAIM, borrow)


def _place(world: World, entry: Entry, counts: Mapping[str, int]) -> Placed:
    if not world.settings.devices or not world.cards.nodes:
        return Placed()
    gangs = [
        Gang(
            pod_set=pod_set,
            count=counts[pod_set.name],
            flavor=world.flavors.get(_card_flavor(entry, pod_set.name)),
        )
        for pod_set in entry.workload.spec.pod_sets
        if asks_for_cards(pod_set.shape)
    ]
    return place(world.cards, world.nodes, gangs, world.trail) if gangs else Placed()


def _card_flavor(entry: Entry, pod_set: str) -> str:
    if entry.assignment is None:
        return ""
    chosen = next(one for one in entry.assignment.pod_sets if one.name == pod_set)
    return next((chosen.flavors[name].flavor for name in sorted(chosen.flavors) if name in CARD_RESOURCES), "")


def _refused(entry: Entry, reason: str, message: str) -> Entry:
    entry.reason, entry.message = reason, message
    return entry


def refusal(entry: Entry) -> tuple[str, str]:
    """The reason and the message that the workload is told."""
    if entry.reason:
        return entry.reason, entry.message or (entry.assignment.message if entry.assignment is not None else "")
    if entry.assignment is None:
        return "PendingEvaluation", "Workload is pending evaluation in the scheduling queue"
    return refusal_reason(entry.assignment), entry.assignment.message


__all__ = ["Entry", "PreemptionRequested", "consider", "nominate", "refusal", "victims_for"]
