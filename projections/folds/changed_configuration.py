"""What changes of the configuration lead to in several rooms: plans are forgotten, and who was refused is tried again."""

from projections.checks.multikueue import is_multikueue
from projections.queues.retry import reclass_namespace, retry_all_refused, retry_users_of_check, retry_users_of_flavor
from projections.world import World


def forget_plans(world: World) -> None:
    """What was planned for flavors no longer holds."""
    world.plan_cache.clear()
    world.trail.note(world.plan_cache.clear)


def flavor_changed(world: World, flavor: str) -> None:
    """Another search for flavors may end otherwise: let what was refused in queues of this one be tried again."""
    forget_plans(world)
    retry_users_of_flavor(world, flavor)


def readjust(world: World, namespace: str) -> None:
    """Adjust the pods of a namespace's workloads anew: its limit ranges or its card limits have changed."""
    forget_plans(world)
    reclass_namespace(world, namespace)


def reconfigured(world: World) -> None:
    """Review everything after a change of HAMi's configuration: pods may ask for other cards, or for cards by other names."""
    world.use(world.settings)
    for node in sorted(world.cards.nodes):
        world.cards.change_service(node)
    forget_plans(world)
    world.review_holders()
    retry_all_refused(world)


def review_multikueue(world: World) -> None:
    """Review all workloads that may run on other clusters: which clusters there are and can be reached has changed."""
    for check in sorted(world.checks):
        if is_multikueue(world, check):
            retry_users_of_check(world, check)
