"""When the admitter is asked: not while much of what it has let in is still to be written, nor while somebody has yet to get in line.

While the API server is at its limit, an admission that is not written yet helps nobody, and a workload of higher priority that
comes meanwhile preempts it before it has run. So the admitter is not asked while many admissions are on their way, and then
decides about all workloads that have come by then. Nor is it asked while workloads that are known have not been put in line: whoever would
borrow before the owner's own workload stands there is evicted for it a moment later. The window affects only when the admitter is
asked, never what it answers: a replay does not need it. What takes longer than `LONGEST` keeps nobody waiting, neither jobs that can't be started nor a
queue manager that is away; where nothing was ever written in that time, nobody writes, and any number may be on their way.
"""

from enum import Enum, auto

from events.event import Millis
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.world import World

READER = "admission window"
SIZE = 4
"""As many as the applier writes at once while the API server is at its limit."""
LONGEST: Millis = 2000
"""After this time an admission counts as written, in milliseconds."""


class Writing(Enum):
    """Whether anybody writes to the cluster what is admitted here."""

    UNKNOWN = auto()
    SEEN = auto()
    NOBODY = auto()
    """An admission has waited for it as long as any may, and none was ever written."""


class AdmissionWindow:
    """The admissions of a partition that are on their way to the cluster."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._admitted: dict[str, Millis] = {}
        """By workload key, when it was admitted; only admissions that are not written yet."""
        self._newcomers: dict[str, Millis] = {}
        """By workload key, since when it is known and in no line yet."""
        self._overdue: set[str] = set()
        """Keys of newcomers that were waited for, in vain."""
        self._writing = Writing.UNKNOWN

    def look(self, world: World, at: Millis) -> None:
        """Take note of what happened to workloads since the last look."""
        for key in world.work.take(READER):
            workload = world.workloads.get(key)
            self._note_newcomer(key, workload, at)
            self._note_admission(key, workload)
        self._forget(world)
        self._give_up(at)

    def opens(self) -> Millis | None:
        """The time at which the admitter may be asked even if nothing is written until then; None when it may be asked now."""
        times = [since + LONGEST for since in self._newcomers.values()]
        many = len(self._admitted) - self._size
        if self._writing is not Writing.NOBODY and many >= 0:
            times.append(sorted(self._admitted.values())[many] + LONGEST)
        return max(times, default=None)

    def _note_newcomer(self, key: str, workload: Workload | None, at: Millis) -> None:
        if workload is None or not _has_to_get_in_line(workload):
            self._newcomers.pop(key, None)
            self._overdue.discard(key)
        elif key not in self._overdue:
            self._newcomers.setdefault(key, at)

    def _note_admission(self, key: str, workload: Workload | None) -> None:
        if workload is None or not workload.admitted or workload.finished or workload.admitted_at is None:
            self._admitted.pop(key, None)
        elif workload.applied >= workload.decided:
            self._writing = Writing.SEEN
            self._admitted.pop(key, None)
        else:
            self._admitted.setdefault(key, workload.admitted_at)

    def _forget(self, world: World) -> None:
        """Who is deleted is taken from what is to be looked at; whoever comes by its name is another one."""
        self._newcomers = {key: since for key, since in self._newcomers.items() if key in world.workloads}
        self._overdue = {key for key in self._overdue if key in world.workloads}

    def _give_up(self, at: Millis) -> None:
        """Wait no more for what has taken longer than any may."""
        still = {key: since for key, since in self._admitted.items() if since + LONGEST > at}
        if self._writing is Writing.UNKNOWN and len(still) < len(self._admitted):
            self._writing = Writing.NOBODY
        self._admitted = still
        late = [key for key, since in self._newcomers.items() if since + LONGEST <= at]
        for key in late:
            del self._newcomers[key]
        self._overdue.update(late)


def _has_to_get_in_line(workload: Workload) -> bool:
    """Whether nothing was decided about a workload yet: not even that it can't wait anywhere."""
    waits = workload.spec.active and not workload.finished and workload.admission is None
    return waits and not workload.line and workload.condition(QUOTA_RESERVED) is None
