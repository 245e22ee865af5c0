"""Claimed devices in a FOCUS data set, in entries, and in the file of a price list."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from events.billing import Meter, Price
from ops.queries.billing.focus import names_of, rows
from ops.queries.billing.focus_columns import NAMES
from ops.queries.billing.price_file import read_price_file
from ops.queries.billing.problems import BillRefused
from projections.billing.entries.ledger_scope import ALWAYS
from projections.billing.ledger import Ledger
from tests.projections.billing.claims.test_claim_time import CLAIM_GONE, MAPPED, POD, RESERVED, SUBMITTED, claim
from tests.projections.billing.claims.test_device_lines import ADMITTED, LIST, RELEASED, STOPPED, told

HELD = (MAPPED, SUBMITTED, RESERVED, ADMITTED, POD, claim("g0", "g1"), POD)


def rows_of(ledger: Ledger) -> list[dict[str, str]]:
    names = names_of(ledger)
    found = [dict(zip(names, row, strict=True)) for row in rows(ledger, ALWAYS)]
    return [one for one in found if one["x_LineKind"] != "rounding"]


def test_rows_of_claimed_devices_say_the_claim_the_class_and_how_many() -> None:
    (row,) = rows_of(told(LIST, *HELD, CLAIM_GONE))
    assert (row["ResourceId"], row["ResourceType"]) == ("team/c", "Claimed devices")
    assert (row["x_Claim"], row["x_DeviceClass"], row["x_Devices"]) == ("team/c", "a", "2")
    assert (row["BilledCost"], row["ListUnitPrice"], row["PricingUnit"]) == ("0.004", "3.6", "Device-Hours")
    assert row["ChargeDescription"] == "claimed device of class a, team/w, usage"
    assert (row["ServiceCategory"], row["x_ClusterQueue"], row["ChargeCategory"]) == (
        "AI and Machine Learning",
        "cq",
        "Usage",
    )
    assert row["x_Flavor"] == row["x_DeviceUuid"] == ""


def test_what_is_given_back_is_a_credit_that_names_the_entry() -> None:
    usage, credit = rows_of(told(LIST, *HELD, STOPPED, RELEASED, CLAIM_GONE))
    assert (credit["ChargeCategory"], credit["BilledCost"]) == ("Credit", f"-{usage['BilledCost']}")
    assert credit["x_CorrectsEntryId"] == usage["x_EntryId"]


def test_a_data_set_without_prices_of_devices_has_the_columns_that_it_always_had() -> None:
    of_cards = replace(LIST, prices=(Price(meter=Meter.CARD, unit_price="1"),))
    ledger = told(of_cards, *HELD, CLAIM_GONE, prices=False)
    assert names_of(ledger) == NAMES
    assert list(rows(ledger, ALWAYS)) == []


def prices(tmp_path: Path, *lines: str) -> tuple[Price, ...]:
    path = tmp_path / "prices.yaml"
    path.write_text("\n".join(["name: p", "currency: EUR", "prices:", *(f"- {{{line}}}" for line in lines)]))
    return read_price_file(path, author="ann", reason="r", now=1, first=0).prices


def test_a_price_list_names_device_classes_tenants_and_windows(tmp_path: Path) -> None:
    assert prices(tmp_path, 'meter: device, price: "1"', 'meter: device, deviceClass: a, tenant: t, price: "2"') == (
        Price(meter=Meter.DEVICE, unit_price="1"),
        Price(meter=Meter.DEVICE, unit_price="2", device_class="a", tenant="t"),
    )


@pytest.mark.parametrize(
    ("line", "told_why"),
    [
        ('meter: device, flavor: f, price: "1"', "price 1 of device has flavor, which it can't go by"),
        ('meter: device, resource: gpus, price: "1"', "price 1 of device has resource, which it can't go by"),
        ('meter: card, deviceClass: a, price: "1"', "deviceClass is of the meter device alone"),
        ('resource: cpu, deviceClass: a, price: "1"', "deviceClass is of the meter device alone"),
        ('meter: device, deviceClass: "", price: "1"', "deviceClass is of the meter device alone"),
    ],
)
def test_what_a_price_of_devices_can_not_go_by_is_refused(tmp_path: Path, line: str, told_why: str) -> None:
    with pytest.raises(BillRefused) as refused:
        prices(tmp_path, line)
    assert told_why in str(refused.value)


def test_a_class_that_is_priced_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BillRefused, match="device of a is priced twice"):
        prices(tmp_path, 'meter: device, deviceClass: a, price: "1"', 'meter: device, deviceClass: a, price: "2"')
