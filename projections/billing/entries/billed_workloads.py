"""What the ledger knows of workloads: to whom their time is billed, and which of them a fact about a job concerns."""

from msgspec.structs import replace

from events.multikueue import WorkloadEndedElsewhere
from events.slices import WorkloadSliceResized, WorkloadSliceSubmitted
from events.variants import VariantSubmitted
from events.workload import (
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSubmitted,
)
from projections.billing.entries.attempts import About
from projections.quota.charge_quota import left_done
from projections.workloads.slice_chains import SliceChains
from projections.workloads.slices import counts_of


class BilledWorkloads:
    """Workloads as they were told, and of elastic jobs the slice that goes on."""

    def __init__(self, *, queues_as_named: bool = False) -> None:
        self._as_named = queues_as_named
        self._about: dict[str, About] = {}
        self._slices = SliceChains()
        self._waiting: dict[str, str] = {}
        """By slice, the one that is to take its place."""
        self._asked: dict[str, dict[str, int]] = {}
        """Of elastic jobs, by the workload that facts about them name, how many pods of each pod set they ask for."""
        self._ended: dict[str, int] = {}
        """By workload, the number of the fact that it is over or deleted."""
        self._deleted: dict[str, None] = {}
        self._moved: dict[str, tuple[tuple[int, str], ...]] = {}
        """By workload, the facts that named another queue since it was let in last, and the queue before each."""

    def about(self, workload: str) -> About | None:
        """To whom a workload is billed from now on, if it is known."""
        return self._about.get(workload)

    def let_in(self, workload: str, facts: int | None) -> About | None:
        """To whom it is billed when it is let in by who knew no fact above this number: in the queue that it was in for them."""
        known, moved = self._about.get(workload), self._moved.pop(workload, ())
        seen = None if self._as_named else facts
        unseen = [queue for number, queue in moved if seen is not None and number > seen]
        return replace(known, queue=unseen[0]) if known is not None and unseen else known

    def is_there(self, workload: str) -> bool:
        """Whether it was told, and not deleted since."""
        return workload in self._about and workload not in self._deleted

    def submit(self, event: WorkloadSubmitted) -> None:
        """Take up a workload; one of its name that was deleted was another."""
        self._deleted.pop(event.workload, None)
        self._moved.pop(event.workload, None)
        self._about[event.workload] = About.of(event)
        self._ask(event)
        self._slices.hear(event)

    def submit_beside(self, event: WorkloadSliceSubmitted | VariantSubmitted) -> None:
        """Another workload comes for a job that has one."""
        self._about[event.workload] = About.of(event)
        if isinstance(event, WorkloadSliceSubmitted):
            self._waiting[event.replaces] = event.workload

    def change(self, event: WorkloadChanged, number: int) -> None:
        """A job asks for something else by the fact of this number: so do all of its slices."""
        last = self._slices.last(event.workload)
        self._ask(event)
        for key in {event.workload, last, self._waiting.get(last, last)}:
            if (known := self._about.get(key)) is not None:
                self._about[key] = changed = known.after(event)
                if changed.queue != known.queue:
                    self._moved[key] = (*self._moved.get(key, ()), (number, known.queue))

    def _ask(self, event: WorkloadSubmitted | WorkloadChanged) -> None:
        if event.spec.elastic:
            self._asked[event.workload] = counts_of(event.spec.pod_sets)
        else:
            self._asked.pop(event.workload, None)

    def own(self, event: WorkloadOwned) -> About | None:
        """The job of a workload is there, which had been made before it; nothing where the workload is not known."""
        self._slices.hear(event)
        known = self._about.get(event.workload)
        if known is None:
            return None
        self._about[event.workload] = known = known.after(event)
        return known

    def resize(self, event: WorkloadSliceResized) -> dict[str, int]:
        """A slice has other pods from now on: how many of each pod set."""
        if (known := self._about.get(event.workload)) is not None:
            self._about[event.workload] = replace(known, pod_sets=event.pod_sets)
        return counts_of(event.pod_sets)

    def reclaimed(self, event: PodsReclaimed) -> dict[str, dict[str, int]]:
        """By workload that a fact about done pods concerns, how many it has itself: a job that grows asks for more than its slice that runs has."""
        last = self._slices.last(event.workload)
        asked = self._asked.get(event.workload)
        found: dict[str, dict[str, int]] = {}
        for key in dict.fromkeys((last, self._waiting.get(last, last))):
            about = self._about.get(key)
            own = counts_of(about.pod_sets) if about is not None else {}
            found[key] = event.counts if asked is None else left_done(event.counts, asked, own)
        return found

    def replace(self, old: str, by: str) -> None:
        """A slice has taken another one's place."""
        self._slices.replace(old, by)
        self._waiting.pop(old, None)

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
        for known in (self._about, self._asked, self._ended, self._deleted, self._waiting, self._moved):
            known.pop(workload, None)
