"""Which variants a workload has and which of them its job runs as, for those who follow events without a world.

Rule: docs/rules/variants.md#ends
"""

from collections.abc import Mapping

from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.variants import MigrationOrdered, VariantSubmitted
from events.workload import EvictionOrdered, PodsReclaimed, WorkloadChanged, WorkloadDeleted, WorkloadFinished
from projections.trail import Trail
from projections.workloads.variants import FLAVOR_MIGRATION


class VariantFamilies:
    """Workloads and their variants, by what was told of them."""

    def __init__(self, trail: Trail | None = None) -> None:
        self._trail = Trail() if trail is None else trail
        self._taken_back = trail is not None
        """Whether what was told may be taken back, through the trail that was given."""
        self._parents: dict[str, str] = {}
        """By variant its workload."""
        self._variants: dict[str, dict[str, None]] = {}
        self._acting: dict[str, str] = {}
        """By workload the variant that it runs as."""

    @property
    def parents(self) -> dict[str, str]:
        """By variant the workload that it belongs to."""
        return dict(self._parents)

    @property
    def acting(self) -> dict[str, str]:
        """By workload the variant that it runs as."""
        return dict(self._acting)

    def begin_at(self, parents: Mapping[str, str], acting: Mapping[str, str]) -> None:
        """Go on from what was known of variants."""
        self._parents.update(parents)
        self._acting.update(acting)
        for variant, parent in parents.items():
            self._variants.setdefault(parent, {})[variant] = None

    def parent_of(self, variant: str) -> str:
        """The workload that a variant belongs to; empty for one that is none."""
        return self._parents.get(variant, "")

    def has(self, workload: str) -> bool:
        """Whether a workload has variants."""
        return workload in self._variants

    def acts(self, variant: str) -> bool:
        """Whether its job runs as this variant."""
        return self._acting.get(self.parent_of(variant)) == variant

    def act(self, variant: str) -> None:
        """The job of a variant runs as this one from now on."""
        self._trail.put(self._acting, self._parents[variant], variant)

    def rest(self, variant: str) -> None:
        """The job runs as this variant no longer."""
        self._trail.drop(self._acting, self._parents[variant])

    def told(self, event: AnyEvent) -> list[AnyEvent]:
        """What an event says besides of variants, in terms of workloads: what becomes of a job becomes of each of its variants."""
        if not self._taken_back:
            self._trail.forget()
        match event:
            case VariantSubmitted():
                self._trail.put(self._parents, event.workload, event.parent)
                self._trail.add(self._variants, event.parent, event.workload)
            case MigrationOrdered():
                return [EvictionOrdered(workload=event.workload, reason=FLAVOR_MIGRATION, message=event.message)]
            case WorkloadChanged() | WorkloadFinished() | PodsReclaimed():
                return [replace(event, workload=one) for one in self._variants.get(event.workload, ())]
            case WorkloadDeleted():
                return [replace(event, workload=one) for one in self._forget(event.workload)]
            case _:
                pass
        return []

    def _forget(self, parent: str) -> list[str]:
        known = list(self._variants.get(parent, ()))
        for one in known:
            self._trail.drop(self._parents, one)
        self._trail.drop(self._variants, parent)
        self._trail.drop(self._acting, parent)
        return known
