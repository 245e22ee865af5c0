"""What the quota is worth in money that queues had of each other: shown to both, and charged to nobody.

Rule: docs/rules/billing.md#lent
"""

from projections.billing.ledger import Ledger
from projections.billing.lines.unused_capacity import HOUR
from projections.billing.quota.quota_book import Lent
from projections.billing.terms.money import UNIT, times
from projections.billing.terms.prices import lent_price
from projections.billing.terms.resource_unit import unit_of


def lent_costs(ledger: Ledger) -> dict[Lent, int]:
    """By borrower, lender, flavor and resource, in units of 10^-10 of the bill's currency; nothing for what has no price."""
    found: dict[Lent, int] = {}
    for (begin, key), amount in sorted(ledger.quota.priced.items()):
        prices = ledger.prices.at(begin)
        price = lent_price(prices, key.flavor, key.resource) if prices is not None else None
        exchange = ledger.prices.rate(prices, begin) if prices is not None else None
        if price is not None and exchange is not None:
            cost = times(price * exchange, amount, unit_of(key.resource).size * HOUR * UNIT)
            found[key] = found.get(key, 0) + cost
    return found
