"""What the applier reports of its writes to Kubernetes: observed, not decided, so it goes to the facts."""

import msgspec

from events.event import Event


class DecisionApplied(Event, frozen=True, kw_only=True, tag="DecisionApplied.v1"):
    """The cluster now shows the workload as the log had decided it up to this sequence of its partition."""

    workload: str
    partition: str = msgspec.field(name="lane")
    sequence: int
    finished: bool = False
    """The cluster also shows that the workload has finished."""
    seen: int = 0
    """Sequence of the last fact about its pods that the cluster shows, too."""
    version: int = 0
    """The resourceVersion of the Workload object after that; 0 where it is not known."""
    ended: tuple[str, ...] = ()
    """UIDs of its pods that were running when the applier deleted them, where no job stops them."""


FAILED_TO_START = "FailedToStart"
"""Why a decision was rejected: what admission checks want added to the pods contradicts what these have already."""


FAILED = "Failed"
"""Why a decision was rejected: the applier itself failed on the workload, and goes on with all others."""


class DecisionRejected(Event, frozen=True, kw_only=True, tag="DecisionRejected.v1"):
    """The cluster did not take a decision: why, and what to do."""

    workload: str
    partition: str = msgspec.field(name="lane")
    sequence: int
    reason: str
    message: str
