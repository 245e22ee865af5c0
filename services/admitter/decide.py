"""What the admitter decides: cycles over all trees until nothing more fits, and admission when everything is ready."""

from collections.abc import Iterable, Sequence
from functools import partial

from events.admission import QuotaReserved, TopologyAssigned, WorkloadAdmitted
from events.catalogue import Decision
from events.event import Millis
from events.quota import ClusterQueueObserved
from events.setting_aside import SetAside
from projections.devices.placement.workload_gangs import chooses_cards
from projections.devices.requests.card_requests import any_asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.partitions.homes import owns_tree
from projections.queues.state import QueueState
from projections.quota.tree import QuotaTree
from projections.set_aside.records import ADMITTER, Scope, is_aside
from projections.workloads.lifecycle import DEACTIVATION_TARGET, Workload, checks_ready
from projections.workloads.second_pass import has_delayed_topology
from projections.workloads.variants import admitted_sibling, better_variants
from projections.world import World
from services.admitter.block_admission import blocks_admission
from services.admitter.cycle import Cycle
from services.admitter.heads import changes_with_time, heads
from services.admitter.second_pass import second_passes
from services.admitter.state import AdmitterState
from services.admitter.variants import migration_of, order_migration
from services.runtime.partition.guard import guarded

MOST_EVENTS = 50
"""Events after which a commit is closed, when the cycle is over; the rest is decided in the next one (docs/rules/log.md#inputs)."""


class Admitter:
    """Runs scheduling cycles (quota reserved, refused, preemption requested) and admits workloads that are ready."""

    name = ADMITTER

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """Decide about all trees in which something changed, at most about `MOST_EVENTS` decisions, and let in no more than the position says.

        Each cycle's decisions are folded into the world before the next cycle.
        """
        world.begin()
        events = _admit_reserved(world, position)
        known, touched = world.cards.count[0], world.touched_trees()
        for tree in _trees_in_turn(world, position):
            if tree not in touched and not _concerns_all(world) and not changes_with_time(world, tree):
                continue
            if not owns_tree(world, tree) or is_aside(world.aside, self.name, Scope.TREE, tree):
                continue
            before = len(events)
            while not _is_full(position, events) and one_cycle(world, tree, position, events):
                pass
            if _is_full(position, events):
                return events
            world.quota.looked_at(tree)
            if len(events) > before and world.topologies:
                # Trees share domains: what was decided in one may concern those that are to come.
                touched = world.touched_trees()
        world.cards_looked_at = known
        return events


def _concerns_all(world: AdmitterState) -> bool:
    """Whether something has changed that concerns every tree: devices, or admission blocked until pods are ready."""
    return blocks_admission(world.settings) or world.cards.count[0] != world.cards_looked_at


def _trees_in_rotation(quota: QuotaTree, position: LogPosition) -> list[str]:
    """All trees, starting at another one each time, so that none is starved by `MOST_EVENTS`."""
    trees = quota.trees()
    first = position.sequence % len(trees) if trees else 0
    return [*trees[first:], *trees[:first]]


def _trees_in_turn(world: AdmitterState, position: LogPosition) -> Sequence[str]:
    """All trees in rotation, but first those of who waits until its victims have left domains, which are those of other trees as well.

    Rule: docs/rules/topology.md#left-by-victims
    """
    trees = _trees_in_rotation(world.quota, position)
    first = {
        world.quota.root_of(request.cluster_queue)
        for request in world.requests.values()
        if any(one.topology is not None for one in request.assignments)
    }
    return sorted(trees, key=lambda tree: tree not in first) if first else trees


def one_cycle(world: World, tree: str, position: LogPosition, events: list[Decision]) -> bool:
    """Run one cycle over a tree and admit the workloads that are ready at once; whether another cycle may decide more.

    The decisions are folded and appended to `events`.
    """
    if not world.shortcuts:
        world.examined.clear()  # Within one cycle it is how the next of a queue is found.
    most, room = MOST_EVENTS - len(events), _room(position, events)
    decided = guarded(partial(_decide_cycle, world, tree, position.at, most, room), ADMITTER, tree=tree)
    if isinstance(decided, SetAside):
        events.extend(_fold(world, [decided], position))
        return False
    events.extend(_fold(world, decided, position))
    reserved = [event.workload for event in decided if isinstance(event, QuotaReserved | TopologyAssigned)]
    let_in, room = _let_in(events), _room(position, events)
    # Others got their quota before, and have their domains now.
    later = [key for key in reserved if key not in let_in]
    ready = reserved if room is None else [key for key in reserved if key in let_in or key in later[:room]]
    events.extend(_admit_ready(world, ready, position))
    return bool(decided)


