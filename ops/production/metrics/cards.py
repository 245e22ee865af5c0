"""Cards as Prometheus metrics: under HAMi's names, and under our own where HAMi has none.

HAMi's names, labels and units are those of its scheduler (docs/rules/devices.md#metrics): memory in bytes, cores in
percent of a card. What its node monitor measures inside containers is not known here, so that is left to HAMi.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.card import Card
from ops.production.cards_view import card_views, flavor_offers, model_capacities, state_of
from ops.production.metrics.families import gauge
from projections.devices.card_use import IDLE
from projections.devices.holdings.drift import NOTES, all_findings
from projections.devices.holdings.namespace_cards import limits_of
from projections.devices.state import config_of
from projections.devices.vendors.table import BY_WORD
from projections.world import World

MIB = 1 << 20
PERCENT = 100


class CardMetrics(Collector):
    """Collects from the world that it is given at the moment; nothing while there is none."""

    def __init__(self, world: Callable[[], World | None]) -> None:
        self._world = world

    def collect(self) -> Iterator[Metric]:
        """All metrics of all cards."""
        world = self._world()
        if world is not None:
            yield from hami_cards(world)
            yield from hami_shares(world)
            yield from hami_quotas(world)
            yield from ours(world)


def hami_cards(world: World) -> Iterator[Metric]:
    """What HAMi's scheduler says of cards."""
    cards = [
        ((node, card.uuid, str(card.index), card.model), card, world.cards.used.get(card.uuid, IDLE))
        for node, registered in sorted(world.cards.nodes.items())
        for card in registered.cards
    ]
    yield gauge("hami_gpu_memory_limit_bytes", [(k, c.memory * MIB) for k, c, _ in cards])
    yield gauge("hami_gpu_core_limit_ratio", [(k, _percent(c, c.cores)) for k, c, _ in cards])
    yield gauge("hami_gpu_shared_count", [(k, u.slots) for k, _, u in cards])
    yield gauge("hami_gpu_core_allocated_ratio", [(k, _percent(c, u.cores)) for k, c, u in cards])
    yield gauge(
        "hami_node_gpu_memory_allocated_ratio", [(k, u.memory / c.memory if c.memory else 0) for k, c, u in cards]
    )
    yield gauge(
        "hami_gpu_memory_allocated_bytes", [((*k, str(_percent(c, c.cores))), u.memory * MIB) for k, c, u in cards]
    )
    yield gauge(
        "hami_node_gpu_overview",
        [((*k, str(_percent(c, c.cores)), str(c.memory)), u.memory * MIB) for k, c, u in cards],
    )
    yield gauge(
        "hami_node_gpu_mig_instance_info",
        [((*k, "", one.profile, "", "", str(one.start), str(one.size)), 1) for k, _, u in cards for one in u.instances],
    )


def hami_shares(world: World) -> Iterator[Metric]:
    """What HAMi's scheduler says of pods; it, too, tells a pod's containers as one."""
    shares = [
        (_share(key, hold.node, uuid), uuid, use)
        for key, hold in sorted(world.cards.pods.items())
        for uuid, use in hold.use.items()
    ]
    known = {card.uuid: card for registered in world.cards.nodes.values() for card in registered.cards}
    yield gauge("hami_vgpu_memory_allocated_bytes", [(k, u.memory * MIB) for k, _, u in shares])
    yield gauge("hami_vgpu_core_allocated_ratio", [(k, _percent(known.get(uuid), u.cores)) for k, uuid, u in shares])


def hami_quotas(world: World) -> Iterator[Metric]:
    """What HAMi's scheduler says of the ResourceQuotas that it looks at, each resource by its name."""
    names = config_of(world).resources
    limits = [
        (namespace, name, limit)
        for namespace in sorted(world.cards.care.quotas)
        for name, limit in sorted(limits_of(world.cards, namespace, names).items())
    ]
    yield gauge("hami_resource_quota_used", [((n, name, _told(one.limit)), one.used) for n, name, one in limits])
    yield gauge(
        "hami_resource_quota_limit",
        [((n, name), float("inf") if one.limit is None else one.limit) for n, name, one in limits],
    )


def ours(world: World) -> Iterator[Metric]:
    """What the log knows and HAMi does not: reservations, service, what is scattered, what is offered, drift."""
    views = card_views(world)
    yield gauge(
        "kuelog_card_reserved_bytes",
        [((one.node, one.card), sum(part.reserved for part in one.slices) * MIB) for one in views],
    )
    yield gauge(
        "kuelog_card_state",
        [
            ((node, card.uuid, state_of(world, registered, card)), 1)
            for node, registered in sorted(world.cards.nodes.items())
            for card in registered.cards
        ],
    )
    models = model_capacities(world)
    for name, value in (
        ("free", lambda one: one.free.memory),
        ("largest", lambda one: one.largest_memory),
        ("stranded", lambda one: one.stranded.memory),
    ):
        yield gauge(f"kuelog_model_{name}_bytes", [((one.model,), value(one) * MIB) for one in models])
    promised = flavor_offers(world)
    yield gauge(
        "kuelog_flavor_nominal",
        [((one.flavor, one.resource), one.nominal) for one in promised],
    )
    yield gauge(
        "kuelog_flavor_offered",
        [((one.flavor, one.resource), one.offered) for one in promised],
    )
    counted: dict[str, int] = {}
    for finding in all_findings(world.cards, world.nodes, world.pods):
        if finding.kind not in NOTES:
            counted[finding.kind] = counted.get(finding.kind, 0) + 1
    yield gauge(
        "kuelog_drift",
        [((kind,), n) for kind, n in sorted(counted.items())],
    )


def _percent(card: Card | None, cores: int) -> int:
    """Cores in percent of the card; compute units rounded up, as HAMi shows them."""
    vendor = BY_WORD.get(card.vendor) if card is not None else None
    if card is None or vendor is None or not vendor.rules.compute_units or not card.cores:
        return cores
    return -(-cores * PERCENT // card.cores)


def _share(key: str, node: str, uuid: str) -> tuple[str, ...]:
    namespace, _, pod = key.partition("/")
    return (namespace, node, pod, "0", uuid)


def _told(limit: int | None) -> str:
    return "+Inf" if limit is None else str(limit)
