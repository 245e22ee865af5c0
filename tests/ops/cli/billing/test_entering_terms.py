"""Prices in another currency, terms of whole months and accounts, entered and billed by the commands that people use."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

from events.timestamp import format_timestamp
from ops.queries.billing.focus_columns import broken_rules
from projections.calendar import month_after
from tests.ops.queries.billing.test_bill_commands import a_run, told

LIST = """
name: dollars
currency: USD
billedIn: EUR
from: 2026-01-01
charges: [usage, reservation, unreserved]
prices:
- {meter: memory, price: "360000"}
- {meter: idle, price: "3600", spread: use}
- {meter: stranded, price: "3600", spread: quota, resource: nvidia.com/gpu}
- {meter: lent, resource: nvidia.com/gpu, price: "1"}
discounts:
- {name: volume, percent: "10", above: "1"}
commitments:
- {name: year, account: research, price: "100", covers: "5"}
minimums:
- {account: platform, amount: "7.5"}
"""
RULES = """
from: 2026-01-01
rules:
- {namespace: team, account: research, costCenter: c-1}
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    return a_run(tmp_path)


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_month_in_another_currency_with_accounts_and_terms(data: str, tmp_path: Path) -> None:
    where, prices = ("--data", data), written(tmp_path, "prices.yaml", LIST)
    code, _, warned = told("price", "set", "-f", prices, *where)
    assert code == 2 and "enter one with `kuelog price rate USD RATE --billed-in EUR --source ...` first" in warned
    rate = ("price", "rate", "USD", "0.5", "--billed-in", "EUR", "--source", "a bank", "--from", "2026-01-01")
    assert told(*rate, *where)[1].startswith("CONTROL/1: one USD is 0.5 EUR by a bank, in force from 2026-01-01")
    assert told(*rate, *where)[0] == 2, "what was in force is never changed"
    assert told("price", "set", "-f", prices, *where)[0] == 0
    code, text, _ = told("account", "set", "-f", written(tmp_path, "accounts.yaml", RULES), *where)
    assert code == 0 and "CONTROL/3: 1 rules say who pays from 2026-01-01" in text

    months = month_of(data)
    code, text, warned = told("bill", *where, *months, "--group-by", "account,cost-center", "-o", "json")
    found = json.loads(text)
    kinds = {(line["account"], line["kind"]) for line in found["lines"]}
    assert code == 0, warned
    assert {("research", kind) for kind in ("usage", "idle", "discount", "commitment", "covered")} <= kinds
    assert ("platform", "minimum") in kinds and set(found["total"]) == {"EUR"}
    assert {line["cost_center"] for line in found["lines"] if line["kind"] == "usage"} == {"c-1"}
    costs = sum(Decimal(line["cost"] or 0) for line in found["lines"])
    assert costs == Decimal(found["total"]["EUR"]) == costs.quantize(Decimal("0.01"))
    assert found["unused"] and all(one["currency"] == "EUR" for one in found["unused"])

    code, text, _ = told("bill", *where, *months, "-o", "focus")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert code == 0 and [problem for row in rows for problem in broken_rules(row)] == []
    assert sum(Decimal(row["BilledCost"]) for row in rows) == costs
    usage = next(row for row in rows if row["x_LineKind"] == "usage")
    assert (usage["BillingAccountId"], usage["BillingAccountType"], usage["SubAccountId"], usage["x_CostCenter"]) == (
        *("research", "Account", "team", "c-1"),
    )
    assert (usage["PricingCurrency"], usage["BillingCurrency"]) == ("USD", "EUR")
    assert Decimal(usage["PricingCurrencyListUnitPrice"]) == 2 * Decimal(usage["ListUnitPrice"]) == 360000

    code, text, _ = told("bill", *where, *months, "--account", "platform", "-o", "json")
    assert [line["kind"] for line in json.loads(text)["lines"]] == ["minimum"]
    for words in (("price", "list"), ("price", "rates"), ("account", "list")):
        assert told(*words, *where)[0] == 0 and json.loads(told(*words, *where, "-o", "json")[1])
    text = told("bill", *where, *months)[1]
    assert "What unused card memory costs" in text


def test_the_list_of_prices_tells_each_from_all_others_that_are_entered_with_it(data: str, tmp_path: Path) -> None:
    prices = """
name: several
currency: EUR
from: 2026-01-01
charges: [usage]
tags: [team]
windows:
- {name: night, zone: Europe/Berlin, from: "22:00", to: "06:00", days: [Sat, Sun]}
prices:
- {meter: device, price: "1.20"}
- {meter: device, deviceClass: gpu.example.com, price: "2.50"}
- {meter: idle, price: "1", spread: none}
- {meter: memory, window: night, price: "3"}
"""
    assert told("price", "set", "-f", written(tmp_path, "prices.yaml", prices), "--data", data)[0] == 0
    text = told("price", "list", "--data", data)[1]
    rows = [line.split() for line in text.splitlines()]
    assert ["device", "1.20"] in rows and ["device", "gpu.example.com", "2.50"] in rows
    assert ["idle", "none", "1"] in rows and ["memory", "night", "3"] in rows
    assert "night: 22:00 to 06:00, Sat, Sun, by the clocks of Europe/Berlin" in text and "tags: team" in text


