"""How far admission may run ahead of what the cluster has been told.

While the API server is at its limit, an admission that is not written yet helps nobody, and whoever comes meanwhile with a higher
priority takes it back for nothing: the workload is evicted before it has run. So the admitter is not asked while many admissions
are on their way, and then decides about everybody who has come by then. That says only when it is asked, never what it answers: a
replay has nothing to know of it. Admissions that are not written for long count no more, so that jobs which can't be started keep
nobody waiting, and where nothing is ever written, as in a replay or a bench of decisions, nobody waits either.
"""

from events.event import Millis
from projections.world import World

READER = "admission window"
SIZE = 16
"""As many as the applier writes at a time."""
LONGEST: Millis = 2000


class AdmissionWindow:
    """The admissions of a partition that are on their way to the cluster."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._admitted: dict[str, Millis] = {}
        """When each was admitted that is on its way."""
        self._written = False
        """Whether anybody writes what is admitted here."""

    def look(self, world: World, at: Millis) -> None:
        """Take note of what happened to workloads since the last look."""
        for key in world.work.take(READER):
            workload = world.workloads.get(key)
            if workload is None or not workload.admitted or workload.finished or workload.admitted_at is None:
                self._admitted.pop(key, None)
            elif workload.applied >= workload.decided:
                self._written = True
                self._admitted.pop(key, None)
            else:
                self._admitted.setdefault(key, workload.admitted_at)
        self._admitted = {key: since for key, since in self._admitted.items() if since + LONGEST > at}

    def opens(self) -> Millis | None:
        """When more may be admitted, though nothing is written until then; None when it may be now."""
        if not self._written or len(self._admitted) < self._size:
            return None
        return sorted(self._admitted.values())[len(self._admitted) - self._size] + LONGEST
