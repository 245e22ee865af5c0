"""What is observed of workloads, as one type."""

from typing import TypeAlias

from events.application import DecisionApplied, DecisionRejected
from events.workload import (
    CheckReported,
    DecidedElsewhere,
    JobUnsuspended,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSubmitted,
    WorkloadSwitched,
)

WorkloadFact: TypeAlias = (
    WorkloadSubmitted
    | WorkloadOwned
    | DecidedElsewhere
    | WorkloadChanged
    | PodsReady
    | JobUnsuspended
    | PodsGone
    | PodsReclaimed
    | WorkloadFinished
    | WorkloadDeleted
    | CheckReported
    | WorkloadSwitched
    | DecisionApplied
    | DecisionRejected
)
