"""What idle and stranded card memory costs, and who pays for it."""

from typing import Any

import pytest

from events.billing import LineKind, Meter, Price, PriceListSet, Spread
from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReserved, NodeObserved, PodPlacement
from events.quota import ClusterQueueObserved, FlavorObserved, FlavorQuotas, LocalQueueObserved, Quota, ResourceGroup
from projections.billing.cards.card_book import CardBook
from projections.billing.entries.entry import BilledSlice, CardEntry, Cause, Holder, Window
from projections.billing.entries.ledger_scope import LedgerScope
from projections.billing.entries.time_cuts import TimeCuts
from projections.billing.ledger import Ledger
from projections.billing.lines.amounts import Amount
from projections.billing.lines.charged_lines import charged_lines
from projections.billing.lines.lent_quota import lent_costs
from projections.billing.lines.unused_capacity import unused_costs
from projections.billing.quota.quota_book import Lent, QuotaBook
from projections.billing.terms.money import UNIT
from projections.log_position import LogPosition

HOUR = 3_600_000
DAY = Window(0, 24 * HOUR)


def price(meter: Meter, value: str, **words: str | Spread) -> Price:
    return Price(meter=meter, unit_price=value, **words)  # type: ignore[arg-type]


def ledger(
    *prices: Price,
    until: int = 2 * HOUR,
    node: NodeObserved = NodeObserved(name="n", labels={"card": "m"}, ready=True),
    card: Card = Card(uuid="c", slots=4, memory=4096, model="M"),
    cordoned: tuple[str, ...] = (),
    more: tuple[AnyEvent, ...] = (),
    later: tuple[AnyEvent, ...] = (),
) -> Ledger:
    """One card of 4 GiB on a node of flavor f, until then; queues a (3 of it) and b (1), in namespaces x and y.

    `later` is told after an hour.
    """
    found = Ledger(LedgerScope(window=DAY, cuts=TimeCuts((0, HOUR))))
    list_ = PriceListSet(name="p", currency="EUR", starts=0, prices=prices)
    events = (
        list_,
        FlavorObserved(name="f", node_labels={"card": "m"}),
        *(queue(name, nominal) for name, nominal in (("a", 3), ("b", 1))),
        *(
            LocalQueueObserved(namespace=space, name=f"to-{name}", cluster_queue=name)
            for name, space in (("a", "x"), ("a", "y"), ("b", "y"))
        ),
        node,
        DevicesRegistered(node="n", cards=(card,), cordoned=cordoned),
        *more,
    )
    for number, event in enumerate(events, 1):
        found.fold(event, LogPosition(partition="CONTROL" if event is list_ else "FACTS", sequence=number, at=0))
    for number, event in enumerate(later, 100):
        found.fold(event, LogPosition(partition="FACTS", sequence=number, at=HOUR))
    found.at = until
    found.finish(until)
    return found


def queue(name: str, nominal: int) -> ClusterQueueObserved:
    quota = FlavorQuotas(flavor="f", quotas=(Quota(resource="nvidia.com/gpu", nominal=nominal),))
    return ClusterQueueObserved(name=name, groups=(ResourceGroup(resources=("nvidia.com/gpu",), flavors=(quota,)),))


def test_idle_memory_costs_its_price_in_each_stretch_and_is_nobodys_where_nobody_held_any() -> None:
    found = list(unused_costs(ledger(price(Meter.IDLE, "0.5")), DAY))
    assert [(one.kind, one.key.begin, one.until, one.free, one.cost, one.shares) for one in found] == [
        (LineKind.IDLE, 0, HOUR, 4096 * HOUR, 2 * UNIT, ()),
        (LineKind.IDLE, HOUR, 24 * HOUR, 4096 * HOUR, 2 * UNIT, ()),
    ]


@pytest.mark.parametrize(
    "told",
    [
        {"node": NodeObserved(name="n", labels={"card": "m"}, ready=False)},
        {"node": NodeObserved(name="n", labels={"card": "m"}, unschedulable=True)},
        {"card": Card(uuid="c", slots=4, memory=4096, model="M", healthy=False)},
        {"cordoned": ("c",)},
    ],
    ids=["lost", "node cordoned", "unhealthy", "cordoned"],
)
def test_cards_that_are_cordoned_unhealthy_or_lost_cost_nobody_anything(told: dict[str, Any]) -> None:
    both = price(Meter.IDLE, "1"), price(Meter.STRANDED, "1")
    assert list(unused_costs(ledger(*both, **told), DAY)) == []
    assert len(list(unused_costs(ledger(*both), DAY))) == 2, "else this shows nothing"


@pytest.mark.parametrize(
    ("slots", "share", "kind"),
    [
        (4, CardShare(uuid="c", vendor="NVIDIA", memory=1024, cores=10), LineKind.IDLE),
        (1, CardShare(uuid="c", vendor="NVIDIA", memory=1024, cores=10), LineKind.STRANDED),
        (4, CardShare(uuid="c", vendor="NVIDIA", memory=1024, cores=100), LineKind.STRANDED),
        (4, CardShare(uuid="c", vendor="NVIDIA", memory=1024, cores=99), LineKind.IDLE),
        (4, CardShare(uuid="c", vendor="NVIDIA", memory=4096, cores=10), None),
    ],
)
def test_what_is_free_on_a_card_without_slots_or_cores_left_is_stranded(
    slots: int, share: CardShare, kind: LineKind | None
) -> None:
    given = DevicesReserved(
        workload="x/w",
        reservation=1,
        placements=(PodPlacement(pod_set="main", index=0, node="n", containers=((share,),)),),
    )
    card = Card(uuid="c", slots=slots, memory=4096, model="M")
    both = price(Meter.IDLE, "1"), price(Meter.STRANDED, "1")
    found = unused_costs(ledger(*both, until=HOUR, card=card, more=(given,)), DAY)
    assert [(one.kind, one.free) for one in found] == ([] if kind is None else [(kind, 3072 * HOUR)])


