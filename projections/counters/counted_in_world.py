"""Where counting begins in a world: workloads are as far as they have come there, and what happened before is not counted."""

from projections.counters.counted_so_far import CountedSoFar
from projections.counters.course import course_of
from projections.partitions.homes import is_divided
from projections.partitions.state import PlacedState


def counted_in(world: PlacedState, before: CountedSoFar | None = None) -> CountedSoFar:
    """Counters that go on from a world; what was counted `before` some place ahead of it stays."""
    return CountedSoFar(
        counts=() if before is None else before.counts,
        times=() if before is None else before.times,
        courses={key: course_of(workload) for key, workload in world.workloads.items()},
        cohorts={name: queue.cohort for name, queue in world.cluster_queues.items()},
        parents={name: cohort.parent for name, cohort in world.cohorts.items()},
        until_ready=world.settings.pods_ready is not None,
        known=world.versions.saved,
        epoch=world.versions.epoch,
        slices={
            one.spec.replaces: one.key
            for one in world.workloads.values()
            if one.spec.replaces in world.workloads and world.workloads[one.spec.replaces].finished
        },
        divided=is_divided(world),
    )
