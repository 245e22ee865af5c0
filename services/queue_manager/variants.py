"""What becomes of the variants of a workload: which there are, which of them may try to get in, and which may preempt.

Rule: docs/rules/variants.md
"""

from collections.abc import Sequence

from events.api.labels import CONCURRENT_ADMISSION_GATE
from events.application import FAILED_TO_START
from events.catalogue import Decision
from events.event import Millis
from events.quota import ClusterQueueObserved, ConcurrentAdmission, MigrationMode
from events.upkeep import DeactivationOrdered, DiscardReason, WorkloadDiscarded, WorkloadFailedToStart
from events.variants import PreemptionGateOpened, VariantDropped, VariantSubmitted, VariantSwitched
from projections.workloads.deadlines import DEACTIVATED_DUE_TO
from projections.workloads.lifecycle import DEACTIVATION_TARGET, EVICTED, FINISHED, QUOTA_RESERVED, Workload
from projections.workloads.variants import (
    BETWEEN_GATES,
    acting_variant,
    better,
    flavor_of,
    gate_opened_at,
    may_migrate_to,
    variant_key,
    variant_spec,
    variants_of,
    waits_at_gate,
    wanted_flavors,
)
from services.queue_manager.state import QueueManagerState
from services.queue_manager.upkeep import deactivation

_OF_ONE_FLAVOR = "AdmissionCheck"
"""A cause of deactivation that says nothing about the other flavors."""


