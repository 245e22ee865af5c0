"""Applications still to be written, in two queues: urgent, and with low priority. Of one workload only the newest counts."""

from events.event import Millis
from services.applier.plan import Application
from services.applier.write_queue import WriteQueue

_AGAIN: Millis = 500
_LATER_AGAIN: Millis = 5000
"""Those with low priority go one at a time, and one that is not taken may keep the others waiting for as long as it is tried."""


class Backlog:
    """Applications by workload; none is handed out while an earlier one of the same workload is being written."""

    def __init__(self) -> None:
        self._soon, self._later = WriteQueue(_AGAIN), WriteQueue(_LATER_AGAIN)
        self._busy: dict[str, Application] = {}
        """What is being written."""
        self._again: set[str] = set()
        """Of these, what was not taken before."""
        self._overtaken: set[str] = set()
        self._since: dict[str, Millis] = {}
        """Since when something urgent of a workload is to be written and is not being written yet."""
        self._begun: dict[str, Millis] = {}
        """The same of what is being written."""

    @property
    def oldest(self) -> Millis | None:
        """Since when the oldest urgent application waits or is being written; None when there is none."""
        return min((*self._since.values(), *self._begun.values()), default=None)

    @property
    def urgent(self) -> int:
        """How many workloads have an urgent application that is not written yet."""
        return len(self._since.keys() | self._begun.keys())

    @property
    def under_way(self) -> int:
        """How many urgent applications are being written, without those that were not taken before."""
        return len(self._begun) - len(self._again)

    @property
    def low(self) -> int:
        """How many applications with low priority wait."""
        return len(self._later)

    def offer(self, application: Application, at: Millis) -> None:
        """Queue an application that was decided or observed at `at`; it is dropped if the same is being written already.

        Observed pod states, and waiting workloads without a job to stop, go to the queue with low priority.
        """
        busy = self._busy.get(application.workload)
        if busy is not None and busy.state == application.state:
            self._take_off(application.workload)
            return
        if application.aside or (application.waits and not application.job):
            self.defer(application)
        else:
            self._later.remove(application.workload)
            self._soon.put(application)
            self._since.setdefault(application.workload, at)

    def defer(self, application: Application) -> None:
        """Queue it with low priority, unless an urgent one of its workload is not written yet: then it replaces that."""
        queue = self._soon if application.workload in self._soon else self._later
        queued = queue.get(application.workload)
        if queued is None or application.sequence >= queued.sequence:
            queue.put(application)

    def drop(self, workload: str) -> None:
        """Remove a workload from both queues: its object shows all that was decided."""
        self._take_off(workload)
        if workload in self._busy:
            self._overtaken.add(workload)

    def newer(self, workload: str) -> bool:
        """Whether what is being written of a workload is outdated: something newer is queued, or it was dropped."""
        return self.queued(workload) or workload in self._overtaken

    def queued(self, workload: str) -> bool:
        """Whether something newer than what is being written of a workload is queued."""
        return workload in self._soon or workload in self._later

    def soon(self) -> Application | None:
        """The next urgent application; the caller has to call `done` afterwards."""
        return self._begin(self._soon.take(self._busy))

    def again(self, at: Millis) -> Application | None:
        """The next urgent application that was not taken before; the caller has to call `done` afterwards."""
        application = self._begin(self._soon.take_again(self._busy, at))
        if application is not None:
            self._again.add(application.workload)
        return application

    def due(self, at: Millis) -> Millis | None:
        """When there is an urgent one to be tried again; None where there is none."""
        return self._soon.due(at)

    def later(self, at: Millis) -> Application | None:
        """The next application with low priority; the caller has to call `done` afterwards."""
        application = self._later.take(self._busy) or self._later.take_again(self._busy, at)
        if application is not None:
            self._busy[application.workload] = application
        return application

    def later_due(self, at: Millis) -> Millis | None:
        """When there is one with low priority to be tried again; None where there is none."""
        return self._later.due(at)

    def refused(self, application: Application, at: Millis, *, alone: bool) -> None:
        """The cluster does not take it now, for a reason of its own where `alone`: it is tried again beside all others."""
        workload = application.workload
        queue, newer = self._queue_of(workload), self.newer(workload)
        queue.refused(application, at, alone=alone, newer=newer)
        if queue is self._soon and not newer:
            self._since.setdefault(workload, self._begun.get(workload, at))

    def taken(self, application: Application) -> None:
        """The cluster takes what is like it, too."""
        self._queue_of(application.workload).taken(application)

    def done(self, application: Application, at: Millis) -> None:
        """A workload is not being written any more."""
        self._queue_of(application.workload).ended(application, at)
        self._busy.pop(application.workload, None)
        self._begun.pop(application.workload, None)
        self._again.discard(application.workload)
        self._overtaken.discard(application.workload)

    def _queue_of(self, workload: str) -> WriteQueue:
        """The queue from which what is being written comes."""
        return self._soon if workload in self._begun else self._later

    def _begin(self, application: Application | None) -> Application | None:
        if application is not None:
            self._busy[application.workload] = application
            self._begun[application.workload] = self._since.pop(application.workload)
        return application

    def _take_off(self, workload: str) -> None:
        self._soon.remove(workload)
        self._later.remove(workload)
        self._since.pop(workload, None)
