"""What the preemptor decides: who makes room for whom, by which rule, and whether it was of use."""

from events.event import Event, Millis, Value


class PreemptionOrdered(Event, frozen=True, kw_only=True, tag="PreemptionOrdered.v1"):
    """A workload has to make room for another one (docs/rules/preemption.md#ordered)."""

    workload: str
    """The victim."""
    preemptor: str
    reason: str
    """InClusterQueue, InCohortReclamation, InCohortFairSharing or InCohortReclaimWhileBorrowing."""
    message: str = ""


class PreemptionRefused(Event, frozen=True, kw_only=True, tag="PreemptionRefused.v1"):
    """The room that was asked for is not made: a victim is protected, gone, or no longer enough."""

    preemptor: str
    reason: str
    message: str = ""


class Room(Value, frozen=True, kw_only=True):
    """Quota of one flavor and resource."""

    flavor: str
    resource: str
    amount: int


class RoomClaimed(Event, frozen=True, kw_only=True, tag="RoomClaimed.v1"):
    """The room that the victims leave is kept for the preemptor until then."""

    preemptor: str
    cluster_queue: str
    rooms: tuple[Room, ...]
    until: Millis
    victims: tuple[str, ...] = ()
    """While one of them has not left, its part of the room is still its own."""
    admissions: tuple[int, ...] = ()
    """For each victim the sequence of the reservation in which it was found: what it holds by a later one is not meant.

    Empty where that was not told yet.
    """


class PreemptionWasted(Event, frozen=True, kw_only=True, tag="PreemptionWasted.v1"):
    """Victims made room, and the one they made it for did not get in."""

    preemptor: str
    victims: tuple[str, ...]
    reason: str
