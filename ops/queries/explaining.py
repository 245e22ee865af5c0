"""Explanations: the folded world asked with the rules that decide, and the log asked for what happened before."""

from collections.abc import Mapping, Sequence

import msgspec

from events.admission import PreemptionRequested
from events.catalogue import AnyEvent, Fact
from events.codec import decode_commit
from events.control import ObjectRemoved
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.quota import ClusterQueueObserved
from events.workload import EvictionOrdered, WorkloadDeactivated, WorkloadFinished
from ops.production.log.streams import streams_in
from ops.production.trial import tried
from ops.queries.alone import hold_against_alone
from ops.queries.held_up import as_tried, who_stays
from ops.queries.patience import Patience
from ops.queries.point import Point
from ops.queries.preemptions import preemption
from ops.queries.replay import fold_commits, fold_up
from ops.queries.stored import Stored, in_order
from projections.budgets.amounts import in_units
from projections.budgets.enforcement import EXHAUSTED, used_up
from projections.budgets.partitions import used_by_partition
from projections.composed import composed
from projections.devices.capacity.fragmentation import Advice, make_room
from projections.devices.placement.gang import Gang
from projections.devices.placement.workload_gangs import chooses_cards
from projections.devices.requests.card_requests import asks_for_cards
from projections.devices.state import config_of
from projections.evolve import evolve
from projections.explanation.fixes import FOR_NOW, NEVER, TREE_SPLIT
from projections.explanation.pending import ahead_of, holding, outline, wait_as_variants, waiting
from projections.explanation.preempted import standings
from projections.explanation.quota_raise import raises
from projections.explanation.shortages import shortages
from projections.explanation.words import Explanation, Raise, Shortage, StoppedOnce, Tier
from projections.flavors.plan import Plan
from projections.partitions.homes import parts_of_tree
from projections.preemption.loops import preemption_loops
from projections.queues.active_condition import why_closed
from projections.set_aside.left_alone import workload_left_alone
from projections.set_aside.records import LEFT_ALONE
from projections.topology.placement.making_room import make_room_in_domains
from projections.workloads.lifecycle import Workload
from projections.workloads.variants import as_shown, has_variants
from projections.world import World
from services.admitter.entry import AdmissionEntry as Nomination
from services.admitter.entry import QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.nomination import nominate
from services.admitter.topology import demand_of, nearest
from services.queue_manager.enqueue import closed_by, standing_obstacle
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold

TIME_IS_OVER = "the time for trying is over: there may be more that helps, and smaller raises (`kuelog explain --limit` tries longer)"
_AHEAD = 500
"""So many of those ahead of it in line are considered."""
_ENDS = 40
"""Of so many holders it is tried whether their end alone would help."""
_ENOUGH_ENDS = 5


def find_workload(world: World, name: str) -> Workload | None:
    """The workload of a canonical name, by its own key or by its job's; the newest where a job had several."""
    kind, _, key = name.partition("/")
    if kind == "workload":
        return world.workloads.get(key)
    found = [one for one in world.workloads.values() if kind == "job" and one.job == key and not one.spec.variant_of]
    return max(found, key=lambda one: (one.created_at, one.key), default=None)


