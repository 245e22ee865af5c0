"""Which cohorts a cluster queue is in, from the one that it names up to the root, as queues and cohorts were last seen."""

from collections.abc import Iterator

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import ClusterQueueObserved, CohortObserved
from projections.trail import Trail


class CohortAncestry:
    """The cohort of each queue, and the parent of each cohort."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.cohorts: dict[str, str] = {}
        """By cluster queue."""
        self.parents: dict[str, str] = {}
        """By cohort."""

    def fold(self, event: AnyEvent) -> None:
        """Take note of a queue or a cohort that was seen, or is gone; other events mean nothing here."""
        match event:
            case ClusterQueueObserved():
                self._trail.put(self.cohorts, event.name, event.cohort)
            case CohortObserved():
                self._trail.put(self.parents, event.name, event.parent)
            case ObjectRemoved(kind="ClusterQueue"):
                self._trail.drop(self.cohorts, event.name)
            case ObjectRemoved(kind="Cohort"):
                self._trail.drop(self.parents, event.name)
            case _:
                pass

    def above(self, cluster_queue: str) -> Iterator[str]:
        """The cohorts that a queue is in, from below; each once, also where they go round in a circle."""
        seen: set[str] = set()
        cohort = self.cohorts.get(cluster_queue, "")
        while cohort and cohort not in seen:
            seen.add(cohort)
            yield cohort
            cohort = self.parents.get(cohort, "")
