"""Whether past usage is counted, and whether the local queues of a cluster queue are ordered by it.

Rule: docs/rules/fair-sharing.md#usage-order
"""

from events.quota import AdmissionMode
from events.settings import SettingsObserved
from projections.configuration import Configuration
from projections.feature_gates import enabled


def counts_usage(settings: SettingsObserved) -> bool:
    """Whether admission fair sharing is configured: then past usage is counted in all queues, also in those that do not ask for it yet."""
    return settings.admission_fair_sharing is not None and enabled(settings, "AdmissionFairSharing")


def by_usage(world: Configuration, cluster_queue: str) -> bool:
    """Whether admission fair sharing is configured and this queue asks for it."""
    queue = world.cluster_queues.get(cluster_queue)
    if queue is None or queue.admission_mode is not AdmissionMode.USAGE_BASED:
        return False
    return counts_usage(world.settings)
