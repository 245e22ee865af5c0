"""What is recorded about the system itself: takeovers, skipped messages, objects that can't be understood."""

from typing import Annotated

import msgspec

from events.event import Event, Millis, Value

MOST_PARTITIONS = 256
HIGHEST = 10**15
"""No decision has a higher number: JSON of every reader holds it exactly."""


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


class ForkedFrom(Value, frozen=True, kw_only=True):
    """A partition whose history begins as that of another one, up to an order on FACTS (`PartitionForked`)."""

    partition: Annotated[int, msgspec.Meta(ge=1, lt=MOST_PARTITIONS)]
    origin: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]
    above: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST)]
    """Its decisions are numbered by this plus their sequence: above all numbers that the origin can have reached by then."""


class LogPartitioned(Event, frozen=True, kw_only=True, tag="LogPartitioned.v1"):
    """From now on this log has so many partitions of trees, `LOG_0` and on; a smaller number than before changes nothing."""

    partitions: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTITIONS)]
    forks: tuple[ForkedFrom, ...] = ()
    """Those of them that begin as forks of partitions with a lower number; what was said of one before stays."""


class ObjectRemoved(Event, frozen=True, kw_only=True, tag="ObjectRemoved.v1"):
    """An object is no longer in the cluster."""

    kind: str
    namespace: str = ""
    name: str


class ObjectMended(Event, frozen=True, kw_only=True, tag="ObjectMended.v1"):
    """An object that was refused is understood again, and reads as it did before it was refused."""

    kind: str
    namespace: str = ""
    name: str


class ResourceVersionsRestarted(Event, frozen=True, kw_only=True, tag="ResourceVersionsRestarted.v1"):
    """The cluster's resourceVersions are behind those on record, as after etcd was restored: versions begin anew.

    Facts with versions from before that are not folded any more.
    """

    epoch: int
    kind: str
    """The kind of object whose list showed it."""
    listed: int
    """The resourceVersion of that list."""
    known: int
    """The newest resourceVersion on record for the kind."""


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
    """Where pods are refused, the one that gets the Kubernetes Event, the oldest that runs if any does; `uid` is that pod's then."""
    reason: str = ""
    """What Kueue calls this, where it has a word of its own for the Kubernetes Event."""
    running: int = 0
    """Where it is a job that is not suspended, the generation of its specification, and 1 where it is a pod that went through
    its gate: it is stopped unless it was let in."""
    owner: str = ""
    """Where it is a job that runs while the managed one waits that owns it, the place of that, as `kind/namespace/name`: it is
    stopped as long as that is suspended."""
    problems: tuple[ObjectProblem, ...]
