"""What the ledger knows of workloads: to whom their time is billed, and which of them a fact about a job concerns."""

from events.multikueue import WorkloadEndedElsewhere
from events.slices import WorkloadSliceSubmitted
from events.variants import VariantSubmitted
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadOwned, WorkloadSubmitted
from projections.billing.entries.attempts import About
from projections.workloads.slice_chains import SliceChains


class BilledWorkloads:
    """Workloads as they were told, and of elastic jobs the slice that goes on."""

    def __init__(self) -> None:
        self._about: dict[str, About] = {}
        self._slices = SliceChains()
        self._waiting: dict[str, str] = {}
        """By slice, the one that is to take its place."""
        self._ended: dict[str, int] = {}
        """By workload, the number of the fact that it is over or deleted."""
        self._deleted: dict[str, None] = {}

    def about(self, workload: str) -> About | None:
        """To whom a workload is billed from now on, if it is known."""
        return self._about.get(workload)

    def is_there(self, workload: str) -> bool:
        """Whether it was told, and not deleted since."""
        return workload in self._about and workload not in self._deleted

    def submit(self, event: WorkloadSubmitted) -> None:
        """Take up a workload; one of its name that was deleted was another."""
        self._deleted.pop(event.workload, None)
        self._about[event.workload] = About.of(event)
        self._slices.hear(event)

    def submit_beside(self, event: WorkloadSliceSubmitted | VariantSubmitted) -> None:
        """Another workload comes for a job that has one."""
        self._about[event.workload] = About.of(event)
        if isinstance(event, WorkloadSliceSubmitted):
            self._waiting[event.replaces] = event.workload

    def change(self, event: WorkloadChanged) -> None:
        """A job asks for something else: so do all of its slices."""
        last = self._slices.last(event.workload)
        for key in {event.workload, last, self._waiting.get(last, last)}:
            if (known := self._about.get(key)) is not None:
                self._about[key] = known.after(event)

    def own(self, event: WorkloadOwned) -> About | None:
        """The job of a workload is there, which had been made before it; nothing where the workload is not known."""
        self._slices.hear(event)
        known = self._about.get(event.workload)
        if known is None:
            return None
        self._about[event.workload] = known = known.after(event)
        return known

    def replace(self, old: str, by: str) -> None:
        """A slice has taken another one's place."""
        self._slices.replace(old, by)
        self._waiting.pop(old, None)

    def running(self, workload: str) -> str:
        """Which slice a fact about the pods of a job concerns; of any other job its workload."""
        return self._slices.last(workload)

    def finish(self, event: WorkloadFinished | WorkloadEndedElsewhere, number: int) -> str:
        """Which workload is over by what bears this number: a fact, or a decision, which nobody can have missed who let it in."""
        if isinstance(event, WorkloadEndedElsewhere):
            return self._slices.last(event.workload)
        key = self._slices.concerned(event)
        self._ended[key] = number
        return key

    def delete(self, event: WorkloadDeleted, number: int) -> str:
        """Which workload is deleted by the fact of this number. Who comes under the name after that is somebody else."""
        key = self._slices.concerned(event)
        self._ended[key] = number
        self._deleted[key] = None
        self._slices.hear(event)
        return key

    def ended_unseen(self, workload: str, facts: int | None) -> bool:
        """Whether its end is told before what was decided by who knew no fact above this number: no time passes between the two."""
        return facts is not None and self._ended.get(workload, 0) > facts

    def forget(self, workload: str) -> None:
        """Let go of one of which nothing more is told."""
        for known in (self._about, self._ended, self._deleted, self._waiting):
            known.pop(workload, None)
