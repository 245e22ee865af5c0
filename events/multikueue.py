"""Other clusters that workloads are dispatched to: which there are, and how each is reached."""

from enum import StrEnum
from typing import ClassVar

from events.configuration import ClusterObjectObserved
from events.event import Millis, Value


class KubeConfigPlace(StrEnum):
    """Where the kubeconfig of a worker cluster is: in a Secret of kuelog's namespace, or in a file of the service that connects."""

    SECRET = "Secret"  # noqa: S105 - Kueue's name of the place
    PATH = "Path"


class MultiKueueSettings(Value, frozen=True, kw_only=True):
    """How workloads are dispatched to other clusters (docs/rules/multikueue.md)."""

    origin: str = "multikueue"
    """What the label `kueue.x-k8s.io/multikueue-origin` says on all that this manager makes in other clusters."""
    worker_lost_timeout: Millis = 900_000
    """How long a workload stays admitted in a cluster that can't be reached, from the moment at which that began."""
    dispatcher: str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
    """Who nominates clusters; any name but the two of Kueue's own dispatchers is somebody else, who writes `nominatedClusterNames`."""
    step_size: int = 3
    """How many clusters the incremental dispatcher nominates at once."""


class MultiKueueConfigObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="MultiKueueConfigObserved.v1"):
    """To which clusters a check dispatches: a MultiKueueConfig stands so in the cluster."""

    kind: ClassVar[str] = "MultiKueueConfig"
    uid: str = ""
    clusters: tuple[str, ...]
    """In the order in which the incremental dispatcher nominates them."""


class MultiKueueClusterObserved(ClusterObjectObserved, frozen=True, kw_only=True, tag="MultiKueueClusterObserved.v1"):
    """A worker cluster, how it is reached, and whether it is connected: a MultiKueueCluster stands so in the cluster."""

    kind: ClassVar[str] = "MultiKueueCluster"
    uid: str = ""
    generation: int = 0
    location: str = ""
    """The name of the Secret or of the file with its kubeconfig; empty where a ClusterProfile is named instead."""
    location_type: KubeConfigPlace = KubeConfigPlace.SECRET
    profile: str = ""
    """The ClusterProfile that says how it is reached, if any."""
    active: bool = False
    """Its condition Active, as who connects to it has set it: whether it is connected."""
    since: Millis = 0
    """Since when it is or is not; where nobody has connected yet, since it was created."""
