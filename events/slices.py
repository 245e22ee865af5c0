"""Slices of an elastic job: the workloads that follow each other while it runs on in another size."""

from events.event import Event, Millis
from events.pod_set import PodSet
from events.workload import Owner, WorkloadSpec


class WorkloadSliceSubmitted(Event, frozen=True, kw_only=True, tag="WorkloadSliceSubmitted.v1"):
    """A job that runs asks for more pods: a new slice waits for the difference, and the old one runs on meanwhile.

    Rule: docs/rules/elastic.md#scale-up
    """

    workload: str
    """The new slice, `namespace/name`."""
    replaces: str
    """The slice whose place it takes once it is admitted."""
    uid: str
    owner: Owner | None = None
    created_at: Millis
    spec: WorkloadSpec


class WorkloadSliceResized(Event, frozen=True, kw_only=True, tag="WorkloadSliceResized.v1"):
    """A slice asks for other pods from now on: one without quota for any, one with quota for fewer than it has.

    Rule: docs/rules/elastic.md#scale-down
    """

    workload: str
    pod_sets: tuple[PodSet, ...]


class WorkloadSliceReplaced(Event, frozen=True, kw_only=True, tag="WorkloadSliceReplaced.v1"):
    """A slice is over (Finished, reason WorkloadSliceReplaced): another one of its job takes its place, pods and cards.

    Rule: docs/rules/elastic.md#replacement
    """

    workload: str
    """The slice that ends."""
    by: str
    """The slice that goes on."""
    message: str


class WorkloadSliceDropped(Event, frozen=True, kw_only=True, tag="WorkloadSliceDropped.v1"):
    """A slice that has lost its quota is over (Finished, reason WorkloadSliceReplaced): a newer one of its job waits already.

    Rule: docs/rules/elastic.md#waits
    """

    workload: str
    """The slice that ends."""
    by: str
    """The slice that waits."""
    message: str
