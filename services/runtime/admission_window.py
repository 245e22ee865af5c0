"""How far admission may run ahead of what the applier has written to the cluster.

While the API server is at its limit, an admission that is not written yet helps nobody, and a workload of higher priority that
comes meanwhile preempts it before it has run. So the admitter is not asked while many admissions are on their way, and then
decides about all workloads that have come by then. The window affects only when the admitter is asked, never what it answers:
a replay does not need it. Admissions that are not written for `LONGEST` count no more, so that jobs which can't be started hold
up nobody; where nothing is ever written, as in a replay or a benchmark, the window is always open.
"""

from events.event import Millis
from projections.world import World

READER = "admission window"
SIZE = 4
"""As many as the applier writes at once while the API server is at its limit."""
LONGEST: Millis = 2000
"""After this time an admission counts as written, in milliseconds."""


class AdmissionWindow:
    """The admissions of a partition that are on their way to the cluster."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._admitted: dict[str, Millis] = {}
        """By workload key, when it was admitted; only admissions that are not written yet."""
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
        """The time at which the admitter may be asked even if nothing is written until then; None when it may be asked now."""
        if not self._written or len(self._admitted) < self._size:
            return None
        return sorted(self._admitted.values())[len(self._admitted) - self._size] + LONGEST
