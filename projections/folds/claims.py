"""Folding what ResourceSlices publish and what claims were given of it: a record, by which nothing is decided."""

from typing import TypeAlias, assert_never

from events.claims import ResourceClaimObserved, ResourceSliceObserved
from projections.folds.refused_objects import accept
from projections.world import World

ClaimEvent: TypeAlias = ResourceSliceObserved | ResourceClaimObserved


def evolve_claims(world: World, event: ClaimEvent) -> None:
    """Fold a slice or a claim as it was last seen."""
    match event:
        case ResourceSliceObserved():
            accept(world, "ResourceSlice", "", event.name)
            world.trail.put(world.resource_slices, event.name, event)
        case ResourceClaimObserved():
            accept(world, "ResourceClaim", event.namespace, event.name)
            world.trail.put(world.resource_claims, f"{event.namespace}/{event.name}", event)
        case _:
            assert_never(event)