def decide_variants(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    """The next decisions about the variants of a workload; nothing where it has none and needs none, or is one itself."""
    if workload.spec.variant_of:
        return []
    if workload.finished or workload.in_cluster.discarded:
        return _over(world, workload)
    if workload.reserved:
        return []  # It got in as one, though it had variants once.
    wanted = wanted_flavors(world, workload)
    if not wanted and workload.key not in world.variants:
        return []
    return (
        _dropped(world, workload, wanted)
        or _submitted(world, workload, wanted)
        or _ended(world, workload)
        or _group(world, workload, at)
    )


def _group(world: QueueManagerState, workload: Workload, at: Millis) -> list[Decision]:
    variants = variants_of(world, workload.key)
    queue = world.cluster_queue_of(workload)
    if not variants or queue is None:
        return []
    switched = deactivation(workload) or _switched(world, workload, queue, variants)
    return switched or (_gate_opened(variants, at) if workload.spec.active else [])


def _over(world: QueueManagerState, workload: Workload) -> list[Decision]:
    """With a workload its variants end, and their objects go with its own."""
    left = [world.workloads[key] for key in sorted(world.variants.get(workload.key, ()))]
    if workload.in_cluster.discarded:
        return [
            WorkloadDiscarded(workload=one.key, reason=DiscardReason.DELETED)
            for one in left
            if not one.in_cluster.discarded
        ]
    ended = workload.condition(FINISHED)
    message = ended.message if ended is not None else ""
    return [WorkloadFailedToStart(workload=one.key, message=message) for one in left if not one.finished]


def _dropped(world: QueueManagerState, workload: Workload, wanted: Sequence[str]) -> list[Decision]:
    """A variant of a flavor that is no longer offered goes, unless the job runs as it."""
    return [
        VariantDropped(workload=one.key, flavor=flavor_of(one))
        for one in variants_of(world, workload.key)
        if flavor_of(one) not in wanted and not one.admitted
    ]


def _submitted(world: QueueManagerState, workload: Workload, wanted: Sequence[str]) -> list[Decision]:
    # The API tells seconds. By milliseconds the variants of the best flavor come first of those that were made together.
    known = world.variants.get(workload.key, {})
    return [
        VariantSubmitted(
            workload=key,
            parent=workload.key,
            flavor=flavor,
            uid=workload.uid,
            owner=workload.owner,
            created_at=workload.created_at + place,
            spec=variant_spec(workload.spec, workload.key, (flavor,)),
        )
        for place, flavor in enumerate(wanted)
        if (key := variant_key(workload.key, flavor)) not in known
    ]


def _ended(world: QueueManagerState, workload: Workload) -> list[Decision]:
    """What ends a job for good as one variant ends it as all others.

    Rule: docs/rules/variants.md#ends
    """
    known = [world.workloads[key] for key in sorted(world.variants.get(workload.key, ()))]
    for one in known:
        over = one.condition(FINISHED)
        if over is not None and one.finished and over.reason == FAILED_TO_START:
            return [WorkloadFailedToStart(workload=workload.key, message=over.message)]
    if not workload.spec.active or workload.is_true(DEACTIVATION_TARGET):
        return []
    causes = [found for one in variants_of(world, workload.key) if (found := _given_up(one)) is not None]
    for_good = [one for one in causes if one[0] != _OF_ONE_FLAVOR]
    if not for_good and len(causes) < len(variants_of(world, workload.key)):
        return []
    chosen = (for_good or causes)[:1]
    return [DeactivationOrdered(workload=workload.key, cause=cause, message=message) for cause, message in chosen]


def _given_up(variant: Workload) -> tuple[str, str] | None:
    """Cause and message of a variant that a rule has deactivated; None where it was switched, or is active."""
    found = variant.condition(EVICTED)
    if variant.spec.active or found is None or not found.reason.startswith(DEACTIVATED_DUE_TO):
        return None
    return found.reason.removeprefix(DEACTIVATED_DUE_TO), found.message.partition(" due to ")[2]


def _switched(
    world: QueueManagerState, workload: Workload, queue: ClusterQueueObserved, variants: Sequence[Workload]
) -> list[Decision]:
    if not workload.spec.active:
        message = f'Parent Workload "{workload.key}" not active'
        return [VariantSwitched(workload=one.key, active=False, message=message) for one in variants if one.spec.active]
    acting = acting_variant(world, workload.key)
    found: list[Decision] = []
    for one in variants:
        if one is acting or one.is_true(DEACTIVATION_TARGET) or _given_up(one) is not None:
            continue
        active, message = _may_try(queue, one, acting)
        if one.spec.active != active:
            found.append(VariantSwitched(workload=one.key, active=active, message=message))
    return found


def _may_try(queue: ClusterQueueObserved, variant: Workload, acting: Workload | None) -> tuple[bool, str]:
    """Whether a variant may try to get in, beside the one that the job runs as, and why (or why not).

    Rule: docs/rules/variants.md#active
    """
    if acting is None:
        return True, "no other Variant being admitted"
    policy, shown = queue.concurrent or ConcurrentAdmission(), f'admitted Variant "{acting.key}"'
    last = policy.last_acceptable
    if not may_migrate_to(queue, variant):
        if policy.mode is MigrationMode.RETAIN_FIRST_ADMISSION:
            return False, f'RetainFirstAdmission: another Variant "{acting.key}" is admitted'
        return False, f'being below lastAcceptableFlavor: "{last}" and another Variant admitted "{acting.key}"'
    if not better(queue, variant, acting):
        return False, f"being lower priority than {shown}"
    if last:
        return True, f'being at least lastAcceptableFlavor: "{last}" and higher priority than {shown}'
    return True, f"being higher priority than {shown}"


def _gate_opened(variants: Sequence[Workload], at: Millis) -> list[Decision]:
    """The variant of the best flavor that waits at its gate may preempt, one every five minutes.

    Rule: docs/rules/variants.md#preemption
    """
    opened = [since for one in variants if (since := gate_opened_at(one)) is not None]
    if opened and at < max(opened) + BETWEEN_GATES:
        return []
    for one in variants:
        if not one.spec.active or one.reserved:
            continue
        if one.condition(QUOTA_RESERVED) is None:
            return []
        if waits_at_gate(one):
            return [PreemptionGateOpened(workload=one.key, gate=CONCURRENT_ADMISSION_GATE)]
    return []
