"""What claimed devices cost is what an auditor calculates second by second, from the stored JSON and the rule alone."""

import json
from fractions import Fraction
from typing import Any

from hypothesis import given, settings, target
from hypothesis import strategies as st

from events.admission import QuotaReserved, WorkloadAdmitted
from events.billing import Meter, Price, PriceListSet
from events.catalogue import AnyEvent
from events.claims import ClaimedDevice, ClaimUser, DeviceClassMapping, ResourceClaimObserved
from events.codec import encode
from events.control import ObjectRemoved
from events.device import PodObserved
from events.preemption import PreemptionOrdered
from events.settings import SettingsObserved
from events.workload import PodSetAssignment, QuotaReleased, WorkloadSpec, WorkloadSubmitted
from projections.billing.entries.ledger_scope import ALWAYS, LedgerScope
from projections.billing.ledger import Ledger
from projections.billing.lines.charge import charges, pieces
from projections.billing.terms.money import UNIT
from projections.log_position import LogPosition

CLASSES = ("a", "b")
MAPPED = SettingsObserved(device_class_mappings=(DeviceClassMapping(resource="gpus", classes=CLASSES),))
Cost = dict[str, Fraction]


@st.composite
def price_lists(draw: st.DrawFn) -> PriceListSet:
    """Prices of which a second costs whole thousandths: of all devices, and perhaps of a class or a tenant."""
    price = st.integers(0, 9).map(lambda number: f"{number * 36 // 10}.{number * 36 % 10}")
    found = [Price(meter=Meter.DEVICE, unit_price=draw(price))]
    if draw(st.booleans()):
        found.append(Price(meter=Meter.DEVICE, device_class=draw(st.sampled_from(CLASSES)), unit_price=draw(price)))
    if draw(st.booleans()):
        found.append(Price(meter=Meter.DEVICE, tenant="t0", unit_price=draw(price)))
    credits = ("Preempted",) if draw(st.booleans()) else ()
    return PriceListSet(name="prices", currency="EUR", starts=0, prices=tuple(found), credits=credits)


@st.composite
def attempt(draw: st.DrawFn, key: str, number: int) -> list[AnyEvent]:
    """A workload gets quota, its pods get devices and give them up, and it is stopped or not."""
    space, _, name = key.partition("/")
    given_to = PodSetAssignment(name="main", count=1, flavors={}, usage={})
    events: list[AnyEvent] = [
        QuotaReserved(workload=key, cluster_queue="cq", assignments=(given_to,)),
        WorkloadAdmitted(workload=key, cluster_queue="cq"),
    ]
    gone: list[AnyEvent] = []
    for index in range(draw(st.integers(0, 2))):
        pod = f"{name}-{number}-{index}"
        devices = tuple(
            ClaimedDevice(driver="d", pool="n", device=f"{pod}-{place}", device_class=one, admin=draw(st.booleans()))
            for place, one in enumerate(draw(st.lists(st.sampled_from(CLASSES), max_size=3)))
        )
        users = (ClaimUser(name=pod),)
        seen: list[AnyEvent] = [
            PodObserved(namespace=space, name=pod, uid=pod, node="n", workload=key, cardless=True),
            ResourceClaimObserved(namespace=space, name=pod, devices=devices, pods=users, made_for=users[0]),
        ]
        events += draw(st.permutations(seen))
        gone += draw(
            st.permutations([ObjectRemoved(kind=kind, namespace=space, name=pod) for kind in ("Pod", "ResourceClaim")])
        )
    if draw(st.booleans()):
        events.append(PreemptionOrdered(workload=key, preemptor="t/x", reason="InClusterQueue"))
    at = draw(st.integers(0, len(gone)))
    return [*events, *gone[:at], QuotaReleased(workload=key, reason="x"), *gone[at:]]


@st.composite
def histories(draw: st.DrawFn) -> list[AnyEvent]:
    """Attempts of three workloads and price lists, mixed; those of one workload one after the other."""
    rows: list[list[AnyEvent]] = [[draw(price_lists()) for _ in range(draw(st.integers(1, 3)))]]
    for number, key in enumerate(("t0/w", "t0/v", "t1/w")):
        spec = WorkloadSpec(queue="lq", pod_sets=())
        row: list[AnyEvent] = [WorkloadSubmitted(workload=key, uid=f"u{number}", created_at=0, spec=spec)]
        for turn in range(draw(st.integers(0, 2))):
            row += draw(attempt(key, turn))
        rows.append(row)
    mixed: list[AnyEvent] = [MAPPED]
    while left := [row for row in rows if row]:
        mixed.append(draw(st.sampled_from(left)).pop(0))
    return mixed


