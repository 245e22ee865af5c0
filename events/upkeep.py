"""What is decided about a workload besides its place in line: its checks, its back-off, its end."""

from enum import StrEnum

from events.event import Event, Millis
from events.workload import CheckStatus


class ChecksRequired(Event, frozen=True, kw_only=True, tag="ChecksRequired.v1"):
    """These admission checks have to be ready before the workload is admitted; the states of all others are dropped."""

    workload: str
    checks: tuple[str, ...] = ()


class CheckSettled(Event, frozen=True, kw_only=True, tag="CheckSettled.v1"):
    """The state of a check that kuelog itself controls, such as that of a budget."""

    workload: str
    check: CheckStatus


class BackoffSet(Event, frozen=True, kw_only=True, tag="BackoffSet.v1"):
    """How often the workload has been put back, and until when it may not queue again."""

    workload: str
    count: int = 0
    until: Millis | None = None


class AdmissionGateCleared(Event, frozen=True, kw_only=True, tag="AdmissionGateCleared.v1"):
    """Nothing holds the workload back from being queued any more."""

    workload: str


class DeactivationOrdered(Event, frozen=True, kw_only=True, tag="DeactivationOrdered.v1"):
    """The workload is to be set inactive, for this cause; `WorkloadDeactivated` follows."""

    workload: str
    cause: str
    message: str = ""


class DeactivationSettled(Event, frozen=True, kw_only=True, tag="DeactivationSettled.v1"):
    """The deactivation of a workload is carried out: its back-off and the condition DeactivationTarget are cleared."""

    workload: str


class WorkloadOrphaned(Event, frozen=True, kw_only=True, tag="WorkloadOrphaned.v1"):
    """The job that the workload was made for owns it no longer: it has ended, and nothing holds its object."""

    workload: str


class WorkloadFailedToStart(Event, frozen=True, kw_only=True, tag="WorkloadFailedToStart.v1"):
    """The job could not be started with what it was admitted with, and no retry could change that: the workload has ended."""

    workload: str
    message: str


class DiscardReason(StrEnum):
    """Why the object of a workload is kept no longer."""

    FINISHED = "Finished"
    """It has finished long enough ago."""
    DEACTIVATED = "Deactivated"
    """It was deactivated long enough ago; its job goes, too."""
    DELETED = "Deleted"
    """Somebody has deleted it, and no job needs it."""


class WorkloadDiscarded(Event, frozen=True, kw_only=True, tag="WorkloadDiscarded.v1"):
    """The object of the workload is kept no longer; it holds nothing from now on."""

    workload: str
    reason: DiscardReason