def test_by_quota_each_queue_pays_its_nominal_part_and_its_namespaces_share_that() -> None:
    told = ledger(price(Meter.IDLE, "0.5", spread=Spread.QUOTA, resource="nvidia.com/gpu"), until=HOUR)
    (one,) = unused_costs(told, DAY)
    assert {tenant: cost for tenant, _, cost in one.shares} == {"x": UNIT * 3 // 4, "y": UNIT * 3 // 4 + UNIT // 2}
    lines = [line for line in charged_lines(told, DAY) if isinstance(line, Amount)]
    assert [(line.tenant, line.cost) for line in lines if line.kind is LineKind.IDLE] == [
        ("x", UNIT * 3 // 4),
        ("y", UNIT * 5 // 4),
    ]


def test_by_quota_each_stretch_goes_by_the_quotas_and_doors_of_its_own_time() -> None:
    told = ledger(
        price(Meter.IDLE, "0.5", spread=Spread.QUOTA, resource="nvidia.com/gpu"),
        later=(queue("a", 1), ObjectRemoved(kind="LocalQueue", namespace="y", name="to-a")),
    )
    first, second = unused_costs(told, DAY)
    assert {tenant: cost for tenant, _, cost in first.shares} == {"x": UNIT * 3 // 4, "y": UNIT * 5 // 4}
    assert {tenant: cost for tenant, _, cost in second.shares} == {"x": UNIT, "y": UNIT}


def test_of_a_node_without_a_flavor_those_pay_who_held_memory_of_the_same_model_in_any() -> None:
    told = ledger(price(Meter.IDLE, "0.5"), until=HOUR, node=NodeObserved(name="n"))
    told.cards.kept.inside += [held("lab", "f", "M", 1024), held("team", "g", "M", 1024), held("y", "f", "N", 1)]
    (one,) = unused_costs(told, DAY)
    assert {tenant: cost for tenant, _, cost in one.shares} == {"lab": UNIT, "team": UNIT}


def test_what_can_not_be_divided_goes_to_the_first_by_name_of_those_who_held_as_much() -> None:
    told = ledger(price(Meter.IDLE, "0.0000000001"), until=HOUR)
    told.cards.kept.inside += [held(name, "f", "M", 1024) for name in ("cc", "ba", "ab")]
    (one,) = unused_costs(told, DAY)
    assert {tenant: cost for tenant, _, cost in one.shares} == {"ab": 2, "ba": 1, "cc": 1}


def test_by_use_those_pay_who_held_memory_of_the_same_flavor_and_model() -> None:
    told = ledger(price(Meter.IDLE, "0.5"), until=HOUR)
    told.cards.kept.inside += [
        held("lab", "f", "M", 1024),
        held("team", "f", "M", 3072),
        held("x", "g", "M", 1),
        held("y", "f", "N", 1),
    ]
    (one,) = unused_costs(told, DAY)
    assert {tenant: cost for tenant, _, cost in one.shares} == {"lab": UNIT // 2, "team": UNIT * 3 // 2}


def held(tenant: str, flavor: str, model: str, memory: int) -> CardEntry:
    card = Card(uuid=f"{tenant}-card", slots=4, memory=4096, model=model)
    return CardEntry(
        id=tenant,
        kind=LineKind.USAGE,
        holder=Holder(tenant=tenant, workload=f"{tenant}/w"),
        slice=BilledSlice(card=card, node="n", flavor=flavor, memory=memory, cores=1, slots=1),
        since=0,
        until=HOUR // 2,
        began=Cause("reserved", 0, "LOG_0", 1),
        ended=None,
    )


def test_by_none_it_is_told_and_nobody_pays() -> None:
    told = ledger(price(Meter.IDLE, "0.5", spread=Spread.NONE))
    assert sum(one.cost for one in unused_costs(told, DAY)) == 4 * UNIT
    assert not [line for line in charged_lines(told, DAY) if isinstance(line, Amount)]


def test_the_most_particular_price_applies_and_what_has_none_is_not_told() -> None:
    prices = (price(Meter.IDLE, "1"), price(Meter.IDLE, "2", model="M"), price(Meter.IDLE, "3", flavor="f"))
    assert next(iter(unused_costs(ledger(*prices), DAY))).cost == 12 * UNIT
    assert next(iter(unused_costs(ledger(*prices[:2]), DAY))).cost == 8 * UNIT
    assert list(unused_costs(ledger(price(Meter.STRANDED, "1")), DAY)) == []


def test_cards_without_a_price_for_their_free_time_cost_no_sums() -> None:
    assert CardBook(DAY).unused is None and Ledger().unused is None


def test_lent_quota_is_worth_its_price_stretch_by_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    told = ledger(price(Meter.LENT, "2", resource="nvidia.com/gpu"), price(Meter.LENT, "3", flavor="f", resource="cpu"))
    lent = Lent("a", "b", "f", "cpu")
    held = {(0, lent): 1000 * HOUR, (HOUR, lent): 500 * HOUR, (0, Lent("a", "b", "f", "disk")): 1}
    monkeypatch.setattr(QuotaBook, "priced", held)
    assert lent_costs(told) == {lent: 3 * UNIT + 3 * UNIT // 2}
