"""What the preemptor decides: who makes room for whom, by which rule, and whether it was of use."""

from events.event import Event, Millis, Value


class PreemptionOrdered(Event, frozen=True, kw_only=True, tag="PreemptionOrdered.v1"):
    """A workload is preempted for another one (docs/rules/preemption.md#ordered)."""

    workload: str
    """The victim."""
    preemptor: str
    reason: str
    """InClusterQueue, InCohortReclamation, InCohortFairSharing or InCohortReclaimWhileBorrowing."""
    message: str = ""


class PreemptionRefused(Event, frozen=True, kw_only=True, tag="PreemptionRefused.v1"):
    """A request for preemption is refused: a victim is protected or gone, or the victims are no longer enough."""

    preemptor: str
    reason: str
    message: str = ""


class Room(Value, frozen=True, kw_only=True):
    """Quota of one flavor and resource."""

    flavor: str
    resource: str
    amount: int


class RoomClaimed(Event, frozen=True, kw_only=True, tag="RoomClaimed.v1"):
    """Quota that the victims release is kept for the preemptor, at most until `until`."""

    preemptor: str
    cluster_queue: str
    rooms: tuple[Room, ...]
    until: Millis
    victims: tuple[str, ...] = ()
    """Until a victim has released its quota, its part of the room is not kept yet, as it is still charged to the victim."""
    admissions: tuple[int, ...] = ()
    """For each victim the sequence of the quota reservation that it held when it was chosen; a later one is not meant.

    Empty in logs from before this was recorded.
    """


class PreemptionWasted(Event, frozen=True, kw_only=True, tag="PreemptionWasted.v1"):
    """Victims were preempted, and the workload that they were preempted for was not admitted."""

    preemptor: str
    victims: tuple[str, ...]
    reason: str
