"""Applications still to be written, in two queues: urgent, and with low priority. Of one workload only the newest counts."""

from events.event import Millis
from services.applier.plan import Application


class Backlog:
    """Applications by workload; none is handed out while an earlier one of the same workload is being written."""

    def __init__(self) -> None:
        self._soon: dict[str, Application] = {}
        self._later: dict[str, Application] = {}
        self._busy: dict[str, Application] = {}
        """What is being written."""
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
        """How many urgent applications are being written."""
        return len(self._begun)

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
            self._later.pop(application.workload, None)
            self._soon[application.workload] = application
            self._since.setdefault(application.workload, at)

    def defer(self, application: Application) -> None:
        """Queue it with low priority, unless an urgent one of its workload is not written yet: then it replaces that."""
        queue = self._soon if application.workload in self._soon else self._later
        queue.setdefault(application.workload, application)
        if application.sequence >= queue[application.workload].sequence:
            queue[application.workload] = application

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
        return self._next(self._soon)

    def later(self) -> Application | None:
        """The next application with low priority; the caller has to call `done` afterwards."""
        return self._next(self._later)

    def done(self, workload: str) -> None:
        """A workload is not being written any more."""
        self._busy.pop(workload, None)
        self._begun.pop(workload, None)
        self._overtaken.discard(workload)

    def _next(self, queue: dict[str, Application]) -> Application | None:
        for workload in queue:
            if workload not in self._busy:
                self._busy[workload] = queue.pop(workload)
                if queue is self._soon:
                    self._begun[workload] = self._since.pop(workload)
                return self._busy[workload]
        return None

    def _take_off(self, workload: str) -> None:
        self._soon.pop(workload, None)
        self._later.pop(workload, None)
        self._since.pop(workload, None)
