"""Cards as Prometheus metrics: under HAMi's names, and under our own where HAMi has none.

HAMi's names, labels and units are those of its scheduler (docs/rules/devices.md#metrics): memory in bytes, cores in
percent of a card. What its node monitor measures inside containers is not known here, nor are ResourceQuotas, so those
are left to HAMi.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from events.card import Card
from ops.production.cards_view import card_views, flavor_offers, model_capacities, state_of
from projections.devices.drift import all_findings
from projections.devices.use import IDLE
from projections.devices.vendors import BY_WORD
from projections.world import World

MIB = 1 << 20
PERCENT = 100
ZONE = {"zone": "vGPU"}
"""The constant label that HAMi's scheduler puts on everything."""
_CARD = ("node", "device_uuid", "device_index", "device_type")
_SHARE = ("namespace", "node", "pod", "container_index", "device_uuid")

Row = tuple[tuple[str, ...], float]


class CardMetrics(Collector):
    """Collects from the world that it is given at the moment; nothing while there is none."""

    def __init__(self, world: Callable[[], World | None]) -> None:
        self._world = world

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: what there is depends on the world."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All metrics of all cards."""
        world = self._world()
        if world is not None:
            yield from hami_cards(world)
            yield from hami_shares(world)
            yield from ours(world)


def hami_cards(world: World) -> Iterator[Metric]:
    """What HAMi's scheduler says of cards."""
    cards = [
        ((node, card.uuid, str(card.index), card.model), card, world.cards.used.get(card.uuid, IDLE))
        for node, registered in sorted(world.cards.nodes.items())
        for card in registered.cards
    ]
    yield _hami("gpu_memory_limit_bytes", "Memory that a card has", _CARD, [(k, c.memory * MIB) for k, c, _ in cards])
    yield _hami(
        "gpu_core_limit_ratio", "Cores of a card in percent", _CARD, [(k, _percent(c, c.cores)) for k, c, _ in cards]
    )
    yield _hami("gpu_shared_count", "Containers that share a card", _CARD, [(k, u.slots) for k, _, u in cards])
    yield _hami(
        "gpu_core_allocated_ratio",
        "Cores given of a card in percent",
        _CARD,
        [(k, _percent(c, u.cores)) for k, c, u in cards],
    )
    yield _hami(
        "node_gpu_memory_allocated_ratio",
        "Memory given of a card, as a part of what it has",
        _CARD,
        [(k, u.memory / c.memory if c.memory else 0) for k, c, u in cards],
    )
    yield _hami(
        "gpu_memory_allocated_bytes",
        "Memory given of a card",
        (*_CARD, "device_cores"),
        [((*k, str(_percent(c, u.cores))), u.memory * MIB) for k, c, u in cards],
    )
    yield _hami(
        "node_gpu_overview",
        "Memory given of a card, beside what it has",
        (*_CARD, "device_cores", "device_memory_limit"),
        [((*k, str(_percent(c, u.cores)), str(c.memory)), u.memory * MIB) for k, c, u in cards],
    )
    yield _hami(
        "node_gpu_mig_instance_info",
        "Pieces of MIG cards that are given",
        (*_CARD, "profile", "placement_start", "placement_size"),
        [((*k, one.profile, str(one.start), str(one.size)), 1) for k, _, u in cards for one in u.instances],
    )


def hami_shares(world: World) -> Iterator[Metric]:
    """What HAMi's scheduler says of pods; it, too, tells a pod's containers as one."""
    shares = [
        (_share(key, hold.node, uuid), uuid, use)
        for key, hold in sorted(world.cards.pods.items())
        for uuid, use in hold.use.items()
    ]
    known = {card.uuid: card for registered in world.cards.nodes.values() for card in registered.cards}
    yield _hami(
        "vgpu_memory_allocated_bytes", "Memory given to a pod", _SHARE, [(k, u.memory * MIB) for k, _, u in shares]
    )
    yield _hami(
        "vgpu_core_allocated_ratio",
        "Cores given to a pod in percent of a card",
        _SHARE,
        [(k, _percent(known.get(uuid), u.cores)) for k, uuid, u in shares],
    )


def ours(world: World) -> Iterator[Metric]:
    """What the log knows and HAMi does not: reservations, service, what is scattered, what is offered, drift."""
    views = card_views(world)
    by_card = ("node", "device_uuid")
    yield _gauge(
        "kuelog_card_reserved_bytes",
        "Memory of a card that the log has reserved",
        by_card,
        [((one.node, one.card), sum(part.reserved for part in one.slices) * MIB) for one in views],
    )
    yield _gauge(
        "kuelog_card_state",
        "1 for the state that a card is in",
        (*by_card, "state"),
        [
            ((node, card.uuid, state_of(world, registered, card)), 1)
            for node, registered in sorted(world.cards.nodes.items())
            for card in registered.cards
        ],
    )
    models = model_capacities(world)
    for name, help_text, value in (
        ("free", "Free memory on sound cards of a model", lambda one: one.free.memory),
        ("largest", "Free memory on the card of a model that has most", lambda one: one.largest_memory),
        ("stranded", "Free memory on cards without a slot or without cores", lambda one: one.stranded.memory),
    ):
        yield _gauge(
            f"kuelog_model_{name}_bytes", help_text, ("model",), [((one.model,), value(one) * MIB) for one in models]
        )
    promised = flavor_offers(world)
    by_flavor = ("flavor", "resource")
    yield _gauge(
        "kuelog_flavor_nominal",
        "Quota of a flavor",
        by_flavor,
        [((one.flavor, one.resource), one.nominal) for one in promised],
    )
    yield _gauge(
        "kuelog_flavor_offered",
        "What its cards offer",
        by_flavor,
        [((one.flavor, one.resource), one.offered) for one in promised],
    )
    counted: dict[str, int] = {}
    for finding in all_findings(world.cards, world.nodes, world.pods):
        counted[finding.kind] = counted.get(finding.kind, 0) + 1
    yield _gauge(
        "kuelog_drift",
        "Differences between log and cluster",
        ("kind",),
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


def _hami(name: str, help_text: str, labels: tuple[str, ...], rows: list[Row]) -> Metric:
    zoned = [((*values, *ZONE.values()), value) for values, value in rows]
    return _gauge(f"hami_{name}", help_text, (*labels, *ZONE), zoned)


def _gauge(name: str, help_text: str, labels: tuple[str, ...], rows: list[Row]) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for values, value in rows:
        family.add_metric(values, value)
    return family
