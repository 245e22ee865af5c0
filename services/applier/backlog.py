"""What is still to be applied, in two queues: at once, and in spare time. Of one workload only the latest counts."""

from services.applier.plan import Application


class Backlog:
    """Applications by workload; none is handed out while an earlier one of the same workload is being written."""

    def __init__(self) -> None:
        self._soon: dict[str, Application] = {}
        self._later: dict[str, Application] = {}
        self._busy: dict[str, Application] = {}
        """What is being written."""
        self._overtaken: set[str] = set()

    def offer(self, application: Application) -> None:
        """Something is to be written: what was only seen of pods, and who waits without a job to be stopped, can be later.

        What is being written already is not written once more.
        """
        busy = self._busy.get(application.workload)
        if busy is not None and busy.state == application.state:
            self._soon.pop(application.workload, None)
            self._later.pop(application.workload, None)
            return
        if application.aside or (application.waits and not application.job):
            self.defer(application)
        else:
            self._later.pop(application.workload, None)
            self._soon[application.workload] = application

    def defer(self, application: Application) -> None:
        """Nobody waits for it, unless something that is waited for has not been written yet."""
        queue = self._soon if application.workload in self._soon else self._later
        queue.setdefault(application.workload, application)
        if application.sequence >= queue[application.workload].sequence:
            queue[application.workload] = application

    def drop(self, workload: str) -> None:
        """Nothing is to be written of it: somebody else has."""
        self._soon.pop(workload, None)
        self._later.pop(workload, None)
        if workload in self._busy:
            self._overtaken.add(workload)

    def newer(self, workload: str) -> bool:
        """Whether something else is to be written of it, or nothing at all any more."""
        return workload in self._soon or workload in self._later or workload in self._overtaken

    def soon(self) -> Application | None:
        """The next that is waited for; to be given back with `done`."""
        return self._next(self._soon)

    def later(self) -> Application | None:
        """The next that nobody waits for; to be given back with `done`."""
        return self._next(self._later)

    def done(self, workload: str) -> None:
        """It is not being written any more."""
        self._busy.pop(workload, None)
        self._overtaken.discard(workload)

    def _next(self, queue: dict[str, Application]) -> Application | None:
        for workload in queue:
            if workload not in self._busy:
                self._busy[workload] = queue.pop(workload)
                return self._busy[workload]
        return None
