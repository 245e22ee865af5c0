"""When the admitter is asked: not while much of what it has let in is still to be written, nor while somebody has yet to get in line.

While the API server is at its limit, an admission that is not written yet helps nobody, and a workload of higher priority that
comes meanwhile preempts it before it has run. So the admitter is not asked while many admissions are on their way, and then
decides about all workloads that have come by then. Nor is it asked while workloads that are known have not been put in line: whoever would
borrow before the owner's own workload stands there is evicted for it a moment later. The window affects only when the admitter is
asked, never what it answers: a replay does not need it. What takes longer than `LONGEST` keeps nobody waiting, neither jobs that can't be started nor a
queue manager that is away; where nothing was ever written in that time, nobody writes, and any number may be on their way.
"""

from events.event import Millis
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
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
        self._newcomers: dict[str, Millis] = {}
        """By workload key, since when it is known and in no line yet."""
        self._written = False
        """Whether anybody was seen to write what is admitted here."""
        self._unwritten = False
        """Whether nobody was, though an admission has waited for it as long as any may."""

    def look(self, world: World, at: Millis) -> None:
        """Take note of what happened to workloads since the last look."""
        for key in world.work.take(READER):
            workload = world.workloads.get(key)
            if workload is not None and _has_to_get_in_line(workload):
                self._newcomers.setdefault(key, at)
            else:
                self._newcomers.pop(key, None)
            if workload is None or not workload.admitted or workload.finished or workload.admitted_at is None:
                self._admitted.pop(key, None)
            elif workload.applied >= workload.decided:
                self._written, self._unwritten = True, False
                self._admitted.pop(key, None)
            else:
                self._admitted.setdefault(key, workload.admitted_at)
        waiting = {key: since for key, since in self._admitted.items() if since + LONGEST > at}
        self._unwritten = self._unwritten or (not self._written and len(waiting) < len(self._admitted))
        self._admitted = waiting
        self._newcomers = {key: since for key, since in self._newcomers.items() if since + LONGEST > at}

    def opens(self) -> Millis | None:
        """The time at which the admitter may be asked even if nothing is written until then; None when it may be asked now."""
        times = [since + LONGEST for since in self._newcomers.values()]
        if not self._unwritten and len(self._admitted) >= self._size:
            times.append(sorted(self._admitted.values())[len(self._admitted) - self._size] + LONGEST)
        return max(times, default=None)


def _has_to_get_in_line(workload: Workload) -> bool:
    """Whether nothing was decided about a workload yet: not even that it can't wait anywhere."""
    waits = workload.spec.active and not workload.finished and workload.admission is None
    return waits and not workload.line and workload.condition(QUOTA_RESERVED) is None
