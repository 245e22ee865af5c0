"""Pending workloads and their order: the line of each cluster queue, and the workloads parked beside it.

A workload is in one place at most: in line, or parked (docs/rules/queues.md#one-place). Every order is total and ends
in a UID. The heap is only a cache of the order: `waiting` says who is really in line, so stale heap entries are
skipped.

Workloads that were refused are parked by class: those that ask for the same stand or fall together
(docs/rules/queues.md#equivalence). A class carries the stamp of the quota that it did not fit into; as soon as the
stamp has grown it may be tried again (docs/rules/queues.md#retry), and nothing has to be written for that.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from events.event import Millis
from projections.trail import Trail

OrderKey = tuple[int | str, ...]
_STALE = 16
"""So many entries of a heap may be stale, and twice as many as wait, before it is made anew."""


class PlaceInLine(msgspec.Struct, frozen=True, gc=False, order=True):
    """Where a workload stands in its queue, by the fields up to its key; beside the line it keeps the place that it had in it."""

    rank: int
    """0 for a preemptor that comes before all others, else 1."""
    priority: int
    """The smaller, the higher the priority."""
    since: Millis
    uid: str
    key: str
    local_queue: str = ""
    """Empty where local queues have no heads of their own."""
    kind: str = ""
    """The class of the workload."""
    reason: str = ""
    """Why it is beside the line; empty in it."""

    @property
    def order(self) -> OrderKey:
        """What orders it, as worlds are saved and digested with it."""
        order = (self.rank, self.priority, self.since, self.uid, self.key)
        return (*order, self.local_queue) if self.local_queue else order


class ParkedClass:
    """Workloads of one class that were refused, in order."""

    __slots__ = ("members", "reason", "stamp")

    def __init__(self, reason: str, stamp: int) -> None:
        self.members: list[PlaceInLine] = []
        self.reason = reason
        self.stamp = stamp
        """How far the quota had changed when the class was last found not to fit."""


ScanProgress = tuple[tuple[str, str, int], ...]
"""How far an attempt has come: pod set, resource, index of the last flavor that was tried."""


class Scan(msgspec.Struct, frozen=True):
    """How far a workload has come in trying its flavors one by one."""

    began: int
    """How far the tree had come when it was tried on its first flavor."""
    stamp: int
    """Its queue's stamp when it was tried last."""
    done: bool
    """It has been through all of them."""
    tried: tuple[ScanProgress, ...] = ()
    """How far it had come each time, since that stamp."""


