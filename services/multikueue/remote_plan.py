"""What is wanted of one workload in other clusters, as it is handed to who writes there."""

import msgspec

from events.event import Millis
from events.job_kind import JobKind


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """The job of a workload in the cluster that was chosen for it: it is made there, and its status copied back."""

    cluster: str
    decision: str
    """What chose the cluster."""
    make: bool
    """Whether it is made where it is missing; one that has run is not made again."""
    stop: str = ""
    """Why the copy has to stop there; empty while it may run."""
    over: str = ""
    """The UID of the copy if it has ended there and that is not shown here yet; empty for any other."""
    counts: dict[str, int] = {}
    """By pod set, how many pods an elastic job has there; empty for any other, and while the slice before has it."""


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """What may change of what a copy asks for."""

    counts: dict[str, int]
    """By pod set, how many pods."""
    priority: int
    priority_class: str
    """Its WorkloadPriorityClass; empty where it has none."""


class RemotePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of one workload in other clusters."""

    workload: str
    origin: str
    kind: JobKind | None = None
    api_version: str = ""
    managed_by: str = ""
    """Where a job of this kind says who runs it; what is made elsewhere says nothing there."""
    serves: bool = False
    """What runs there serves what is written here by now."""
    jobs: tuple[str, ...] = ()
    """The names of what runs there: the job behind it, or each of its pods; none where that is not known any more."""
    keep_job: tuple[str, ...] = ()
    """Clusters in which others of its object run: what they have in common stays there."""
    make: tuple[str, ...] = ()
    """Clusters that lack a copy."""
    asks: str = ""
    """The digest of the pods that the workload asks for by now, which copies that are made bear."""
    queue: str = ""
    """The local queue that the workload names by now, which is that of copies that are made; empty where it names none."""
    max_execution: Millis | None = None
    """How long what is made may run; None for as long as it likes."""
    again: bool = False
    """It has run or was to run somewhere before: its job may be left where no copy is."""
    gated: bool = False
    """Copies that are made get a gate that keeps them from preempting."""
    amend: tuple[tuple[str, str], ...] = ()
    """Clusters whose copy is to have the priority and the smaller size of now, each with the UID of the copy."""
    outline: Outline | None = None
    """What a copy that is amended has to ask for."""
    open: tuple[str, ...] = ()
    """Clusters in which the gate of the copy is to be opened."""
    ask: tuple[str, ...] = ()
    """Clusters that lack a copy by which they are asked what would happen."""
    remove: tuple[tuple[str, str], ...] = ()
    """Clusters whose copy has to go, each with the UID of the copy."""
    run: RemoteJob | None = None
    look: str = ""
    """The cluster in which it runs by what its object says: how the copy there stands has to be seen."""
    park: bool = False
    """The job here is to look as if nothing ran: where it ran can't be reached, or has forgotten it."""
    elsewhere: tuple[str, ...] = ()
    """Connected clusters in which no copy may stand when a job is made in another, or looks stopped here."""
    unknown: bool = False
    """Nothing is on the log of this workload: it may be there all the same, and not be told yet."""
    broken: str = ""
    """The error that kept this from being planned; empty when there is none."""

    @property
    def namespace(self) -> str:
        """Where the workload is, in every cluster."""
        return self.workload.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of its copies in worker clusters: that of the Workload here."""
        return self.workload.partition("/")[2]

    @property
    def idle(self) -> bool:
        """Whether worker clusters are as they should be for this workload."""
        wanted = self.make or self.amend or self.open or self.ask or self.remove or self.run or self.look or self.park
        return not (wanted or self.broken)