def explain(
    world: World, workload: Workload, at: Millis, *, deep: bool = True, patience: Patience | None = None
) -> Explanation:
    """Why a workload is as it is; with `deep` also what would change that, as far as is found in time. The world is left as it was."""
    workload = as_shown(world, workload)
    explanation = outline(world, workload)
    explanation.loops = tuple(
        one.message for one in preemption_loops(world) if workload.key in (one.by, one.workload, one.other)
    )
    holding(world, workload, explanation, at)
    explanation.left_alone = workload_left_alone(world, workload)
    if explanation.left_alone:
        return _left_alone(world, workload, explanation, at)
    if explanation.state in ("pending", "inactive") and has_variants(world, workload):
        wait_as_variants(world, workload, explanation)
        return explanation
    if explanation.state not in ("pending", "inactive"):
        if explanation.tier is Tier.DEVICE and deep:
            explanation.cards = _room(world, workload, None)
        return explanation
    queue = world.cluster_queue_of(workload)
    obstacle = standing_obstacle(world, workload) or _budget_used_up(world, workload, at) or _split(world, queue)
    obstacle = _with_cause(world, queue, obstacle)
    node = world.quota.node(queue.name) if queue is not None else None
    if queue is None or node is None:
        waiting(world, workload, explanation, at=at, obstacle=obstacle, tried=None, shortages=())
        return explanation
    head = QueueHead(workload=workload, queue=queue)
    plan = plan_for(world, head)
    numbers = shortages(world, plan, node)
    nominated = None
    if obstacle is None:
        with world.trial(deciding=True):
            nominated = nominate(world, head, at)
        explanation.domains = nearest(world, nominated, plan)
        explanation.staying = who_stays(world, nominated, at)
    waiting(
        world,
        workload,
        explanation,
        at=at,
        obstacle=obstacle,
        tried=as_tried(world, queue, nominated, at) if nominated is not None else None,
        shortages=numbers,
    )
    if deep:
        _look_deeper(world, head, nominated, plan, explanation, at, patience or Patience())
    return explanation


def _look_deeper(
    world: World,
    head: QueueHead,
    nominated: Nomination | None,
    plan: Plan,
    explanation: Explanation,
    at: Millis,
    patience: Patience,
) -> None:
    """What takes time to find: what would let it in, and whether waiting helps at all."""
    if explanation.tier in (Tier.COHORT, Tier.QUEUE) and nominated is not None:
        _try_remedies(world, head, explanation, plan, explanation.shortages, at, patience)
    if explanation.tier is Tier.TOPOLOGY:
        explanation.ends = _ends(world, head.workload, _placed_there(world, explanation), at, patience)
        demand = demand_of(world, nominated, plan) if nominated is not None else None
        explanation.cards = make_room_in_domains(world, demand.requests, demand.gangs) if demand is not None else None
    if explanation.tier is Tier.DEVICE or explanation.note:
        explanation.cards = _room(world, head.workload, nominated)
    if nominated is not None and explanation.reason in {*NEVER, *FOR_NOW}:
        hold_against_alone(world, head, explanation, at)


def _try_remedies(
    world: World,
    head: QueueHead,
    explanation: Explanation,
    plan: Plan,
    numbers: Sequence[Shortage],
    at: Millis,
    patience: Patience,
) -> None:
    """What would let it in, as far as it is found in time: raises of quota, and ends of others."""
    explanation.raises = unblocking(world, head.workload, head.queue, plan, at, patience)
    explanation.ends = _ends(world, head.workload, _holders_of(world, head.workload, numbers), at, patience)
    if patience.ended:
        explanation.note = TIME_IS_OVER
    elif not explanation.raises and any(one.missing for one in numbers):
        explanation.note = "no raise of its queue's quota lets it in by itself: more than quota is missing"


def _with_cause(
    world: World, queue: ClusterQueueObserved | None, obstacle: tuple[str, str] | None
) -> tuple[str, str] | None:
    """An obstacle that is a closed queue with what closes it; Kueue's words, which stand on the Workload, don't say that."""
    if queue is None or obstacle is None or obstacle != closed_by(queue.name):
        return obstacle
    reason, message = obstacle
    return reason, f"{message}: it {why_closed(world, queue.name)}"


def _budget_used_up(world: World, workload: Workload, at: Millis) -> tuple[str, str] | None:
    """Reason and message why it may not be queued before the period of a budget ends."""
    queue = world.cluster_queue_of(workload)
    spent = used_up(world, workload, queue.name, at) if queue is not None else None
    if spent is None:
        return None
    here, *others = used_by_partition(world, spent.scope, spent.resource, at).items()
    told = [f"in {name} {in_units(spent.resource, amount)}" for name, amount in others]
    counted = f"; used here in {here[0]} {in_units(spent.resource, here[1])}, {', '.join(told)}" if told else ""
    return EXHAUSTED, spent.message + counted


