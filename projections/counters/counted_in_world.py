"""Where counting begins in a world: workloads are as far as they have come there, and what happened before is not counted."""

from projections.counters.counted_so_far import CountedSoFar
from projections.counters.course import course_of
from projections.counters.gone_queues import Queue
from projections.partitions.homes import is_divided
from projections.partitions.state import PlacedState
from projections.workloads.lifecycle import chain_of
from projections.workloads.variants import acting_variant, as_shown


def counted_in(world: PlacedState, before: CountedSoFar | None = None) -> CountedSoFar:
    """Counters that go on from a world; what was counted `before` some place ahead of it stays."""
    return CountedSoFar(
        counts=() if before is None else before.counts,
        times=() if before is None else before.times,
        # What becomes of variants is counted of their workloads.
        courses={
            key: course_of(as_shown(world, workload))
            for key, workload in world.workloads.items()
            if not workload.spec.variant_of
        },
        cohorts={name: queue.cohort for name, queue in world.cluster_queues.items()},
        parents={name: cohort.parent for name, cohort in world.cohorts.items()},
        until_ready=world.settings.pods_ready is not None,
        known=world.versions.saved,
        epoch=world.versions.epoch,
        slices=_begun(world)
        | {
            one.spec.replaces: one.key
            for one in world.workloads.values()
            if one.spec.replaces in world.workloads and world.workloads[one.spec.replaces].finished
        },
        alone={
            one.key: one.owner is not None
            for one in world.workloads.values()
            if one.spec.elastic and (one.owner is None or one.in_cluster.prebuilt)
        },
        divided=is_divided(world),
        variants={variant: parent for parent, known in world.variants.items() for variant in known},
        acting={
            parent: acting.key for parent in world.variants if (acting := acting_variant(world, parent)) is not None
        },
        gone=() if before is None else tuple(one for one in before.gone if not _is_there(world, one)),
    )


def _is_there(world: PlacedState, queue: Queue) -> bool:
    kind, namespace, name = queue
    return name in world.cluster_queues if kind == "ClusterQueue" else f"{namespace}/{name}" in world.local_queues


def _begun(world: PlacedState) -> dict[str, str]:
    """By first slice that is not there, the one in which its job goes on here."""
    found = (one for one in world.workloads.values() if one.spec.elastic and one.spec.slice_name)
    first = [one for one in found if not {one.spec.replaces, chain_of(one)} & world.workloads.keys()]
    return {chain_of(one): one.key for one in sorted(first, key=lambda one: (one.created_at, one.key), reverse=True)}
