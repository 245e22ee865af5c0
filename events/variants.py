"""Variants of a workload: one for each flavor of its ClusterQueue, which try to get in beside each other."""

from events.event import Event, Millis
from events.workload import Owner, WorkloadSpec


class VariantSubmitted(Event, frozen=True, kw_only=True, tag="VariantSubmitted.v1"):
    """A workload of a queue with concurrent admission has a variant for one flavor, which waits and holds quota on its own.

    Rule: docs/rules/variants.md#variants
    """

    workload: str
    """The variant, `namespace/name`."""
    parent: str
    """The workload that it is a variant of: that of the job."""
    flavor: str
    uid: str
    owner: Owner | None = None
    created_at: Millis
    spec: WorkloadSpec


class VariantDropped(Event, frozen=True, kw_only=True, tag="VariantDropped.v1"):
    """A variant is over: its flavor is no longer one that the workload may have. What it held is free.

    Rule: docs/rules/variants.md#variants
    """

    workload: str
    flavor: str


class VariantSwitched(Event, frozen=True, kw_only=True, tag="VariantSwitched.v1"):
    """A variant is set active or inactive, for what has become of the others.

    Rule: docs/rules/variants.md#active
    """

    workload: str
    active: bool
    message: str
    """Why, in Kueue's words."""


class PreemptionGateOpened(Event, frozen=True, kw_only=True, tag="PreemptionGateOpened.v1"):
    """A preemption gate of a variant opens: from now on it may preempt.

    Rule: docs/rules/variants.md#preemption
    """

    workload: str
    gate: str


class MigrationOrdered(Event, frozen=True, kw_only=True, tag="MigrationOrdered.v1"):
    """A variant that runs is evicted (reason FlavorMigration), because one of a better flavor can take its place.

    Rule: docs/rules/variants.md#migration
    """

    workload: str
    """The variant that makes room for the other."""
    by: str
    """The variant of the better flavor."""
    message: str
