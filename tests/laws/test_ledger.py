"""The ledger against an integrator that knows nothing of it: it looks at the world at every tick and adds up."""

import random
from collections import Counter
from fractions import Fraction

import msgspec
import pytest

from events.admission import WorkloadAdmitted
from events.billing import CorrectionEntered, LineKind
from events.catalogue import AnyEvent
from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from ops.queries.billing.focus import rows
from ops.queries.billing.focus_columns import NAMES, broken_rules
from ops.queries.billing.reading import ledger_of
from projections.billing.cards.card_book import Part
from projections.billing.cards.reconcile import reconcile
from projections.billing.entries.entry import Window
from projections.billing.ledger import Ledger
from projections.billing.lines.totals import bill
from projections.billing.terms.money import UNIT, parse_money
from projections.devices.holdings.card_stakes import POD
from projections.world import World
from tests.laws.random_day import DAY_BEGINS, TICK, Day, a_day

HOUR = 3_600_000


class Integrator:
    """Sums of what is seen at each tick: who holds what of which card, how cards stand, who uses more than its own."""

    def __init__(self) -> None:
        self.at = DAY_BEGINS
        self.held: Counter[tuple[str, int, str, str, str]] = Counter()
        self.cards: Counter[tuple[str, str, str]] = Counter()
        self.quota: Counter[tuple[str, str]] = Counter()
        self.borrowed: Counter[tuple[str, str]] = Counter()
        self.slots: list[tuple[int, str, int, int, bool]] = []
        self.admitted: set[tuple[str, int]] = set()

    def __call__(self, world: World, at: int, event: AnyEvent | None) -> None:
        if event is None:
            for tick in range(self.at, at, TICK):
                self.sample(world, tick)
            self.at = max(at, self.at)
        elif isinstance(event, WorkloadAdmitted):
            admission = world.workloads[event.workload].admission
            assert admission is not None
            self.admitted.add((event.workload, admission.reservation))

    def sample(self, world: World, tick: int) -> None:
        for node, registered in world.registered.items():
            seen = world.nodes.get(node)
            if seen is None:
                continue
            for card in registered.cards:
                state = "LOST" if not seen.ready else "UNHEALTHY" if not card.healthy else "OK"
                if state == "OK" and card.uuid in registered.cordoned:
                    state = "CORDONED"
                self.sample_card(world, card, state, tick)
        for queue, holders in world.holding.items():
            used: Counter[str] = Counter()
            for amounts in holders.usage.values():
                for column, amount in amounts.items():
                    used[world.quota.columns.names[column][1]] += amount
            nominal = {
                quota.resource: quota.nominal for quota in world.cluster_queues[queue].groups[0].flavors[0].quotas
            }
            for resource, amount in used.items():
                self.quota[queue, resource] += amount * TICK
                self.borrowed[queue, resource] += max(amount - nominal[resource], 0) * TICK

    def sample_card(self, world: World, card: object, state: str, tick: int) -> None:
        uuid: str = card.uuid  # type: ignore[attr-defined]
        whole: int = card.memory  # type: ignore[attr-defined]
        self.cards[uuid, "CAPACITY", ""] += whole * TICK
        if state in {"LOST", "UNHEALTHY"}:
            self.cards[uuid, state, ""] += whole * TICK
            return
        memory = cores = slots = 0
        for holding in world.cards.holdings.values():
            if not holding.confirmed:
                continue
            kind = "usage" if (holding.workload, holding.reservation) in self.admitted else "reservation"
            for placement in holding.placements:
                for share in placement.containers[0]:
                    if share.uuid == uuid:
                        key = (holding.workload, holding.reservation, kind, uuid)
                        self.held[(*key, "memory")] += share.memory * TICK
                        self.held[(*key, "cores")] += share.cores * TICK
                        self.slots.append(
                            (tick, kind, share.memory, share.cores, exclusive(share.memory, share.cores, 1))
                        )
                        memory, cores, slots = memory + share.memory, cores + share.cores, slots + 1
        for owner, stake in world.cards.stakes.get(uuid, {}).items():
            more = tuple(
                max(held - reserved, 0)
                for held, reserved in (
                    (stake.held.memory, confirmed(world, owner, uuid, "memory")),
                    (stake.held.cores, confirmed(world, owner, uuid, "cores")),
                    (stake.held.slots, confirmed(world, owner, uuid, "slots")),
                )
            )
            if any(more):
                kind = "elsewhere" if uuid in held_elsewhere(world, owner) else "unreserved"
                self.held[owner, 0, kind, uuid, "memory"] += more[0] * TICK
                self.held[owner, 0, kind, uuid, "cores"] += more[1] * TICK
                self.slots += [(tick, kind, more[0], more[1], exclusive(*more))] * (kind == "unreserved")
                memory, cores, slots = memory + more[0], cores + more[1], slots + more[2]
        self.cards[uuid, "USED", ""] += memory * TICK
        free = whole - memory
        if free < 0:
            self.cards[uuid, "OVER", ""] += -free * TICK
            return
        full = memory >= whole or cores >= 100 or slots >= 4
        rest = "CORDONED" if state == "CORDONED" else "STRANDED" if full else "IDLE"
        self.cards[uuid, rest, ""] += free * TICK


