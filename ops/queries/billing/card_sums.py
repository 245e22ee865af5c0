"""Where the time of the cards went, summed up by flavor; and the borrowed time of queues, both as plain rows."""

import msgspec

from projections.billing.card_book import Part, Sums, no_sums
from projections.billing.ledger import Ledger
from projections.billing.money import decimal


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
    """Held and borrowed quota, in units of the quota x milliseconds."""
    held = sorted(ledger.quota.held.items())
    borrowed = sorted(ledger.quota.borrowed.items())
    return {
        "held": [{**msgspec.structs.asdict(key), "unit_ms": amount} for key, amount in held],
        "borrowed": [{**msgspec.structs.asdict(key), "unit_ms": amount} for key, amount in borrowed],
    }


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
            "prices": one.event.prices,
            "author": one.event.author,
            "reason": one.event.reason,
        }
        for one in ledger.prices.lists
    ]


def money(amount: int, decimals: int = 2) -> str:
    """Money as people read it: at least the places of the minor unit."""
    return decimal(amount, least=decimals)
