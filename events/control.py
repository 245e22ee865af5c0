"""What is recorded about the system itself: takeovers, skipped messages, objects that can't be understood."""

from events.event import Event, Value


class EpochStarted(Event, frozen=True, kw_only=True, tag="EpochStarted.v1"):
    """A replica took over a service of a lane; older epochs of it stop."""

    service: str
    epoch: int


class Quarantined(Event, frozen=True, kw_only=True, tag="Quarantined.v1"):
    """An operator had a stored message skipped; the skip is itself part of the history."""

    stream: str
    sequence: int
    reason: str


class ObjectRemoved(Event, frozen=True, kw_only=True, tag="ObjectRemoved.v1"):
    """An object is no longer in the cluster."""

    kind: str
    namespace: str = ""
    name: str


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