class PendingQueue:
    """Who waits for one cluster queue: those in line, in the order in which they are tried, and those who are parked until something changes."""

    __slots__ = (
        "_alike",
        "_beside",
        "_by_local_queue",
        "_heap",
        "_moved",
        "_name",
        "_parked",
        "classes",
        "held",
        "news",
        "refused",
        "scan",
        "waiting",
    )

    def __init__(
        self, name: str = "", moved: dict[str, None] | None = None, beside: Sequence["PendingQueues"] = ()
    ) -> None:
        self._name, self._moved, self._beside = name, {} if moved is None else moved, beside
        self.waiting: dict[str, PlaceInLine] = {}
        self._parked: dict[str, str] = {}
        """Why workloads are parked that were not refused."""
        self.refused: dict[str, PlaceInLine] = {}
        """Those that are parked since they were refused, with the places that they had in line."""
        self.classes: dict[str, ParkedClass] = {}
        """The same by class."""
        self.held: dict[str, str] = {}
        """`preemptor`: the workload of this queue that waits for its victims, and whether it is sticky."""
        self.news = [0]
        """Grows when something other than quota may have made refused workloads admissible."""
        self.scan: dict[str, Scan] = {}
        """How far the workload that was tried last has come with its flavors, if it takes them one by one."""
        self._alike: dict[str, dict[str, None]] = {}
        """Those in line by class."""
        self._heap: list[PlaceInLine] = []
        self._by_local_queue: dict[str, list[PlaceInLine]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing is pending or parked here, and nothing else is kept for this queue."""
        return not (self.waiting or self._parked or self.refused or self.held)

    @property
    def parked(self) -> dict[str, str]:
        """All parked workloads and why, in a table of its own."""
        return {**self._parked, **{key: place.reason for key, place in self.refused.items()}}

    @property
    def parked_count(self) -> int:
        """How many workloads are parked."""
        return len(self._parked) + len(self.refused)

    def parked_as(self, key: str) -> str | None:
        """Why a workload is parked; None where it is not."""
        place = self.refused.get(key)
        return self._parked.get(key) if place is None else place.reason

    def tried_or_refused(self) -> list[PlaceInLine]:
        """The places of all who wait for quota, in no order: those in line, and those beside it since they were refused."""
        return [*self.waiting.values(), *self.refused.values()]

    def push(self, trail: Trail, place: PlaceInLine) -> None:
        """Put a workload in line, or move it; it is parked no longer."""
        key = place.key
        self._unpark(trail, key)
        old = self.waiting.get(key)
        if old is not None:
            if old.kind != place.kind:
                self.forget_scan(trail)
            elif old == place:
                return
            self._leave(trail, key)
        self._moved[self._name] = None
        trail.put(self.waiting, key, place)
        trail.add(self._alike, place.kind, key)
        self._enter(place)

    def park(self, trail: Trail, key: str, reason: str) -> None:
        """Take a workload out of the line and set it beside."""
        self._step_aside(trail, key)
        trail.put(self._parked, key, reason)

    def park_refused(self, trail: Trail, place: PlaceInLine, *, stamp: int) -> None:
        """Set a refused workload beside the line; its whole class is known not to fit as of this stamp."""
        self._step_aside(trail, place.key)
        found = self.classes.get(place.kind)
        if found is None:
            found = ParkedClass(place.reason, stamp)
            trail.put(self.classes, place.kind, found)
        elif found.stamp != stamp:
            trail.note(partial(_restamp, found, found.stamp))
            found.stamp = stamp
        place = self._shared(place)
        insort(found.members, place)
        trail.note(partial(_delete, found.members, place))
        trail.put(self.refused, place.key, place)

    def _step_aside(self, trail: Trail, key: str) -> None:
        self._leave(trail, key)
        self._unpark(trail, key)
        self._drop_scan(trail, key)

    def remove(self, trail: Trail, key: str) -> None:
        """The workload waits here no longer."""
        self._step_aside(trail, key)
        self.forget_roles(trail, key)

    def forget_roles(self, trail: Trail, key: str) -> None:
        """The workload does not wait for its victims here any more."""
        for role in [role for role, holder in self.held.items() if holder == key]:
            trail.drop(self.held, role)

    def note_scan(self, trail: Trail, key: str, came: int, stamp: int, progress: ScanProgress) -> None:
        """A workload was tried on some of its flavors and will go on with the next.

        Rule: docs/rules/flavors.md#scan-progress
        """
        known = self.scan.get(key)
        self.forget_scan(trail)
        if known is None or known.done:
            scan = Scan(came, stamp, done=False, tried=(progress,))
        else:
            before = known.tried if known.stamp == stamp else ()
            scan = Scan(known.began, stamp, done=False, tried=(*before, progress))
        trail.put(self.scan, key, scan)

    def end_scan(self, trail: Trail, key: str) -> None:
        """A workload was tried on the last of its flavors."""
        known = self.scan.get(key)
        self.forget_scan(trail)
        if known is not None:
            trail.put(self.scan, key, Scan(known.began, known.stamp, done=True))

    def forget_scan(self, trail: Trail) -> None:
        """The next workload that is tried starts with its first flavor."""
        for key in list(self.scan):
            trail.drop(self.scan, key)

    def retry_refused(self, trail: Trail) -> None:
        """Let everything that was refused be tried again."""
        if self.classes:
            trail.set_item(self.news, 0, self.news[0] + 1)

    def head(self) -> PlaceInLine | None:
        """Whom the next cycle tries first; None where nobody is in line."""
        return self._first_of(self._heap)

    def heads_by_local_queue(self) -> Iterator[tuple[str, PlaceInLine]]:
        """The first of each local queue, where the orders name it."""
        for local_queue in sorted(self._by_local_queue):
            first = self._first_of(self._by_local_queue[local_queue])
            if first is not None:
                yield local_queue, first

    def _enter(self, place: PlaceInLine) -> None:
        self._push_onto(self._heap, place)
        if place.local_queue:
            self._push_onto(self._by_local_queue.setdefault(place.local_queue, []), place)

    def _push_onto(self, heap: list[PlaceInLine], place: PlaceInLine) -> None:
        heapq.heappush(heap, place)
        if len(heap) > _STALE + 2 * len(self.waiting):
            # Where nobody asks who is first, stale entries would stay for ever.
            heap[:] = sorted({one for one in heap if self.waiting.get(one.key) == one})

    def _first_of(self, heap: list[PlaceInLine]) -> PlaceInLine | None:
        while heap:
            if self.waiting.get(heap[0].key) == heap[0]:
                return heap[0]
            heapq.heappop(heap)
        return None

    def in_order(self) -> Iterator[str]:
        """The keys of all in line, first to last; sorts the whole line, so it is not for cycles."""
        return (place.key for place in sorted(self.waiting.values()))

    def alike(self, kind: str) -> list[str]:
        """Those in line that are of one class."""
        return list(self._alike.get(kind, ()))

    def refused_as(self, key: str) -> str | None:
        """The class under which a workload is parked since it was refused."""
        place = self.refused.get(key)
        return None if place is None else place.kind

    def _shared(self, place: PlaceInLine) -> PlaceInLine:
        """The place as another world of this process holds it already, where one does."""
        for lines in self._beside:
            held = lines.refused_place(self._name, place.key)
            if held is not None and held == place:
                return held
        return place

    def share(self) -> None:
        """Hold once what other worlds of this process hold as well."""
        for parked in self.classes.values():
            parked.members[:] = map(self._shared, parked.members)
            self.refused.update((place.key, place) for place in parked.members)

    def _drop_scan(self, trail: Trail, key: str) -> None:
        if key in self.scan:
            trail.drop(self.scan, key)

    def _unpark(self, trail: Trail, key: str) -> None:
        place = self.refused.get(key)
        if place is None:
            if key in self._parked:
                self._moved[self._name] = None
                trail.drop(self._parked, key)
            return
        self._moved[self._name] = None
        members = self.classes[place.kind].members
        _delete(members, place)
        trail.note(partial(insort, members, place))
        trail.drop(self.refused, key)
        if not members:
            trail.drop(self.classes, place.kind)

    def _leave(self, trail: Trail, key: str) -> None:
        place = self.waiting.get(key)
        if place is None:
            return
        self._moved[self._name] = None
        # Going back puts the place into `waiting` again; its heap entry may have been skipped as stale by then.
        trail.note(partial(self._enter, place))
        trail.drop(self.waiting, key)
        trail.take(self._alike, place.kind, key)


class PendingQueues:
    """The lines of all cluster queues, by name."""

    __slots__ = ("_lines", "beside", "moved")

    def __init__(self) -> None:
        self._lines: dict[str, PendingQueue] = {}
        self.moved: dict[str, None] = {}
        """Cluster queues whose line has changed since this was last cleared: a hint."""
        self.beside: list[PendingQueues] = []
        """Lines of other worlds of this process: what they hold alike is held once."""

    def of(self, cluster_queue: str) -> PendingQueue:
        """The line of a cluster queue; an empty one where nobody ever waited."""
        line = self._lines.get(cluster_queue)
        if line is None:
            line = self._lines[cluster_queue] = PendingQueue(cluster_queue, self.moved, self.beside)
        return line

    def leave(self, trail: Trail, cluster_queue: str, key: str) -> None:
        """Take a workload out of the line of a queue, or from among those who are parked without one."""
        line = self._lines.get(cluster_queue)
        if line is not None:
            line.remove(trail, key)

    def refused_place(self, cluster_queue: str, key: str) -> PlaceInLine | None:
        """The place of a workload beside a line, where it is parked since it was refused."""
        line = self._lines.get(cluster_queue)
        return None if line is None else line.refused.get(key)

    def share(self) -> None:
        """Hold once what other worlds of this process hold as well."""
        for line in self._lines.values():
            line.share()

    def names(self) -> list[str]:
        """The cluster queues that somebody ever waited for, in order."""
        return sorted(self._lines)


def _restamp(parked: ParkedClass, stamp: int) -> None:
    parked.stamp = stamp


def _delete(row: list[PlaceInLine], place: PlaceInLine) -> None:
    del row[bisect_left(row, place)]