def month_of(data: str) -> tuple[str, ...]:
    """The month in which the run lies, as options."""
    since = json.loads(told("bill", "--data", data, "-o", "json")[1])["since"]
    begin, end = (format_timestamp(at)[:7] for at in (since, month_after(since)))
    return ("--from", begin, "--to", end)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('- {meter: idle, price: "1", tenant: x}', "price 1 of idle has tenant, which it can't go by"),
        ('- {meter: idle, price: "1", spread: half}', "price 1: spread 'half' has to be one of use, quota, none"),
        ('- {meter: idle, price: "1", spread: quota}', "price 1 of idle has to name the resource of quota"),
        ('- {meter: idle, price: "1", resource: cpu}', "only spread: quota does"),
        ('- {meter: memory, price: "1", spread: use}', "price 1: spread is of idle and stranded alone"),
        ('- {meter: lent, price: "1"}', "price 1 of lent has to name the resource of quota"),
        (
            '- {meter: card, price: "1"}\ndiscounts: [{name: a, percent: "101"}]',
            "discounts 1: percent 101 has to be at",
        ),
        (
            '- {meter: card, price: "1"}\ndiscounts: [{name: a}]',
            "discounts 1 lacks percent: it may have above, account",
        ),
        (
            '- {meter: card, price: "1"}\ncommitments: x',
            "commitments has to be a list of mappings with account, covers",
        ),
        ('- {meter: card, price: "1"}\nminimums: [{amount: "0"}]', "minimums 1: amount 0 has to be above zero"),
        ('- {meter: card, price: "1"}\nbilledIn: euro', "billedIn 'euro' has to be an ISO 4217 code"),
    ],
)
def test_a_wrong_price_list_is_told_what_to_write(data: str, tmp_path: Path, wrong: str, said: str) -> None:
    prices = written(tmp_path, "prices.yaml", f"currency: EUR\nprices:\n{wrong}\n")
    code, _, warned = told("price", "set", "-f", prices, "--data", data)
    assert code == 2 and said in warned


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[]", "has to be a mapping with rules"),
        ("rules: [{namespace: x}]", "rules 1 says nobody who pays: give it one of account, accountLabel"),
        ("rules: [{account: a, accountLabel: b}]", "rules 1 has both account and accountLabel"),
        ("rules: [{account: a, label: b}]", "rules 1: label 'b' has to be written as key=value"),
        ("rules: [{account: a, queue: b}]", "rules 1 has queue: it may have account, accountLabel, clusterQueue"),
    ],
)
def test_wrong_rules_are_told_what_to_write(data: str, tmp_path: Path, wrong: str, said: str) -> None:
    code, _, warned = told("account", "set", "-f", written(tmp_path, "a.yaml", wrong), "--data", data)
    assert code == 2 and said in warned


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("USD", "0"), "rate 0 has to be above zero"),
        (("USD", "x"), "'x' is no amount"),
        (("usd", "1"), "currency 'usd' has to be an ISO 4217 code"),
        (("EUR", "1"), "EUR needs no rate to itself"),
    ],
)
def test_a_wrong_rate_is_told_what_to_write(data: str, words: tuple[str, str], said: str) -> None:
    code, _, warned = told("price", "rate", *words, "--billed-in", "EUR", "--source", "a bank", "--data", data)
    assert code == 2 and said in warned


def test_what_operators_write_is_printed_as_it_is(data: str, tmp_path: Path) -> None:
    """A command that ends in an error after it has entered something is given again, and gives back twice."""
    where, by = ("--data", data), ("--author", "[/ann] of [it]", "--reason", "see [/ticket] 4")
    prices = written(tmp_path, "prices.yaml", LIST.replace("billedIn: EUR\n", "").replace("dollars", "'[draft] [/x]'"))
    code, text, warned = told("price", "set", "-f", prices, *where, *by)
    assert code == 0 and text.startswith("CONTROL/1: price list [draft] [/x] with 4 prices in USD is in force"), warned
    code, text, warned = told("price", "rate", "CHF", "0.5", "--billed-in", "USD", "--source", "[/bank]", *where, *by)
    assert code == 0 and "one CHF is 0.5 USD by [/bank], in force from" in text, warned
    assert told("account", "set", "-f", written(tmp_path, "accounts.yaml", RULES), *where, *by)[0] == 0
    code, text, warned = told("bill", "correct", "--tenant", "team", "--amount", "1", *where, *by)
    assert (code, text) == (0, "CONTROL/4: an amount of 1 of team is corrected: see [/ticket] 4\n"), warned
    text = told("price", "list", *where)[1]
    assert text.startswith("[draft] [/x] from 2026-01-01T00:00:00Z") and "by [/ann] of [it]; charges" in text
    assert "entered at CONTROL/3 by [/ann] of [it]" in told("account", "list", *where)[1]
