"""Variants of a workload: which there are, which of them its job runs as, and what the workload itself shows of that.

The workload of the job (the parent) never waits in line and holds nothing. Each variant is a workload of its own that may
get one flavor, and at most one of them is admitted at a time.

Rule: docs/rules/variants.md
"""

import hashlib
from collections.abc import Iterable, Set

from msgspec.structs import replace

from events.api.labels import CONCURRENT_ADMISSION_GATE, CONCURRENT_ADMISSION_PARENT
from events.event import Millis
from events.quota import ClusterQueueObserved, MigrationMode
from events.workload import Condition, ConditionStatus, WorkloadSpec
from projections.feature_gates import enabled
from projections.workloads.changed_part import changed_part
from projections.workloads.conditions import PENDING, shown_reason
from projections.workloads.lifecycle import (
    ADMITTED,
    BLOCKED_ON_GATES,
    EVICTED,
    QUOTA_RESERVED,
    Workload,
)
from projections.workloads.pods import made_of_pods
from projections.workloads.state import WorkloadState

CONCURRENT_ADMISSION = "ConcurrentAdmission"
FLAVOR_MIGRATION = "FlavorMigration"
"""The reason of Evicted of a variant that makes room for one of a better flavor."""
BETWEEN_GATES: Millis = 300_000
"""How long a variant may preempt alone before the gate of the next one opens, in milliseconds."""
_NAME_LIMIT = 63
_DIGEST = 5


def flavors_of(queue: ClusterQueueObserved) -> tuple[str, ...]:
    """The flavors of a queue, the best first."""
    return tuple(one.flavor for one in queue.groups[0].flavors) if queue.groups else ()


def wanted_flavors(world: WorkloadState, workload: Workload) -> tuple[str, ...]:
    """The flavors for which a workload has a variant, the best first; none where its queue lets workloads in as one.

    Rule: docs/rules/variants.md#which-workloads
    """
    if not enabled(world.settings, CONCURRENT_ADMISSION):
        return ()
    queue = world.cluster_queue_of(workload)
    if queue is None or queue.concurrent is None or workload.spec.elastic or made_of_pods(workload):
        return ()
    allowed = workload.spec.allowed_flavors
    return tuple(one for one in flavors_of(queue) if not allowed or one in allowed)


def flavor_of(variant: Workload) -> str:
    """The flavor that a variant is for."""
    return variant.spec.allowed_flavors[0] if variant.spec.allowed_flavors else ""


def variant_spec(parent: WorkloadSpec, key: str, flavors: tuple[str, ...]) -> WorkloadSpec:
    """What a variant of the workload with this key asks for: the same, of these flavors alone, and behind the gate of variants."""
    gates = (*parent.preemption_gates, CONCURRENT_ADMISSION_GATE)
    return replace(parent, allowed_flavors=flavors, preemption_gates=gates, variant_of=key)


def variants_of(world: WorkloadState, parent: str) -> list[Workload]:
    """The variants of a workload that are not over, the one of the best flavor first."""
    live = [
        one
        for key in world.variants.get(parent, ())
        if not (one := world.workloads[key]).finished and not one.in_cluster.discarded
    ]
    if not live:
        return []
    queue = world.cluster_queue_of(live[0])
    order = {name: index for index, name in enumerate(flavors_of(queue))} if queue is not None else {}
    return sorted(live, key=lambda one: (order.get(flavor_of(one), len(order)), one.key))


def has_variants(world: WorkloadState, workload: Workload) -> bool:
    """Whether others wait and hold quota in a workload's place."""
    return not workload.reserved and bool(variants_of(world, workload.key))


def acting_variant(world: WorkloadState, parent: str) -> Workload | None:
    """The variant that a job runs as, or still has to stop as; None while none is admitted."""
    return acting_among(variants_of(world, parent))


def acting_among(variants: Iterable[Workload]) -> Workload | None:
    """The one of these variants that a job runs as, or still has to stop as."""
    return next((one for one in variants if one.reserved and one.admitted), None)


def acting_for(world: WorkloadState, workload: Workload) -> Workload:
    """Whose flavors and cards the pods of a workload get: those of the variant that is admitted, else its own."""
    return acting_variant(world, workload.key) or workload if workload.key in world.variants else workload


def with_variants(world: WorkloadState, keys: Set[str]) -> set[str]:
    """These workloads, with those whose objects show something else, too, when these change: parents and variants of each other."""
    if not world.variants:
        return set(keys)
    known = [world.workloads[key] for key in keys if key in world.workloads]
    parents = {one.spec.variant_of for one in known if one.spec.variant_of}
    return {*keys, *parents, *(variant for key in keys for variant in world.variants.get(key, ()))}


def has_its_parent(world: WorkloadState, workload: Workload) -> bool:
    """Whether the object that is to own a variant's own is there already."""
    parent = world.workloads.get(workload.spec.variant_of)
    return parent is None or parent.applied > 0


def admitted_sibling(world: WorkloadState, variant: Workload) -> Workload | None:
    """Another variant of the same workload that is admitted, be it in the queue from which the job was moved, if there is one."""
    if not variant.spec.variant_of:
        return None
    others = (one for one in variants_of(world, variant.spec.variant_of) if one.key != variant.key)
    return acting_among(others)


def is_admitted_in(variant: Workload, cluster_queue: str) -> bool:
    """Whether a variant that is admitted is in this queue."""
    return variant.admission is not None and variant.admission.cluster_queue == cluster_queue


