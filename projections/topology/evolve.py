"""Folding what is observed of nodes besides themselves: what pods hold there that are not placed by topology."""

from collections.abc import Mapping

from events.device import NodeUsageObserved
from projections.evolve_objects import retry_users_of_flavor
from projections.topology.flavor_nodes import placing_flavors
from projections.world import World


def evolve_topology(world: World, event: NodeUsageObserved) -> None:
    """Fold one fact about the pods of a node; where there is more room than before, refused workloads are tried again."""
    before: Mapping[str, int] = world.node_usage.get(event.node, {})
    if event.requests:
        world.trail.put(world.node_usage, event.node, event.requests)
    else:
        world.trail.drop(world.node_usage, event.node)
    world.domains.node_usage_changed(event.node, before, event.requests)
    if any(event.requests.get(resource, 0) < amount for resource, amount in before.items()):
        for flavor in placing_flavors(world.flavors, world.nodes.get(event.node)):
            retry_users_of_flavor(world, flavor)
