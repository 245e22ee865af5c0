"""Which queues are gone in which workloads still are: of them nothing is counted until there is one of their name again.

Rule: docs/metrics.md#queues-gone
"""

from collections.abc import Iterable

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import ClusterQueueObserved, LocalQueueObserved
from projections.counters.course import Course
from projections.trail import Trail

Queue = tuple[str, str, str]
"""Kind, namespace and name."""
_MANY = 1024
"""Each time that so many more are gone, those are forgotten that no workload is in: names may come and go for ever."""


class GoneQueues:
    """Those that were seen and are not there any more."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.known: dict[Queue, None] = {}

    def __contains__(self, queue: Queue) -> bool:
        return queue in self.known

    def hear(self, event: AnyEvent, courses: Iterable[Course]) -> None:
        """Take note of a queue that is gone or there again; other events mean nothing here."""
        match event:
            case ObjectRemoved(kind="ClusterQueue" | "LocalQueue"):
                self._trail.put(self.known, (event.kind, event.namespace, event.name), None)
                if len(self.known) % _MANY == 0:
                    self._forget_all_but(courses)
            case ClusterQueueObserved():
                self._trail.drop(self.known, ("ClusterQueue", "", event.name))
            case LocalQueueObserved():
                self._trail.drop(self.known, ("LocalQueue", event.namespace, event.name))
            case _:
                pass

    def _forget_all_but(self, courses: Iterable[Course]) -> None:
        named = {queue for course in courses for queue in _queues_of(course)}
        for queue in [one for one in self.known if one not in named]:
            self._trail.drop(self.known, queue)


def _queues_of(course: Course) -> Iterable[Queue]:
    yield "ClusterQueue", "", course.cluster_queue
    for key in (course.local_queue, course.next_queue):
        namespace, _, name = key.partition("/")
        yield "LocalQueue", namespace, name