def better(queue: ClusterQueueObserved, one: Workload, other: Workload) -> bool:
    """Whether a variant has the better flavor of two; a flavor that the queue does not have is never compared."""
    order = flavors_of(queue)
    mine, theirs = flavor_of(one), flavor_of(other)
    return mine in order and theirs in order and order.index(mine) < order.index(theirs)


def better_variants(world: WorkloadState, variant: Workload, queue: ClusterQueueObserved) -> list[Workload]:
    """The variants of the same workload that have better flavors of this queue, the best first; none of any other workload."""
    parent = variant.spec.variant_of
    return [one for one in variants_of(world, parent) if better(queue, one, variant)] if parent else []


def may_migrate_to(queue: ClusterQueueObserved, variant: Workload) -> bool:
    """Whether a job that runs may be moved to this variant.

    Rule: docs/rules/variants.md#migration
    """
    policy = queue.concurrent
    if policy is None:
        return True
    if policy.mode is MigrationMode.RETAIN_FIRST_ADMISSION:
        return False
    return not policy.last_acceptable or at_least(queue, variant, policy.last_acceptable)


def at_least(queue: ClusterQueueObserved, variant: Workload, flavor: str) -> bool:
    """Whether the flavor of a variant is as good as this one, or better."""
    order, own = flavors_of(queue), flavor_of(variant)
    return own in order and flavor in order and order.index(own) <= order.index(flavor)


def gate_opened_at(variant: Workload) -> Millis | None:
    """Since when a variant may preempt; None while its gate is closed."""
    gate = variant.gates.get(CONCURRENT_ADMISSION_GATE)
    return gate.since if gate is not None and gate.open else None


def waits_at_gate(variant: Workload) -> bool:
    """Whether only its closed gate keeps a variant from preempting."""
    return gate_opened_at(variant) is None and variant.is_true(BLOCKED_ON_GATES)


def variant_key(parent: str, flavor: str) -> str:
    """The key of the variant of a workload for a flavor."""
    namespace, _, name = parent.partition("/")
    digest = hashlib.sha1(f"{parent}\n{flavor}".encode(), usedforsecurity=False).hexdigest()[:_DIGEST]
    begin = f"{name}-variant-{flavor}"[: _NAME_LIMIT - _DIGEST - 1].rstrip("-.")
    return f"{namespace}/{begin}-{digest}"


def as_shown(world: WorkloadState, workload: Workload) -> Workload:
    """A workload as its object shows it: a parent shows the admission of the variant that its job runs as.

    Rule: docs/rules/variants.md#parent
    """
    if workload.key not in world.variants or workload.reserved:
        return workload
    if workload.finished:
        variants = [world.workloads[key] for key in sorted(world.variants[workload.key])]
    else:
        variants = variants_of(world, workload.key)
    if not variants:
        return workload
    acting = acting_among(variants)
    conditions = dict(workload.conditions)
    if workload.spec.active:
        conditions.pop(EVICTED, None)
    if acting is not None:
        conditions |= _running(acting)
    elif not workload.finished:
        conditions |= _waiting(world, variants)
    turned = max(workload.in_cluster.job_turned, *(one.in_cluster.job_turned for one in variants))
    return replace(
        workload,
        conditions=conditions,
        admission=None if acting is None else acting.admission,
        decided=max(workload.decided, *(one.decided for one in variants)),
        in_cluster=changed_part(workload.in_cluster, job_turned=turned),
        seen=max(workload.seen, *(one.seen for one in variants)),
        spec=replace(workload.spec, labels={**workload.spec.labels, CONCURRENT_ADMISSION_PARENT: "true"}),
    )


def _running(acting: Workload) -> dict[str, Condition]:
    shown = {kind: one for kind in (QUOTA_RESERVED, ADMITTED) if (one := acting.condition(kind)) is not None}
    admitted = replace(shown[ADMITTED], message=f"The variant {acting.name} is admitted")
    evicted = acting.condition(EVICTED)
    stops = (
        {EVICTED: replace(evicted, reason="VariantEvicted", message="Admitted variant was evicted")}
        if evicted is not None and acting.evicted
        else {}
    )
    return {**shown, ADMITTED: admitted, **stops}


def _waiting(world: WorkloadState, variants: list[Workload]) -> dict[str, Condition]:
    """What each variant waits for, by the name of its flavor; the reason is that of the best one that has no quota and may be tried."""
    told = [(one, one.condition(QUOTA_RESERVED)) for one in variants if one.spec.active] or [
        (one, one.condition(QUOTA_RESERVED)) for one in variants
    ]
    known = [found for _, found in told if found is not None]
    refused = [found.reason for one, found in told if found is not None and not one.reserved]
    reason = refused[0] if refused else shown_reason(world.settings, PENDING)
    words = "; ".join(
        f"{flavor_of(one)}: {found.message}" for one, found in told if found is not None and found.message
    )
    since = max((found.since for found in known), default=0)
    waits = Condition(type=QUOTA_RESERVED, status=ConditionStatus.FALSE, reason=reason, message=words, since=since)
    admitted = Condition(
        type=ADMITTED,
        status=ConditionStatus.FALSE,
        reason="NoReservation",
        message="No variant is admitted",
        since=since,
    )
    return {QUOTA_RESERVED: waits, ADMITTED: admitted} if known else {}
