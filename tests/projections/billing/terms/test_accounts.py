"""Who pays, by rules that are in force from a time on; and rates of exchange."""

import pytest

from events.billing import AccountRule, AccountsSet, ExchangeRateSet
from projections.billing.entries.entry import Holder
from projections.billing.terms.accounts import AccountBook, Payer
from projections.billing.terms.exchange_rates import ExchangeRates
from projections.billing.terms.money import UNIT
from projections.log_position import LogPosition

HOLDER = Holder(tenant="lab", workload="lab/w", cluster_queue="cq", labels=(("center", "7"), ("team", "x")))


def book(*rules: AccountRule, starts: int = 0) -> AccountBook:
    found = AccountBook()
    found.set(AccountsSet(starts=starts, rules=rules), LogPosition(partition="CONTROL", sequence=1, at=100))
    return found


@pytest.mark.parametrize(
    ("rules", "payer"),
    [
        ((), Payer("lab")),
        ((AccountRule(account="research", namespace="lab"),), Payer("research", "", mapped=True)),
        ((AccountRule(account="research", namespace="other"),), Payer("lab")),
        ((AccountRule(account="a", cluster_queue="cq"), AccountRule(account="b")), Payer("a", "", mapped=True)),
        ((AccountRule(account="a", cluster_queue="no"), AccountRule(account="b")), Payer("b", "", mapped=True)),
        ((AccountRule(account="a", label="team=x"),), Payer("a", "", mapped=True)),
        ((AccountRule(account="a", label="team=y"),), Payer("lab")),
        ((AccountRule(account_label="team"),), Payer("x", "", mapped=True)),
        ((AccountRule(account_label="none"),), Payer("lab")),
        ((AccountRule(account_label="none"), AccountRule(account="rest")), Payer("rest", "", mapped=True)),
        ((AccountRule(cost_center_label="center"),), Payer("lab", "7")),
        ((AccountRule(account="a", cost_center_label="none"), AccountRule(cost_center="c")), Payer("lab", "c")),
    ],
)
def test_the_first_rule_that_fits_says_who_pays_and_else_the_namespace_does(
    rules: tuple[AccountRule, ...], payer: Payer
) -> None:
    assert book(*rules).payer_of(HOLDER, 200) == payer


def test_who_pays_is_who_did_so_at_the_time() -> None:
    found = book(AccountRule(account="old"))
    found.set(
        AccountsSet(starts=50, rules=(AccountRule(account="new"),)),
        LogPosition(partition="CONTROL", sequence=2, at=300),
    )
    payers = [found.payer_of(HOLDER, at).account for at in (0, 299, 300)]
    assert payers == ["old", "old", "new"], (
        "rules that begin where others are in force count from when they are entered"
    )


def test_a_rate_is_that_of_the_time_and_there_is_none_before_the_first() -> None:
    rates = ExchangeRates()
    for sequence, (rate, starts, entered) in enumerate((("0.9", 100, 500), ("0.8", 700, 600)), 1):
        event = ExchangeRateSet(currency="USD", billed_in="EUR", rate=rate, starts=starts, source="a bank")
        rates.set(event, LogPosition(partition="CONTROL", sequence=sequence, at=entered))
    found = [rates.rate("USD", "EUR", at) for at in (99, 100, 699, 700)]
    assert found == [None, 9 * UNIT // 10, 9 * UNIT // 10, 8 * UNIT // 10]
    assert rates.rate("EUR", "EUR", 0) == rates.rate("EUR", "", 0) == UNIT
    assert rates.rate("EUR", "USD", 700) is None
    assert rates.cuts(0, 10**6) == [100, 700]
