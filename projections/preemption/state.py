"""The part of the world that says who makes room for whom."""

from typing import Protocol

from events.admission import PreemptionRequested
from events.preemption import RoomClaimed
from projections.queues.state import QueueState
from projections.topology.state import TopologyState
from projections.work_queue import WorkQueue


class PreemptionState(QueueState, TopologyState, Protocol):
    """Preemption requests and what is kept for preemptors, by preemptor, beside all that victims may hold."""

    requests: dict[str, PreemptionRequested]
    """Open preemption requests."""
    answered: dict[str, int]
    """The sequence of the answer to each answered request: the preemptor waits for its victims to leave."""
    claims: dict[str, RoomClaimed]
    """Quota kept for a preemptor while its victims leave."""
    request_work: WorkQueue
    """Preemptors with an open request, to be looked at: a hint."""