def held_elsewhere(world: World, owner: str) -> set[str]:
    """Cards that pods of an owner hold instead of reserved ones: in order of their names, as far as slots are missing."""
    stakes = {uuid: found[owner].held.slots for uuid, found in world.cards.stakes.items() if owner in found}
    reserved = {uuid: confirmed(world, owner, uuid, "slots") for uuid in stakes}
    left = sum(max(reserved[uuid] - held, 0) for uuid, held in stakes.items())
    found = set[str]()
    for uuid in sorted(stakes):
        more = stakes[uuid] - reserved[uuid]
        if 0 < more <= left:
            found.add(uuid)
            left -= more
    return found


def exclusive(memory: int, cores: int, slots: int) -> bool:
    return memory >= 32768 or cores >= 100 or slots >= 4


def confirmed(world: World, owner: str, uuid: str, what: str) -> int:
    return sum(
        {"memory": share.memory, "cores": share.cores, "slots": 1}[what]
        for holding in world.cards.holdings.values()
        if holding.confirmed and holding.workload == owner
        for placement in holding.placements
        for share in placement.containers[0]
        if share.uuid == uuid
    )


def lived(seed: int) -> tuple[Day, Integrator, Ledger, Window]:
    seen = Integrator()
    day = a_day(seed, seen)
    ledger, read = ledger_of(day.entries)
    assert read.last == day.at == seen.at
    return day, seen, ledger, Window(DAY_BEGINS, day.at + 1)


def without_zeros(found: Counter) -> dict:  # type: ignore[type-arg]
    return {key: amount for key, amount in found.items() if amount}


@pytest.mark.parametrize("seed", range(100))
def test_the_ledger_is_what_was_seen_at_every_tick(seed: int) -> None:
    day, seen, ledger, window = lived(seed)
    held: Counter[tuple[str, int, str, str, str]] = Counter()
    for entry in ledger.entries:
        length = entry.until - entry.since
        assert length > 0
        key = (entry.holder.workload, entry.holder.attempt, str(entry.kind), entry.slice.card.uuid)
        held[(*key, "memory")] += entry.slice.memory * length
        held[(*key, "cores")] += entry.slice.cores * length
    assert without_zeros(held) == without_zeros(seen.held)
    cards: Counter[tuple[str, str, str]] = Counter()
    for place, sums in ledger.cards.book.sums.items():
        cards[place.card, "CAPACITY", ""] += sums.capacity[0]
        for part in Part:
            cards[place.card, part.name, ""] += sums.memory[part]
    assert without_zeros(cards) == without_zeros(seen.cards)
    assert not reconcile(ledger.cards.book, ledger.entries).mismatches
    by_hour, _ = ledger_of(day.entries, window, grain=1000)
    assert not reconcile(by_hour.cards.book, by_hour.entries).mismatches
    the_quota_is_what_was_seen(seen, ledger)
    the_cost_is_that_of_every_tick(seen, ledger, window)


