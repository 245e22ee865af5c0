"""What kuelog bills for a month beside what the auditor has calculated, row by row, and the time of every card."""

import json
from collections import Counter
from datetime import datetime
from fractions import Fraction

from ops.queries.billing.closed_months import month_ledger, window_of
from ops.queries.billing.focus import names_of, rows
from ops.queries.billing.focus_columns import broken_rules
from projections.billing.cards.card_book import Part
from projections.billing.ledger import Ledger
from tests.laws.months.integrator import CONTROL, FACTS, Auditor, Line, Reading, Row, cut, status, true_times
from tests.laws.months.integrator import Part as Cut
from tests.laws.months.random_months import MONTHS, Months

_METERS = {
    "GPU memory": "memory",
    "GPU cores": "cores",
    "GPU dominant share": "dominant",
    "GPU held": "card",
    "GPU exclusive": "exclusive",
    "GPU slots": "slots",
    "Whole node": "node",
    "cpu": "quota",
    "memory": "quota",
    "": "",
}


def billed(ledger: Ledger, month: str) -> list[Row]:
    """The FOCUS data set of a month, read as whoever is sent the file would."""
    return [row_of(dict(zip(names_of(ledger), row, strict=True))) for row in rows(ledger, window_of(month))]


def focus_problems(ledger: Ledger, month: str) -> list[str]:
    """What is wrong with any row by the rules of FOCUS."""
    names = names_of(ledger)
    every = (dict(zip(names, row, strict=True)) for row in rows(ledger, window_of(month)))
    return [f"{row['ChargeDescription']}: {problem}" for row in every for problem in broken_rules(row)]


def row_of(told: dict[str, str]) -> Row:
    start = Fraction(told["x_IntervalStartMs"] or 0)
    tags = told["Tags"]
    workload = tags.split('"kuelog/workload":"')[1].split('"')[0] if "kuelog/workload" in tags else ""
    return Row(
        tenant=told["SubAccountId"],
        workload=workload,
        attempt=int(told["x_Attempt"] or 0),
        queue=told["x_ClusterQueue"],
        local_queue=told["x_LocalQueue"],
        kind=told["x_LineKind"],
        category=told["ChargeCategory"],
        correction=bool(told["ChargeClass"]),
        card=told["x_DeviceUuid"],
        since=int(start) if told["x_IntervalStartMs"] else millis(told["ChargePeriodStart"]),
        until=int(told["x_IntervalEndMs"]) if told["x_IntervalEndMs"] else millis(told["ChargePeriodEnd"]),
        memory=int(told["x_MemMiB"] or 0),
        cores=int(told["x_CoresPct"] or 0),
        flavor=told["x_Flavor"],
        place=told["x_LogPlace"],
        meter=_METERS[told["SkuMeter"]],
        quantity=Fraction(told["ConsumedQuantity"]) if told["ConsumedQuantity"] else None,
        list_cost=Fraction(told["ListCost"]),
        cost=Fraction(told["BilledCost"]),
        month=told["BillingPeriodStart"][:7],
        resource=told.get("x_Resource", ""),
        amount=int(told.get("x_Amount") or 0),
        account=told["BillingAccountId"],
        cost_center=told.get("x_CostCenter", ""),
        mapped=told["BillingAccountType"] == "Account",
        asked=(int(told["x_MemMiBRequested"]), int(told["x_CoresPctRequested"])) if told["x_MemMiBRequested"] else None,
        place_given=(told["RegionId"], told["AvailabilityZone"]),
        pricing=Fraction(told["PricingCurrencyEffectiveCost"]) if told.get("PricingCurrencyEffectiveCost") else None,
        tags=tuple((key, value) for key, value in json.loads(tags or "{}").items() if not key.startswith("kuelog/")),
    )


def millis(text: str) -> int:
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def differences(life: Months) -> list[str]:
    """Everything that the auditor finds; nothing in a sound ledger."""
    log = {name: [one.data for one in stored] for name, stored in life.entries.items()}
    auditor = Auditor(log, life.named)
    found: list[str] = []
    for month in MONTHS:
        window = window_of(month)
        ledger, _ = month_ledger(life.entries, window)
        ours, theirs = Counter(billed(ledger, month)), Counter(auditor.rows(window.since))
        found += [f"{month}: {one}" for one in focus_problems(ledger, month)]
        found += [f"{month}: billed, and not held: {row}" for row in (ours - theirs).elements()]
        found += [f"{month}: held, and not billed: {row}" for row in (theirs - ours).elements()]
        reading = auditor.reading(window.since)
        found += line_differences(ledger, reading, month)
        found += card_differences(ledger, reading, month)
        found += quota_differences(ledger, month)
    return found


