"""What was reported of all workloads, by this watcher or another, and from which object each was read."""

from events.application import DecisionApplied
from events.catalogue import Fact
from events.workload import (
    CheckReported,
    WorkloadDeleted,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.workloads.slice_chains import first_slice_key
from services.jobs.kinds.managed_kinds import Kinds
from services.watcher.jobs.jobs import JobState
from services.watcher.jobs.workload_source import source_of
from services.watcher.workloads.found_slices import that_count
from services.watcher.workloads.reported_state import Noted, ReportedState, as_submitted, note, own


class ReportedWorkloads:
    """Folds the facts about workloads."""

    def __init__(self, facts: dict[str, Fact], kinds: Kinds) -> None:
        """`facts`: all that was reported, by place; refusals among them end with what is understood."""
        self.workloads: dict[str, ReportedState] = {}
        self.slices: dict[str, ReportedState] = {}
        """What was reported of the objects of later slices of elastic jobs: checks, and whether they are active."""
        self.by_source: dict[str, str] = {}
        """The workload of each job or Workload object, by `kind/namespace/name`."""
        self.left: dict[str, str] = {}
        """From where workloads were read that were deleted just now."""
        self.found: dict[str, JobState] = {}
        """Workload objects of jobs that were not reported yet: what another manager has decided about them."""
        self._slices_found: dict[str, dict[str, None]] = {}
        """By the UID of an elastic job, those of them that are its slices."""
        self._facts, self._kinds = facts, kinds

    def find(self, key: str, state: JobState) -> None:
        """Take down how the Workload object of a job is found that was not reported yet."""
        self.found[key] = state
        if state.spec.elastic and state.owner is not None:
            self._slices_found.setdefault(state.owner.uid, {})[key] = None

    def lose(self, key: str) -> None:
        """Nothing that was found under this name concerns a job any more."""
        state = self.found.pop(key, None)
        if state is not None and state.owner is not None:
            self._slices_found.get(state.owner.uid, {}).pop(key, None)

    def slices_found(self, uid: str) -> list[JobState]:
        """The slices of an elastic job that were found, as far as they count."""
        return that_count(self.found[key] for key in self._slices_found.get(uid, ()))

    def needs_object(self, key: str) -> bool:
        """Whether a workload goes on whose own object has shown what was decided about it, as far as was reported."""
        reported = self.workloads.get(key)
        return reported is not None and bool(reported.version) and not reported.job.finished

    def lose_object(self, key: str) -> None:
        """The object of a workload is gone, which shows nothing until there is another one."""
        reported = self.workloads.get(key)
        if reported is not None:
            reported.version = 0

    def fold(self, fact: Fact) -> bool:
        """Fold a fact; whether it is about a workload, and nothing else."""
        match fact:
            case WorkloadSubmitted():
                self._submit(fact)
            case WorkloadOwned():
                self._own(fact)
            case WorkloadDeleted():
                self._delete(fact)
            case DecisionApplied():
                reported = self.workloads.get(fact.workload)
                if reported is not None:
                    reported.version = max(reported.version, fact.version)
            case _ if isinstance(fact, Noted):
                self._note(fact)
            case _:
                return False
        return True

    def _submit(self, fact: WorkloadSubmitted) -> None:
        key = fact.workload if fact.owner is None else first_slice_key(fact.workload, fact.spec)
        self.lose(fact.workload)
        if key in self.workloads:
            return  # Reported twice, by two replicas; or it is a later slice of the same job.
        source = source_of(fact, self._kinds)
        reported = as_submitted(fact, source)
        if fact.owner is not None and self._kinds.parent_of(fact.owner) is not None:
            reported.tell_of_job(parent=fact.owner.kind)
            self._facts.pop(f"{fact.owner.kind}/{fact.workload.partition('/')[0]}/{fact.owner.name}#refused", None)
        self.workloads[key] = reported
        self.by_source[source] = key
        self._facts.pop(f"{source}#refused", None)

    def _own(self, fact: WorkloadOwned) -> None:
        """From now on the workload is read from the job that owns it."""
        reported = self.workloads.get(fact.workload)
        if reported is not None:
            self.by_source.pop(reported.source, None)
            own(reported, fact, self._kinds)
            self.by_source[reported.source] = fact.workload

    def _delete(self, fact: WorkloadDeleted) -> None:
        reported = self.workloads.pop(fact.workload, None)
        if reported is None:
            return
        self.left[fact.workload] = reported.source
        if self.by_source.get(reported.source) == fact.workload:
            del self.by_source[reported.source]

    def _note(self, fact: Noted) -> None:
        reported = self.workloads.get(fact.workload)
        if reported is None and isinstance(fact, CheckReported | WorkloadSwitched):
            blank = ReportedState(uid="", source="", spec=WorkloadSpec(queue="", pod_sets=()))
            reported = self.slices.setdefault(fact.workload, blank)
        if reported is not None:
            note(reported, fact)
        if isinstance(fact, CheckReported | WorkloadSwitched):
            self._facts.pop(f"Workload/{fact.workload}#refused", None)
