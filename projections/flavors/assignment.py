"""What a workload would be given: flavors per pod set and resource, and how well the whole suits."""

import msgspec

from events.admission import FlavorAttempt, Mode
from events.amount import Requests
from events.topology import DelayedTopology, TopologyPlacement
from events.workload import PodSetAssignment
from projections.quota.columns import Column


class FlavorChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The flavor that a resource of a pod set gets."""

    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = -1
    """Index of the last flavor that was tried; -1 when the list was gone through."""


class PodSetChoice(msgspec.Struct, kw_only=True):
    """One pod set under assignment: filled in resource by resource."""

    name: str
    count: int
    requests: Requests
    flavors: dict[str, FlavorChoice] = {}
    reasons: list[str] = []
    topology: TopologyPlacement | None = None
    """The domains of its pods, where they are placed by topology."""
    delayed: DelayedTopology | None = None
    failed: str = ""
    """Why no flavor could be assigned at all: the reason of the refusal."""
    reached: bool = True
    """It was assigned flavors, or would have been: no pod set before it fits nowhere."""

    @property
    def mode(self) -> Mode:
        """The worst mode among its resources; a resource without a flavor fits nowhere."""
        if self.failed:
            return Mode.NO_FIT
        worst = Mode.FIT
        for choice in self.flavors.values():
            if choice.mode is not worst and _ORDER[choice.mode] < _ORDER[worst]:
                worst = choice.mode
        return worst


class Assignment(msgspec.Struct, kw_only=True):
    """The outcome of a search over all pod sets."""

    pod_sets: list[PodSetChoice]
    usage: dict[Column, int] = {}
    attempts: list[FlavorAttempt] = []
    borrow: int = 0

    @property
    def mode(self) -> Mode:
        """The worst of its pod sets: Fit admits, Preempt and Reclaim need room made, the others wait."""
        worst = Mode.FIT
        for pod_set in self.pod_sets:
            mode = pod_set.mode
            if mode is not worst and _ORDER[mode] < _ORDER[worst]:
                worst = mode
        return worst

    @property
    def representative(self) -> Mode:
        """Kueue's public mode: NoFit, Preempt or Fit."""
        mode = self.mode
        return mode if mode is Mode.NO_FIT or mode is Mode.FIT else Mode.PREEMPT

    @property
    def message(self) -> str:
        """Per pod set that does not simply fit, what stands in the way."""
        messages = [
            f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(sorted(dict.fromkeys(pod_set.reasons)))}"
            for pod_set in self.pod_sets
            if pod_set.reasons and pod_set.mode is not Mode.FIT
        ]
        return "; ".join(messages)

    @property
    def progress(self) -> tuple[tuple[str, str, int], ...]:
        """Where to go on next time: pod set, resource, index of the last flavor tried."""
        return tuple(
            (pod_set.name, resource, choice.tried)
            for pod_set in self.pod_sets
            for resource, choice in sorted(pod_set.flavors.items())
        )

    def assignments(self) -> tuple[PodSetAssignment, ...]:
        """The assignment in the log's words: what has no flavor, such as nothing of a resource, is not charged."""
        return tuple(
            PodSetAssignment(
                name=pod_set.name,
                count=pod_set.count,
                flavors={resource: choice.flavor for resource, choice in sorted(pod_set.flavors.items())},
                usage={name: amount for name, amount in sorted(pod_set.requests.items()) if name in pod_set.flavors},
                topology=pod_set.topology,
                delayed_topology=pod_set.delayed,
            )
            for pod_set in self.pod_sets
        )


_ORDER = {mode: rank for rank, mode in enumerate(Mode)}
