"""What changes of the configuration lead to in several rooms: plans are forgotten, and who was refused is tried again."""

from msgspec.structs import replace

from projections.checks.multikueue import is_multikueue
from projections.devices.card_config import CardConfig
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.state import config_of
from projections.queues.retry import reclass_namespace, retry_all_refused, retry_users_of_check, retry_users_of_flavor
from projections.workloads.lifecycle import Workload
from projections.world import World

_ASKS_OTHERWISE = "HAMi's configuration has changed: its pods ask for other cards"


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


def reconfigured(world: World, before: CardConfig) -> None:
    """Review everything after a change of HAMi's configuration: pods may ask for other cards, or for cards by other names."""
    world.use(world.settings)
    outdate_cards(world, before)
    for node in sorted(world.cards.nodes):
        world.cards.change_service(node)
    forget_plans(world)
    world.review_holders()
    retry_all_refused(world)


def outdate_cards(world: World, before: CardConfig) -> None:
    """Who is not admitted yet, and whose pods ask for other cards by now, has his cards found anew; who is keeps them.

    Rule: docs/rules/devices.md#config
    """
    for workload in [world.workloads[key] for holders in world.holding.values() for key in holders]:
        admission, devices = workload.admission, workload.devices
        if admission is None or not _asks_otherwise(workload, before, config_of(world)):
            continue
        if devices is None:
            world.cards.withdraw(workload.key, admission.reservation)
        elif not devices.refused:
            world.put_workload(replace(workload, devices=replace(devices, message=_ASKS_OTHERWISE)))


def _asks_otherwise(workload: Workload, before: CardConfig, now: CardConfig) -> bool:
    if before is now or workload.admitted or workload.resizing.continues:
        return False
    shapes = [one.shape for one in workload.spec.pod_sets]
    return any(pod_card_requests(one, before) != pod_card_requests(one, now) for one in shapes)


def review_multikueue(world: World) -> None:
    """Review all workloads that may run on other clusters: which clusters there are and can be reached has changed."""
    for check in sorted(world.checks):
        if is_multikueue(world, check):
            retry_users_of_check(world, check)