def _split(world: World, queue: ClusterQueueObserved | None) -> tuple[str, str] | None:
    """Reason and message why nobody is admitted in its tree: several partitions decide about that, each about a part."""
    tree = world.quota.root_of(queue.name) if queue is not None else ""
    parts = parts_of_tree(world, tree) if tree else {}
    if len(parts) < 2:  # noqa: PLR2004 - a tree with one home is whole
        return None
    told = ", ".join(f"{' and '.join(queues)} in {home}" for home, queues in parts.items())
    return (
        TREE_SPLIT,
        f"{tree} is split: {told} keep the partition in which they were first asked, and nobody is admitted",
    )


def _left_alone(world: World, workload: Workload, explanation: Explanation, at: Millis) -> Explanation:
    """The explanation of a workload that is set aside: the rules fail on it, so they are not tried here."""
    if explanation.state in ("pending", "inactive"):
        obstacle = standing_obstacle(world, workload)
        failed = (LEFT_ALONE, explanation.left_alone[0].message)
        waiting(world, workload, explanation, at=at, obstacle=obstacle or failed, tried=None, shortages=())
        if obstacle is not None:
            return explanation
    elif explanation.state != "reserved" or explanation.tier is not Tier.DEVICE:
        return explanation
    explanation.tier, explanation.reason, explanation.message = (
        Tier.RULES,
        LEFT_ALONE,
        explanation.left_alone[0].message,
    )
    explanation.waits_for, explanation.fix = (), explanation.left_alone[0].fix
    return explanation


def unblocking(
    world: World,
    workload: Workload,
    queue: ClusterQueueObserved,
    plan: Plan,
    at: Millis,
    patience: Patience,
) -> tuple[tuple[Raise, ...], ...]:
    """Raises of the queue's own nominal quota under which the workload is admitted, each tried with all deciders."""
    node = world.quota.node(queue.name)
    if node is None:
        return ()
    before = [world.workloads[key] for key in ahead_of(world, workload, at)[:_AHEAD]]
    plans = [plan_for(world, QueueHead(workload=one, queue=queue)) for one in before]

    def admits(changed: ClusterQueueObserved) -> bool:
        return tried(world, [changed], at, lambda then: _in(then, workload), lambda then: _in(then, workload))

    return tuple(raises(queue, plan, node, world.quota.columns.names, plans, admits, patience.goes_on))


def stops(point: Point, key: str) -> tuple[StoppedOnce, ...]:
    """Every time that the workload had to stop, with what the log says about it."""
    found: list[StoppedOnce] = []
    requests: dict[str, tuple[Stored, PreemptionRequested]] = {}
    for one in in_order(point.entries):
        event = one.event
        if isinstance(event, PreemptionRequested):
            requests[event.workload] = (one, event)
        elif getattr(event, "workload", "") == key:
            stop = _stop(point.entries, one, event, requests)
            if stop is not None:
                found.append(stop)
    return tuple(found)


def _stop(
    entries: Mapping[str, Sequence[Entry]],
    one: Stored,
    event: AnyEvent,
    requests: Mapping[str, tuple[Stored, PreemptionRequested]],
) -> StoppedOnce | None:
    at, partition, sequence = one.at, one.entry.stream, one.entry.sequence
    match event:
        case EvictionOrdered():
            return StoppedOnce(
                at=at,
                partition=partition,
                sequence=sequence,
                kind="evicted",
                reason=event.reason,
                message=event.message,
            )
        case WorkloadDeactivated():
            return StoppedOnce(
                at=at,
                partition=partition,
                sequence=sequence,
                kind="deactivated",
                reason=event.cause,
                message=event.message,
            )
        case PreemptionOrdered():
            asked = requests.get(event.preemptor)
            stop = preemption(one, event, asked)
            if asked is None:
                return stop
            return msgspec.structs.replace(stop, standings=standings(world_before(entries, asked[0]), asked[1]))
        case _:
            return None


def world_before(entries: Mapping[str, Sequence[Entry]], one: Stored) -> World:
    """The very world that a decision about queues was made on."""
    partition = one.entry.stream
    cut = {
        name: [entry for entry in found if name != partition or entry.sequence < one.entry.sequence]
        for name, found in entries.items()
    }
    commit = decode_commit(one.entry.data)
    start = PartitionFold(partition)
    for _ in fold_commits(start, cut):
        pass
    start.fold_ahead(commit.inputs)
    place = start.control.place(one.entry, commit.at)
    for event in commit.events[: one.index]:
        evolve(start.world, event, place)
    return start.world


