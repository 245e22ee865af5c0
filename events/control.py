"""What is recorded about the system itself: takeovers, skipped messages, objects that can't be understood."""

from events.event import Event, Millis, Value


class EpochStarted(Event, frozen=True, kw_only=True, tag="EpochStarted.v1"):
    """A replica took over a service of a partition; older epochs of it stop."""

    service: str
    epoch: int


class Quarantined(Event, frozen=True, kw_only=True, tag="Quarantined.v1"):
    """An operator had a stored message skipped; the skip is itself part of the history."""

    stream: str
    sequence: int
    reason: str


class ClockScaled(Event, frozen=True, kw_only=True, tag="ClockScaled.v1"):
    """From `since` on the services of this log have a clock that runs `rate` thousandths as fast as the bus's."""

    since: Millis
    rate: int


class ObjectRemoved(Event, frozen=True, kw_only=True, tag="ObjectRemoved.v1"):
    """An object is no longer in the cluster."""

    kind: str
    namespace: str = ""
    name: str


class ObjectMended(Event, frozen=True, kw_only=True, tag="ObjectMended.v1"):
    """An object that was refused is understood again, and says what was told of it before it was refused."""

    kind: str
    namespace: str = ""
    name: str


class ResourceVersionsRestarted(Event, frozen=True, kw_only=True, tag="ResourceVersionsRestarted.v1"):
    """The cluster is at a version behind what was told before, as after its store was restored: versions begin anew.

    Facts about objects of before don't fold any more.
    """

    epoch: int
    kind: str
    """The kind where it was noticed."""
    listed: int
    """The version at which it was listed."""
    known: int
    """The version that had been told."""


class ObjectProblem(Value, frozen=True, kw_only=True):
    """What is wrong with a field and what to write instead."""

    field: str
    message: str
    instead: str = ""


class ObjectRefused(Event, frozen=True, kw_only=True, tag="ObjectRefused.v1"):
    """An object can't be understood; everything else goes on without it."""

    kind: str
    namespace: str = ""
    name: str
    uid: str = ""
    pod: str = ""
    """The pod that is told of it, where a group of pods is refused; the UID is its own then."""
    problems: tuple[ObjectProblem, ...]