class Auditor:
    """Reads events as JSON, one a second: what claims have and whose they are stands in the facts, and nothing of kuelog is asked."""

    def __init__(self, stored: list[dict[str, Any]]) -> None:
        self.stored = stored
        self.owner_of_pod = {name_of(one): one["workload"] for one in stored if one["type"] == "PodObserved.v1"}
        self.lists = [(number, one) for number, one in enumerate(stored) if one["type"] == "PriceListSet.v1"]
        self.running: dict[str, int] = {}
        """By workload the number of its attempt."""
        self.held: dict[str, tuple[dict[str, Any], str, int]] = {}
        """By claim: what it has, and of whose attempt it is."""
        self.spent: dict[tuple[str, str, int], Fraction] = {}
        """By claim, workload and attempt: what it has cost, and was not given back."""
        self.stopped: set[tuple[str, int]] = set()
        self.over: set[tuple[str, int]] = set()

    def in_force(self, number: int) -> dict[str, Any] | None:
        """The price list in a second; the first one is in force before it was entered, too."""
        known = [one for at, one in self.lists if at <= number] or [one for _, one in self.lists[:1]]
        return known[-1] if known else None

    def audit(self) -> Cost:
        """By workload what it is charged: each second, each device that a claim has, less what was cut short."""
        for number, event in enumerate(self.stored):
            self.hear(number, event)
            prices = self.in_force(number)
            for name, (claim, workload, turn) in self.held.items() if number < len(self.stored) - 1 else ():
                for device in claim.get("devices", ()) if prices is not None else ():
                    if not device.get("admin"):
                        each = price_of(prices or {}, device["device_class"], workload.partition("/")[0]) / 3600
                        self.spent[name, workload, turn] = self.spent.get((name, workload, turn), Fraction(0)) + each
        found: Cost = {}
        for (_, workload, _), amount in self.spent.items():
            found[workload] = found.get(workload, Fraction(0)) + amount
        return {workload: amount for workload, amount in found.items() if amount}

    def hear(self, number: int, event: dict[str, Any]) -> None:
        key = event.get("workload", "")
        match event["type"]:
            case "QuotaReserved.v1":
                self.running[key] = number
            case "PreemptionOrdered.v1":
                self.stopped.add((key, self.running[key]))
            case "ResourceClaimObserved.v1":
                workload = self.owner_of_pod[name_of(event)]
                self.held[name_of(event)] = (event, workload, self.running[workload])
            case "QuotaReleased.v1":
                self.over.add((key, self.running[key]))
                ended = {
                    one[0] for one in self.spent if one[1:] == (key, self.running[key]) and one[0] not in self.held
                }
                self.give_back(number, key, self.running[key], ended)
            case "ObjectRemoved.v1" if event["kind"] == "ResourceClaim":
                _, workload, turn = self.held.pop(name_of(event))
                if (workload, turn) in self.over:
                    self.give_back(number, workload, turn, {name_of(event)})
            case _:
                pass

    def give_back(self, number: int, workload: str, turn: int, claims: set[str]) -> None:
        """What these claims of an attempt had, if it was cut short and the list in force gives that back."""
        prices = self.in_force(number)
        if (
            prices is not None
            and (workload, turn) in self.stopped
            and "Preempted" in prices.get("credits", ["Preempted"])
        ):
            for name in claims:
                self.spent.pop((name, workload, turn), None)


def name_of(event: dict[str, Any]) -> str:
    return f"{event['namespace']}/{event['name']}"


def price_of(prices: dict[str, Any], device_class: str, tenant: str) -> Fraction:
    fitting = [
        one
        for one in prices["prices"]
        if one.get("device_class", "") in ("", device_class) and one.get("tenant", "") in ("", tenant)
    ]
    agreed = [one for one in fitting if one.get("tenant")] or fitting
    return Fraction(max(agreed, key=lambda one: bool(one.get("device_class")))["unit_price"])


def billed(events: list[AnyEvent]) -> Cost:
    ledger = Ledger(LedgerScope(prices_devices=True))
    for number, event in enumerate(events):
        ledger.fold(event, LogPosition(partition="LOG_0", sequence=number, at=number * 1000))
    ledger.finish((len(events) - 1) * 1000)
    total: dict[str, Fraction] = {}
    for piece in pieces(ledger, ALWAYS):
        workload = piece.entry.holder.workload
        amount = sum((Fraction(one.cost, UNIT) for one in charges(piece)), Fraction(0))
        total[workload] = total.get(workload, Fraction(0)) + amount
    return {workload: amount for workload, amount in total.items() if amount}


@given(histories())
@settings(max_examples=150)
def test_the_bill_of_claimed_devices_is_what_the_auditor_calculates(events: list[AnyEvent]) -> None:
    found = billed(events)
    target(float(len(found)), label="workloads that are charged")
    assert found == Auditor([json.loads(encode(event)) for event in events]).audit()
