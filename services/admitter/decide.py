"""What the admitter decides: cycles over all trees, those together that share hosts, until nothing more fits, and admission when everything is ready."""

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
from projections.partitions.homes import owned_trees
from projections.queues.state import QueueState
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
from services.admitter.trees_together import trees_together
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
        for together in _in_rotation(trees_together(world), position):
            if not _concerns_all(world) and not any(
                one in touched or changes_with_time(world, one) for one in together
            ):
                continue
            own = _not_aside(world, owned_trees(world, together))
            while not _is_full(position, events) and (trees := _not_aside(world, own)):
                if not one_cycle(world, trees, position, events):
                    break
            if _is_full(position, events):
                return events
            for tree in own:
                world.quota.looked_at(tree)
        world.cards_looked_at = known
        return events


def _concerns_all(world: AdmitterState) -> bool:
    """Whether something has changed that concerns every tree: devices, or admission blocked until pods are ready."""
    return blocks_admission(world.settings) or world.cards.count[0] != world.cards_looked_at


def _in_rotation(trees: Sequence[Sequence[str]], position: LogPosition) -> Sequence[Sequence[str]]:
    """All trees, starting at others each time, so that none is starved by `MOST_EVENTS`."""
    first = position.sequence % len(trees) if trees else 0
    return [*trees[first:], *trees[:first]]


def _not_aside(world: AdmitterState, trees: Sequence[str]) -> list[str]:
    return [tree for tree in trees if not is_aside(world.aside, ADMITTER, Scope.TREE, tree)]


def one_cycle(world: World, trees: Sequence[str], position: LogPosition, events: list[Decision]) -> bool:
    """Run one cycle over a tree, or several together, and admit the workloads that are ready at once; whether another cycle may decide more.

    The decisions are folded and appended to `events`.
    """
    if not world.shortcuts:
        world.examined.clear()  # Within one cycle it is how the next of a queue is found.
    most, room = MOST_EVENTS - len(events), _room(position, events)
    decided = guarded(partial(_decide_cycle, world, trees, position.at, most, room), ADMITTER, tree=trees[0])
    if isinstance(decided, SetAside):
        if len(trees) > 1:
            return _each_alone(world, trees, position, events)
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


def _each_alone(world: World, trees: Sequence[str], position: LogPosition, events: list[Decision]) -> bool:
    """Run a cycle over each of several trees that failed together: the one at fault is set aside, and the others go on."""
    before = len(events)
    for tree in trees:
        if not _is_full(position, events):
            one_cycle(world, [tree], position, events)
    return len(events) > before


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


def _decide_cycle(
    world: AdmitterState, trees: Sequence[str], at: Millis, most: int, most_reserved: int | None
) -> list[Decision]:
    """The decisions of one cycle: its heads (step 1), then the steps in `Cycle`; the world is as before, also on errors."""
    cycle = Cycle(world, at)
    with world.trial():
        cycle.events.extend(second_passes(world, trees, at))
        queue_heads = heads(world, trees, at)
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