def seen_in(life: Months) -> Counter[str]:
    """What has happened in these months, counted."""
    seen: Counter[str] = Counter()
    log = {name: [one.data for one in stored] for name, stored in life.entries.items()}
    auditor = Auditor(log, life.named)
    for month in MONTHS:
        since = window_of(month).since
        reading = auditor.reading(since)
        for row in auditor.rows(since):
            seen[row.kind] += 1
            seen["whole nodes"] += row.meter == "node"
            seen["cost centres"] += bool(row.cost_center)
            seen["bills in another currency"] += row.pricing is not None
            seen["late lines"] += row.category == "Usage" and row.correction
        for (_, part), amount in reading.card_sums(since, window_of(month).until).items():
            seen[part] += bool(amount)
        seen["unpriced"] += sum(
            status(part, reading) == "UNPRICED" for line in reading.lines for part in cut_all(reading, line)
        )
        seen["quota lines"] += sum(bool(line.resource) for line in reading.lines)
        seen["elsewhere"] += sum(line.kind == "elsewhere" for line in reading.lines)
    for event in (event for one in log[CONTROL] for event in json.loads(one)["events"]):
        seen["lists with tags"] += bool(event.get("tags"))
        seen["windows of prices"] += bool(event.get("windows"))
        seen["accounts"] += event["type"] == "AccountsSet.v1"
        seen["rates of exchange"] += event["type"] == "ExchangeRateSet.v1"
        seen["price changes"] += event["type"] == "PriceListSet.v1"
        seen["corrections of amounts"] += bool(event.get("amount"))
        seen["corrections of entries"] += bool(event.get("entry"))
    seen["credits"] = seen.pop("credit", 0)
    seen["closed months"] = len(auditor.closed)
    seen["lost nodes"] = sum(b'"ready":false' in one for one in log[FACTS])
    seen["jobs that moved"] = sum(b"WorkloadChanged.v1" in one for one in log[FACTS])
    for stored in log.values():
        times = [json.loads(one)["at"] for one in stored]
        seen["skewed messages"] += sum(a != b for a, b in zip(times, true_times(times), strict=True))
    return seen


def cut_all(reading: Reading, line: Line) -> list[Cut]:
    return cut(reading, line, line, line.kind, 1, None, "")


def line_differences(ledger: Ledger, reading: Reading, month: str) -> list[str]:
    """All lines, the free ones and those without a price too."""
    window = window_of(month)
    ours = Counter(
        (
            *(one.holder.workload, one.holder.attempt, one.holder.cluster_queue, str(one.kind), one.slice.card.uuid),
            *(one.slice.memory, one.slice.cores, one.slice.slots, one.slice.index),
            *(one.since, min(one.until, window.until), one.slice.node, one.slice.flavor),
            one.ended is not None and one.until <= window.until,
        )
        for one in ledger.entries
    )
    ours += Counter(
        (
            *(
                one.holder.workload,
                one.holder.attempt,
                one.holder.cluster_queue,
                str(one.kind),
                one.flavor,
                one.resource,
            ),
            *(one.amount, one.since, min(one.until, window.until)),
            one.ended is not None and one.until <= window.until,
        )
        for one in ledger.quota_entries
    )
    shown = [one for one in reading.lines if one.since < window.until and one.until > window.since]
    theirs = Counter(
        (
            *(one.workload, one.attempt, one.queue, one.kind, one.flavor, one.resource, one.amount),
            *(one.since, min(one.until, window.until), one.over and one.until <= window.until),
        )
        for one in shown
        if one.resource
    )
    theirs += Counter(
        (
            *(one.workload, one.attempt, one.queue, one.kind, one.card),
            *(one.memory, one.cores, one.slots, one.pod[1], one.since, min(one.until, window.until)),
            *(one.node, one.flavor, one.over and one.until <= window.until),
        )
        for one in shown
        if one.card
    )
    return [f"{month}: line {one} is {times:+}" for one, times in signed(ours, theirs)]


def signed(ours: Counter[tuple[object, ...]], theirs: Counter[tuple[object, ...]]) -> list[tuple[object, int]]:
    return [*(ours - theirs).items(), *((one, -times) for one, times in (theirs - ours).items())]


def card_differences(ledger: Ledger, reading: Reading, month: str) -> list[str]:
    """The time of every card by part; and that what is billed, free, unpriced, idle and the rest come to its capacity x time."""
    window, found = window_of(month), list[str]()
    theirs = reading.card_sums(window.since, window.until)
    ours: Counter[tuple[str, str]] = Counter()
    for key, sums in ledger.cards.book.sums.items():
        ours[key.card, "CAPACITY"] += sums.capacity[0]
        for part in Part:
            ours[key.card, part.name] += sums.memory[part]
    ours = Counter({key: amount for key, amount in ours.items() if amount})
    if ours != theirs:
        found.append(f"{month}: time of cards {ours} is {theirs}")
    held: Counter[str] = Counter()
    for line in reading.lines:  # Lines of quota have no memory of cards.
        held[line.card] += line.memory * max(min(line.until, window.until) - max(line.since, window.since), 0)
    for card in sorted({card for card, _ in theirs}):
        free = sum(theirs[card, name] for name in ("IDLE", "STRANDED", "CORDONED", "UNHEALTHY", "LOST"))
        if held[card] + free - theirs[card, "OVER"] != theirs[card, "CAPACITY"]:
            found.append(f"{month}: {card}: lines {held[card]} and the rest {free} are not its capacity")
    return found


def quota_differences(ledger: Ledger, month: str) -> list[str]:
    """Whether the lines of quota come to what was held, where quota is billed at all."""
    window, book, lines = window_of(month), Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for one in ledger.quota_entries:
        length = min(one.until, window.until) - max(one.since, window.since)
        lines[one.holder.tenant, one.holder.cluster_queue, one.flavor, one.resource] += one.amount * length
    for key, amount in ledger.quota.held.items():
        if not key.resource.startswith("nvidia.com/"):
            book[key.tenant, key.queue, key.flavor, key.resource] += amount
    return [f"{month}: quota held {book} is not what its lines come to, {lines}"] if lines and book != lines else []
