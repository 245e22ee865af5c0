"""Variants in a cycle: who takes the place of a worse one.

Rule: docs/rules/variants.md#migration
"""

from typing import NamedTuple

from events.quota import ClusterQueueObserved
from events.variants import MigrationOrdered
from projections.workloads.lifecycle import Workload
from projections.workloads.state import WorkloadState
from projections.workloads.variants import admitted_sibling, better, is_admitted_in, may_migrate_to

MIGRATION_NOT_ALLOWED = "Target flavor is below LastAcceptableFlavorName"


class Migration(NamedTuple):
    """A variant can take the place of another one that the job runs as."""

    sibling: Workload
    allowed: bool


def migration_of(world: WorkloadState, workload: Workload, queue: ClusterQueueObserved) -> Migration | None:
    """What a variant would take the place of, if its job runs on a worse flavor."""
    sibling = admitted_sibling(world, workload)
    if sibling is None or not is_admitted_in(sibling, queue.name) or not better(queue, workload, sibling):
        return None
    return Migration(sibling, may_migrate_to(queue, workload))


def order_migration(workload: Workload, sibling: Workload) -> list[MigrationOrdered]:
    """Have the variant that runs make room; nothing where it does already."""
    if sibling.evicted:
        return []
    message = (
        f"Evicted to accommodate a workload (UID: {workload.uid}) due to migration to more favorable resource flavor"
    )
    return [MigrationOrdered(workload=sibling.key, by=workload.key, message=message)]
