"""How long jobs ran, by their class: gathered event by event, so that who follows a log need not read it again."""

from collections import deque
from collections.abc import Mapping

from events.admission import WorkloadAdmitted
from events.catalogue import AnyEvent
from events.event import Millis
from events.subjects import FACTS
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from ops.production.wiring import Running
from ops.queries.stored import opened
from ops.queries.whatif.course import RecordedCourse, RunClass, run_class

_LAST = 500
"""So many run times of a class are kept, the latest ones."""


class RunTimes:
    """The run times that a log has shown so far. Decisions may be told before the facts that came in between."""

    def __init__(self) -> None:
        self._classes: dict[str, RunClass] = {}
        self._admitted: dict[str, Millis] = {}
        """By workload, when its last attempt was admitted."""
        self._runs: dict[RunClass, deque[Millis]] = {}

    def note(self, event: AnyEvent, at: Millis) -> None:
        """Take note of one event."""
        match event:
            case WorkloadSubmitted():
                self._classes[event.workload] = run_class(event)
            case WorkloadAdmitted():
                self._admitted[event.workload] = at
            case WorkloadFinished():
                self._end(event.workload, at)
            case WorkloadDeleted():
                self._classes.pop(event.workload, None)
                self._admitted.pop(event.workload, None)
            case _:
                pass

    @property
    def known(self) -> int:
        """How many run times are known."""
        return sum(map(len, self._runs.values()))

    def course(self) -> RecordedCourse:
        """What a virtual run goes by: run times and nothing else; all that comes besides takes no time."""
        known = {name: sorted(found) for name, found in self._runs.items()}
        every = sorted(one for found in known.values() for one in found)
        return RecordedCourse(happenings=[], classes=self._classes, known=known, every=every)

    def _end(self, workload: str, at: Millis) -> None:
        began, of = self._admitted.pop(workload, None), self._classes.get(workload)
        if began is not None and of is not None:
            self._runs.setdefault(of, deque(maxlen=_LAST)).append(max(at - began, 0))


class RunTimesReader:
    """Run times as a process that follows the log comes to know them: each message is read once."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._read: dict[str, int] = {}
        self.times = RunTimes()

    async def read_on(self, upto: Mapping[str, int]) -> None:
        """Read what lies before these sequences. Raises what reading the log raises."""
        # Decisions first: the end of a job is a fact, and its admission has to be known by then.
        for name in (*self._running.streams.trees, FACTS):
            if self._read.setdefault(name, 0) >= upto.get(name, 0):
                continue
            stream = await self._running.stream(name)
            async for batch in stream.read(self._read[name]):
                for entry in batch:
                    self._read[name] = entry.sequence
                    for one in opened(entry, self._running.control):
                        self.times.note(one.event, one.at)
