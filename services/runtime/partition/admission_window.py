"""When the admitter is asked, and how many it may let in: not many more than the applier has written lately, and nobody while somebody has yet to get in line.

While the API server is at its limit, an admission that is not written yet helps nobody, and a workload of higher priority that
comes meanwhile preempts it before it has run. So the admitter is not asked while many admissions are on their way, and then
decides about all workloads that have come by then. Nor is it asked while workloads that are known have not been put in line: whoever would
borrow before the owner's own workload stands there is evicted for it a moment later. When it is asked is all that the window decides, and how many it may let in
then; that stands in its commit, so a replay does not need the window. A queue manager that is away keeps nobody waiting for longer than `LONGEST`.

Rule: docs/rules/log.md#on-their-way
"""

from collections import deque

import msgspec

from events.event import Millis
from projections.workloads.lifecycle import QUOTA_RESERVED, Workload
from projections.world import World

READER = "admission window"
SIZE = 4
"""As many as the applier writes at once while the API server is at its limit."""
LONGEST: Millis = 2000
"""So long, in milliseconds, an admission may take before others may overtake it; and what was written within it says how many are let in."""

PROBE: Millis = 30_000
"""So long after the last admission one more is let in although none was written: it may be these alone that can't be written."""


class _Unwritten(msgspec.Struct):
    """An admission that is on its way to the cluster."""

    decided: int
    """The sequence of the decision that has to be written."""
    since: Millis
    overtaken_by: set[str] = msgspec.field(default_factory=set[str])
    """Workloads of which a later decision was written since it took long."""


class AdmissionWindow:
    """The admissions of a partition that are on their way to the cluster."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._unwritten: dict[str, _Unwritten] = {}
        """By workload key, admissions that are not written yet."""
        self._settled: dict[str, Millis] = {}
        """By workload key, when it was admitted; only admissions that are written, or that nobody waits for any more."""
        self._written: deque[Millis] = deque()
        """When admissions were seen to be written, within `LONGEST`."""
        self._newcomers: dict[str, Millis] = {}
        """By workload key, since when it is known and in no line yet."""
        self._overdue: set[str] = set()
        """Keys of newcomers that were waited for, in vain."""
        self._probes_at: Millis | None = None
        """When one more is let in whatever is written until then; None while fewer than `size` are on their way."""
        self._probes = False

    def look(self, world: World, at: Millis) -> None:
        """Take note of what happened to workloads since the last look."""
        slow = [one for one in self._unwritten.values() if one.since + LONGEST <= at]
        for key in world.work.take(READER):
            workload = world.workloads.get(key)
            self._note_newcomer(key, workload, at)
            self._note_admission(world, key, at)
            applied = 0 if workload is None else workload.applied
            for one in slow:
                if applied > one.decided and len(one.overtaken_by) < self._size:
                    one.overtaken_by.add(key)
        self._forget(world)
        self._give_up(at)
        if len(self._unwritten) >= self._size:
            # Who is deleted is in nobody's work.
            for key in list(self._unwritten):
                self._note_admission(world, key, at)
        while self._written and self._written[0] + LONGEST <= at:
            self._written.popleft()
        full = len(self._unwritten) >= self._size
        self._probes_at = max(one.since for one in self._unwritten.values()) + PROBE if full else None
        self._probes = self._probes_at is not None and self._probes_at <= at

    @property
    def is_open(self) -> bool:
        """Whether the admitter may be asked now."""
        return not self._newcomers and (self._probes_at is None or self._probes)

    @property
    def opens_at(self) -> Millis | None:
        """The time at which the admitter may be asked whatever happens until then; None when it may be asked now."""
        waits = [since + LONGEST for since in self._newcomers.values()]
        return max([*waits, *([] if self._probes_at is None or self._probes else [self._probes_at])], default=None)

    @property
    def room(self) -> int:
        """How many workloads may be let in now: with them no more are on their way than were written within `LONGEST`, or than `size`."""
        return 1 if self._probes else max(self._size, len(self._written)) - len(self._unwritten)

    def _note_newcomer(self, key: str, workload: Workload | None, at: Millis) -> None:
        if workload is None or not _has_to_get_in_line(workload):
            self._newcomers.pop(key, None)
            self._overdue.discard(key)
        elif key not in self._overdue:
            self._newcomers.setdefault(key, at)

    def _note_admission(self, world: World, key: str, at: Millis) -> None:
        workload = world.workloads.get(key)
        if workload is None or not workload.admitted or workload.finished or workload.admitted_at is None:
            self._unwritten.pop(key, None)
            self._settled.pop(key, None)
            return
        since = workload.admitted_at
        if self._settled.get(key) == since:
            return
        found = self._unwritten.get(key)
        if found is None or found.since != since:
            found = self._unwritten[key] = _Unwritten(decided=workload.decided, since=since)
        if workload.applied >= found.decided:
            self._written.append(at)
            self._settle(key)
        elif world.rejected.get(key, 0) >= found.decided:
            self._settle(key)

    def _settle(self, key: str) -> None:
        self._settled[key] = self._unwritten.pop(key).since

    def _forget(self, world: World) -> None:
        """Who is deleted is taken from what is to be looked at; whoever comes by its name is another one."""
        self._newcomers = {key: since for key, since in self._newcomers.items() if key in world.workloads}
        self._overdue = {key for key in self._overdue if key in world.workloads}

    def _give_up(self, at: Millis) -> None:
        """Wait no more for a newcomer that has waited for long, nor for an admission that as many as are written at once have overtaken."""
        for key in [key for key, one in self._unwritten.items() if len(one.overtaken_by) >= self._size]:
            self._settle(key)
        late = [key for key, since in self._newcomers.items() if since + LONGEST <= at]
        for key in late:
            del self._newcomers[key]
        self._overdue.update(late)


def _has_to_get_in_line(workload: Workload) -> bool:
    """Whether nothing was decided about a workload yet: not even that it can't wait anywhere."""
    waits = workload.spec.active and not workload.finished and workload.admission is None
    return waits and not workload.line and workload.condition(QUOTA_RESERVED) is None
