"""Whether the local queues of a cluster queue are ordered by their past usage.

Rule: docs/rules/fair-sharing.md#usage-order
"""

from events.quota import AdmissionMode
from projections.configuration import Configuration
from projections.feature_gates import enabled


def by_usage(world: Configuration, cluster_queue: str) -> bool:
    """Whether admission fair sharing is configured and this queue asks for it."""
    if world.settings.admission_fair_sharing is None:
        return False
    queue = world.cluster_queues.get(cluster_queue)
    if queue is None or queue.admission_mode is not AdmissionMode.USAGE_BASED:
        return False
    return enabled(world.settings, "AdmissionFairSharing")