def _let_in(events: Iterable[Decision]) -> set[str]:
    """The workloads that decisions let in: each gets quota, or is admitted, or both."""
    return {event.workload for event in events if isinstance(event, QuotaReserved | WorkloadAdmitted)}


def _room(position: LogPosition, events: Iterable[Decision]) -> int | None:
    """How many more workloads may be let in after these decisions; None where nothing bounds that."""
    return position.most_admissions - len(_let_in(events)) if position.most_admissions else None


def _is_full(position: LogPosition, events: Sequence[Decision]) -> bool:
    """Whether a commit with these decisions is closed; the rest is decided in the next one."""
    room = _room(position, events)
    return len(events) >= MOST_EVENTS or (room is not None and room <= 0)


def _decide_cycle(world: AdmitterState, tree: str, at: Millis, most: int, most_reserved: int | None) -> list[Decision]:
    """The decisions of one cycle: its heads (step 1), then the steps in `Cycle`; the world is as before, also on errors."""
    cycle = Cycle(world, at)
    with world.trial():
        cycle.events.extend(second_passes(world, tree, at))
        queue_heads = heads(world, tree, at)
        if queue_heads:
            cycle.run(queue_heads, most, most_reserved)
    return cycle.events


def _fold(world: World, events: list[Decision], position: LogPosition) -> list[Decision]:
    for event in events:
        evolve(world, event, position)
    return events


def _admit_reserved(world: World, position: LogPosition) -> list[Decision]:
    """Admit whoever holds quota and has become ready; whom there is no room for is looked at in the next commit."""
    events: list[Decision] = []
    for key in world.reserved_work.take(ADMITTER):
        events.extend(_admit_ready(world, [key], position))
        if _room(position, events) == 0:
            break
    return events


def _admit_ready(world: World, keys: Iterable[str], position: LogPosition) -> list[Decision]:
    """Admit those of them that are ready, one after the other: of the variants of one job only one is."""
    events: list[Decision] = []
    for key in keys:
        workload = world.workloads.get(key)
        if workload is None or is_aside(world.aside, ADMITTER, Scope.WORKLOAD, key):
            continue
        decided = guarded(partial(admission_of, world, workload), ADMITTER, workload=key)
        events.extend(_fold(world, [decided] if isinstance(decided, SetAside) else decided, position))
    return events


def admission_of(world: QueueState, workload: Workload) -> list[Decision]:
    """`WorkloadAdmitted` for a workload with reserved quota whose checks and devices are ready; else nothing."""
    if workload.admission is None or not may_be_admitted(world, workload):
        return []
    queue = world.cluster_queues.get(workload.admission.cluster_queue)
    if queue is not None and admitted_sibling(world, workload) is not None:
        # Its job runs as another variant, and is to run as one at a time.
        migration = migration_of(world, workload, queue)
        return list(order_migration(workload, migration.sibling)) if migration and migration.allowed else []
    if queue is not None and _waits_for_a_better_one(world, workload, queue):
        return []
    return [WorkloadAdmitted(workload=workload.key, cluster_queue=workload.admission.cluster_queue)]


def _waits_for_a_better_one(world: QueueState, variant: Workload, queue: ClusterQueueObserved) -> bool:
    """Whether a variant of a better flavor is ready as well (docs/rules/variants.md#migration)."""
    return any(
        may_be_admitted(world, one) and not is_aside(world.aside, ADMITTER, Scope.WORKLOAD, one.key)
        for one in better_variants(world, variant, queue)
    )


def may_be_admitted(world: DeviceState, workload: Workload) -> bool:
    """Whether quota is reserved, every required check is ready, and devices are allocated if the workload asks for any."""
    if workload.admission is None or workload.admitted or workload.evicted or workload.finished:
        return False
    if not workload.spec.active or workload.spec.gated_by or workload.spec.on_hold:
        return False
    if workload.is_true(DEACTIVATION_TARGET) or not checks_ready(workload) or has_delayed_topology(workload):
        return False
    if not chooses_cards(world, workload) or not any_asks_for_cards(workload.spec.pod_sets, config_of(world)):
        return True
    return workload.devices is not None and not workload.devices.refused
