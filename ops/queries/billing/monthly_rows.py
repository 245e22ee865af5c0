"""Discounts, commitments and minimum charges of a price list as people write them."""

from pathlib import Path

from events.billing import Commitment, Discount, MinimumCharge
from ops.queries.billing.entered_rows import amount_of, rows_of
from ops.queries.billing.problems import BillRefused
from projections.billing.terms.money import parse_money

_WHOLE = parse_money("100")


def discounts_of(path: Path, found: object) -> tuple[Discount, ...]:
    """The discounts of a list. Raises `BillRefused`."""
    discounts = list[Discount]()
    for place, row in enumerate(
        rows_of(path, "discounts", found, needed={"name", "percent"}, may={"above", "account"}), 1
    ):
        where = f"{path}: discounts {place}"
        percent = amount_of(where, row, "percent")
        if parse_money(percent) > _WHOLE:
            raise BillRefused(f"{where}: percent {percent} has to be at most 100")
        above, account = amount_of(where, row, "above"), row.get("account", "")
        if any((one.account, parse_money(one.above)) == (account, parse_money(above)) for one in discounts):
            raise BillRefused(f"{where}: another discount of {account or 'everybody'} begins at {above}, too")
        discounts.append(Discount(name=row["name"], percent=percent, above=above, account=account))
    return tuple(discounts)


def commitments_of(path: Path, found: object) -> tuple[Commitment, ...]:
    """The commitments of a list. Raises `BillRefused`."""
    rows = rows_of(path, "commitments", found, needed={"name", "account", "price", "covers"})
    return tuple(
        Commitment(
            name=row["name"],
            account=row["account"],
            price=amount_of(f"{path}: commitments {place}", row, "price"),
            covers=amount_of(f"{path}: commitments {place}", row, "covers", least=1),
        )
        for place, row in enumerate(rows, 1)
    )


def minimums_of(path: Path, found: object) -> tuple[MinimumCharge, ...]:
    """The minimum charges of a list. Raises `BillRefused`."""
    rows = rows_of(path, "minimums", found, needed={"amount"}, may={"account"})
    accounts = [row.get("account", "") for row in rows]
    for account in accounts:
        if accounts.count(account) > 1:
            raise BillRefused(f"{path}: minimums has {account or 'everybody'} twice")
    return tuple(
        MinimumCharge(
            amount=amount_of(f"{path}: minimums {place}", row, "amount", least=1), account=row.get("account", "")
        )
        for place, row in enumerate(rows, 1)
    )
