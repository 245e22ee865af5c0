"""What is asked of a cluster autoscaler before a workload is admitted, and what it answers."""

from enum import StrEnum

from events.event import Event, Millis, Value


class MergePolicy(StrEnum):
    """Which pod sets are asked for as one: those of the same template, or those that need the same of a node."""

    IDENTICAL_TEMPLATES = "IdenticalPodTemplates"
    IDENTICAL_REQUIREMENTS = "IdenticalWorkloadSchedulingRequirements"


class SelectorFromDetail(Value, frozen=True, kw_only=True):
    """A node label that pods get once nodes are there, and the detail of the request in which the autoscaler reports its value."""

    key: str
    detail: str


class ProvisioningConfigObserved(Event, frozen=True, kw_only=True, tag="ProvisioningConfigObserved.v1"):
    """How a check asks the autoscaler: a ProvisioningRequestConfig stands so in the cluster."""

    name: str
    class_name: str
    parameters: dict[str, str] = {}
    managed_resources: tuple[str, ...] = ()
    """Only pod sets that ask for one of these are asked for; all when there are none."""
    backoff_limit: int = 3
    backoff_base: Millis = 60_000
    backoff_max: Millis = 1_800_000
    selectors: tuple[SelectorFromDetail, ...] = ()
    merge: MergePolicy | None = None


class Answer(Value, frozen=True, kw_only=True):
    """One condition of a ProvisioningRequest; its type is its key in `answers`."""

    true: bool
    message: str = ""


class ProvisioningRequestObserved(Event, frozen=True, kw_only=True, tag="ProvisioningRequestObserved.v1"):
    """A ProvisioningRequest that belongs to a workload stands so in the cluster."""

    namespace: str
    name: str
    uid: str
    workload: str
    class_name: str
    parameters: dict[str, str] = {}
    answers: dict[str, Answer] = {}
    """By type of condition: Accepted, Provisioned, Failed, BookingExpired, CapacityRevoked."""
    details: dict[str, str] = {}
    """What else the autoscaler reports (status.provisioningClassDetails)."""
    decision: str = ""
    """The decision that it was made for, as `partition/sequence`; empty on what another manager has made."""


class ProvisioningRejected(Event, frozen=True, kw_only=True, tag="ProvisioningRejected.v1"):
    """The API server did not take a request: why."""

    workload: str
    request: str
    message: str


class PodSetCount(Value, frozen=True, kw_only=True):
    """So many pods of a pod set."""

    name: str
    count: int


class ProvisioningOrdered(Event, frozen=True, kw_only=True, tag="ProvisioningOrdered.v1"):
    """Nodes are to be asked for, for one attempt of a workload that holds quota."""

    workload: str
    check: str
    request: str
    """The name of the ProvisioningRequest."""
    attempt: int
    """From 1; how often it was tried again, and once."""
    class_name: str
    parameters: dict[str, str] = {}
    """Those of the configuration."""
    own_parameters: dict[str, str] = {}
    """Those of the job, which win."""
    pod_sets: tuple[PodSetCount, ...] = ()
    merge: MergePolicy | None = None


class ProvisioningDropped(Event, frozen=True, kw_only=True, tag="ProvisioningDropped.v1"):
    """Nothing is asked for any more on behalf of this check, though the workload still holds quota."""

    workload: str
    check: str
