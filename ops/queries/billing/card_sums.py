"""Where the time of the cards went, summed up by flavor; and the borrowed time of queues, both as plain rows."""

import msgspec

from projections.billing.cards.card_book import Part, Sums, no_sums
from projections.billing.ledger import Ledger
from projections.billing.lines.lent_quota import lent_costs
from projections.billing.lines.unused_capacity import unused_costs
from projections.billing.terms.money import decimal


class CardRow(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time of the cards of one flavor (that of their nodes) and model went."""

    flavor: str
    model: str
    cards: int
    sums: Sums


def by_flavor(ledger: Ledger) -> list[CardRow]:
    """Sums of all cards, by flavor and model."""
    sums: dict[tuple[str, str], Sums] = {}
    cards: dict[tuple[str, str], set[str]] = {}
    for key, one in sorted(ledger.cards.book.sums.items()):
        kind = (key.flavor, key.model)
        sums.setdefault(kind, no_sums()).plus(one)
        cards.setdefault(kind, set()).add(key.card)
    return [
        CardRow(flavor=flavor, model=model, cards=len(cards[flavor, model]), sums=one)
        for (flavor, model), one in sorted(sums.items())
    ]


def plain_cards(ledger: Ledger) -> list[dict[str, object]]:
    """The sums by flavor as plain rows: MiB·ms, percent·ms and card·ms by part."""
    return [
        {
            "flavor": row.flavor,
            "model": row.model,
            "cards": row.cards,
            "capacity": dict(zip(("memory", "cores", "cards"), row.sums.capacity, strict=True)),
            **{
                part.name.lower(): {
                    "memory": row.sums.memory[part],
                    "cores": row.sums.cores[part],
                    "cards": row.sums.cards[part],
                }
                for part in Part
            },
        }
        for row in by_flavor(ledger)
    ]


def plain_quota(ledger: Ledger) -> dict[str, list[dict[str, object]]]:
    """Held and borrowed quota, in units of the quota x milliseconds, and what borrowed quota is worth where it has a price."""
    held = sorted(ledger.quota.held.items())
    borrowed, costs = sorted(ledger.quota.borrowed.items()), lent_costs(ledger)
    return {
        "held": [{**msgspec.structs.asdict(key), "unit_ms": amount} for key, amount in held],
        "borrowed": [
            {**msgspec.structs.asdict(key), "unit_ms": amount, "worth": money(costs[key]) if key in costs else None}
            for key, amount in borrowed
        ],
    }


def plain_unused(ledger: Ledger) -> list[dict[str, object]]:
    """What unused card memory costs, by kind of cards and stretch of time, and who pays how much of it."""
    return [
        {
            "what": one.kind,
            "flavor": one.key.flavor,
            "model": one.key.model,
            "since": one.key.begin,
            "until": one.until,
            "memory_mib_ms": one.free,
            "cost": money(one.cost),
            "currency": one.currency,
            "spread": one.spread,
            "shares": [
                {"tenant": tenant, "account": payer.account, "cost_center": payer.cost_center, "cost": money(cost)}
                for tenant, payer, cost in one.shares
            ],
        }
        for one in unused_costs(ledger, ledger.window)
    ]


def plain_claimed(ledger: Ledger) -> list[dict[str, object]]:
    """How long claims held devices, in device·ms, by workload, class and what that counts as."""
    return [
        {**msgspec.structs.asdict(key), "device_ms": length}
        for key, length in sorted(ledger.holds.claimed.sums.items())
    ]


def plain_waste(ledger: Ledger) -> list[dict[str, object]]:
    """Attempts that were cut short: the evicted workload, its preemptor, and what it had held, in card·ms and MiB·ms."""
    return [
        {
            "workload": waste.holder.workload,
            "queue": waste.holder.cluster_queue,
            "reason": waste.reason,
            "preemptor": waste.preemptor,
            "preemptor_queue": waste.preemptor_queue,
            "at": waste.at,
            "place": waste.place,
            "card_ms": sum(entry.until - entry.since for entry in waste.entries),
            "memory_mib_ms": sum((entry.until - entry.since) * entry.slice.memory for entry in waste.entries),
        }
        for waste in ledger.wastes
    ]


def plain_prices(ledger: Ledger) -> list[dict[str, object]]:
    """Price lists in the order of their time."""
    return [
        {
            "name": one.event.name,
            "starts": one.starts,
            "place": one.place,
            "currency": one.event.currency,
            "decimals": one.event.decimals,
            "charges": one.event.charges,
            "credits": one.event.credits,
            "billed_in": one.currency,
            "prices": one.event.prices,
            "discounts": one.event.discounts,
            "commitments": one.event.commitments,
            "minimums": one.event.minimums,
            "author": one.event.author,
            "reason": one.event.reason,
        }
        for one in ledger.prices.lists
    ]


def plain_rates(ledger: Ledger) -> list[dict[str, object]]:
    """Rates of exchange in the order of their time, currency by currency."""
    return [
        {
            "currency": one.event.currency,
            "billed_in": one.event.billed_in,
            "rate": one.event.rate,
            "starts": one.starts,
            "source": one.event.source,
            "place": one.place,
            "author": one.event.author,
            "reason": one.event.reason,
        }
        for _, known in sorted(ledger.prices.exchange.rates.items())
        for one in known.all
    ]


def plain_accounts(ledger: Ledger) -> list[dict[str, object]]:
    """Rules about who pays in the order of their time."""
    return [
        {
            "starts": one.starts,
            "place": one.place,
            "rules": one.event.rules,
            "author": one.event.author,
            "reason": one.event.reason,
        }
        for one in ledger.prices.accounts.lists.all
    ]


def money(amount: int, decimals: int = 2) -> str:
    """Money as people read it: at least the places of the minor unit."""
    return decimal(amount, least=decimals)
