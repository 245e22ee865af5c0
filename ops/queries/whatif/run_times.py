"""How long jobs ran, by their class: gathered event by event, so that who follows a log need not read it again."""

from collections import deque

from events.admission import WorkloadAdmitted
from events.catalogue import AnyEvent
from events.event import Millis
from events.workload import PodsGone, WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from ops.queries.whatif.course import Course, RunClass, run_class

_LAST = 500
"""So many run times of a class are kept, the latest ones."""


class RunTimes:
    """The run times that a log has shown so far. What is told twice counts once."""

    def __init__(self) -> None:
        self._classes: dict[str, RunClass] = {}
        self._admitted: dict[str, Millis] = {}
        self._runs: dict[RunClass, deque[Millis]] = {}

    def note(self, event: AnyEvent, at: Millis) -> None:
        """Take note of one event, in the order of the log."""
        match event:
            case WorkloadSubmitted():
                self._classes[event.workload] = run_class(event)
            case WorkloadAdmitted():
                self._admitted[event.workload] = at
            case PodsGone():
                self._admitted.pop(event.workload, None)
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

    def course(self) -> Course:
        """What a virtual run goes by: run times and nothing else; all that comes besides takes no time."""
        known = {name: sorted(found) for name, found in self._runs.items()}
        every = sorted(one for found in known.values() for one in found)
        return Course(happenings=[], classes=self._classes, known=known, every=every)

    def _end(self, workload: str, at: Millis) -> None:
        began, of = self._admitted.pop(workload, None), self._classes.get(workload)
        if began is not None and of is not None:
            self._runs.setdefault(of, deque(maxlen=_LAST)).append(max(at - began, 0))