def the_quota_is_what_was_seen(seen: Integrator, ledger: Ledger) -> None:
    quota: Counter[tuple[str, str]] = Counter()
    borrowed: Counter[tuple[str, str]] = Counter()
    lent: Counter[str] = Counter()
    for held, amount in ledger.quota.held.items():
        quota[held.queue, held.resource] += amount
    for key, amount in ledger.quota.borrowed.items():
        assert amount > 0 and key.borrower != key.lender
        borrowed[key.borrower, key.resource] += amount
        lent[key.resource] += amount
    assert without_zeros(quota) == without_zeros(seen.quota)
    assert without_zeros(borrowed) == without_zeros(seen.borrowed)


def the_cost_is_that_of_every_tick(seen: Integrator, ledger: Ledger, window: Window) -> None:
    """To within what rounding each line to ten places may make."""
    exact = Fraction(0)
    for tick, _, memory, cores, whole in seen.slots:
        prices = {price.meter: parse_money(price.unit_price) for price in at(ledger, tick)}
        if whole:
            exact += Fraction(prices["exclusive"] * TICK, HOUR)
        else:
            exact += Fraction(prices["memory"] * memory * TICK, 1024 * HOUR)
            exact += Fraction(prices["cores"] * cores * TICK, 100 * HOUR)
    found = bill(ledger, window, ("tenant",))
    kinds = {LineKind.USAGE, LineKind.RESERVATION, LineKind.UNRESERVED}
    cost = sum(row.totals.cost or 0 for row in found.rows if row.kind in kinds)
    assert not found.unpriced
    assert abs(cost - exact) <= 2 * len(ledger.entries) + 2 * len(ledger.prices.lists) * len(ledger.entries)
    assert sum(found.total.values()) % (UNIT // 100) == 0, "a total is in whole cents"


def at(ledger: Ledger, tick: int) -> tuple:  # type: ignore[type-arg]
    prices = ledger.prices.at(tick)
    assert prices is not None
    return prices.event.prices


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_corrections_reverse_and_enter_again(seed: int) -> None:
    day, _, before, window = lived(seed)
    chance = random.Random(seed)
    over = [entry for entry in before.entries if entry.ended is not None]
    picked = chance.sample(over, min(5, len(over)))
    paid_back = {entry.id for waste in before.wastes if waste.reason == "Preempted" for entry in waste.entries}
    expected = 0
    for place, entry in enumerate(picked):
        until = entry.since + chance.randrange(1, 100) * TICK
        again = place % 2 == 0
        if entry.id not in paid_back:
            expected -= entry.slice.memory * (entry.until - entry.since)
            expected += entry.slice.memory * (until - entry.since) if again else 0
        day.operate(
            CorrectionEntered(
                tenant="team",
                entry=entry.id,
                since=entry.since if again else None,
                until=until if again else None,
                reason="wrong",
                author="ann",
            )
        )
    day.operate(CorrectionEntered(tenant="team", amount="-1.25", reason="goodwill", author="ann"))
    after, _ = ledger_of(day.entries, window, wanted=[entry.id for entry in picked])
    old, new = bill(before, window, ()), bill(after, window, ())
    corrected = [row.totals for row in new.rows if row.kind is LineKind.CORRECTION]
    assert sum(one.memory for one in corrected) == expected
    usual = [(row.group, row.kind, plain(row.totals)) for row in new.rows if row.kind in {LineKind.USAGE}]
    assert usual == [(row.group, row.kind, plain(row.totals)) for row in old.rows if row.kind in {LineKind.USAGE}]
    assert not new.unknown_entries
    assert not reconcile(after.cards.book, after.entries).mismatches, "corrections change no card's time"


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_a_clock_that_is_wrong_once_moves_only_what_that_message_tells(seed: int) -> None:
    day, _, right, _ = lived(seed)
    chance = random.Random(seed)
    place = chance.randrange(12, len(day.entries[FACTS]) - 5)
    stored = msgspec.json.decode(day.entries[FACTS][place].data)
    off = chance.choice((-3_600_000, 3_600_000))
    data = msgspec.json.encode({**stored, "at": stored["at"] + off})
    day.entries[FACTS][place] = msgspec.structs.replace(day.entries[FACTS][place], data=data)
    wrong, read = ledger_of(day.entries)
    assert [(one.stream, one.sequence) for one in read.skewed] == [(FACTS, place + 1)]
    assert not reconcile(wrong.cards.book, wrong.entries).mismatches

    def untouched(ledger: Ledger) -> list[object]:
        told = ("FACTS", place + 1)
        ends = [(one, one.began, one.ended) for one in ledger.entries]
        return sorted(
            msgspec.json.encode(one)
            for one, began, ended in ends
            if told not in {(cause.partition, cause.sequence) for cause in (began, ended) if cause is not None}
        )

    assert untouched(wrong) == untouched(right)


def plain(value: object) -> object:
    return msgspec.to_builtins(value)


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_every_row_keeps_the_rules_of_focus(seed: int) -> None:
    _, _, ledger, window = lived(seed)
    total = Fraction(0)
    for row in rows(ledger, window):
        told = dict(zip(NAMES, row, strict=True))
        assert broken_rules(told) == []
        total += Fraction(told["BilledCost"])
        for unit, cost in (("ListUnitPrice", "ListCost"), ("ContractedUnitPrice", "ContractedCost")):
            if told[unit]:
                product = Fraction(told[unit]) * Fraction(told["PricingQuantity"])
                off = abs(product - Fraction(told[cost])) * 10**10
                assert off <= Fraction(1, 2) + Fraction(1, 10**6), "rounded once, to ten places"
    assert total * UNIT == sum(bill(ledger, window, ()).total.values())


def test_the_same_log_gives_the_same_bytes_and_a_longer_one_the_same_past() -> None:
    day, _, ledger, window = lived(7)
    again, _ = ledger_of(day.entries)
    assert list(rows(ledger, window)) == list(rows(again, window))
    past = Window(DAY_BEGINS, (DAY_BEGINS + day.at) // 2)
    whole, _ = ledger_of(day.entries, past)
    shorter = {
        name: [one for one in found if name == CONTROL or time_of(one.data) <= past.until + 1000]
        for name, found in day.entries.items()
    }
    part, _ = ledger_of(shorter, past)
    assert list(rows(whole, past)) == list(rows(part, past))


def time_of(data: bytes) -> int:
    return int(msgspec.json.decode(data)["at"])


def test_the_days_have_what_they_should() -> None:
    """Preemption, credits, lost nodes, stranded and overfull cards, thieves, late facts, several price lists."""
    seen: Counter[str] = Counter()
    for seed in range(0, 100, 5):
        day, _, ledger, _ = lived(seed)
        _, read = ledger_of(day.entries)
        seen["late"] += read.late
        seen["waste"] += len(ledger.wastes)
        seen["lists"] += len(ledger.prices.lists) - 1
        seen["reservation"] += sum(entry.kind is LineKind.RESERVATION for entry in ledger.entries)
        seen["elsewhere"] += sum(entry.kind is LineKind.ELSEWHERE for entry in ledger.entries)
        seen["stray"] += sum(entry.holder.workload.startswith(POD) for entry in ledger.entries)
        seen["borrowed"] += len(ledger.quota.borrowed)
        for sums in ledger.cards.book.sums.values():
            for part in Part:
                seen[part.name] += bool(sums.memory[part])
        seen["commits"] += sum(len(decode_commit(one.data).events) for one in day.entries["LOG_0"])
    wanted = {
        "late",
        "waste",
        "elsewhere",
        "reservation",
        "lists",
        "stray",
        "borrowed",
        "commits",
        *(part.name for part in Part),
    }
    assert {what for what in wanted if not seen[what]} == set()
