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
    PreemptionGateReported,
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
    | PreemptionGateReported
    | WorkloadSwitched
    | DecisionApplied
    | DecisionRejected
)