def world_at(point: Point, about: str = "") -> World:
    """The world at a point, of all partitions of trees; or of the one that decides about an object of a canonical name."""
    folds = [fold_up(name, point.entries) for name in streams_in(point.entries).trees]
    return world_about([one.world for one in folds], about, point.at)


def world_about(worlds: Sequence[World], wanted: str, at: Millis) -> World:
    """The world of those of all partitions that decides about a workload or job of a canonical name, else one of all of them.

    What keeps a workload from being admitted can stand in its partition alone.
    """
    found = [(one, world) for world in worlds if (one := find_workload(world, wanted)) is not None]
    world = max(found, key=lambda one: one[0].created_at)[1] if found else composed(worlds)
    world.advance(at)
    return world


def _holders_of(world: World, workload: Workload, numbers: Sequence[Shortage]) -> dict[str, None]:
    """Who holds what it misses of its tree's quota, or, if that is not quota, is in its queue, the first to give back first."""
    columns = world.quota.columns
    short = [columns.known(one.flavor, one.resource) for one in numbers if one.missing and not one.obstacle]
    members = world.quota.members(world.quota.root_of(workload.line)) if short else [workload.line]
    orders = sorted(
        order
        for name in members
        for row in (world.holders(name).leaving, world.holders(name).staying)
        for order in row
        if not short or any(column is not None and world.holders(name).usage[order[3]].get(column) for column in short)
    )
    return dict.fromkeys(order[3] for order in orders)


def _placed_there(world: World, explanation: Explanation) -> dict[str, None]:
    """Who has pods in the domains of the flavor in which it finds no place, of lower priority first."""
    flavor = explanation.domains.flavor if explanation.domains is not None else ""
    keys = [key for key, held in world.domains.held().items() if any(one.flavor == flavor for one in held)]
    return dict.fromkeys(sorted(keys, key=lambda key: (world.workloads[key].priority, key)))


def _ends(
    world: World, workload: Workload, holders: Mapping[str, None], at: Millis, patience: Patience
) -> tuple[str, ...]:
    """Those of the holders whose end, each by itself, lets it in, as far as it is found in time."""
    found: list[str] = []
    for key in list(holders)[:_ENDS]:
        if not patience.goes_on():
            break
        if tried(world, _end(world, key), at, lambda then: _in(then, workload), lambda then: _in(then, workload)):
            found.append(key)
            if len(found) >= _ENOUGH_ENDS:
                break
    return tuple(found)


def _end(world: World, key: str) -> list[Fact]:
    """What would be seen at the end of a workload: its pods go, too."""
    pods = [pod.partition("/") for pod in sorted(world.cards.living.get(key, ()))]
    gone = [ObjectRemoved(kind="Pod", namespace=space, name=name) for space, _, name in pods]
    return [WorkloadFinished(workload=key, reason="Succeeded"), *gone]


def _in(world: World, workload: Workload) -> bool:
    found = world.workloads.get(workload.key)
    return found is not None and found.admission is not None


def _room(world: World, workload: Workload, nominated: Nomination | None) -> Advice | None:
    """Which cards would have to be freed for it, on the flavor that it would get, or else on any that helps."""
    chosen: dict[str, str] = {}
    config = config_of(world)
    if nominated is not None and nominated.assignment is not None:
        for pod_set in nominated.assignment.pod_sets:
            named = [pod_set.flavors[name].flavor for name in sorted(pod_set.flavors) if name in config.names]
            chosen.update({pod_set.name: named[0]} if named else {})
    queue = world.cluster_queue_of(workload)
    offered = [each.flavor for group in (queue.groups if queue is not None else ()) for each in group.flavors]
    for flavor in dict.fromkeys(offered):
        gangs = [
            Gang(pod_set=one, count=one.count, flavor=world.flavors.get(chosen.get(one.name, flavor)), config=config)
            for one in workload.spec.pod_sets
            if chooses_cards(world, workload) and asks_for_cards(one.shape, config)
        ]
        advice = make_room(world, gangs) if gangs else None
        if advice is not None:
            return advice
    return None
