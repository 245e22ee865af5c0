"""Folding variants of workloads: a new one, one that is dropped or switched, a gate that opens, one that has to make room.

What is observed of a job that has variants concerns the one that it runs as, or all of them.

Rule: docs/rules/variants.md
"""

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from events.api.labels import CONCURRENT_ADMISSION_GATE
from events.application import FAILED_TO_START, DecisionRejected
from events.upkeep import DiscardReason
from events.variants import MigrationOrdered, PreemptionGateOpened, VariantDropped, VariantSubmitted, VariantSwitched
from events.workload import (
    CheckReported,
    DecidedElsewhere,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    PreemptionGateReported,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from events.workload_facts import WorkloadFact
from projections.folds.eviction import evicted
from projections.folds.slices import evolve_job_fact
from projections.folds.workloads import change, evolve_workloads, leave, submit
from projections.log_position import LogPosition
from projections.preemption.state import PreemptionState
from projections.workloads.changed_part import changed_part
from projections.workloads.conditions import not_admitted
from projections.workloads.lifecycle import Workload, switched, with_news
from projections.workloads.variants import FLAVOR_MIGRATION, acting_for, variant_spec, variants_of

VariantEvent: TypeAlias = VariantSubmitted | VariantDropped | VariantSwitched | PreemptionGateOpened | MigrationOrdered


def evolve_variants(world: PreemptionState, event: VariantEvent, position: LogPosition) -> None:
    """Fold one decision about variants; one about a workload that is gone changes nothing."""
    if isinstance(event, VariantSubmitted):
        _submit(world, event, position)
        return
    variant = world.workloads.get(event.workload)
    if variant is None or variant.finished:
        return
    match event:
        case VariantDropped():
            _drop(world, variant, event, position)
        case VariantSwitched():
            _switch(world, variant, event, position)
        case PreemptionGateOpened():
            _open_gate(world, variant, event, position)
        case MigrationOrdered():
            gone = evicted(variant, FLAVOR_MIGRATION, "", event.message, position)
            world.put_workload(not_admitted(gone, world.settings, position))
        case _:
            assert_never(event)


def evolve_workload_fact(world: PreemptionState, event: WorkloadFact, position: LogPosition) -> None:
    """Fold what is observed of a workload or its job, for the variants of which it is true."""
    workload = world.workloads.get(event.workload)
    if workload is not None and workload.spec.variant_of and isinstance(event, WorkloadSwitched):
        return  # Variants are set active and inactive by decisions alone.
    if event.workload not in world.variants or workload is None:
        evolve_job_fact(world, event, position)
        return
    _of_parent(world, workload, event, position)


def _of_parent(world: PreemptionState, parent: Workload, event: WorkloadFact, position: LogPosition) -> None:
    acting = acting_for(world, parent).key
    match event:
        case DecidedElsewhere() | CheckReported() | PreemptionGateReported():
            concerned: list[str] = []  # What its object shows is what its variants were given.
        case PodsGone():
            concerned = [acting]
        case DecisionRejected():
            concerned = [acting if event.reason == FAILED_TO_START else parent.key]
        case PodsReady():
            concerned = list(dict.fromkeys((acting, parent.key)))
        case WorkloadChanged():
            for one in variants_of(world, parent.key):
                change(world, one, replace(event, workload=one.key, spec=_variant_spec(event, one)), position)
            concerned = [parent.key]
        case WorkloadDeleted() | PodsReclaimed() | WorkloadFinished() | WorkloadSwitched(active=True):
            concerned = [*sorted(world.variants[parent.key]), parent.key]
        case _:
            concerned = [parent.key]
    for key in concerned:
        evolve_workloads(world, replace(event, workload=key), position)


def _variant_spec(event: WorkloadChanged, variant: Workload) -> WorkloadSpec:
    # A workload may name the gate of variants itself: from its first change on its variants bear it once.
    gates = tuple(one for one in event.spec.preemption_gates if one != CONCURRENT_ADMISSION_GATE)
    own = variant.spec
    return variant_spec(replace(event.spec, preemption_gates=gates), own.variant_of, own.allowed_flavors)


def _submit(world: PreemptionState, event: VariantSubmitted, position: LogPosition) -> None:
    parent = world.workloads.get(event.parent)
    if parent is None or parent.finished:
        return
    if parent.line:
        world.lines.of(parent.line).remove(world.trail, parent.key)
    parent = with_news(parent, position, "CreatedVariant", f'Variant Workload "{event.workload}" created')
    world.put_workload(replace(parent, line="", decided=position.sequence))
    submit(
        world,
        WorkloadSubmitted(
            workload=event.workload, uid=event.uid, owner=event.owner, created_at=event.created_at, spec=event.spec
        ),
        position,
    )
    variant = world.workloads[event.workload]
    stops = changed_part(variant.stops, past_execution=parent.stops.past_execution)
    world.put_workload(replace(variant, reclaimable=parent.reclaimable, stops=stops))


def _drop(world: PreemptionState, variant: Workload, event: VariantDropped, position: LogPosition) -> None:
    left = leave(world, variant)
    gone = replace(left.in_cluster, discarded=DiscardReason.DELETED)
    world.put_workload(replace(left, admission=None, in_cluster=gone, decided=position.sequence))
    message = f'Variant Workload "{variant.key}" deleted; flavor "{event.flavor}" no longer in ClusterQueue'
    _tell_parent(world, variant, position, "DeletedVariant", message)


def _switch(world: PreemptionState, variant: Workload, event: VariantSwitched, position: LogPosition) -> None:
    word = "activated" if event.active else "deactivated"
    changed = switched(variant, position, active=event.active)
    message = f"Variant Workload {word} due to {event.message}"
    world.put_workload(with_news(changed, position, f"{word.capitalize()}Variant", message))


def _open_gate(world: PreemptionState, variant: Workload, event: PreemptionGateOpened, position: LogPosition) -> None:
    gate = variant.gates.get(event.gate)
    if gate is None:
        return
    opened = replace(gate, open=True, since=position.at)
    if variant.line:
        # It is tried anew, now that it may preempt.
        world.lines.of(variant.line).remove(world.trail, variant.key)
    world.put_workload(
        replace(variant, gates={**variant.gates, event.gate: opened}, line="", decided=position.sequence)
    )
    message = f'Opened preemption gate for variant workload "{variant.key}"'
    _tell_parent(world, variant, position, "PreemptionUngatedVariant", message)


def _tell_parent(world: PreemptionState, variant: Workload, position: LogPosition, reason: str, message: str) -> None:
    parent = world.workloads.get(variant.spec.variant_of)
    if parent is not None:
        world.put_workload(replace(with_news(parent, position, reason, message), decided=position.sequence))
